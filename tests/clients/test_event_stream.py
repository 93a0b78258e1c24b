from __future__ import annotations

import asyncio
import gzip
from contextlib import aclosing

import pytest

from agent_tui.clients.http import Net
from agent_tui.clients.log_stream import FRAMES_PER_TURN
from agent_tui.model.errors import (
    AgentTuiError,
    NotFound,
    ProtocolError,
    Refused,
    Unauthorized,
)
from agent_tui.model.events import LinkChanged
from agent_tui.wire.sse import Frame
from tests.clients.stream_reading import data, links, open_stream, read, statuses, tick, wait_and_go_on, waits
from tests.fakes.clock import FakeClock, settle
from tests.fakes.servers.http_server import (
    FakeServer,
    Reply,
    Request,
    Responder,
    answers,
    answers_json,
    streams,
)

END_SECONDS = 60.0  # a few ms in truth; what is not let go is never let go


async def test_a_stream_says_what_goes_on_and_gives_frames(
    server: FakeServer, net: Net, clock: FakeClock
) -> None:
    server.on("GET", "/s", streams(b"id: 1\ndata: a\n\n", then="stay"))
    async with read(open_stream(net, clock, params={"x": "y"})) as reading:
        await reading.until(lambda items: len(items) == 3)
    assert reading.items == [LinkChanged("connecting"), LinkChanged("live"), Frame("message", "a", "1")]
    assert server.requests[0].query == {"x": "y"}
    assert "last-event-id" not in server.requests[0].headers


@pytest.mark.parametrize("then", ["end", "drop", "reset"])
async def test_it_goes_on_after_the_last_id(
    server: FakeServer, net: Net, clock: FakeClock, then: str
) -> None:
    server.on(
        "GET",
        "/s",
        streams(b"id: 1\ndata: a\n\nid: 2\ndata: b\n\n", b"id: 3\ndata: half", then=then),
        streams(b"id: 3\ndata: c\n\n", then="stay"),
    )
    async with read(open_stream(net, clock, after=0)) as reading:
        await wait_and_go_on(reading, clock, 1)
        await reading.until(lambda items: len(data(items)) == 3)
    assert data(reading.items) == ["a", "b", "c"]
    assert statuses(reading.items) == ["connecting", "live", "waiting", "connecting", "live"]
    first, second = server.requests
    assert first.query == {"after": "0"}
    assert second.query == {"after": "2"}
    assert second.headers["last-event-id"] == "2"


async def test_an_id_without_an_event_counts_and_an_empty_one_resets(
    server: FakeServer, net: Net, clock: FakeClock
) -> None:
    server.on(
        "GET",
        "/s",
        streams(b"id: 7\n\n"),
        streams(b"id\ndata: x\n\n"),
        streams(then="stay"),
    )
    async with read(open_stream(net, clock, last_event_id="3")) as reading:
        await wait_and_go_on(reading, clock, 1)
        await wait_and_go_on(reading, clock, 2)
        await reading.until(lambda items: statuses(items).count("live") == 3)
    assert [r.headers.get("last-event-id") for r in server.requests] == ["3", "7", None]


@pytest.mark.parametrize("id_", ["a\x0bb", "a\x7fb", "\x01"])
async def test_an_id_that_no_header_can_carry_is_left_out(
    server: FakeServer, net: Net, clock: FakeClock, id_: str
) -> None:
    server.on("GET", "/s", streams(f"id: {id_}\ndata: x\n\n".encode()), streams(then="stay"))
    async with read(open_stream(net, clock)) as reading:
        await wait_and_go_on(reading, clock, 1)
        await reading.until(lambda items: statuses(items).count("live") == 2)
    assert "last-event-id" not in server.requests[1].headers


async def test_a_text_id_travels_as_utf_8(server: FakeServer, net: Net, clock: FakeClock) -> None:
    server.on("GET", "/s", streams("id:  ☃ \ndata: x\n\n".encode()), streams(then="stay"))
    async with read(open_stream(net, clock)) as reading:
        await wait_and_go_on(reading, clock, 1)
        await reading.until(lambda items: statuses(items).count("live") == 2)
    assert server.requests[1].headers["last-event-id"].encode("latin-1").decode() == "☃"


