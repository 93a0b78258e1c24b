"""Server-sent events outwards: frames of the hub to bytes, many per send, kept alive by comments.

A stream never holds more than one batch: a client that does not read stops the sending, and the hub reads the
log again from where such a reader was. Traps that this module avoids (all of them happened): a client that
leaves must end the stream at once even while nothing is to be sent, and a replay that never waits must let
the loop run, or nobody ever learns that the client has left.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractContextManager, aclosing, nullcontext

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from agent_tui.backend.hub import Batch
from agent_tui.backend.store.rows import StoredFrame
from agent_tui.model.errors import AgentTuiError
from agent_tui.wire.content import dump
from agent_tui.wire.rooms_encode import TERMINAL, frame_bytes

FRAMES_PER_SEND = 64
BYTES_PER_SEND = 256 * 1024  # with ``accumulated`` a frame may be as large as a whole message
KEEP_ALIVE_SECONDS = 15.0
KEEP_ALIVE = b": keep-alive\n\n"
HEADERS = {
    "content-type": "text/event-stream",
    "cache-control": "no-cache",
    "x-accel-buffering": "no",  # otherwise a proxy in between would delay the words
}

log = logging.getLogger(__name__)


class Accumulator:
    """Adds ``accumulated`` to message chunks: the whole text so far of each open message.

    It is computed here, for each stream, because storing it would be quadratic; it depends only on the log,
    so that a frame sent again is byte for byte the same. ``text_before`` (room, message, seq) is for a stream
    that begins in the middle of a message.
    """

    def __init__(self, text_before: Callable[[str, str, int], Awaitable[str]]) -> None:
        self._text_before = text_before
        self._texts: dict[str, str] = {}

    async def data(self, frame: StoredFrame) -> str:
        """Return the frame's data, that of a chunk with ``accumulated`` right after ``content``."""
        if frame.name == "message_chunk":
            return await self._chunk(frame)
        if frame.name == "message_start":
            self._texts[frame.message_id] = ""
        elif frame.name in ("message_end", "message"):
            self._texts.pop(frame.message_id, None)
        return frame.data

    async def _chunk(self, frame: StoredFrame) -> str:
        before = self._texts.get(frame.message_id)
        if before is None:
            before = await self._text_before(frame.room_id, frame.message_id, frame.seq)
        fields = json.loads(frame.data)
        text = self._texts[frame.message_id] = before + fields["content"]
        accumulated_fields: dict[str, object] = {}
        for name, value in fields.items():
            accumulated_fields[name] = value
            if name == "content":
                accumulated_fields["accumulated"] = text
        return dump(accumulated_fields)


async def pieces(
    batches: AsyncGenerator[list[StoredFrame], None], accumulator: Accumulator | None
) -> AsyncGenerator[bytes, None]:
    """Yield the batches as bytes, at most ``FRAMES_PER_SEND`` frames in a piece."""
    async with aclosing(batches):
        async for batch in batches:
            if accumulator is None and isinstance(batch, Batch) and len(batch) <= FRAMES_PER_SEND:
                yield batch.encoded()
                continue
            piece = bytearray()
            frames = 0
            for frame in batch:
                data = frame.data if accumulator is None else await accumulator.data(frame)
                piece += frame_bytes(frame.seq, frame.name, data)
                frames += 1
                if frames == FRAMES_PER_SEND or len(piece) >= BYTES_PER_SEND:
                    yield bytes(piece)
                    piece.clear()
                    frames = 0
            if piece:
                yield bytes(piece)


async def run_frames(
    batches: AsyncGenerator[list[StoredFrame], None], after: int
) -> AsyncGenerator[list[StoredFrame], None]:
    """Yield one run's frames: those greater than ``after``, up to and including the one that ends it.

    ``batches`` begin with the run's ``room_started`` (or the ``room_completed`` of a completed room).
    """
    async with aclosing(batches):
        async for batch in batches:
            if batch[0].seq > after and not any(frame.name in TERMINAL for frame in batch):
                yield batch  # unchanged, since it is shared with other readers
                continue
            frames = []
            for frame in batch:
                ends = frame.name in TERMINAL
                if ends or frame.seq > after:
                    frames.append(frame)
                if ends:
                    yield frames
                    return
            if frames:
                yield frames


class EventStream(Response):
    """A ``text/event-stream`` answer of ``body`` pieces; ends with them or when the client leaves.

    ``while_open`` is closed when it ends, in any case. ``is_run``: it shows one run or answer, so an error
    that stops that is its last frame, ``error`` without an id; other streams are interrupted and requested
    again.
    """

    def __init__(
        self,
        body: AsyncGenerator[bytes, None],
        keep_alive_seconds: float = KEEP_ALIVE_SECONDS,
        while_open: AbstractContextManager[object] = nullcontext(),  # noqa: B008 - holds nothing
        *,
        is_run: bool = False,
    ) -> None:
        self.status_code = 200
        self.background = None
        self.init_headers(HEADERS)
        self._body = body
        self._keep_alive_seconds = keep_alive_seconds
        self._while_open = while_open
        self._is_run = is_run
        self._sent_at = 0.0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._while_open:
            await self._answer(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with aclosing(self._body):
            start = {"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers}
            await send(start)
            if scope["method"] != "HEAD":
                await self._stream(receive, send)
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _stream(self, receive: Receive, send: Send) -> None:
        # The first comment sends the headers at once, though there may be no event for long.
        await self._send(send, KEEP_ALIVE)
        async with asyncio.TaskGroup() as tasks:
            writer = tasks.create_task(self._write(send))
            leaver = tasks.create_task(until_left(receive))
            ticker = tasks.create_task(self._keep_alive(send))
            await asyncio.wait({writer, leaver, ticker}, return_when=asyncio.FIRST_COMPLETED)
            for task in (writer, leaver, ticker):
                task.cancel()

    async def _write(self, send: Send) -> None:
        try:
            async for piece in self._body:
                await self._send(send, piece)
                # A replay may never wait for anything; without this, nobody notices that the client
                # has left, and the whole server stops.
                await asyncio.sleep(0)
        except AgentTuiError as error:
            # The headers were sent: the stream is interrupted, and its client comes back with Last-Event-ID.
            log.error("an event stream broke off: %s", error)
            if self._is_run:  # nothing more will come: what happened could not be stored
                await self._send(send, frame_bytes(None, "error", dump({"content": str(error)})))

    async def _keep_alive(self, send: Send) -> None:
        clock = asyncio.get_running_loop().time
        while True:
            silence = clock() - self._sent_at
            if silence >= self._keep_alive_seconds:
                await self._send(send, KEEP_ALIVE)
            else:
                await asyncio.sleep(self._keep_alive_seconds - silence)

    async def _send(self, send: Send, piece: bytes) -> None:
        await send({"type": "http.response.body", "body": piece, "more_body": True})
        self._sent_at = asyncio.get_running_loop().time()


async def until_left(receive: Receive) -> None:
    """Return when the client has left."""
    while (await receive())["type"] != "http.disconnect":
        pass
