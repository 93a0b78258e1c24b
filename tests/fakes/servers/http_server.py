"""An HTTP/1.1 server on a real socket that does what a test tells it, wrong things too.

Every request gets a connection of its own, and a responder: an async function that writes the answer with a
``Reply``. The responder ends when it returns or when the client leaves.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import ssl
import struct
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Self
from urllib.parse import parse_qsl, urlsplit


@dataclass(frozen=True)
class Request:
    """What a client sent; ``path`` as it came, header names in lower case."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def path(self) -> str:
        return self.target if self.method == "CONNECT" else urlsplit(self.target).path

    @property
    def query(self) -> dict[str, str]:
        return dict(parse_qsl(urlsplit(self.target).query))


class Reply:
    """The writing side of one connection."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        self._chunked = False

    async def raw(self, data: bytes) -> None:
        """Write bytes as they are."""
        self._writer.write(data)
        await self._writer.drain()

    async def head(
        self, status: int = 200, headers: Mapping[str, str] | None = None, *, chunked: bool = True
    ) -> None:
        """Write the status line and headers; without ``chunked`` the body ends with the connection."""
        fields = {"Connection": "close", **(headers or {})}
        if chunked:
            fields["Transfer-Encoding"] = "chunked"
        self._chunked = chunked
        lines = [f"HTTP/1.1 {status} Answer", *(f"{name}: {value}" for name, value in fields.items())]
        await self.raw("\r\n".join([*lines, "", ""]).encode())

    async def send(self, data: bytes) -> None:
        """Write a piece of the body."""
        await self.raw(b"%x\r\n%s\r\n" % (len(data), data) if self._chunked else data)

    async def send_bytewise(self, data: bytes) -> None:
        """Write a piece of the body one byte at a time."""
        for n in range(len(data)):
            await self.send(data[n : n + 1])

    async def end(self) -> None:
        """End the body as it should be ended."""
        if self._chunked:
            await self.raw(b"0\r\n\r\n")

    async def reset(self) -> None:
        """Break the connection off with a TCP reset."""
        connection = self._writer.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._writer.transport.abort()

    async def stay(self) -> None:
        """Say nothing more until the client leaves."""
        await asyncio.Event().wait()


Responder = Callable[[Request, Reply], Awaitable[None]]


def answers(
    body: bytes | str = b"", status: int = 200, headers: Mapping[str, str] | None = None
) -> Responder:
    """Return a responder with a whole answer of known length."""
    data = body.encode() if isinstance(body, str) else body

    async def respond(request: Request, reply: Reply) -> None:
        await reply.head(status, {"Content-Length": str(len(data)), **(headers or {})}, chunked=False)
        await reply.raw(data)

    return respond


def answers_json(
    value: object, status: int = 200, headers: Mapping[str, str] | None = None, kind: str = "application/json"
) -> Responder:
    """Return a responder with a JSON answer."""
    return answers(json.dumps(value, ensure_ascii=False), status, {"Content-Type": kind, **(headers or {})})


def streams(
    *pieces: bytes,
    then: str = "end",
    headers: Mapping[str, str] | None = None,
    chunked: bool = True,
) -> Responder:
    """Return a responder with an event stream; ``then`` it does ``end``, ``drop``, ``reset`` or ``stay``."""

    async def respond(request: Request, reply: Reply) -> None:
        await reply.head(200, {"Content-Type": "text/event-stream", **(headers or {})}, chunked=chunked)
        for piece in pieces:
            await reply.send(piece)
        if then == "end":
            await reply.end()
        elif then == "reset":
            await reply.reset()
        elif then == "stay":
            await reply.stay()
        # "drop": the connection closes without the end of the body

    return respond


class FakeServer:
    """Listens on 127.0.0.1 while its ``async with`` lasts; keeps what it was asked in ``requests``."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.requests: list[Request] = []
        self.open = 0  # connections that the client has not closed
        self.accepted = 0
        self._tls = tls
        self._routes: dict[tuple[str, str], list[Responder]] = {}
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._changed = asyncio.Event()
        self.port = 0

    @property
    def url(self) -> str:
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self.port}"

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def start(self) -> None:
        """Listen, on the port of before if there was one."""
        self._server = await asyncio.start_server(
            self._connected, "127.0.0.1", self.port, ssl=self._tls, backlog=1024
        )
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Close the socket and every connection."""
        if self._server is not None:
            self._server.close()
            self._server = None
        await self.drop_all()

    async def drop_all(self) -> None:
        """Close every connection, as a server that dies does."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def on(self, method: str, path: str, *responders: Responder) -> None:
        """Answer such requests with each responder once, in order; the last one stays."""
        self._routes[method, path] = list(responders)

    def asked(self, method: str, path: str) -> list[Request]:
        """Return the requests of that kind so far."""
        return [r for r in self.requests if (r.method, r.path) == (method, path)]

    async def until(self, condition: Callable[[], bool]) -> None:
        """Return when ``condition`` holds; it is looked at whenever something happened here."""
        while not condition():
            self._changed.clear()
            await self._changed.wait()

    def changed(self) -> None:
        """Let ``until`` look again."""
        self._changed.set()

    def responder(self, request: Request) -> Responder:
        """Return who answers ``request``."""
        responders = self._routes.get((request.method, request.path))
        if not responders:
            return answers_json({"detail": "Not Found"}, 404)
        return responders.pop(0) if len(responders) > 1 else responders[0]

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.open += 1
        self.accepted += 1
        self.changed()
        try:
            with contextlib.suppress(ConnectionError, ssl.SSLError):
                await self._serve(reader, writer)
        except asyncio.CancelledError:
            writer.transport.abort()  # ``drop_all`` ends this task; nobody waits for its result
        finally:
            self.open -= 1
            self.changed()
            await closed(writer)
            self._tasks.discard(task)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await read_request(reader)
        if request is None:
            return
        self.requests.append(request)
        self.changed()
        answering = asyncio.ensure_future(self.responder(request)(request, Reply(writer)))
        leaving = asyncio.ensure_future(reader.read())
        both: tuple[asyncio.Future[None], asyncio.Future[bytes]] = (answering, leaving)
        try:
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for future in both:
                future.cancel()
            await asyncio.gather(*both, return_exceptions=True)
        if answering.done() and not answering.cancelled():
            answering.result()


async def read_request(reader: asyncio.StreamReader) -> Request | None:
    """Return the request, or ``None`` when the client left before it was whole."""
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    first, *lines = head.removesuffix("\r\n\r\n").split("\r\n")
    method, target, _ = first.split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Request(method, target, headers, body)


async def closed(writer: asyncio.StreamWriter) -> None:
    """Close a connection and wait until it is: one that still says its last words would outlive its test."""
    writer.close()
    try:
        await writer.wait_closed()
    except (ConnectionError, ssl.SSLError, asyncio.CancelledError):
        writer.transport.abort()


@contextlib.asynccontextmanager
async def listening(
    connected: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]],
) -> AsyncGenerator[int, None]:
    """Give the port of a bare socket server: for what does not even speak HTTP."""
    tasks: set[asyncio.Task[None]] = set()

    async def accepted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            await connected(reader, writer)
        finally:
            await closed(writer)
            tasks.discard(task)

    server = await asyncio.start_server(accepted, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
