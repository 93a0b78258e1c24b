"""The only module that uses WebSocket: proxies, TLS, time-outs, and the meaning of refusals and closes."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import (
    ConnectionClosed,
    InvalidHandshake,
    InvalidMessage,
    InvalidProxyMessage,
    InvalidProxyStatus,
    InvalidStatus,
    InvalidURI,
    ProxyError,
)
from websockets.frames import Close, CloseCode

from agent_tui.causes import reason, tls_cause
from agent_tui.clients.answers import refusal, unexpected
from agent_tui.clients.proxy import resolve_proxy
from agent_tui.config.tools import TOOL_HEADER, TOOL_VARIABLE
from agent_tui.model.errors import (
    AgentBusy,
    AgentTuiError,
    ConnectFailed,
    ProtocolError,
    StreamLost,
    TransportError,
)
from agent_tui.model.inert import inert_line
from agent_tui.redaction import secrets_of
from agent_tui.tls import tls_context, tls_failure

OPEN_SECONDS = 10.0
CLOSE_SECONDS = 5.0
PING_SECONDS = 20.0
PONG_SECONDS = 10.0
MAX_FRAME_BYTES = 16 * 1024 * 1024
POLICY_VIOLATION = 1008
RESTARTS = frozenset({1001, 1012, 1013})  # the server will be back soon
CONFLICT = 409
MAX_REASON_CHARACTERS = 200

# Reasons of a close by the server for which another try is no better.
_CLOSED_BY_SERVER = {
    1000: "the server closed the connection before the end",
    1001: "the server is shutting down",
    1002: "the server says that the WebSocket protocol was broken",
    1003: "the server takes no message of this kind",
    1007: "the server says that a message was not UTF-8",
    1009: "the server takes no message of this size",
    1011: "the server failed",
    1012: "the server restarts",
    1013: "the server asks to try again later",
}
_LASTING = frozenset({1002, 1003, 1007, 1009})


def socket_url(base_url: str, path: str) -> str:
    """Return the address of a socket at an HTTP address: http → ws, https → wss."""
    parts = urlsplit(base_url)
    scheme = {"http": "ws", "https": "wss"}.get(parts.scheme, parts.scheme)
    return parts._replace(scheme=scheme, path=f"{parts.path.rstrip('/')}/{path.lstrip('/')}").geturl()


@asynccontextmanager
async def open_socket(
    url: str,
    authorization: str = "",
    environ: Mapping[str, str] | None = None,
    *,
    ping_seconds: float = PING_SECONDS,
    pong_seconds: float = PONG_SECONDS,
    close_seconds: float = CLOSE_SECONDS,
    max_bytes: int = MAX_FRAME_BYTES,
) -> AsyncGenerator[ClientConnection, None]:
    """Open a socket to ``url`` (ws or wss) and close it at the end; ``authorization`` is the whole header.

    A ping is sent every ``ping_seconds`` and must be answered within ``pong_seconds``; a server has
    ``close_seconds`` to close its side; a message has at most ``max_bytes``. Raises ``TransportError``,
    ``Refused`` (also ``Unauthorized``, ``AgentBusy``) or ``ProtocolError`` for a handshake that fails.
    Receiving may raise ``ConnectionClosed``: see ``closed_error``.
    """
    environ = os.environ if environ is None else environ
    proxy = resolve_proxy(url, environ)
    is_tls = url.startswith("wss:")
    headers = {TOOL_HEADER: "1"} if TOOL_VARIABLE in environ else {}
    if authorization:
        headers["Authorization"] = authorization
    connecting = connect(
        url,
        ssl=tls_context(None, environ) if is_tls else None,
        proxy=proxy,
        additional_headers=headers,
        open_timeout=OPEN_SECONDS,
        close_timeout=close_seconds,
        ping_interval=ping_seconds,
        ping_timeout=pong_seconds,
        max_size=max_bytes,
    )
    where = _origin(url)
    try:
        socket = await connecting
    except (InvalidHandshake, InvalidURI, TimeoutError, OSError, EOFError) as error:
        raise _failure(error, where, secrets_of(authorization)) from error
    try:
        yield socket
    finally:
        await socket.close()  # after an exception, such as GeneratorExit, the library itself sends 1011


def closed_error(error: ConnectionClosed, *, may_be_busy: bool = True) -> AgentTuiError:
    """Return our error for a socket that closed before its last frame. Code 1008 means that somebody else
    uses what it leads to, if that ``may_be_busy``: not any more once it answered.
    """
    received, sent = error.rcvd, error.sent
    if sent is not None and not error.rcvd_then_sent and (ours := _closed_by_us(sent)) is not None:
        return ours
    if received is None:
        return StreamLost("the connection broke off")
    said = inert_line(received.reason, MAX_REASON_CHARACTERS) or f"code {received.code}"
    if received.code == POLICY_VIOLATION and may_be_busy:
        return AgentBusy("the server closed the connection", said)
    title = _CLOSED_BY_SERVER.get(received.code, "the server closed the connection")
    return StreamLost(title, said, retryable=received.code not in _LASTING)


def _closed_by_us(sent: Close) -> StreamLost | None:
    match sent.code:
        case CloseCode.MESSAGE_TOO_BIG:
            return StreamLost("the server sent a message that is too large", sent.reason, retryable=False)
        case CloseCode.INVALID_DATA:
            return StreamLost("the server sent text that is not UTF-8", sent.reason, retryable=False)
        case CloseCode.PROTOCOL_ERROR:
            return StreamLost("the server broke the WebSocket protocol", sent.reason, retryable=False)
        case CloseCode.INTERNAL_ERROR:  # the library's keepalive
            return StreamLost("the server stopped answering", sent.reason)
        case _:
            return None


def _failure(error: Exception, where: str, secrets: tuple[str, ...]) -> AgentTuiError:
    if (tls := tls_cause(error)) is not None:
        return tls_failure(tls, where)
    match error:
        case InvalidStatus(response=response):
            headers = {name.lower(): value for name, value in response.headers.raw_items()}
            body = bytes(response.body or b"")
            if response.status_code < 400:  # a page, such as that of a captive portal
                kind = headers.get("content-type", "")
                return unexpected(response.status_code, kind, body, "a WebSocket", secrets)
            refused = refusal(response.status_code, headers, body, secrets)
            if response.status_code == CONFLICT:
                return AgentBusy(str(refused), status=CONFLICT)
            if isinstance(refused, TransportError):
                wish, again = refused.retry_after, refused.retryable
                return ConnectFailed(refused.title, refused.detail, retryable=again, retry_after=wish)
            return refused
        case InvalidProxyStatus() | InvalidProxyMessage() | ProxyError():
            return ConnectFailed(f"cannot connect to {where} through the proxy", inert_line(str(error)))
        case InvalidMessage() if isinstance(error.__cause__, EOFError | OSError):
            return ConnectFailed(f"{where} closed the connection without an answer")
        case InvalidHandshake() | InvalidURI():
            return ProtocolError(f"{where} does not answer as a WebSocket", inert_line(str(error)))
        case TimeoutError():
            return ConnectFailed(f"no answer from {where}", f"{OPEN_SECONDS:g} s passed")
        case _:
            return ConnectFailed(f"cannot connect to {where}", reason(error))


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"
