"""Any ASGI app on a real socket in the test's own event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.types import ASGIApp

from agent_tui.backend.http.connection import HEAD_SECONDS, HttpServer, bound_socket


@asynccontextmanager
async def served(app: ASGIApp, *, head_seconds: float = HEAD_SECONDS) -> AsyncIterator[int]:
    """Give the port on 127.0.0.1 under which ``app`` is served for the length of the ``with``."""
    listener = bound_socket("127.0.0.1", 0)
    ready = asyncio.Event()
    server = HttpServer(app, ready.set, head_seconds=head_seconds)
    serving = asyncio.create_task(server.serve([listener]))
    try:
        await ready.wait()
        yield listener.getsockname()[1]
    finally:
        server.should_exit = True
        await serving
