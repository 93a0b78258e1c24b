"""Event streams: which frames, which bytes, and what becomes of clients that leave or do not read."""

from __future__ import annotations

import asyncio
import json
import socket
import tracemalloc
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from agent_tui.backend.http.streaming import FRAMES_PER_SEND, Accumulator, EventStream, pieces, run_frames
from agent_tui.backend.store.rows import StoredFrame
from agent_tui.model.errors import StoreError
from agent_tui.wire.content import dump
from agent_tui.wire.rooms_encode import frame_bytes
from tests.backend.served import served
from tests.backend.wire_client import WireClient


def chunk(seq: int, text: str, message_id: str = "m", **more: object) -> StoredFrame:
    return StoredFrame(
        "r", seq, "message_chunk", dump({"id": message_id, "content": text, **more}), message_id
    )


def frame(seq: int, name: str, message_id: str = "", **fields: object) -> StoredFrame:
    return StoredFrame("r", seq, name, dump(fields), message_id)


SAID = [
    frame(1, "room_started", room_id="r", task="t"),
    frame(2, "message_start", "m", id="m"),
    chunk(3, "Über ", progress=0, agent_id="a"),
    chunk(4, "老王", progress=0, agent_id="a"),
    chunk(5, ' \\n"x"', "n"),
    frame(6, "message_end", "m", id="m", content="Über 老王", token_count=1),
    frame(7, "message", "m", id="m"),
    frame(8, "room_paused", room_id="r"),
]


class Log:
    """A log of frames that answers ``text_before`` from itself."""

    def __init__(self, frames: Sequence[StoredFrame]) -> None:
        self.frames = frames
        self.asked = 0

    async def text_before(self, room_id: str, message_id: str, seq: int) -> str:
        self.asked += 1
        earlier = [f for f in self.frames if f.name == "message_chunk" and f.seq < seq]
        return "".join(json.loads(f.data)["content"] for f in earlier if f.message_id == message_id)


async def batched(*batches: Sequence[StoredFrame]) -> AsyncGenerator[list[StoredFrame], None]:
    for batch in batches:
        yield list(batch)


async def whole(stream: AsyncGenerator[bytes, None]) -> bytes:
    return b"".join([piece async for piece in stream])


async def test_without_accumulated_a_frame_is_the_stored_data_framed_to_the_letter() -> None:
    sent = await whole(pieces(batched(SAID), None))
    assert sent == b"".join(frame_bytes(f.seq, f.name, f.data) for f in SAID)
    assert sent.startswith(b'id: 1\nevent: room_started\ndata: {"room_id":"r","task":"t"}\n\n')


async def test_accumulated_stands_right_after_content_and_holds_the_whole_text_so_far() -> None:
    sent = (await whole(pieces(batched(SAID), Accumulator(Log(SAID).text_before)))).decode()
    assert '{"id":"m","content":"Über ","accumulated":"Über ","progress":0,"agent_id":"a"}' in sent
    assert '{"id":"m","content":"老王","accumulated":"Über 老王","progress":0,"agent_id":"a"}' in sent


@pytest.mark.parametrize("start", range(len(SAID) + 1))
async def test_a_stream_that_begins_anywhere_has_the_same_bytes_from_there(start: int) -> None:
    log = Log(SAID)
    all_frames = (await whole(pieces(batched(*([f] for f in SAID)), Accumulator(log.text_before)))).split(
        b"\n\n"
    )
    log.asked = 0
    late = await whole(pieces(batched(SAID[start:]), Accumulator(log.text_before)))
    assert late.split(b"\n\n") == all_frames[start:]
    assert log.asked <= 2  # once for each message it began in the middle of


async def test_frames_travel_together_but_never_too_many_in_one_piece() -> None:
    frames = [chunk(n, "x") for n in range(1, 151)]
    sent = [piece.count(b"\n\n") async for piece in pieces(batched(frames), None)]
    assert sent == [FRAMES_PER_SEND, FRAMES_PER_SEND, 150 - 2 * FRAMES_PER_SEND]


async def test_large_frames_are_not_piled_up_into_one_piece() -> None:
    frames = [chunk(n, "x" * 200_000) for n in range(1, 9)]
    sizes = [len(piece) async for piece in pieces(batched(frames), None)]
    assert max(sizes) < 500_000
    assert sum(sizes) > 1_600_000


async def test_a_run_ends_with_the_frame_that_ends_it() -> None:
    later = [frame(9, "room_started"), frame(10, "room_completed")]
    got = [f.seq async for batch in run_frames(batched(SAID[:4], [*SAID[4:], *later]), 0) for f in batch]
    assert got == list(range(1, 9))