async def test_waits_grow_until_something_comes(server: FakeServer, net: Net, clock: FakeClock) -> None:
    broken = answers("down", 503)
    server.on("GET", "/s", broken, broken, broken, streams(b"data: x\n\n"), broken, streams(then="stay"))
    async with read(open_stream(net, clock)) as reading:
        for nth in range(1, 6):
            await wait_and_go_on(reading, clock, nth)
        await reading.until(lambda items: statuses(items)[-1] == "live")
    assert waits(reading.items) == [1, 2, 4, 1, 2]
    assert [link.attempt for link in links(reading.items) if link.status == "waiting"] == [1, 2, 3, 1, 2]
    assert links(reading.items)[1].detail == "the server failed (503): down"


async def test_a_connection_that_held_was_no_failed_try(
    server: FakeServer, net: Net, clock: FakeClock
) -> None:
    broken = answers("down", 503)
    server.on("GET", "/s", broken, broken, streams(then="stay"), streams(then="stay"))
    async with read(open_stream(net, clock)) as reading:
        for nth in (1, 2):
            await wait_and_go_on(reading, clock, nth)
        await reading.until(lambda items: statuses(items)[-1] == "live")
        await tick(clock, 12)
        await server.drop_all()
        await wait_and_go_on(reading, clock, 3)
        await reading.until(lambda items: statuses(items).count("live") == 2)
    assert waits(reading.items) == [1, 2, 1]


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504])
async def test_retry_after_is_waited_for(server: FakeServer, net: Net, clock: FakeClock, status: int) -> None:
    server.on("GET", "/s", answers("", status, {"Retry-After": "7"}), streams(then="stay"))
    async with read(open_stream(net, clock)) as reading:
        await wait_and_go_on(reading, clock, 1)
        await reading.until(lambda items: statuses(items)[-1] == "live")
    assert waits(reading.items) == [7]


async def test_the_retry_field_sets_the_base(server: FakeServer, net: Net, clock: FakeClock) -> None:
    server.on("GET", "/s", streams(b"retry: 3000\n\ndata: x\n\n"), streams(then="stay"))
    async with read(open_stream(net, clock)) as reading:
        await wait_and_go_on(reading, clock, 1)
        await reading.until(lambda items: statuses(items)[-1] == "live")
    assert waits(reading.items) == [3]


async def test_no_content_ends_it(server: FakeServer, net: Net, clock: FakeClock) -> None:
    server.on("GET", "/s", streams(b"data: x\n\n"), answers(b"", 204))
    async with read(open_stream(net, clock)) as reading:
        await wait_and_go_on(reading, clock, 1)
        await reading.end()
    assert statuses(reading.items)[-1] == "ended"
    assert reading.error is None
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("responder", "kind"),
    [
        (answers_json({"detail": "no"}, 401), Unauthorized),
        (answers_json({"detail": "no"}, 403), Unauthorized),
        (answers_json({"detail": "no"}, 404), NotFound),
        (answers_json({"detail": "no"}, 410), Refused),
        (answers("<html>", headers={"Content-Type": "text/html"}), ProtocolError),
        (answers(status=302, headers={"Location": "/s"}), ProtocolError),
        (streams(b"data: x", headers={"Content-Encoding": "br"}), ProtocolError),
    ],
    ids=["401", "403", "404", "410", "page", "redirect loop", "packed"],
)
async def test_what_will_not_change_is_not_tried_again(
    server: FakeServer, net: Net, clock: FakeClock, responder: Responder, kind: type[AgentTuiError]
) -> None:
    server.on("GET", "/s", responder)
    async with read(open_stream(net, clock)) as reading:
        await reading.end()
    assert type(reading.error) is kind
    assert waits(reading.items) == []


async def test_an_event_over_the_limit_stops_it(server: FakeServer, net: Net, clock: FakeClock) -> None:
    server.on("GET", "/s", streams(b"data: " + b"x" * 5000, then="stay"))
    async with read(open_stream(net, clock, max_event_bytes=1000)) as reading:
        await reading.end()
    assert isinstance(reading.error, ProtocolError)
    assert len(server.requests) == 1


