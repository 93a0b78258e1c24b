"""A provider's endpoint on 127.0.0.1 that says what a test tells it to, in plain asyncio.

    async with FakeModelServer() as server:
        server.will(says("Hel", "lo"), fails(429))
        … point a client at server.url …
        await server.until(lambda: server.open == 0)

Answers are taken in the order they were given; when none is left, ``default`` is said. Framing facts:
one ``data: {chunk}`` per piece, ``data: [DONE]`` last, as the Chat Completions API streams. How the other
kinds say theirs is in ``dialects``. A GET is answered with ``listing``; what a server says of itself at other
paths is in ``facts``, and who asked for that in ``reads``.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any, Literal, Self

from tests.fakes.servers.http_server import closed

SPEAKING = ("/chat/completions", "/v1/messages", ":streamGenerateContent")
FACTS = ("/api/", "/props", "/model/info")  # what only some servers say of themselves, and of their models
KEY_HEADERS = ("authorization", "x-api-key", "x-goog-api-key")
DONE = b"data: [DONE]\n\n"
# end: a complete response; stall: silence until release() or the client leaves; cut: the connection is
# closed in the middle of a chunked response; eof: closed where only the end of the connection says so
Ending = Literal["end", "stall", "cut", "eof"]


@dataclass(frozen=True, slots=True)
class Answer:
    """One HTTP response: ``pieces`` are written one by one, then ``ending`` happens."""

    pieces: tuple[bytes, ...] = ()
    status: int = 200
    content_type: str = "text/event-stream"
    headers: Mapping[str, str] = field(default_factory=dict)
    ending: Ending = "end"

    @property
    def body(self) -> bytes:
        return b"".join(self.pieces)

    def split(self, cuts: Iterable[int]) -> Answer:
        """Return the same bytes, written in pieces that end at the offsets ``cuts``."""
        body = self.body
        places = sorted({0, len(body), *(cut for cut in cuts if 0 < cut < len(body))})
        return replace(self, pieces=tuple(body[a:b] for a, b in itertools.pairwise(places)))


@dataclass(frozen=True, slots=True)
class AskedCall:
    """A call of a tool as a model makes it: the JSON of its arguments in pieces."""

    id: str
    name: str
    arguments: tuple[str, ...] = ("{}",)

    @property
    def text(self) -> str:
        return "".join(self.arguments)


@dataclass(frozen=True, slots=True)
class Recorded:
    """One request as it arrived; ``body`` is its JSON."""

    method: str
    path: str
    headers: Mapping[str, str]  # names in lower case
    body: Any


def data(value: object) -> bytes:
    """Return one SSE frame around ``value`` as JSON."""
    return f"data: {json.dumps(value, ensure_ascii=False)}\n\n".encode()


def chunk(finish: str | None = None, **delta: object) -> bytes:
    """Return one streamed chunk with one choice."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return data({"id": "c-1", "object": "chat.completion.chunk", "created": 1, "choices": [choice]})


def call_chunk(index: int | None, call_id: str | None, name: str | None, arguments: str | None) -> bytes:
    """Return a chunk with a piece of one call; None leaves its field out."""
    function = {"name": name, "arguments": arguments}
    call = {"index": index, "id": call_id, "type": "function" if name else None}
    said = {key: value for key, value in function.items() if value is not None}
    return chunk(
        tool_calls=[{**{key: value for key, value in call.items() if value is not None}, "function": said}]
    )


def call_chunks(calls: Sequence[AskedCall]) -> list[bytes]:
    """Return the chunks of several calls, piece by piece in turns, as a model makes them at once."""
    frames = [call_chunk(index, call.id, call.name, "") for index, call in enumerate(calls)]
    rows = itertools.zip_longest(*(call.arguments for call in calls))
    frames += [
        call_chunk(index, None, None, piece)
        for row in rows
        for index, piece in enumerate(row)
        if piece is not None
    ]
    return frames


def usage_chunk(prompt: int, completion: int) -> bytes:
    """Return the last chunk of a stream that was asked to include usage: it has no choices."""
    usage = {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
    }
    return data({"id": "c-1", "object": "chat.completion.chunk", "created": 1, "choices": [], "usage": usage})


def says(
    *pieces: str,
    thinking: Sequence[str] = (),
    calls: Sequence[AskedCall] = (),
    finish: str | None = "stop",
    usage: tuple[int, int] | None = (7, 3),
    done: bool = True,
    ending: Ending = "end",
) -> Answer:
    """Return an answer that thinks, says ``pieces`` and calls tools, each piece in a chunk of its own."""
    frames = [chunk(reasoning_content=piece) for piece in thinking]
    frames += [chunk(content=piece) for piece in pieces]
    frames += call_chunks(calls)
    if finish is not None:
        frames.append(chunk(finish))
    if usage is not None:
        frames.append(usage_chunk(*usage))
    if done:
        frames.append(DONE)
    return Answer(tuple(frames), ending=ending)


