"""Any OpenAI-compatible endpoint as a ``Model``, opened at its first call.

Nothing heavy is imported here: pydantic-ai and the SDK below it take more than a second, which rooms of
the demo model never pay. What the calls do is in ``openai_calls``, what their errors say in
``openai_errors``.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from agent_tui.backend.models.model import ModelRequest, Piece

if TYPE_CHECKING:
    from agent_tui.backend.models.openai_calls import Connection

# Seconds without a byte. Generous: a local server may load its weights before it says anything.
SILENCE_SECONDS = 180.0


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a provider is. ``base_url`` may hold ``user:password@``, which are sent as Basic
    authorisation in place of the key; ``key_name`` says in an error where the key comes from."""

    provider_id: str
    base_url: str = field(repr=False)
    key: str = field(default="", repr=False)
    key_name: str = ""
    silence_seconds: float = SILENCE_SECONDS


class OpenAIProvider:
    """One provider: its models share one HTTP client, opened at the first call, closed by ``aclose``."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._connection: Connection | None = None
        self._opening = asyncio.Lock()
        self._closed = False

    def model(self, name: str) -> OpenAIModel:
        """Return the provider's model of that name; it may be used by many turns at once."""
        return OpenAIModel(self, name)

    async def connection(self) -> Connection:
        """Return the open connection pool; opening it again after ``aclose`` is a mistake of the caller."""
        async with self._opening:
            if self._closed:
                raise RuntimeError("the provider is closed")
            if self._connection is None:
                # In a thread: the imports and the reading of the certificates take 1.5 s, in which the
                # other rooms' words, keys and heartbeats must go on.
                self._connection = await asyncio.to_thread(_connect, self._endpoint)
            return self._connection

    async def aclose(self) -> None:
        """Close the HTTP client; idempotent."""
        async with self._opening:
            self._closed = True
            connection, self._connection = self._connection, None
        if connection is not None:
            await connection.aclose()


def _connect(endpoint: Endpoint) -> Connection:
    # Here, not at the top: architecture.md §3, contract 7, and rooms that need no provider.
    from agent_tui.backend.models.openai_calls import connect

    return connect(endpoint)


class OpenAIModel:
    """One model of a provider."""

    def __init__(self, provider: OpenAIProvider, name: str) -> None:
        self._provider = provider
        self._name = name

    @property
    def name(self) -> str:
        return self._name

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Piece]:
        """Yield the answer; see ``Model.stream``. ``request.model`` is not read: this model's name is."""
        connection = await self._provider.connection()
        async with aclosing(connection.stream(self._name, request)) as pieces:
            async for piece in pieces:
                yield piece
