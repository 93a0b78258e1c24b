"""The connections under ``net``: a pool for each way out, and the sockets of one request."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from typing import Any

import httpx

from agent_tui.clients.routes import Routes


class Sockets:
    """The sockets one request opened: a handshake that is cancelled or fails leaves them open otherwise."""

    def __init__(self) -> None:
        self._opened: list[Any] = []

    async def trace(self, event: str, info: Mapping[str, Any]) -> None:
        """Listen to httpx's ``trace`` extension."""
        if event.endswith("connect_tcp.complete"):
            self._opened.append(info["return_value"])

    async def aclose(self) -> None:
        for stream in self._opened:
            await stream.aclose()


class Pools(httpx.AsyncBaseTransport):
    """One connection pool for each route, made when it is first used."""

    def __init__(self, routes: Routes, limits: httpx.Limits) -> None:
        self._routes = routes
        self._limits = limits
        self._pools: dict[tuple[bool, str | None], httpx.AsyncHTTPTransport] = {}

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        tls, proxy = self._routes.route(str(request.url))
        key = (tls is not None, proxy)
        if key not in self._pools:
            proxy_tls = tls if (proxy or "").startswith("https:") else None
            self._pools[key] = httpx.AsyncHTTPTransport(
                # A context that trusts nobody costs nothing and can do no harm where no TLS is spoken.
                verify=tls or ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),
                proxy=httpx.Proxy(proxy, ssl_context=proxy_tls) if proxy else None,
                limits=self._limits,
                trust_env=False,
            )
        return await self._pools[key].handle_async_request(request)

    async def aclose(self) -> None:
        for pool in list(self._pools.values()):  # a request under way may add one
            await pool.aclose()
