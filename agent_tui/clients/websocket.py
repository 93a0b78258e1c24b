"""The one place that speaks WebSocket: proxies, TLS, time-outs, and what refusals and closes mean."""

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

from agent_tui.causes import reason, tls_cause
from agent_tui.clients.answers import refusal
from agent_tui.clients.routes import Routes
from agent_tui.errors import (
    AgentBusy,
    AgentTuiError,
    ConnectFailed,
    ProtocolError,
    StreamLost,
    TimedOut,
)
from agent_tui.inert import inert_line
from agent_tui.tls import tls_failure

OPEN_SECONDS = 10.0
CLOSE_SECONDS = 5.0
PING_SECONDS = 20.0
PONG_SECONDS = 10.0
MAX_FRAME_BYTES = 8 * 1024 * 1024
POLICY_VIOLATION = 1008
CONFLICT = 409
MAX_REASON_CHARACTERS = 200


def socket_url(base_url: str, path: str) -> str:
    """Return the address of a socket beside an HTTP address: http → ws, https → wss."""
    parts = urlsplit(base_url)
    scheme = {"http": "ws", "https": "wss"}.get(parts.scheme, parts.scheme)
    return parts._replace(scheme=scheme, path=f"{parts.path.rstrip('/')}/{path.lstrip('/')}").geturl()


@asynccontextmanager
async def open_socket(
    url: str, authorization: str = "", environ: Mapping[str, str] | None = None
) -> AsyncGenerator[ClientConnection, None]:
    """Open a socket to ``url`` (ws or wss) and close it; ``authorization`` is the whole header.

    Raises ``TransportError``, ``Refused`` (also ``Unauthorized``, ``AgentBusy``) or ``ProtocolError`` for a
    handshake that fails. What is received may raise ``ConnectionClosed``: see ``lost``.
    """
    tls, proxy = Routes(os.environ if environ is None else environ, None).route(url)
    connecting = connect(
        url,
        ssl=tls,
        proxy=proxy,
        additional_headers={"Authorization": authorization} if authorization else None,
        open_timeout=OPEN_SECONDS,
        close_timeout=CLOSE_SECONDS,
        ping_interval=PING_SECONDS,
        ping_timeout=PONG_SECONDS,
        max_size=MAX_FRAME_BYTES,
    )
    where = _origin(url)
    try:
        socket = await connecting
    except (InvalidHandshake, InvalidURI, TimeoutError, OSError, EOFError) as error:
        raise _failure(error, where) from error
    async with socket:
        yield socket


def lost(error: ConnectionClosed) -> AgentTuiError:
    """Return our error for a socket that closed before its last frame."""
    received = error.rcvd
    if received is None:
        return StreamLost("the connection broke off")
    said = inert_line(received.reason, MAX_REASON_CHARACTERS) or f"code {received.code}"
    if received.code == POLICY_VIOLATION:
        return AgentBusy("the server closed the connection", said)
    return StreamLost("the server closed the connection", said)


def _failure(error: Exception, where: str) -> AgentTuiError:
    if (tls := tls_cause(error)) is not None:
        return tls_failure(tls, where)
    match error:
        case InvalidStatus(response=response):
            headers = {name.lower(): value for name, value in response.headers.raw_items()}
            refused = refusal(response.status_code, headers, bytes(response.body or b""))
            if response.status_code == CONFLICT:
                return AgentBusy(str(refused), status=CONFLICT)
            return refused
        case InvalidProxyStatus() | InvalidProxyMessage() | ProxyError():
            return ConnectFailed(f"cannot connect to {where} through the proxy", inert_line(str(error)))
        case InvalidMessage() if isinstance(error.__cause__, EOFError | OSError):
            return StreamLost(f"{where} closed the connection without an answer")
        case InvalidHandshake() | InvalidURI():
            return ProtocolError(f"{where} does not answer as a WebSocket", inert_line(str(error)))
        case TimeoutError():
            return TimedOut(f"no answer from {where}", f"{OPEN_SECONDS:g} s passed")
        case _:
            return ConnectFailed(f"cannot connect to {where}", reason(error))


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"