@pytest.mark.parametrize("chunked", [True, False])
async def test_slow_bytes_and_odd_headers_change_nothing(
    server: FakeServer, net: Net, clock: FakeClock, chunked: bool
) -> None:
    async def respond(request: Request, reply: Reply) -> None:
        kind = {"Content-Type": "text/event-stream;charset=latin-1"}
        await reply.head(200, kind, chunked=chunked)
        await reply.send_bytewise("\ufeffdata: ☃\u2028\r\n\r\n: hi\r\rdata: y\r\r".encode())
        await reply.stay()

    server.on("GET", "/s", respond)
    async with read(open_stream(net, clock)) as reading:
        await reading.until(lambda items: len(data(items)) == 2)
    assert data(reading.items) == ["☃\u2028", "y"]


async def test_a_packed_stream_is_read(server: FakeServer, net: Net, clock: FakeClock) -> None:
    packed = gzip.compress(b"data: x\n\n")
    server.on("GET", "/s", streams(packed, headers={"Content-Encoding": "gzip"}, then="stay"))
    async with read(open_stream(net, clock)) as reading:
        await reading.until(lambda items: data(items) == ["x"])
    assert reading.error is None


# --- many, and leaving -------------------------------------------------------------------------------


async def test_a_flood_lets_the_loop_run_something_else(
    server: FakeServer, net: Net, clock: FakeClock
) -> None:
    count = 20_000
    server.on("GET", "/s", streams(b"data: x\n\n" * count, then="stay"))
    turns = 0
    seen = 0
    async with asyncio.TaskGroup() as group:

        async def other() -> None:
            nonlocal turns
            while seen < count:
                turns += 1
                await asyncio.sleep(0)

        group.create_task(other())
        async with aclosing(aiter(open_stream(net, clock))) as items:
            async for item in items:
                seen += isinstance(item, Frame)
                if seen == count:
                    break
    assert turns >= count // FRAMES_PER_TURN


@pytest.mark.slow
async def test_150_streams_reconnect_and_none_is_left(server: FakeServer, net: Net, clock: FakeClock) -> None:
    server.on("GET", "/s", streams(b"id: 1\ndata: a\n\n", then="stay"))
    readings = [read(open_stream(net, clock)) for _ in range(150)]
    for reading in readings:
        await reading.__aenter__()
    for reading in readings:
        await reading.until(lambda items: data(items) == ["a"])
    await server.drop_all()
    for reading in readings:
        await reading.until(lambda items: waits(items) == [1])
    await clock.advance(1)
    for reading in readings:
        await reading.until(lambda items: data(items) == ["a", "a"])
    for reading in readings:
        await reading.stop()
    await server.until(lambda: server.open == 0)
    assert clock.sleepers == 0
    assert len(asyncio.all_tasks()) <= 2


@pytest.mark.parametrize("where", ["connecting", "reading", "waiting"])
async def test_leaving_is_prompt_and_leaves_nothing_open(
    server: FakeServer, net: Net, clock: FakeClock, where: str
) -> None:
    async def respond(request: Request, reply: Reply) -> None:
        if where == "reading":
            await reply.head(200, {"Content-Type": "text/event-stream"})
            await reply.send(b"data: x\n\n")
        await reply.stay()

    server.on("GET", "/s", answers("", 503) if where == "waiting" else respond)
    reading = read(open_stream(net, clock))
    await reading.__aenter__()
    await server.until(lambda: len(server.requests) == 1)
    if where != "connecting":
        await reading.until(lambda items: bool(data(items) or waits(items)))
    await settle()
    async with asyncio.timeout(END_SECONDS):
        await reading.stop()
        await server.until(lambda: server.open == 0)
    assert clock.sleepers == 0


async def test_closing_the_reader_between_frames_leaves_nothing_open(
    server: FakeServer, net: Net, clock: FakeClock
) -> None:
    server.on("GET", "/s", streams(b"data: x\n\ndata: y\n\n", then="stay"))
    items = aiter(open_stream(net, clock))
    while not isinstance(await anext(items), Frame):
        pass
    async with asyncio.timeout(END_SECONDS):
        await items.aclose()
        await server.until(lambda: server.open == 0)
    assert clock.sleepers == 0
