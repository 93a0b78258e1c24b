"""The calls about providers: their list, their models, and a test of an endpoint.

No answer and no error ever contains a key (``models.remote_errors`` hides what servers echo).
"""

from __future__ import annotations

import asyncio
import os
import time
from contextlib import aclosing
from http import HTTPStatus

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from agent_tui.backend.http.body import Fields, read_fields, wrong_field
from agent_tui.backend.http.problem import json_answer, problem
from agent_tui.backend.http.routing import by_method
from agent_tui.backend.models.endpoints import TYPED, ProviderAddress, endpoint_of, endpoint_to_try
from agent_tui.backend.models.model import ChatMessage, ModelRequest, NotePiece, ToolSpec
from agent_tui.backend.models.prices import offer_of
from agent_tui.backend.models.providers import DEMO, Models
from agent_tui.backend.models.remote import RemoteProvider, list_models
from agent_tui.config.file import AGENT_PROVIDER, PROVIDER_KINDS
from agent_tui.model.errors import ConfigError, ModelError, NotFound, Refused
from agent_tui.model.inert import inert_line

MAX_FIELD_CHARACTERS = 2000
TEST_TOKENS = 1000  # at most; only the first of them is awaited
# A chat sends its tools with every question, so the test sends one: it is never called.
TEST_TOOL = ToolSpec("current_time", "Tell the time.", {"type": "object", "properties": {}})
_PASSED_ON = frozenset({401, 404, 429})


class Providers:
    """The routes under ``/api/providers``."""

    def __init__(self, models: Models) -> None:
        self._models = models

    def routes(self) -> list[Route]:
        """Return one route for each path."""
        return [
            by_method("/api/providers", GET=self.list_providers),
            by_method("/api/providers/test", POST=self.test),
            by_method("/api/providers/{provider_id}/models", GET=self.models),
        ]

    async def list_providers(self, _request: Request) -> Response:
        try:
            configured, agents = self._models.configured(), self._models.agents()
        except ModelError as error:
            return problem(HTTPStatus.CONFLICT, error.title, error.detail)
        default_model = self._models.default_model
        entries = [
            _entry(provider.name, provider.kind, default_model(provider.name)) for provider in configured
        ]
        remote = [_entry(f"{AGENT_PROVIDER}{agent.name}", agent.kind, agent.name) for agent in agents]
        demo = _entry(DEMO, DEMO, DEMO)
        entries = [*entries, *remote, demo] if entries else [demo, *remote]  # the default one first
        return json_answer({"providers": entries})

    async def models(self, request: Request) -> Response:
        provider_id: str = request.path_params["provider_id"]
        if provider_id == DEMO:
            return _models_answer((DEMO,))
        try:
            if provider_id in {f"{AGENT_PROVIDER}{one.name}" for one in self._models.agents()}:
                return _models_answer((self._models.default_model(provider_id),))
            provider = self._models.provider(provider_id)
            if provider is None:
                raise NotFound("There is no such provider", "GET /api/providers lists those there are.")
            names = await list_models(endpoint_of(provider))
        except (ModelError, ConfigError) as error:
            return _refused(error)
        terms = [self._models.terms(provider_id, name) for name in names]
        # In a thread: the first time, the table of prices is read.
        offers = await asyncio.to_thread(lambda: list(map(offer_of, terms, names)))
        return json_answer(
            {"models": [{"id": name, **offer} for name, offer in zip(names, offers, strict=True)]}
        )

    async def test(self, request: Request) -> Response:
        fields = await read_fields(request)
        endpoint, model = _endpoint(fields), _text(fields, "model")
        started_at, notes = time.monotonic(), set[str]()
        try:
            names = await _model_names(endpoint, is_needed=not model)
            if model:
                async with asyncio.timeout(endpoint.silence_seconds):
                    notes = await _first_word(endpoint, model)
        except TimeoutError:
            silence = f"not within {endpoint.silence_seconds:g} s"
            return _refused(ModelError(f"{model} did not answer", silence))
        except (ModelError, ConfigError) as error:
            return _refused(error)
        answer = {
            "models": [{"id": name} for name in names],
            "answer_seconds": round(time.monotonic() - started_at, 3),
        }
        return json_answer({**answer, "no_tools": True} if "no_tools" in notes else answer)


async def _model_names(endpoint: ProviderAddress, *, is_needed: bool) -> tuple[str, ...]:
    """Return the models that the provider offers; many gateways have no list, which is an error if one
    ``is_needed``.
    """
    try:
        return await list_models(endpoint)
    except ModelError as error:
        if is_needed or error.status != HTTPStatus.NOT_FOUND:
            raise
        return ()


async def _first_word(endpoint: ProviderAddress, model: str) -> set[str]:
    """Ask the model as a chat does, until it begins to speak; return what was noted besides words.

    Some servers list their models to everyone, whatever the key, and some models refuse tools.
    """
    messages = (ChatMessage("user", "Say hello in one word."),)
    request = ModelRequest(messages, model, "test", "test", 1, 1, max_tokens=TEST_TOKENS, tools=(TEST_TOOL,))
    notes = set[str]()
    async with (
        aclosing(RemoteProvider(endpoint)) as provider,
        aclosing(provider.model(model).stream(request)) as pieces,
    ):
        async for piece in pieces:
            if not isinstance(piece, NotePiece):
                break
            notes.add(piece.note)
    return notes


def _endpoint(fields: Fields) -> ProviderAddress:
    kind = fields.needed_text("kind")
    if kind not in PROVIDER_KINDS:
        raise wrong_field("kind", f"must be one of: {', '.join(PROVIDER_KINDS)}")
    base_url = _text(fields, "base_url")
    if base_url and not base_url.startswith(("http://", "https://")):
        raise wrong_field("base_url", "must begin with http:// or https://")
    if not base_url and kind == "openai":
        raise wrong_field("base_url", "is missing")
    key, variable = _text(fields, "api_key"), _text(fields, "api_key_env")
    if not variable:
        return endpoint_to_try(kind, base_url, key, TYPED if key else "")
    value = os.environ.get(variable, "") or key
    if not value:
        missing = f"the environment variable {inert_line(variable)} is not set"
        raise Refused(
            missing, "Set it and restart the backend, which reads the environment only when it starts."
        )
    return endpoint_to_try(kind, base_url, value, inert_line(variable))


def _text(fields: Fields, name: str) -> str:
    value = (fields.text(name) or "").strip()
    if len(value) > MAX_FIELD_CHARACTERS:
        raise wrong_field(name, f"may have {MAX_FIELD_CHARACTERS:,} characters")
    return value


def _entry(id_: str, kind: str, model: str) -> dict[str, str]:
    return {"id": id_, "name": id_, "kind": kind, "model": model}


def _models_answer(names: tuple[str, ...]) -> Response:
    return json_answer({"models": [{"id": name} for name in names]})


def _refused(error: ModelError | ConfigError) -> Response:
    status = error.status if isinstance(error, ModelError) else HTTPStatus.CONFLICT
    if status == HTTPStatus.FORBIDDEN:
        status = HTTPStatus.UNAUTHORIZED
    passed_on = status in _PASSED_ON or status == HTTPStatus.CONFLICT
    return problem(status if passed_on else HTTPStatus.BAD_GATEWAY, error.title, error.detail)
