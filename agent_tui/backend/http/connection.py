"""The HTTP listener: uvicorn on sockets we bound, with the limits it lacks.

uvicorn waits forever for a slow request head, answers broken requests in plain text, installs signal handlers
of its own and, at its end, waits for clients that do not read. Here: a head has ten seconds, errors are
problems, signals are the process's, and clients that do not leave in time are disconnected.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Callable, Iterator
from functools import partial
from http import HTTPStatus
from typing import Any, cast

import h11
from starlette.types import ASGIApp
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import Server

from agent_tui.backend.http.problem import problem
from agent_tui.model.errors import ConfigError

LISTEN_BACKLOG = 1024
HEAD_SECONDS = 10.0
MAX_HEAD_BYTES = 64 * 1024
KEEP_ALIVE_SECONDS = 75  # longer than clients keep idle connections, so that clients close first
CUT_OFF_SECONDS = 0.6  # how long clients may take to read the rest at the end
MAX_MESSAGE_BYTES = 8 * 1024 * 1024  # of a WebSocket
PING_SECONDS = 20.0  # between two pings of a WebSocket, and how long an answer may take


def bound_socket(host: str, port: int) -> socket.socket:
    """Return a socket bound to ``host`` and ``port`` (0: a free one); raises ``ConfigError``."""
    try:
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        raise ConfigError(f"--host {host}: there is no such address", str(error)) from error
    # "localhost" is often both; everyone tries IPv4.
    family, kind, protocol, _, address = min(addresses, key=lambda info: info[0] != socket.AF_INET)
    listener = socket.socket(family, kind, protocol)
    try:
        # A restart may take the port of a process that just died; a listening process keeps it.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(LISTEN_BACKLOG)
    except OSError as error:
        listener.close()
        raise ConfigError(f"Cannot listen on {host} port {port}", error.strerror or str(error)) from error
    listener.setblocking(False)
    return listener


def url_of(host: str, listener: socket.socket) -> str:
    """Return the URL of ``listener``."""
    port = listener.getsockname()[1]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class HttpConnection(H11Protocol):
    """uvicorn's h11 connection; h11 even if httptools is installed, so that all behave alike."""

    def __init__(self, *arguments: Any, head_seconds: float = HEAD_SECONDS, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._head_seconds = head_seconds
        self._head_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # uvicorn's own
        super().connection_made(transport)
        self._watch_head(waiting=True)

    def connection_lost(self, exc: Exception | None) -> None:
        self._watch_head(waiting=False)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch_head(waiting=self.conn.their_state is h11.IDLE)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        # What a client sent ahead is read only now; half a head has no further data_received.
        if self.conn.their_state is h11.IDLE and self.conn.trailing_data[0]:
            self._watch_head(waiting=True)

    def _watch_head(self, *, waiting: bool) -> None:
        if not waiting and self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None
        elif waiting and self._head_timer is None:
            self._head_timer = self.loop.call_later(self._head_seconds, self._head_is_late)

    def _head_is_late(self) -> None:
        self._head_timer = None
        if not self.transport.is_closing():
            self._refuse_request(HTTPStatus.REQUEST_TIMEOUT, "The request did not arrive in time")

    def send_400_response(self, msg: str) -> None:
        self._refuse_request(HTTPStatus.BAD_REQUEST, msg.rstrip("."))

    def _refuse_request(self, status: HTTPStatus, title: str) -> None:
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            answer = problem(status, title, headers={"connection": "close"})
            head = h11.Response(status_code=status, headers=answer.raw_headers, reason=status.phrase)
            for event in (head, h11.Data(data=bytes(answer.body)), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()


def _websocket(**named: Any) -> asyncio.Protocol:
    # Imported with the first handshake: a backend with HTTP clients only starts without it.
    from agent_tui.backend.http.websocket import WebSocketConnection

    return WebSocketConnection(**named)


class HttpServer(Server):
    """uvicorn for one app on one bound socket; ``ready`` is called when it accepts connections.

    ``head_seconds`` is how long a client may take for the head of a request.
    """

    def __init__(
        self, app: ASGIApp, ready: Callable[[], None], *, head_seconds: float = HEAD_SECONDS
    ) -> None:
        connection = partial(HttpConnection, head_seconds=head_seconds)
        config = Config(
            app,
            http=cast("type[asyncio.Protocol]", connection),  # uvicorn only calls this
            ws=cast("type[asyncio.Protocol]", _websocket),  # uvicorn only calls this
            ws_max_size=MAX_MESSAGE_BYTES,
            ws_ping_interval=PING_SECONDS,
            ws_ping_timeout=PING_SECONDS,
            ws_per_message_deflate=False,  # costs more than it saves on this machine
            lifespan="off",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=1,
            h11_max_incomplete_event_size=MAX_HEAD_BYTES,
        )
        super().__init__(config)
        self._ready = ready

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave the signals alone: the process closes its streams first, then this server."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop accepting, let answers finish, disconnect clients that do not read; about a second at most."""
        timer = asyncio.get_running_loop().call_later(CUT_OFF_SECONDS, self._cut_off)
        try:
            await super().shutdown(sockets)
        finally:
            timer.cancel()

    def _cut_off(self) -> None:
        for connection in list(self.server_state.connections):
            connection.transport.abort()
