"""The one place that speaks HTTP: connections, time-outs, proxies, TLS, the token, redirects.

What comes out is parsed JSON or a stream of bytes, and our own errors; no other module knows httpx.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

import httpx
from socksio.exceptions import SOCKSError

from agent_tui import __version__
from agent_tui.causes import reason, tls_cause
from agent_tui.clients.answers import EXCERPT_BYTES, parse_json, refusal, unexpected
from agent_tui.clients.inflate import Inflater
from agent_tui.clients.pools import Pools, Sockets
from agent_tui.clients.proxy import resolve_proxy
from agent_tui.clients.routes import Routes
from agent_tui.config.tools import TOOL_HEADER, TOOL_VARIABLE
from agent_tui.model.errors import (
    AgentTuiError,
    ConfigError,
    ConnectFailed,
    ProtocolError,
    StreamLost,
    TimedOut,
    TransportError,
)
from agent_tui.model.inert import inert_line
from agent_tui.redaction import redacted, shown_url
from agent_tui.tls import tls_failure
from agent_tui.wire.content import dump

CONNECT_SECONDS = 10.0
EXCERPT_SECONDS = 5.0
# Shorter than the 5 s after which common servers close an idle connection: no call meets the close.
KEEPALIVE_SECONDS = 3.0
MAX_REDIRECTS = 10
MAX_BODY_BYTES = 64 * 1024 * 1024
EVENT_STREAM = "text/event-stream"
SOCKETS = "agent_tui.sockets"  # the extension of a request that holds what it opened

R = TypeVar("R")

_UNDOING: set[asyncio.Task[None]] = set()
_REDIRECTS = (301, 302, 303, 307, 308)
_NO_CONTENT = (204, 205)
_FAILURES = (httpx.HTTPError, SOCKSError, OSError)  # OSError: a broken TLS record passes httpx as it is


@dataclass(frozen=True, slots=True)
class Answer:
    """A streamed answer: its ``status`` (2xx), its ``headers`` (names in lower case) and its bytes."""

    status: int
    headers: Mapping[str, str]
    _body: AsyncGenerator[bytes, None]

    def aiter_bytes(self) -> AsyncGenerator[bytes, None]:
        """Return the body as it comes, unpacked; raises ``StreamLost`` when it breaks off."""
        return self._body


class Net:
    """HTTP to one server. ``base_url`` may have a path; ``timeout`` is in seconds without a byte.

    ``token`` goes out as ``Authorization: Bearer`` to the origin of ``base_url`` and to nobody else, or the
    whole header ``authorization`` in its place.
    ``ca_bundle`` replaces the trusted authorities; ``environ`` (the process's by default) names proxies
    and authorities. Raises ``ConfigError`` for an address, token, proxy or bundle that cannot be used.
    """

    def __init__(
        self,
        base_url: str,
        token: str = "",
        timeout: float = 30.0,
        ca_bundle: str | Path | None = None,
        *,
        environ: Mapping[str, str] | None = None,
        authorization: str = "",
    ) -> None:
        self._base = _base_url(base_url)
        token = _checked_token(token)
        self._authorization = authorization or (f"Bearer {token}" if token else "")
        self._timeout = timeout
        self._environ = dict(os.environ if environ is None else environ)
        routes = Routes(self._environ, ca_bundle)
        routes.route(str(self._base))  # complains now about what the first call would meet
        keep = httpx.Limits(max_connections=None, keepalive_expiry=KEEPALIVE_SECONDS)
        # A connection that streamed is not used again, so that nothing stays open behind a closed room.
        once = httpx.Limits(max_connections=None, max_keepalive_connections=0)
        self._calls = httpx.AsyncClient(transport=Pools(routes, keep), trust_env=False)
        self._streams = httpx.AsyncClient(transport=Pools(routes, once), trust_env=False)
        self._is_closed = False

    def __repr__(self) -> str:
        return f"Net({self.base_url!r})"

    @property
    def base_url(self) -> str:
        """Return the server's address as it may be shown."""
        return str(self._base)

    async def __aenter__(self) -> Net:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close every connection; what is asked from now on raises ``ConnectFailed``."""
        self._is_closed = True
        await self._calls.aclose()
        await self._streams.aclose()

    async def call(
        self,
        method: str,
        path: str,
        *,
        json: object = None,
        params: Mapping[str, str] | None = None,
        patience: float = 0.0,
    ) -> Any:
        """Return the parsed JSON of the answer, ``None`` when its body is empty; ``json`` is the body sent.

        ``path`` is percent-encoded already; ``patience`` is in seconds: how much longer than ``timeout`` the
        server may take, because it was asked to. Raises ``TransportError`` (``ConnectFailed``,
        ``StreamLost``, ``TimedOut``), ``Refused`` (``Unauthorized``, ``NotFound``, ``NotOffered``) or
        ``ProtocolError``.
        """
        return await _cancelled_once(self._call(method, self._url(path, params), json, patience))

    async def _call(self, method: str, url: httpx.URL, json: object, patience: float) -> Any:
        wait = httpx.Timeout(self._timeout + patience, connect=CONNECT_SECONDS, pool=None)
        headers = {"Accept": "application/json"}
        response = await self._open(self._calls, method, url, headers, json, wait)
        try:
            await self._check_status(response)
            body = await self._whole_body(response)
        finally:
            await _close(response)
        kind = _media_type(response)
        if not body.strip():
            return None
        try:
            if kind and "json" not in kind and kind != "text/plain":
                raise ValueError(kind)
            return parse_json(body)
        except ValueError as error:
            raise unexpected(response.status_code, kind, body, "JSON") from error

    async def methods(self, path: str) -> frozenset[str] | None:
        """Return the methods that ``path`` has, as ``OPTIONS`` answers it; none when there is no such path.

        ``None`` where the server does not say. Raises ``TransportError`` or ``ProtocolError``.
        """
        return await _cancelled_once(self._methods(self._url(path, None)))

    async def _methods(self, url: httpx.URL) -> frozenset[str] | None:
        wait = httpx.Timeout(self._timeout, connect=CONNECT_SECONDS, pool=None)
        response = await self._open(self._calls, "OPTIONS", url, {}, None, wait)
        try:
            await self._excerpt(response)  # read, so that the connection can be used again
        finally:
            await _close(response)
        if response.status_code == 404:
            return frozenset()
        allowed = response.headers.get("allow")
        if allowed is None or not (response.is_success or response.status_code == 405):
            return None
        return frozenset(name.strip().upper() for name in allowed.split(","))

    @asynccontextmanager
    async def stream(
        self,
        method: str,
        path: str,
        *,
        json: object = None,
        params: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> AsyncGenerator[Answer, None]:
        """Open an event stream; its status is 2xx and its type right, or 204 or 205 with no body.

        ``timeout`` bounds the wait for the headers; how long the body may be silent is the caller's to
        judge. Raises as ``call`` does.
        """
        wait = httpx.Timeout(self._timeout, connect=CONNECT_SECONDS, read=None, pool=None)
        sent = {"Accept": EVENT_STREAM, "Cache-Control": "no-cache", **(headers or {})}
        url = self._url(path, params)
        response = await _cancelled_once(self._open(self._streams, method, url, sent, json, wait), _close)
        try:
            await self._check_status(response)
            kind = _media_type(response)
            if response.status_code not in _NO_CONTENT and kind != EVENT_STREAM:
                excerpt = await self._excerpt(response)
                raise unexpected(response.status_code, kind, excerpt, "event stream")
            async with aclosing(self._body(response)) as body:
                yield Answer(response.status_code, dict(response.headers), body)
        finally:
            await _close(response, is_stream=True)

    def _url(self, path: str, params: Mapping[str, str] | None) -> httpx.URL:
        try:
            url = httpx.URL(f"{str(self._base).rstrip('/')}/{path.lstrip('/')}")
            return url.copy_merge_params(dict(params)) if params else url
        except httpx.InvalidURL as error:  # of an id or a cursor that the server gave us
            raise ProtocolError("the server cannot be asked that", inert_line(str(error))) from error

    async def _open(
        self,
        client: httpx.AsyncClient,
        method: str,
        url: httpx.URL,
        headers: Mapping[str, str],
        json: object,
        wait: httpx.Timeout,
    ) -> httpx.Response:
        """Send a request and return the answer's head, following redirects for GET only."""
        content = None if json is None else dump(json).encode()
        for _ in range(MAX_REDIRECTS + 1):
            request = client.build_request(
                method, url, headers=self._headers(url, headers, content), content=content, timeout=wait
            )
            response = await self._send(client, request)
            if response.status_code not in _REDIRECTS:
                return response
            await _close(response)
            url = _redirect_target(response, method)
        raise ProtocolError(
            "the server redirects without end", f"{MAX_REDIRECTS} times, last to {_origin(url)}"
        )

    def _headers(
        self, url: httpx.URL, headers: Mapping[str, str], content: bytes | None
    ) -> list[tuple[bytes, bytes]]:
        """Return the headers for a request to ``url``; the token only when that is our server."""
        all_headers = {
            "User-Agent": f"agent-tui/{__version__}",
            "Accept-Encoding": "identity",
            **({TOOL_HEADER: "1"} if TOOL_VARIABLE in self._environ else {}),
            **headers,
        }
        if content is not None:
            all_headers["Content-Type"] = "application/json"
        if self._authorization and _origin(url) == _origin(self._base):
            all_headers["Authorization"] = self._authorization
        return [(name.encode("ascii"), value.encode()) for name, value in all_headers.items()]

    async def _send(self, client: httpx.AsyncClient, request: httpx.Request) -> httpx.Response:
        if self._is_closed:  # httpx would raise a bare RuntimeError
            raise ConnectFailed(f"cannot connect to {_origin(request.url)}", "this connection was closed")
        seconds = CONNECT_SECONDS + (request.extensions["timeout"]["read"] or self._timeout)
        sockets = Sockets()
        request.extensions |= {"trace": sockets.trace, SOCKETS: sockets}
        response = None
        try:
            # httpx bounds each step; this bounds them all, handshakes with SOCKS proxies among them.
            async with asyncio.timeout(seconds):
                response = await client.send(request, stream=True, follow_redirects=False)
                return response
        except TimeoutError as error:
            raise TimedOut(f"no answer from {_origin(request.url)}", f"{seconds:g} s passed") from error
        except httpx.InvalidURL as error:
            raise ProtocolError("the server redirects to no valid address", inert_line(str(error))) from error
        except _FAILURES as error:
            raise self._failure(error, request.url) from error
        finally:
            if response is None:
                await sockets.aclose()

    def _failure(self, error: Exception, url: httpx.URL) -> AgentTuiError:
        """Return our error for a request that got no answer."""
        where = _origin(url)
        proxy = resolve_proxy(str(url), self._environ)
        route = f"{where} through the proxy {shown_url(proxy)}" if proxy else where
        if (tls := tls_cause(error)) is not None:
            return tls_failure(tls, where)
        match error:
            case httpx.ConnectTimeout():
                return ConnectFailed(f"cannot connect to {route}", f"no answer within {CONNECT_SECONDS:g} s")
            case httpx.TimeoutException():
                return TimedOut(f"no answer from {route}", f"{self._timeout:g} s without a byte")
            case httpx.ProxyError() | SOCKSError():
                said = inert_line(str(error))  # "407 Proxy Authentication Required", say
                return ConnectFailed(f"cannot connect to {route}", said, retryable=not said.startswith("4"))
            case httpx.ConnectError():
                return ConnectFailed(f"cannot connect to {route}", reason(error))
            case httpx.RemoteProtocolError() if "disconnected" not in str(error):
                return ProtocolError(f"{where} does not answer in HTTP", inert_line(str(error)))
            case httpx.LocalProtocolError() | httpx.UnsupportedProtocol():
                return ProtocolError(f"{where} cannot be asked that", "The request is not valid HTTP.")
            case _:
                return StreamLost(f"{where} closed the connection without an answer", reason(error))

    async def _check_status(self, response: httpx.Response) -> None:
        status = response.status_code
        if status >= 400:
            raise refusal(status, response.headers, await self._excerpt(response))
        if not 200 <= status < 300:
            raise unexpected(status, _media_type(response), await self._excerpt(response), "answer of ours")

    async def _body(self, response: httpx.Response) -> AsyncGenerator[bytes, None]:
        inflater = Inflater(response.headers.get("content-encoding", ""))
        try:
            # Not ``aiter_raw``, which closes the answer at its end: that could be cancelled.
            assert isinstance(response.stream, httpx.AsyncByteStream)
            async for chunk in response.stream:
                for piece in inflater.pieces(chunk):
                    yield piece
        except httpx.TimeoutException as error:
            raise TimedOut("the answer stopped coming", f"{self._timeout:g} s without a byte") from error
        except _FAILURES as error:
            raise StreamLost("the connection broke off", reason(error)) from error

    async def _whole_body(self, response: httpx.Response) -> bytes:
        body = bytearray()
        async with aclosing(self._body(response)) as pieces:
            async for piece in pieces:
                body += piece
                if len(body) > MAX_BODY_BYTES:
                    raise ProtocolError(f"the server's answer is larger than {MAX_BODY_BYTES:,} bytes")
        return bytes(body)

    async def _excerpt(self, response: httpx.Response) -> bytes:
        """Return the beginning of a body that only explains an error; what cannot be read is left out."""
        body = bytearray()
        with suppress(TransportError, ProtocolError, TimeoutError):
            async with asyncio.timeout(EXCERPT_SECONDS), aclosing(self._body(response)) as pieces:
                async for piece in pieces:
                    body += piece
                    if len(body) >= EXCERPT_BYTES:
                        break
        return bytes(body[:EXCERPT_BYTES])


async def _cancelled_once(
    work: Coroutine[Any, Any, R], undo: Callable[[R], Coroutine[Any, Any, None]] | None = None
) -> R:
    """Return what ``work`` returns. However often the caller is cancelled, ``work`` is only once.

    httpx leaves a socket open when a second cancellation comes while it closes the connection. ``undo`` gets
    a result that comes too late.
    """
    task = asyncio.create_task(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        task.cancel()
        task.add_done_callback(partial(_drop, undo))
        await asyncio.wait({task})
        raise


def _drop(undo: Callable[[R], Coroutine[Any, Any, None]] | None, done: asyncio.Task[R]) -> None:
    """Undo what nobody waits for any more."""
    if not done.cancelled() and done.exception() is None and undo is not None:
        undoing = asyncio.create_task(undo(done.result()))
        _UNDOING.add(undoing)  # asyncio itself does not hold on to a task
        undoing.add_done_callback(_UNDOING.discard)


async def _close(response: httpx.Response, *, is_stream: bool = False) -> None:
    """Close an answer, to the end, however often the caller is cancelled.

    httpx leaves the socket open when it is cancelled while it closes.
    """

    async def close() -> None:
        await response.aclose()
        if is_stream:  # its connection is not used again, and httpx may have been interrupted before
            await response.request.extensions[SOCKETS].aclose()

    closing = asyncio.create_task(close())
    try:
        await asyncio.shield(closing)
    except asyncio.CancelledError:
        await asyncio.wait({closing})
        raise


def _base_url(text: str) -> httpx.URL:
    try:
        url = httpx.URL(text.strip())
    except httpx.InvalidURL as error:
        raise ConfigError("that is not an address", "It should look like http://host:port.") from error
    shown = inert_line(redacted(text))
    if url.userinfo:
        raise ConfigError(
            "the address holds a name or password",
            "Use AGENT_TUI_TOKEN instead.",
        )
    if url.scheme not in ("http", "https") or not url.host:
        raise ConfigError("an address begins with http:// or https://", shown)
    if not _port_is_valid(url):
        raise ConfigError("the address has no valid port", shown)
    if url.query or url.fragment:
        raise ConfigError("the address has a ? or # part", shown)
    return url


def _checked_token(token: str) -> str:
    token = token.strip()
    if not all("!" <= char <= "~" for char in token):
        raise ConfigError("the token holds a character that cannot be sent", "Only visible ASCII can.")
    return token


def _port_is_valid(url: httpx.URL) -> bool:
    return url.port is None or 0 < url.port < 65536


def _origin(url: httpx.URL) -> str:
    return f"{url.scheme}://{url.netloc.decode('ascii')}"


def _media_type(response: httpx.Response) -> str:
    header: str = response.headers.get("content-type", "")
    return header.partition(";")[0].strip().lower()


def _redirect_target(response: httpx.Response, method: str) -> httpx.URL:
    """Return where a redirect leads; raises ``ProtocolError`` when it leads nowhere we go."""
    status, location = response.status_code, response.headers.get("location", "").strip()
    if not location:
        raise ProtocolError("the server redirects without saying where", f"HTTP {status} without a Location")
    shown = inert_line(redacted(location))
    if method != "GET":
        raise ProtocolError(
            f"the server redirects a {method}", f"HTTP {status} to {shown}; use that address."
        )
    try:
        url = response.url.join(location)
    except httpx.InvalidURL as error:
        raise ProtocolError("the server redirects to no valid address", shown) from error
    if url.scheme not in ("http", "https") or not url.host or not _port_is_valid(url):
        raise ProtocolError("the server redirects to no valid address", shown)
    if response.url.scheme == "https" and url.scheme == "http":
        raise ProtocolError("the server redirects from https to http", f"{shown} is not followed.")
    return url
