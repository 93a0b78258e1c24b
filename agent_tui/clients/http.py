"""The only module that uses httpx: calls and streams, the token, and our own errors for failures.

httpx pools connections and supports proxies. Added here, each with a test that shows the need: bodies are
unpacked in pieces of a limited size (64 KiB of gzip in gzip become gigabytes), a redirect sends no POST to
another origin and makes no GET of it, the body of a redirect is not read (httpx unpacks all of it before it
follows), the token goes to one origin only, and a cancelled call leaves no socket open.
"""

from __future__ import annotations

import asyncio
import os
import ssl
import zlib
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from json import loads
from math import isfinite
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

import httpx
from socksio.exceptions import SOCKSError

from agent_tui import __version__
from agent_tui.causes import reason, tls_cause
from agent_tui.clients.answers import EXCERPT_BYTES, MAX_DETAIL_CHARACTERS, parse_json, refusal, unexpected
from agent_tui.clients.proxy import resolve_proxy
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
from agent_tui.redaction import redacted, redacted_values, secrets_of, shown_url
from agent_tui.tls import tls_context, tls_failure
from agent_tui.wire.content import dump

CONNECT_SECONDS = 10.0
EXCERPT_SECONDS = 5.0
# Shorter than the 5 s after which common servers close an idle connection, so that no call meets the close.
_CALLS = httpx.Limits(max_connections=None, keepalive_expiry=3.0)
# A connection of a stream is not used again, so that nothing stays open after a room was closed.
_STREAMS = httpx.Limits(max_connections=None, max_keepalive_connections=0)
MAX_REDIRECTS = 10
MAX_BODY_BYTES = 64 * 1024 * 1024
LEAST_BYTES_PER_SECOND = 1024  # of a body
PIECE_BYTES = 64 * 1024  # of the unpacked body
EVENT_STREAM = "text/event-stream"
SOCKETS = "agent_tui.sockets"  # the extension of a request with the sockets to close after it

R = TypeVar("R")

_UNDOING: set[asyncio.Task[None]] = set()
_PLAIN, _PACKED = ("", "identity"), ("gzip", "x-gzip", "deflate")
_ZLIB_OR_GZIP = zlib.MAX_WBITS | 32  # zlib reads the header itself
_NO_CONTENT = (204, 205)
_KEEP_METHOD = (307, 308)  # redirects of a call that was not carried out: method and body stay
_FAILURES = (httpx.HTTPError, SOCKSError, OSError)  # OSError: httpx does not wrap a broken TLS record


@dataclass(frozen=True, slots=True)
class StreamedResponse:
    """A streamed answer: its ``status`` (2xx), its ``headers`` (names in lower case), and its ``body`` as it
    arrives, unpacked; the body raises ``StreamLost`` if it is interrupted.
    """

    status: int
    headers: Mapping[str, str]
    body: AsyncGenerator[bytes, None]


