"""The transport to an MCP server with an address: streamable HTTP, with a token and a limit for answers.

Imported with ``mcp`` itself, only when an MCP server is first needed.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import httpx2
from mcp.client.streamable_http import streamable_http_client

from agent_tui.backend.bounded import BoundedBody
from agent_tui.config.presets import LOOPBACK
from agent_tui.config.tools import McpConfig
from agent_tui.tls import tls_context

if TYPE_CHECKING:  # a name only for type checkers: the package does not export it
    from mcp.client._transport import TransportStreams

CONNECT_SECONDS = 10.0
PROBE_SECONDS = 3.0
MAX_PROBE_BYTES = 4_096
MAX_BODY_BYTES = 8 * 1024 * 1024


@asynccontextmanager
async def http_transport(
    config: McpConfig, on_status: Callable[[int], None]
) -> AsyncGenerator[TransportStreams]:
    """Connect to the server at ``config.url``; the token is the environment's.

    ``on_status`` is called with the status of every answer to a message, which the package does not tell.
    Raises ``ConfigError`` if the environment names certificates that cannot be read.
    """

    async def status(response: httpx2.Response) -> None:
        if response.request.method == "POST":
            on_status(response.status_code)

    async with (
        await _client(config, [status, _limit]) as client,
        streamable_http_client(config.url, http_client=client, max_sse_event_size=MAX_BODY_BYTES) as streams,
    ):
        yield streams


async def speaks_older_transport(config: McpConfig) -> bool:
    """Return whether the server uses HTTP+SSE, the transport of the protocol's version 2024-11-05: a GET is
    answered with events, the first of which is ``endpoint``.
    """
    start = b""
    with suppress(httpx2.HTTPError, TimeoutError):
        async with asyncio.timeout(PROBE_SECONDS), await _client(config, []) as client:
            request = client.stream("GET", config.url, headers={"Accept": "text/event-stream"})
            async with request as response:
                if "text/event-stream" not in response.headers.get("content-type", ""):
                    return False
                async for data in response.aiter_raw():
                    start += data
                    if b"\n\n" in start.replace(b"\r\n", b"\n") or len(start) > MAX_PROBE_BYTES:
                        break
    return b"event: endpoint" in start


async def _client(
    config: McpConfig, hooks: list[Callable[[httpx2.Response], Awaitable[None]]]
) -> httpx2.AsyncClient:
    token = os.environ.get(config.token_env, "") if config.token_env else ""
    return httpx2.AsyncClient(
        headers={"Accept-Encoding": "identity", **({"Authorization": f"Bearer {token}"} if token else {})},
        # An event stream may be silent for long; every call has a time limit of its own.
        timeout=httpx2.Timeout(CONNECT_SECONDS, read=None),
        verify=await asyncio.to_thread(tls_context, None, os.environ),
        trust_env=urlsplit(config.url).hostname not in LOOPBACK,  # a proxy cannot reach these addresses
        event_hooks={"response": hooks},
    )


async def _limit(response: httpx2.Response) -> None:
    """End an answer with an error if it is compressed or too large; events have their own limit."""
    is_stream = "text/event-stream" in response.headers.get("content-type", "")
    response.stream = BoundedBody(response, 0 if is_stream else MAX_BODY_BYTES, _refuse)


def _refuse(title: str, detail: str) -> httpx2.ReadError:
    return httpx2.ReadError(f"{title}: {detail}")
