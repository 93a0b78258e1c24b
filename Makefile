UV ?= $(shell command -v uv || echo .uv/bin/uv)

.PHONY: run test voice lint check bench pictures

run:            ## the program
	$(UV) run agent-tui rooms

test:           ## the tests
	$(UV) run pytest

VOICE ?= voice
voice:          ## the tests that talk: need livekit-server (LIVEKIT_SERVER or PATH) and all extras
	$(UV) run --all-extras pytest -m '$(VOICE)' -n 1

lint:           ## format, lint, types, arrows
	$(UV) run ruff format --check .
	$(UV) run ruff check .
	$(UV) run mypy
	$(UV) run lint-imports

check: lint test  ## everything CI asks for

bench:          ## ratios measured in one run, printed, never failed on
	$(UV) run python -m benchmarks

pictures:       ## the pictures of the README
	$(UV) run python -m pictures