class Net:
    """HTTP to one server. ``base_url`` may have a path; ``timeout`` is in seconds without a byte.

    ``token`` is sent as ``Authorization: Bearer`` only to the origin of ``base_url``; ``authorization`` is a
    whole header to send instead. ``ca_bundle`` replaces the trusted authorities; ``environ`` (the process's
    by default) names proxies and authorities. Raises ``ConfigError`` for an address, token, proxy or bundle
    that cannot be used.
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
        token = checked_token(token)
        self._authorization = authorization or (f"Bearer {token}" if token else "")
        self._secrets = secrets_of(self._authorization)
        self._timeout = timeout
        self._environ = dict(os.environ if environ is None else environ)
        self._ca_bundle = ca_bundle
        self._tls: ssl.SSLContext | None = None
        self._clients: dict[tuple[bool, str | None, bool], httpx.AsyncClient] = {}
        self._client(self._base)  # raises now what the first call would raise
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
        """Close every connection; later calls raise ``ConnectFailed``."""
        self._is_closed = True
        for client in list(self._clients.values()):  # a current request may add one
            await client.aclose()

    async def call(
        self,
        method: str,
        path: str,
        *,
        json: object = None,
        params: Mapping[str, str] | None = None,
        patience: float = 0.0,
    ) -> Any:
        """Return the parsed JSON of the answer, ``None`` if its body is empty; ``json`` is the body to send.

        ``path`` is percent-encoded already; ``patience`` is the seconds that the server may take in addition
        to ``timeout``, because it was asked to. Raises ``TransportError`` (``ConnectFailed``, ``StreamLost``,
        ``TimedOut``), ``Refused`` (``Unauthorized``, ``NotFound``, ``NotOffered``) or ``ProtocolError``.
        """
        return await _cancelled_once(self._call(method, self._url(path, params), json, patience))

    async def _call(self, method: str, url: httpx.URL, json: object, patience: float) -> Any:
        wait = httpx.Timeout(self._timeout + patience, connect=CONNECT_SECONDS, pool=None)
        headers = {"Accept": "application/json"}
        response = await self._open(method, url, headers, json, wait)
        try:
            await self._check_status(response)
            body = await self._whole_body(response, self._timeout + patience)
        except (StreamLost, TimedOut) as error:
            error.retryable = method == "GET"  # the server has carried out any other call
            raise
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
            raise unexpected(response.status_code, kind, body, "JSON", self._secrets) from error

    async def methods(self, path: str) -> frozenset[str] | None:
        """Return the methods of ``path``, as ``OPTIONS`` answers; none if there is no such path.

        ``None`` if the server does not say. Raises ``TransportError`` or ``ProtocolError``.
        """
        return await _cancelled_once(self._methods(self._url(path, None)))

    async def _methods(self, url: httpx.URL) -> frozenset[str] | None:
        wait = httpx.Timeout(self._timeout, connect=CONNECT_SECONDS, pool=None)
        response = await self._open("OPTIONS", url, {}, None, wait)
        try:
            await self._excerpt(response)  # reads it, so that the connection can be used again
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
    ) -> AsyncGenerator[StreamedResponse, None]:
        """Open an event stream; its status is 2xx and its type right, or 204 or 205 without a body.

        ``timeout`` limits the wait for the headers; the caller limits how long the body may be silent. Raises
        as ``call`` does.
        """
        wait = httpx.Timeout(self._timeout, connect=CONNECT_SECONDS, read=None, pool=None)
        sent = {"Accept": EVENT_STREAM, "Cache-Control": "no-cache", **(headers or {})}
        url = self._url(path, params)
        response = await _cancelled_once(self._open(method, url, sent, json, wait, is_stream=True), _close)
        try:
            await self._check_status(response)
            kind = _media_type(response)
            if response.status_code not in _NO_CONTENT and kind != EVENT_STREAM:
                excerpt = await self._excerpt(response)
                raise unexpected(response.status_code, kind, excerpt, "an event stream", self._secrets)
            async with aclosing(self._body(response)) as body:
                yield StreamedResponse(response.status_code, dict(response.headers), body)
        finally:
            await _close(response)

    def redacted_error(self, data: str) -> str:
        """Return the data of an error that a stream brought, redacted: the server may repeat what it was
        sent. Data without a secret stays as it came.
        """
        try:
            value = loads(data, parse_float=_finite, parse_constant=_finite)
        except (ValueError, RecursionError):  # no JSON, or nested too deep to be read
            return redacted(data, self._secrets)
        shown = redacted_values(value, self._secrets)
        return data if shown == value else dump(shown)

    def _url(self, path: str, params: Mapping[str, str] | None) -> httpx.URL:
        try:
            url = httpx.URL(f"{str(self._base).rstrip('/')}/{path.lstrip('/')}")
            return url.copy_merge_params(dict(params)) if params else url
        except httpx.InvalidURL as error:  # caused by an id or a cursor from the server
            raise ProtocolError("the request cannot be sent to the server", inert_line(str(error))) from error

    def _client(self, url: httpx.URL, *, is_stream: bool = False) -> httpx.AsyncClient:
        """Return the client for ``url``: direct or through a proxy, with TLS or without.

        The context for TLS costs tens of ms: it is built when it is needed. Raises ``ConfigError`` for a
        proxy or CA bundle that cannot be used.
        """
        proxy = resolve_proxy(str(url), self._environ)
        proxy_has_tls = (proxy or "").startswith("https:")
        has_tls = url.scheme == "https" or proxy_has_tls
        way = (has_tls, proxy, is_stream)
        if way not in self._clients:
            if has_tls and self._tls is None:
                self._tls = tls_context(self._ca_bundle, self._environ)
            self._clients[way] = httpx.AsyncClient(
                # A context that trusts nothing costs nothing, and is harmless without TLS.
                verify=self._tls if has_tls and self._tls else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),
                proxy=httpx.Proxy(proxy, ssl_context=self._tls if proxy_has_tls else None) if proxy else None,
                limits=_STREAMS if is_stream else _CALLS,
                trust_env=False,
            )
        return self._clients[way]

    async def _open(
        self,
        method: str,
        url: httpx.URL,
        headers: Mapping[str, str],
        json: object,
        wait: httpx.Timeout,
        *,
        is_stream: bool = False,
    ) -> httpx.Response:
        """Send a request and return the head of the answer. A GET follows redirects, everything else only 307
        and 308 at the same origin.
        """
        content = None if json is None else dump(json).encode()
        all_headers = self._headers(headers, content)
        for _ in range(MAX_REDIRECTS + 1):
            client = self._client(url, is_stream=is_stream)
            request = client.build_request(method, url, headers=all_headers, content=content, timeout=wait)
            if self._authorization and _origin(url) == _origin(self._base):  # only to our server
                request.headers["Authorization"] = self._authorization
            response = await self._send(client, request, is_stream)
            if not response.has_redirect_location:
                return response
            await _close(response)
            url = _redirect_target(response, method)
        raise ProtocolError(
            "the server redirects without end", f"{MAX_REDIRECTS} times, last to {_origin(url)}"
        )

    def _headers(self, headers: Mapping[str, str], content: bytes | None) -> list[tuple[bytes, bytes]]:
        all_headers = {
            "User-Agent": f"agent-tui/{__version__}",
            "Accept-Encoding": "identity",
            **({TOOL_HEADER: "1"} if TOOL_VARIABLE in self._environ else {}),
            **headers,
            **({"Content-Type": "application/json"} if content is not None else {}),
        }
        return [(name.encode("ascii"), value.encode()) for name, value in all_headers.items()]

    async def _send(
        self, client: httpx.AsyncClient, request: httpx.Request, is_stream: bool
    ) -> httpx.Response:
        if self._is_closed:  # httpx would raise a bare RuntimeError
            raise ConnectFailed(f"cannot connect to {_origin(request.url)}", "this connection was closed")
        seconds = CONNECT_SECONDS + (request.extensions["timeout"]["read"] or self._timeout)
        sockets: list[Any] = []

        async def trace(event: str, info: Mapping[str, Any]) -> None:
            if event.endswith("connect_tcp.complete"):
                sockets.append(info["return_value"])

        request.extensions |= {"trace": trace, SOCKETS: sockets if is_stream else []}
        response = None
        try:
            # httpx limits each step; this limits all of them, including handshakes with SOCKS proxies.
            async with asyncio.timeout(seconds):
                response = await client.send(request, stream=True, follow_redirects=False)
                return response
        except TimeoutError as error:
            raise TimedOut(f"no answer from {_origin(request.url)}", f"{seconds:g} s passed") from error
        except httpx.RemoteProtocolError as error:
            if "location header" in str(error):  # httpx reads the target of a redirect
                raise _leads_nowhere(str(error)) from error
            raise self._failure(error, request.url) from error
        except httpx.InvalidURL as error:
            raise _leads_nowhere(str(error)) from error
        except _FAILURES as error:
            raise self._failure(error, request.url) from error
        finally:
            if response is None:  # a handshake that is cancelled or fails leaves sockets open
                await _close_sockets(sockets)

    def _failure(self, error: Exception, url: httpx.URL) -> AgentTuiError:
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
                said = inert_line(str(error))  # such as "407 Proxy Authentication Required"
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
            raise refusal(status, response.headers, await self._excerpt(response), self._secrets)
        if response.is_redirect:
            raise ProtocolError(
                "the server redirects without saying where", f"HTTP {status} without a Location"
            )
        if not 200 <= status < 300:
            excerpt = await self._excerpt(response)
            raise unexpected(status, _media_type(response), excerpt, "a success or an error", self._secrets)

    async def _body(self, response: httpx.Response) -> AsyncGenerator[bytes, None]:
        """Yield the body as it arrives, unpacked in pieces of at most 64 KiB, however well it was packed."""
        packing = response.headers.get("content-encoding", "").strip().lower()
        if packing not in (*_PLAIN, *_PACKED):
            raise ProtocolError(
                "the server's answer is packed in a way we did not ask for", _detail_line(packing)
            )
        unpacker = zlib.decompressobj(_ZLIB_OR_GZIP) if packing in _PACKED else None
        try:
            # Not ``aiter_raw``, which closes the answer at its end: that could be cancelled.
            assert isinstance(response.stream, httpx.AsyncByteStream)
            async for chunk in response.stream:
                if unpacker is None:
                    yield chunk
                    continue
                piece = unpacker.decompress(chunk, PIECE_BYTES)
                while piece:
                    yield piece
                    piece = unpacker.decompress(unpacker.unconsumed_tail, PIECE_BYTES)
        except zlib.error as error:
            raise ProtocolError(
                "the server's answer is packed, but broken", _detail_line(str(error))
            ) from error
        except httpx.TimeoutException as error:
            raise TimedOut("the answer stopped coming", f"{self._timeout:g} s without a byte") from error
        except _FAILURES as error:
            raise StreamLost("the connection broke off", reason(error)) from error

    async def _whole_body(self, response: httpx.Response, seconds: float) -> bytes:
        """Return a body; raises ``TimedOut`` for one that lasts longer than ``seconds`` and what its size
        allows.
        """
        body, late_at = bytearray(), asyncio.get_running_loop().time() + CONNECT_SECONDS + seconds
        try:
            async with asyncio.timeout_at(late_at) as limit, aclosing(self._body(response)) as pieces:
                async for piece in pieces:
                    body += piece
                    if len(body) > MAX_BODY_BYTES:
                        raise ProtocolError(f"the server's answer is larger than {MAX_BODY_BYTES:,} bytes")
                    limit.reschedule(late_at + len(body) / LEAST_BYTES_PER_SECOND)
        except TimeoutError as error:
            raise TimedOut("the answer came too slowly", f"{len(body):,} bytes so far") from error
        return bytes(body)

    async def _excerpt(self, response: httpx.Response) -> bytes:
        """Return the beginning of a body that only explains an error; unreadable parts are left out."""
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
    """Return what ``work`` returns. However often the caller is cancelled, ``work`` is cancelled only once.

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


