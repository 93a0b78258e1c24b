"""Calls of a provider's endpoint, as the tests make them: of an OpenAI-compatible one, or of any kind."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from agent_tui.backend.models.endpoints import ProviderAddress
from agent_tui.backend.models.model import (
    CallPiece,
    ChatMessage,
    ModelRequest,
    Piece,
    TextPiece,
    ToolCall,
    ToolSpec,
)
from agent_tui.backend.models.remote import RemoteProvider
from agent_tui.model.errors import ModelError
from tests.fakes.models.dialects import Kind
from tests.fakes.models.model_server import Answer, FakeModelServer

KEY = "sk-very-secret-key"
REQUEST = ModelRequest(
    messages=(
        ChatMessage("system", "You are Mika, a critic."),
        ChatMessage("user", "Should sessions live in Redis?"),
        ChatMessage("assistant", "Perhaps."),
        ChatMessage("user", "[Ada]: I disagree."),
    ),
    model="some-model",
    speaker="Mika",
    task="Should sessions live in Redis?",
    round=1,
    max_rounds=2,
    temperature=0.7,
    max_tokens=321,
)

SUM = ToolSpec(
    "calculator",
    "Calculate exactly.",
    {
        "type": "object",
        "properties": {"expression": {"type": "string", "minLength": 1}},
        "required": ["expression"],
        "additionalProperties": False,
    },
)
OFFERED = replace(REQUEST, tools=(SUM,))


@asynccontextmanager
async def provider(url: str, *, key: str = KEY, silence: float = 30.0) -> AsyncIterator[RemoteProvider]:
    """Open a provider at ``url`` and close it in the end; ``silence`` in seconds."""
    opened = RemoteProvider(ProviderAddress("local", url, key, "LOCAL_KEY", silence))
    try:
        yield opened
    finally:
        await opened.aclose()


@asynccontextmanager
async def provider_of(
    server: FakeModelServer, kind: Kind, *, key: str = KEY, silence: float = 30.0
) -> AsyncIterator[RemoteProvider]:
    """Open a provider of ``kind`` at ``server`` and close it in the end; ``silence`` in seconds."""
    base_url = f"http://127.0.0.1:{server.port}{kind.path}"
    opened = RemoteProvider(ProviderAddress("one", base_url, key, "ONE_KEY", silence, kind.name))
    try:
        yield opened
    finally:
        await opened.aclose()


async def told_to(kind: Kind, request: ModelRequest, *, model: str = "some-model") -> Any:
    """Return the body of a request as it arrives there."""
    async with FakeModelServer() as server, provider_of(server, kind) as opened:
        server.will(kind.says("Yes."))
        _ = [piece async for piece in opened.model(model).stream(request)]
        return server.requests[-1].body


async def pieces(url: str, *, model: str = "some-model") -> list[Piece]:
    """Return everything that one call gives."""
    async with provider(url) as opened:
        return [piece async for piece in opened.model(model).stream(REQUEST)]


def text(said: list[Piece]) -> str:
    """Return the words of an answer."""
    return "".join(piece.text for piece in said if isinstance(piece, TextPiece))


async def error_of(answer: Answer, *, silence: float = 30.0) -> ModelError:
    """Return the error that ``answer`` ends in; checks that it was asked once and let go."""
    async with FakeModelServer() as server, provider(server.url, silence=silence) as opened:
        server.will(answer)
        with pytest.raises(ModelError) as caught:
            _ = [piece async for piece in opened.model("some-model").stream(REQUEST)]
        await server.until(lambda: server.open == 0)
        assert [asked.method for asked in server.requests].count("POST") == 1, (
            "the SDK must not try again by itself"
        )
        return caught.value


def calls_of(said: list[Piece]) -> list[ToolCall]:
    """Return the calls of an answer, put together from their pieces, in the order they began."""
    calls: dict[int, ToolCall] = {}
    for piece in said:
        if isinstance(piece, CallPiece):
            begun = calls.get(piece.index, ToolCall("", "", ""))
            calls[piece.index] = ToolCall(
                begun.id + piece.id, begun.name + piece.name, begun.arguments + piece.arguments
            )
    return list(calls.values())


def after(request: ModelRequest, words: str, calls: Sequence[ToolCall], *results: str) -> ModelRequest:
    """Return the next round's request: what was said, the calls and what came of them."""
    told = [ChatMessage("assistant", words, calls=tuple(calls))]
    told += [
        ChatMessage("tool", result, call_id=call.id, name=call.name)
        for call, result in zip(calls, results, strict=True)
    ]
    return replace(request, messages=(*request.messages, *told))
