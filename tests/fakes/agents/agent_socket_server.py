"""A server of the agent socket as others run it, written from protocols.md §4 alone.

It does what it is told, a list of actions: a ``dict`` is sent as a frame, ``str`` and ``bytes`` as they are,
a function is called with the connection. ``answers`` has such a list for each coming question, ``greetings``
for each coming connection (by default ``STATUS``), ``refusals`` an HTTP status for each coming handshake, 0
to let it pass.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from websockets.asyncio.server import ServerConnection, serve
from websockets.datastructures import Headers
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response

Call = Callable[[ServerConnection], Awaitable[None]]
Action = dict[str, Any] | str | bytes | Call

STATUS: dict[str, Any] = {"type": "STATUS"}
GOODBYE: dict[str, Any] = {"type": "GRACEFUL_DISCONNECT"}
CHAT_PATH = re.compile(r"/v1/agent_ws/([^/]+)/")


def text(words: str, source: str = "main") -> dict[str, Any]:
    return {"type": "AGENT_EVENT_TEXT_CHUNK", "text": words, "source": source}


def call(name: str | None, arguments: str | None = None, source: str = "main") -> dict[str, Any]:
    fields: dict[str, Any] = {"type": "AGENT_EVENT_TOOL_CALL_CHUNK", "source": source}
    if name is not None:
        fields["tool_name"] = name
    if arguments is not None:
        fields["args_chunk"] = arguments
    return fields


def result(name: str, content: object, source: str = "main") -> dict[str, Any]:
    return {"type": "AGENT_EVENT_TOOL_RESULT", "tool_name": name, "result": content, "source": source}


def update(payload: dict[str, Any], source: str = "main") -> dict[str, Any]:
    return {"type": "AGENT_EVENT_CUSTOM_UPDATE", "payload": payload, "source": source}


def file(path: str) -> dict[str, Any]:
    return {"type": "AGENT_EVENT_SEND_FILE", "path": path}


def client_call(call_id: str, name: str, args: object) -> dict[str, Any]:
    return {"type": "AGENT_EVENT_CLIENT_TOOL_CALL", "call_id": call_id, "tool_name": name, "args": args}


def end(tokens: int = 7) -> dict[str, Any]:
    return {"type": "AGENT_EVENT_END", "tokens_used": tokens}


def error(code: object, details: object) -> dict[str, Any]:
    return {"type": "ERROR", "code": code, "details": details}


def close(code: int, reason: str = "") -> Call:
    """Close with a code."""

    async def act(socket: ServerConnection) -> None:
        await socket.close(code, reason)

    return act


def waits(event: asyncio.Event) -> Call:
    """Go on once a test says so."""

    async def act(socket: ServerConnection) -> None:
        await event.wait()

    return act


async def abort(socket: ServerConnection) -> None:
    """Reset the TCP connection."""
    socket.transport.abort()


async def deaf(socket: ServerConnection) -> None:
    """Read nothing any more, no ping either."""
    socket.transport.pause_reading()


async def forever(socket: ServerConnection) -> None:
    """Say nothing more until the client leaves."""
    await socket.wait_closed()


def fragments(frame: dict[str, Any], count: int) -> Call:
    """Send one frame in so many pieces."""

    async def act(socket: ServerConnection) -> None:
        whole = json.dumps(frame)
        size = max(1, len(whole) // count)

        async def pieces() -> AsyncIterator[str]:
            for start in range(0, len(whole), size):
                yield whole[start : start + size]

        await socket.send(pieces())

    return act


def not_utf8(data: bytes = b'{"type": "\xff"}') -> Call:
    """Send a text message whose bytes are no UTF-8."""

    async def act(socket: ServerConnection) -> None:
        await socket.send(data, text=True)

    return act


@dataclass(slots=True)
class AgentSocketServer:
    """What became known: ``paths`` and ``headers`` of the handshakes, ``received`` frames of clients.

    Without ``answers`` it echoes the question. ``held`` are chats that another client has: ``busy`` says how
    they are refused, by HTTP status or, as a server does that accepts first, by close code. ``fixed`` is the
    only path of an older server, which knows no chat ids.
    """

    url: str = ""
    greetings: list[Sequence[Action]] = field(default_factory=list)
    answers: list[Sequence[Action]] = field(default_factory=list)
    refusals: list[int] = field(default_factory=list)
    held: set[str] = field(default_factory=set)
    busy: int = 403
    fixed: str = ""
    paths: list[str] = field(default_factory=list)
    headers: list[Headers] = field(default_factory=list)
    received: list[dict[str, Any]] = field(default_factory=list)
    open: int = 0
    closed: list[int | None] = field(default_factory=list)  # codes that clients closed with
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def until(self, holds: Callable[[AgentSocketServer], object]) -> None:
        """Wait until ``holds(self)``; a test's own time-out bounds it."""
        async with self.changed:
            await self.changed.wait_for(lambda: holds(self))

    @property
    def texts(self) -> list[str]:
        """Return the questions that came."""
        return [frame["text"] for frame in self.received if frame["type"] == "USER_MESSAGE"]

    async def _note(self) -> None:
        async with self.changed:
            self.changed.notify_all()

    def check(self, socket: ServerConnection, request: Request) -> Response | None:
        """Refuse a handshake."""
        self.paths.append(request.path)
        self.headers.append(request.headers)
        path = request.path.partition("?")[0]
        chat = CHAT_PATH.fullmatch(path)
        status = self.refusals.pop(0) if self.refusals else 0
        if not status and (path != self.fixed if self.fixed else chat is None):
            status = 404
        if not status and chat and chat.group(1) in self.held and self.busy < 1000:
            status = self.busy
        return socket.respond(HTTPStatus(status), "") if status else None

    async def serve(self, socket: ServerConnection) -> None:
        """Serve one client."""
        assert socket.request is not None
        chat = CHAT_PATH.fullmatch(socket.request.path.partition("?")[0])
        name = chat.group(1) if chat else ""
        if name in self.held:
            await socket.close(self.busy, f"chat {name} is busy")
            return
        if name:
            self.held.add(name)
        self.open += 1
        await self._note()
        try:
            await self._talk(socket)
        except ConnectionClosed:
            pass
        finally:
            self.held.discard(name)
            self.open -= 1
            await socket.wait_closed()
            self.closed.append(socket.protocol.close_code)
            await self._note()

    async def _talk(self, socket: ServerConnection) -> None:
        await self._do(socket, self.greetings.pop(0) if self.greetings else [STATUS])
        answering: set[asyncio.Task[None]] = set()
        try:
            async for raw in socket:
                frame = json.loads(raw)
                self.received.append(frame)
                await self._note()
                if frame["type"] == "USER_MESSAGE":
                    echo = [text(f"You said: {frame['text']}"), end()]
                    actions = self.answers.pop(0) if self.answers else echo
                    answering.add(asyncio.create_task(self._answer(socket, actions)))
        finally:
            for task in answering:
                task.cancel()
            await asyncio.gather(*answering, return_exceptions=True)

    async def _answer(self, socket: ServerConnection, actions: Sequence[Action]) -> None:
        with suppress(ConnectionClosed):
            await self._do(socket, actions)

    async def _do(self, socket: ServerConnection, actions: Sequence[Action]) -> None:
        for action in actions:
            if isinstance(action, dict):
                await socket.send(json.dumps(action))
            elif isinstance(action, str | bytes):
                await socket.send(action)
            else:
                await action(socket)


@asynccontextmanager
async def agent_socket_server(fixed: str = "") -> AsyncIterator[AgentSocketServer]:
    """Serve one on a port of its own."""
    server = AgentSocketServer(fixed=fixed)
    serving = serve(
        server.serve,
        "127.0.0.1",
        0,
        process_request=server.check,
        ping_interval=None,
        compression=None,
        close_timeout=0.2,
        max_size=None,
    )
    async with serving as listening:
        server.url = f"http://127.0.0.1:{next(iter(listening.sockets)).getsockname()[1]}/"
        yield server
