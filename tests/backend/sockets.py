"""WebSockets in tests: what comes until the end, and that nothing of them is left behind."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed

from tests.backend.chat_backend import ChatBackend
from tests.backend.wire_client import PATIENCE_SECONDS


async def send_all(socket: ClientConnection, messages: Iterable[str | bytes | list[str]]) -> None:
    """Send messages, lists as fragments, until the server closes."""
    with suppress(ConnectionClosed):
        for message in messages:
            await socket.send(message)


async def until_closed(socket: ClientConnection) -> tuple[list[dict[str, Any]], int]:
    """Return the frames that still come, and the code of the close (0: there was none)."""
    frames: list[dict[str, Any]] = []
    while True:
        try:
            frames.append(json.loads(await socket.recv()))
        except ConnectionClosed as closed:
            return frames, 0 if closed.rcvd is None else closed.rcvd.code


async def until_quiet(backend: ChatBackend) -> None:
    """Wait until nobody is connected and nothing is answered."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while backend.engine.runs.number() or backend.traffic.under_way or backend.hub.readers():  # noqa: ASYNC110 - nothing tells us
            await asyncio.sleep(0)
