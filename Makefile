UV ?= $(shell command -v uv || echo .uv/bin/uv)

.PHONY: run test slow voice lint check bench pictures docs messages

run:            ## the program
	$(UV) run --no-default-groups agent-tui rooms

test:           ## the tests, in four minutes
	$(UV) run pytest

slow:           ## the tests that start or kill whole programs, or open every form and view
	$(UV) run pytest -m slow

# MORE is handed on. CI leaves out the long ones, and runs those marked speech beside all others.
VOICE ?= voice or not voice
FOLDERS = $(addprefix tests/,audio backend/voice clients/voice tui/voice voice_agent)
voice:          ## the tests of voice: need livekit-server (LIVEKIT_SERVER or PATH) and all extras
	$(UV) run --all-extras pytest -m '$(VOICE)' -n 1 $(MORE) $(FOLDERS)

lint:           ## format, lint, types, arrows
	$(UV) run --group dev ruff format --check .
	$(UV) run --group dev ruff check .
	$(UV) run --group dev mypy
	$(UV) run --group dev lint-imports

check: lint test slow  ## everything CI asks for, but for voice

bench:          ## ratios measured in one run, printed, never failed on
	$(UV) run --group dev python -m benchmarks

pictures:       ## the pictures of README and docs
	$(UV) run python -m pictures

docs:           ## the tables of docs/ that are computed
	$(UV) run python -m docs

messages:       ## the catalogues of other languages, after texts were changed; names what is not translated
	$(UV) run python -m tests.tui.language.messages
