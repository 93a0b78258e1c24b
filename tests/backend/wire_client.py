"""A client of the backend on bare sockets, so that tests see the very bytes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

READ_BYTES = 64 * 1024
PATIENCE_SECONDS = 60.0  # for an answer: a stream that is kept alive would be read for ever


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole answer."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True, slots=True)
class Frame:
    """One SSE frame as it came; ``raw`` is its bytes without the blank line, ``id`` is 0 for none."""

    raw: bytes
    id: int
    name: str
    data: str

    @property
    def fields(self) -> Any:
        return json.loads(self.data)


def parse_frame(raw: bytes) -> Frame | None:
    """Return the frame of one block, None for a comment; asserts the framing to the letter."""
    if raw == b": keep-alive":
        return None
    lines = raw.decode().split("\n")
    if lines[0] == "event: queue_changed":  # the only one that may have no id
        lines.insert(0, "id: 0")
    assert [line.split(": ", 1)[0] for line in lines] == ["id", "event", "data"], raw
    values = [line.split(": ", 1)[1] for line in lines]
    return Frame(raw, int(values[0]), values[1], values[2])


@dataclass(slots=True)
class Stream:
    """An open answer: its head, then its body as it comes."""

    status: int
    headers: Mapping[str, str]
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    rest: bytes = b""
    comments: int = 0
    _buffer: bytearray = field(default_factory=bytearray)

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield the chunks of a chunked body; returns at its end, raises when the connection breaks."""
        while True:
            size = int((await self.reader.readuntil(b"\r\n")).strip(), 16)
            chunk = await self.reader.readexactly(size + 2)
            if size == 0:
                return
            yield chunk[:-2]

    async def frames(self) -> AsyncIterator[Frame]:
        """Yield the frames of an event stream; keep-alive comments are counted."""
        async for chunk in self.chunks():
            self._buffer += chunk
            *blocks, tail = bytes(self._buffer).split(b"\n\n")
            self._buffer[:] = tail
            for block in blocks:
                frame = parse_frame(block)
                if frame is None:
                    self.comments += 1
                else:
                    yield frame
        assert not self._buffer, "the stream ended within a frame"


@dataclass(frozen=True, slots=True)
class WireClient:
    """Calls to one backend; every call has a connection of its own."""

    port: int
    token: str | None = None
    host: str = "127.0.0.1"

    def request(
        self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None
    ) -> bytes:
        """Return the request's bytes; ``body`` is JSON, or bytes sent as they are."""
        payload = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        fields = {"host": f"{self.host}:{self.port}", "connection": "close"}
        if self.token is not None:
            fields["authorization"] = f"Bearer {self.token}"
        if payload or method in ("POST", "PATCH", "PUT"):
            fields["content-length"] = str(len(payload))
        fields |= headers or {}
        head = "".join(f"{name}: {value}\r\n" for name, value in fields.items() if value != "-")
        return f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode("latin-1") + payload

    @asynccontextmanager
    async def open(
        self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None
    ) -> AsyncIterator[Stream]:
        """Send a request and give its answer as it comes; leaves when the ``with`` does."""
        reader, writer = await asyncio.open_connection(self.host, self.port, limit=2**24)
        try:
            writer.write(self.request(method, path, body, headers))
            await writer.drain()
            yield await read_head(reader, writer)
        finally:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()

    async def call(
        self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None
    ) -> Answer:
        """Send a request and return the whole answer."""
        async with asyncio.timeout(PATIENCE_SECONDS), self.open(method, path, body, headers) as stream:
            if stream.headers.get("transfer-encoding") == "chunked":
                content = b"".join([chunk async for chunk in stream.chunks()])
            else:
                content = await stream.reader.read()
        return Answer(stream.status, stream.headers, content)

    async def frames(
        self, method: str, path: str, *, until: str = "", headers: Mapping[str, str] | None = None
    ) -> list[Frame]:
        """Return a stream's frames up to its end, or up to the first frame called ``until``.

        Raises ``TimeoutError`` when neither comes.
        """
        frames = []
        async with asyncio.timeout(PATIENCE_SECONDS), self.open(method, path, headers=headers) as stream:
            assert stream.status == 200, await stream.reader.read(1000)
            async for frame in stream.frames():
                frames.append(frame)
                if frame.name == until:
                    break
        return frames


async def read_head(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Stream:
    """Return an answer whose head has been read."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    headers = {}
    for line in head[1:-2]:
        name, _, value = line.partition(": ")
        headers[name.lower()] = value
    return Stream(int(head[0].split(" ")[1]), headers, reader, writer)
