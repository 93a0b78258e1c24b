"""Calls of an OpenAI-compatible endpoint, as the tests make them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from agent_tui.backend.models.endpoints import Endpoint
from agent_tui.backend.models.model import ChatMessage, ModelRequest, Piece, TextPiece
from agent_tui.backend.models.remote import RemoteProvider
from agent_tui.errors import ModelError
from tests.fakes.model_server import Answer, FakeModelServer

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
    max_tokens=321,
)


@asynccontextmanager
async def provider(url: str, *, key: str = KEY, silence: float = 30.0) -> AsyncIterator[RemoteProvider]:
    """Open a provider at ``url`` and close it in the end; ``silence`` in seconds."""
    opened = RemoteProvider(Endpoint("local", url, key, "LOCAL_KEY", silence))
    try:
        yield opened
    finally:
        await opened.aclose()


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