async def test_a_run_goes_on_from_the_last_event_id_and_always_says_how_it_ended() -> None:
    assert [f.seq async for batch in run_frames(batched(SAID), 6) for f in batch] == [7, 8]
    assert [f.seq async for batch in run_frames(batched(SAID), 99) for f in batch] == [8]


REPLAYED = 300_000


class Streams:
    """An app whose /events answers the generators it is given, and /other something at once."""

    def __init__(self, body: AsyncGenerator[bytes, None], keep_alive_seconds: float = 60.0) -> None:
        self.body = body
        self.ended = asyncio.Event()
        self.keep_alive_seconds = keep_alive_seconds

    async def watched(self) -> AsyncGenerator[bytes, None]:
        try:
            async for piece in self.body:
                yield piece
        finally:
            self.ended.set()

    async def events(self, _request: Request) -> Response:
        return EventStream(self.watched(), self.keep_alive_seconds)

    async def other(self, _request: Request) -> Response:
        return PlainTextResponse("here")

    @asynccontextmanager
    async def client(self) -> AsyncIterator[WireClient]:
        app = Starlette(routes=[Route("/events", self.events), Route("/other", self.other)])
        async with served(app) as port:
            yield WireClient(port)


async def replay(sent: list[int]) -> AsyncGenerator[bytes, None]:
    """A long replay that never waits; ``sent`` grows by each frame's id."""
    for seq in range(1, REPLAYED):
        sent.append(seq)
        yield frame_bytes(seq, "message_chunk", "x" * 100)


async def silent() -> AsyncGenerator[bytes, None]:
    await asyncio.Event().wait()
    yield b""


async def test_headers_and_a_first_comment_come_at_once_though_nothing_is_said() -> None:
    streams = Streams(silent())
    async with streams.client() as client, client.open("GET", "/events") as stream:
        assert stream.status == 200
        assert stream.headers["content-type"] == "text/event-stream"
        assert stream.headers["cache-control"] == "no-cache"
        assert stream.headers["x-accel-buffering"] == "no"
        assert await anext(stream.chunks()) == b": keep-alive\n\n"


async def test_silence_is_filled_with_comments() -> None:
    streams = Streams(silent(), keep_alive_seconds=0.01)
    async with streams.client() as client, client.open("GET", "/events") as stream:
        chunks = stream.chunks()
        assert [await anext(chunks) for _ in range(4)] == [b": keep-alive\n\n"] * 4


async def test_a_client_that_leaves_ends_a_silent_stream_at_once() -> None:
    streams = Streams(silent())
    async with streams.client() as client:
        async with client.open("GET", "/events") as stream:
            await anext(stream.chunks())
            assert not streams.ended.is_set()
        await streams.ended.wait()


async def test_a_client_that_leaves_in_a_replay_that_never_waits_does_not_freeze_the_server() -> None:
    sent: list[int] = []
    streams = Streams(replay(sent))
    async with streams.client() as client:
        async with client.open("GET", "/events") as stream:
            frames = stream.frames()
            assert (await anext(frames)).id == 1
        await streams.ended.wait()
        assert sent[-1] < REPLAYED - 1, "nobody heard of the client's leaving before the replay's end"
        assert (await client.call("GET", "/other")).body == b"here"


async def test_a_client_that_never_reads_costs_bounded_memory_and_disturbs_nobody() -> None:
    streams = Streams(replay([]))
    async with streams.client() as client:
        lazy = socket.create_connection(("127.0.0.1", client.port))
        lazy.sendall(client.request("GET", "/events"))
        tracemalloc.start()
        try:
            for _ in range(50):  # each call gives the stream many turns to grow
                assert (await client.call("GET", "/other")).body == b"here"
            assert tracemalloc.get_traced_memory()[1] < 8_000_000
        finally:
            tracemalloc.stop()
            lazy.close()
        await streams.ended.wait()


async def test_a_log_that_cannot_be_read_breaks_the_stream_off(caplog: pytest.LogCaptureFixture) -> None:
    async def failing() -> AsyncGenerator[bytes, None]:
        yield frame_bytes(1, "room_started", "{}")
        raise StoreError("The disk is full")

    streams = Streams(failing())
    async with streams.client() as client:
        frames = await client.frames("GET", "/events")
    assert [f.id for f in frames] == [1]
    assert "The disk is full" in caplog.text


async def test_head_has_the_headers_of_a_stream_and_ends() -> None:
    streams = Streams(silent())
    async with streams.client() as client, client.open("HEAD", "/events") as stream:
        assert stream.headers["content-type"] == "text/event-stream"
        assert await stream.reader.read() == b""