def _drop(undo: Callable[[R], Coroutine[Any, Any, None]] | None, task: asyncio.Task[R]) -> None:
    if not task.cancelled() and task.exception() is None and undo is not None:
        undoing = asyncio.create_task(undo(task.result()))
        _UNDOING.add(undoing)  # asyncio itself keeps no reference to a task
        undoing.add_done_callback(_UNDOING.discard)


async def _close(response: httpx.Response) -> None:
    """Close an answer, and the socket of a stream, too: httpx may have been interrupted before."""
    try:
        await response.aclose()
    finally:
        await _close_sockets(response.request.extensions[SOCKETS])


async def _close_sockets(sockets: list[Any]) -> None:
    for stream in sockets:
        await stream.aclose()


def _finite(number: str) -> float | None:
    """Return a number of JSON; ``None`` for what Python could not write as JSON again, such as 1e999."""
    value = float(number)
    return value if isfinite(value) else None


def _base_url(text: str) -> httpx.URL:
    try:
        url = httpx.URL(text.strip())
    except httpx.InvalidURL as error:
        raise ConfigError("that is not an address", "It should look like http://host:port.") from error
    shown = inert_line(redacted(text))
    if url.userinfo:
        raise ConfigError("the address holds a name or password", "Use AGENT_TUI_TOKEN instead.")
    if url.scheme not in ("http", "https") or not url.host:
        raise ConfigError("an address begins with http:// or https://", shown)
    if not _port_is_valid(url):
        raise ConfigError("the address has no valid port", shown)
    if url.query or url.fragment:
        raise ConfigError("the address has a ? or # part", shown)
    return url


def checked_token(token: str) -> str:
    """Return a token without the blanks around it; raises ``ConfigError`` if it cannot be sent."""
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
    """Return the target of a redirect; raises ``ProtocolError`` if we do not follow it."""
    request = response.next_request
    assert request is not None, "httpx made it of the Location"
    url = request.url
    shown = _detail_line(redacted(response.headers["location"]))
    is_kept = response.status_code in _KEEP_METHOD and _origin(response.url) == _origin(url)
    if method != "GET" and not is_kept:
        raise ProtocolError(
            f"the server redirects a {method}", f"HTTP {response.status_code} to {shown}; use that address."
        )
    if url.scheme not in ("http", "https") or not url.host or not _port_is_valid(url):
        raise _leads_nowhere(shown)
    if response.url.scheme == "https" and url.scheme == "http":
        raise ProtocolError("the server redirects from https to http", f"{shown} is not followed.")
    return url


def _leads_nowhere(detail: str) -> ProtocolError:
    return ProtocolError("the server redirects to no valid address", _detail_line(detail))


def _detail_line(text: str) -> str:
    return inert_line(text, MAX_DETAIL_CHARACTERS)
