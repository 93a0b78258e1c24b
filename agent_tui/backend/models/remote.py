"""Any provider over HTTP as a ``Model``, opened at its first call.

Nothing heavy is imported here: pydantic-ai and the SDK below it take more than a second, which rooms with the
demo model never need. The calls are in ``remote_calls``, their errors in ``remote_errors``.
"""

from __future__ import annotations

import asyncio
import gc
import sys
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TYPE_CHECKING

from agent_tui.backend.models.endpoints import ProviderAddress, with_key
from agent_tui.backend.models.model import ModelRequest, Piece
from agent_tui.model.errors import ModelError

if TYPE_CHECKING:
    from agent_tui.backend.models.remote_calls import ProviderConnection

WRONG_KEY = (401, 403)


class RemoteProvider:
    """One provider: its models share one HTTP client, opened at the first call, closed by ``aclose``."""

    def __init__(self, endpoint: ProviderAddress) -> None:
        self.contexts: dict[str, int] = {}  # model → the size of its context, when known
        self._endpoint = endpoint
        self._connection: ProviderConnection | None = None
        self._opening = asyncio.Lock()
        self._replaced: list[ProviderConnection] = []
        self._closed = False

    def model(self, name: str) -> RemoteModel:
        """Return the provider's model of that name; many turns may use it at once."""
        return RemoteModel(self, name)

    async def connection(self) -> ProviderConnection:
        """Return the open connection pool; opening it again after ``aclose`` is a mistake of the caller."""
        async with self._opening:
            if self._closed:
                raise RuntimeError("the provider is closed")
            if self._connection is None:
                # In a thread: the imports and the reading of the certificates take 1.5 s, in which the
                # other rooms' words, keys and heartbeats must continue.
                self._connection = await asyncio.to_thread(_connect, self._endpoint, self.contexts)
            return self._connection

    def refuses(self, name: str) -> frozenset[str]:
        """Return what the model of that name does not take, as far as that is known by now."""
        return frozenset() if self._connection is None else self._connection.refuses(name)

    async def forget_key(self) -> None:
        """Have the next call read the keyring again, where a person may change the key that was refused."""
        async with self._opening:
            if self._endpoint.in_keyring and self._connection is not None:
                self._replaced.append(self._connection)  # other turns may still be using it
                self._connection = None

    async def aclose(self) -> None:
        """Close the HTTP client; idempotent."""
        async with self._opening:
            self._closed = True
            connection, self._connection = self._connection, None
            replaced, self._replaced = self._replaced, []
        for open_connection in (*replaced, connection):
            if open_connection is not None:
                await open_connection.aclose()


async def list_models(endpoint: ProviderAddress) -> tuple[str, ...]:
    """Return the names of the provider's models, in its order; raises ``ModelError``.

    Raises ``ConfigError`` if its key is in a keyring that cannot be used.
    """
    async with aclosing(RemoteProvider(endpoint)) as provider:
        return await (await provider.connection()).listing.names()


def _connect(endpoint: ProviderAddress, contexts: dict[str, int]) -> ProviderConnection:
    keyed = with_key(endpoint)
    modules_before = len(sys.modules)
    gc.disable()  # imported modules stay: looking for garbage in them would take an eighth of the time
    try:
        # Not imported at the top: architecture.md §3, contract 7, and rooms that need no provider.
        from agent_tui.backend.models.remote_calls import connect

        return connect(keyed, contexts)
    finally:
        if len(sys.modules) > modules_before:
            gc.freeze()
        gc.enable()


class RemoteModel:
    """One model of a provider."""

    def __init__(self, provider: RemoteProvider, name: str) -> None:
        self._provider = provider
        self._name = name

    @property
    def name(self) -> str:
        return self._name

    async def context_tokens(self, _: ModelRequest) -> int:
        """Return the size of its context, as far as its server says; raises ``ModelError``."""
        return await (await self._provider.connection()).context_tokens(self._name)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Piece]:
        """Yield the answer; see ``Model.stream``. Uses this model's name, not ``request.model``."""
        connection = await self._provider.connection()
        try:
            async with aclosing(connection.stream(self._name, request)) as pieces:
                async for piece in pieces:
                    yield piece
        except ModelError as error:
            if error.status in WRONG_KEY:
                await self._provider.forget_key()
            raise