def fails(status: int, message: str = "no", *, code: str = "", **headers: str) -> Answer:
    """Return an error answer in the API's form; ``headers`` with ``_`` for ``-``."""
    body = json.dumps({"error": {"message": message, "type": "error", "code": code or None}}).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer((body,), status, "application/json", named)


def lists(*names: str) -> Answer:
    """Return a list of models, in OpenAI's form, which is also Anthropic's and Ollama's."""
    body = json.dumps({"object": "list", "data": [{"id": name} for name in names]})
    return Answer((body.encode(),), content_type="application/json")


def tells(value: object) -> Answer:
    """Return ``value`` as JSON."""
    return Answer((json.dumps(value).encode(),), content_type="application/json")


def raw(*frames: bytes, content_type: str = "text/event-stream") -> Answer:
    """Return an answer of these very bytes."""
    return Answer(frames, content_type=content_type)


class FakeModelServer:
    """The server; ``requests`` are those that arrived, ``open`` counts those not answered to the end yet."""

    def __init__(self) -> None:
        self.requests: list[Recorded] = []
        self.default = says("Hello ", "there.")
        self.open = 0
        self.echoes_key = False  # then KEY in an error is what the client sent as its key
        self.connections = 0
        self.listing = lists("some-model", "other-model")
        self.facts: dict[str, Answer | Callable[[Recorded], Answer]] = {}  # by path
        self.reads: list[Recorded] = []
        self._answers: list[Answer] = []
        self._released = asyncio.Event()
        self._changed = asyncio.Condition()
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        self.port: int = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    @property
    def url(self) -> str:
        """The base URL to configure."""
        return f"http://127.0.0.1:{self.port}/v1"

    def will(self, *answers: Answer) -> None:
        """Say these next, in this order."""
        self._answers += answers

    def release(self) -> None:
        """Let stalled answers end."""
        self._released.set()

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until ``condition`` holds; it is looked at whenever a request arrives or ends."""
        async with self._changed:
            await self._changed.wait_for(condition)

    async def _count(self, change: int) -> None:
        async with self._changed:
            self.open += change
            self._changed.notify_all()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        self.connections += 1
        try:
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
                while await self._exchange(reader, writer):
                    pass
        except asyncio.CancelledError:
            if self._server.is_serving():
                raise  # cancelled by somebody else than __aexit__
            writer.transport.abort()
        finally:
            await closed(writer)

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Read one request and answer it; return whether the connection stays."""
        request = await _read_request(reader)
        (self.reads if request.path.startswith(FACTS) else self.requests).append(request)
        await self._count(+1)
        try:
            return await self._say(self._answer(request), reader, writer)
        finally:
            await self._count(-1)

    def _answer(self, request: Recorded) -> Answer:
        path = request.path.partition("?")[0]
        if fact := self.facts.get(path):
            return fact if isinstance(fact, Answer) else fact(request)
        if request.method == "POST" and path.endswith(SPEAKING):
            answer = self._answers.pop(0) if self._answers else self.default
        elif request.method == "GET" and path.endswith("/models"):
            answer = self.listing
        else:
            answer = fails(404, "no such path")
        if not self.echoes_key or answer.status == 200:
            return answer
        keys = " ".join(request.headers.get(name, "") for name in KEY_HEADERS)
        return replace(answer, pieces=tuple(piece.replace(b"KEY", keys.encode()) for piece in answer.pieces))

    async def _say(self, answer: Answer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        chunked = answer.ending != "eof"
        framing = "Transfer-Encoding: chunked" if chunked else "Connection: close"
        extra = "".join(f"{name}: {value}\r\n" for name, value in answer.headers.items())
        head = (
            f"HTTP/1.1 {answer.status} X\r\nContent-Type: {answer.content_type}\r\n{framing}\r\n{extra}\r\n"
        )
        writer.write(head.encode())
        for piece in answer.pieces:
            writer.write(b"%x\r\n%b\r\n" % (len(piece), piece) if chunked else piece)
            await writer.drain()
            await asyncio.sleep(0)  # so that the pieces reach the other side one by one
        if answer.ending == "stall":
            await self._stall(reader)
        if answer.ending in ("cut", "eof"):
            return False
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        return True

    async def _stall(self, reader: asyncio.StreamReader) -> None:
        """Wait for ``release`` or for the client to leave: in the middle of an answer it sends nothing."""
        released = asyncio.ensure_future(self._released.wait())
        left = asyncio.ensure_future(reader.read(1))
        try:
            await asyncio.wait({released, left}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            released.cancel()
            left.cancel()
        if left.done() and not left.cancelled():
            raise ConnectionResetError("the client left")


async def _read_request(reader: asyncio.StreamReader) -> Recorded:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.strip().split("\r\n")
    method, path, _ = first.split(" ", 2)
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Recorded(method, path, headers, json.loads(body) if body else None)
