from __future__ import annotations

import asyncio
import tracemalloc
from collections.abc import AsyncIterator
from contextlib import aclosing

import pytest

from agent_tui.clients.clock import TICK_SECONDS
from agent_tui.clients.http import Net
from agent_tui.clients.log_stream import Item
from agent_tui.clients.rooms import RoomsClient
from agent_tui.model import events as ev
from agent_tui.model.errors import ConnectFailed, ProtocolError, StreamLost, TimedOut, TransportError
from agent_tui.model.events import LinkChanged
from agent_tui.wire.sse import Frame
from tests.fakes.clock import FakeClock, settle
from tests.fakes.collector import Collector
from tests.fakes.servers.http_server import (
    FakeServer,
    Reply,
    Request,
    Responder,
    answers,
    answers_json,
    streams,
)
from tests.fakes.servers.rooms_server import (
    OriginalRoomsServer,
    frame,
    in_thread,
    run_events,
)

RUN = "/api/rooms/r1/run"
EVENTS = "/api/rooms/r1/events"


def frames(items: list[Item]) -> list[Frame]:
    return [item for item in items if isinstance(item, Frame)]


def names(items: list[Item]) -> list[str]:
    return [item.event for item in frames(items)]


def ids(items: list[Item]) -> list[str]:
    return [item.id for item in frames(items)]


def with_ids(first: int, last: int, events: list[tuple[str, dict[str, object]]]) -> bytes:
    return b"".join(frame(*events[n - 1], n) for n in range(first, last + 1))


@pytest.fixture
async def client(server: FakeServer, clock: FakeClock) -> AsyncIterator[RoomsClient]:
    client = RoomsClient(Net(server.url, environ={}), clock=clock)
    yield client
    await client.aclose()


def client_of(server: FakeServer, clock: FakeClock) -> RoomsClient:
    return RoomsClient(Net(server.url, environ={}), clock=clock)


async def pass_waits(reading: Collector[Item], clock: FakeClock) -> None:
    """Let time pass through every wait until the source ends."""
    passed = 0
    while True:
        waits = [i for i in reading.items if isinstance(i, LinkChanged) and i.status == "waiting"]
        if len(waits) > passed:
            await clock.advance(waits[passed].delay)
            passed += 1
        elif reading.done:
            return
        else:
            before = len(reading.items)
            try:
                await reading.until(lambda items, before=before: len(items) > before)  # type: ignore[misc]
            except AssertionError:
                return  # it ended


# --- run_frames: an original server -------------------------------------------------------------------


async def test_a_whole_run_of_an_original_server_comes_through(clock: FakeClock) -> None:
    async with OriginalRoomsServer() as server:
        client = client_of(server, clock)
        async with Collector(client.run_frames("r1")) as reading:
            await reading.end()
        await client.aclose()
    assert reading.error is None
    assert names(reading.items) == [name for name, _ in run_events()]
    assert reading.items[:2] == [LinkChanged("connecting"), LinkChanged("live")]
    assert server.posts == 1
    assert server.requests[0].query == {"accumulated": "0"}


async def test_the_last_event_ends_a_run_even_if_its_data_is_empty(
    server: FakeServer, client: RoomsClient
) -> None:
    started = frame(*run_events()[0])
    for last in ("room_completed", "error"):
        server.on("POST", RUN, streams(started, f"event: {last}\ndata: \n\n".encode(), then="stay"))
        async with Collector(client.run_frames("r1")) as reading:
            await reading.end()
        assert reading.error is None
        assert names(reading.items) == [run_events()[0][0], last]


@pytest.mark.parametrize("then", ["drop", "reset", "end"])
@pytest.mark.parametrize("stop_after", [0, 1, 5, 9])
async def test_a_drop_without_ids_is_lost_and_never_posted_again(
    clock: FakeClock, then: str, stop_after: int
) -> None:
    async with OriginalRoomsServer(stop_after=stop_after, then=then) as server:
        client = client_of(server, clock)
        async with Collector(client.run_frames("r1")) as reading:
            await reading.end()
        await client.aclose()
    assert isinstance(reading.error, StreamLost)
    assert reading.error.title == "broke off"
    assert reading.error.detail
    assert then == "reset" or len(frames(reading.items)) == stop_after
    assert [request.method for request in server.requests] == ["POST"]


@pytest.mark.parametrize(
    "responder",
    [
        answers("", 503),
        answers("", 429),
        streams(then="reset"),
        answers("<html>", headers={"Content-Type": "text/html"}),
    ],
    ids=["503", "429", "reset", "page"],
)
async def test_no_failure_makes_a_second_post(
    server: FakeServer, client: RoomsClient, responder: Responder
) -> None:
    server.on("POST", RUN, responder)
    async with Collector(client.run_frames("r1")) as reading:
        await reading.end()
    assert isinstance(reading.error, TransportError | ProtocolError)
    assert len(server.requests) == 1


async def test_a_post_that_nobody_answers_is_not_repeated(clock: FakeClock) -> None:
    async with OriginalRoomsServer() as server:
        pass
    client = client_of(server, clock)
    async with Collector(client.run_frames("r1")) as reading:
        await reading.end()
    await client.aclose()
    assert isinstance(reading.error, ConnectFailed)


async def test_an_error_event_ends_the_run(server: FakeServer, client: RoomsClient) -> None:
    server.on("POST", RUN, streams(frame("error", {"content": "Room not found"})))
    async with Collector(client.run_frames("r1")) as reading:
        await reading.end()
    assert reading.error is None
    assert names(reading.items) == ["error"]


async def test_what_follows_the_last_event_is_not_waited_for(server: FakeServer, client: RoomsClient) -> None:
    server.on("POST", RUN, streams(frame("room_paused", {"room_id": "r1"}), b": more\n\n", then="stay"))
    async with Collector(client.run_frames("r1")) as reading:
        await reading.end()
    assert names(reading.items) == ["room_paused"]
    await server.until(lambda: server.open == 0)


async def test_empty_data_behind_a_comment_is_no_message(server: FakeServer, client: RoomsClient) -> None:
    done = frame("room_completed", {"room_id": "r1", "total_rounds": 1})
    server.on("POST", RUN, streams(b": keep-alive\ndata:\n\n", b"event: round_end\ndata\n\n", done))
    async with Collector(client.run_frames("r1")) as reading:
        await reading.end()
    assert names(reading.items) == ["room_completed"]


async def test_a_silent_run_is_broken_off_only_where_a_heartbeat_was_heard(
    server: FakeServer, client: RoomsClient, clock: FakeClock
) -> None:
    server.on("POST", RUN, streams(frame("room_started", {"room_id": "r1"}), then="stay"))
    async with Collector(client.run_frames("r1")) as reading:
        await reading.until(lambda items: len(frames(items)) == 1)
        await clock.advance(3600)
        clock.jump(3600)
        await settle()
        assert not reading.done
    server.on("POST", RUN, streams(b": hi\n\n" + frame("room_started", {"room_id": "r1"}), then="stay"))
    async with Collector(client.run_frames("r1")) as reading:
        await reading.until(lambda items: len(frames(items)) == 1)
        await settle()
        clock.jump(3600)  # the machine slept, or the program was stopped: that was no silence of the server's
        await clock.advance(4 * TICK_SECONDS)
        assert not reading.done
        for _ in range(25):
            await clock.advance(TICK_SECONDS)
        await reading.end()
    assert isinstance(reading.error, StreamLost)
    assert isinstance(reading.error.__cause__, TimedOut)


# --- run_frames: a server with ids --------------------------------------------------------------------


async def test_a_dropped_run_with_ids_is_read_on_from_the_log(
    server: FakeServer, client: RoomsClient, clock: FakeClock
) -> None:
    events = run_events()
    count = len(events)
    server.on("POST", RUN, streams(with_ids(1, 5, events), then="drop"))
    server.on(
        "GET",
        EVENTS,
        answers("", 503),
        streams(with_ids(3, 9, events), then="reset"),  # doubles what was seen
        streams(with_ids(10, count, events), frame("room_started", {}, count + 1), then="stay"),
    )
    async with Collector(client.run_frames("r1")) as reading:
        await pass_waits(reading, clock)
    assert reading.error is None
    got = ids(reading.items)
    assert got == [str(n) for n in range(1, len(got) + 1)]  # no gap, no double, in order
    assert names(reading.items) == [name for name, _ in events]
    assert [request.method for request in server.requests].count("POST") == 1
    afters = [r.query["after"] for r in server.requests if r.method == "GET"]
    assert afters[:2] == ["5", "5"]
    assert all(request.query["accumulated"] == "0" for request in server.requests)


async def test_a_clean_end_before_the_last_event_is_read_on_too(
    server: FakeServer, client: RoomsClient
) -> None:
    events = run_events()
    server.on("POST", RUN, streams(with_ids(1, 5, events)))
    server.on("GET", EVENTS, streams(with_ids(6, len(events), events), then="stay"))
    async with Collector(client.run_frames("r1")) as reading:
        await reading.end()
    assert names(reading.items) == [name for name, _ in events]


@pytest.mark.parametrize("odd", [[1] * 9, [5, 4, 3, 2, 1, 6, 7, 8, 9], [1, 2, 2, None, 3, 3, 4, 5, 6]])
async def test_frames_of_a_run_whose_ids_do_not_increase_are_all_taken_and_nothing_is_read_on(
    server: FakeServer, client: RoomsClient, odd: list[int | None]
) -> None:
    events = run_events()[: len(odd)]
    sent = [frame(*event, id_) for event, id_ in zip(events, odd, strict=True)]
    server.on("POST", RUN, streams(*sent, then="drop"))
    async with Collector(client.run_frames("r1")) as reading:
        await reading.end()
    assert names(reading.items) == [name for name, _ in events]
    assert isinstance(reading.error, StreamLost)
    assert [request.method for request in server.requests] == ["POST"]


@pytest.mark.parametrize("status", [404, 405])
async def test_ids_without_events_are_lost(server: FakeServer, client: RoomsClient, status: int) -> None:
    server.on("POST", RUN, streams(with_ids(1, 5, run_events()), then="drop"))
    server.on("GET", EVENTS, answers_json({"detail": "no"}, status))
    async with Collector(client.run_frames("r1")) as reading:
        await reading.end()
    assert isinstance(reading.error, StreamLost)
    assert reading.error.title == "broke off"


async def test_a_server_that_stays_away_is_given_up_within_ten_seconds(
    server: FakeServer, client: RoomsClient, clock: FakeClock
) -> None:
    server.on("POST", RUN, streams(with_ids(1, 5, run_events()), then="drop"))
    server.on("GET", EVENTS, answers("", 503))
    async with Collector(client.run_frames("r1")) as reading:
        await pass_waits(reading, clock)
    assert isinstance(reading.error, ConnectFailed)
    assert 1009 <= clock.time() <= 1010


async def test_frames_that_are_missing_are_asked_for_at_once(server: FakeServer, client: RoomsClient) -> None:
    frames = [with_ids(n, n, run_events()) for n in range(1, 7)]
    left_out = [frames[n] for n in (0, 1, 3, 4)]
    server.on("GET", EVENTS, streams(*left_out, then="stay"), streams(*frames[2:], then="stay"))
    async with Collector(client.event_frames("r1", 0)) as reading:
        await reading.until(lambda items: len(names(items)) == 6)
    assert names(reading.items) == [name for name, _ in run_events()[:6]]
    assert [request.query["after"] for request in server.requests] == ["0", "2"]
    assert [request.headers.get("last-event-id") for request in server.requests] == [None, "2"]


async def test_a_server_that_does_not_count_every_frame_is_asked_once_and_believed(
    server: FakeServer, client: RoomsClient
) -> None:
    sparse = [frame("round_end", {"round": n}, 10 * n) for n in range(1, 5)]
    server.on("GET", EVENTS, streams(*sparse, then="stay"))
    async with Collector(client.event_frames("r1", 0)) as reading:
        await reading.until(lambda items: len(names(items)) == 4)
    assert [request.query["after"] for request in server.requests] == ["0", "0"]


@pytest.mark.slow
async def test_chunks_with_everything_so_far_cost_no_memory(server: FakeServer, client: RoomsClient) -> None:
    """8000 chunks of six characters, each with the whole text so far: 190 MB on the wire."""
    count, word = 8000, "words "
    whole = 0

    async def respond(request: Request, reply: Reply) -> None:
        await reply.head(200, {"Content-Type": "text/event-stream"}, chunked=False)
        text = word * count
        for n in range(1, count + 1):
            data = f'{{"id": "m", "content": "{word}", "accumulated": "{text[: n * 6]}"}}'
            await reply.raw(f"event: message_chunk\ndata: {data}\n\n".encode())
        await reply.raw(frame("room_completed", {"room_id": "r1", "total_rounds": 1}))

    server.on("POST", RUN, respond)
    tracemalloc.start()
    try:
        async with aclosing(client.follow_run("r1")) as events:
            async for event in events:
                if isinstance(event, ev.TextAdded):
                    whole += 1
                    assert event.accumulated is not None
                    assert len(event.accumulated) == whole * 6
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert whole == count
    assert peak < 20_000_000


def test_the_fake_servers_work_for_tests_that_block() -> None:
    async def read(url: str) -> list[str]:
        async with Net(url, environ={}) as net:
            return [i.event async for i in RoomsClient(net).run_frames("r1") if isinstance(i, Frame)]

    with in_thread(OriginalRoomsServer()) as server:
        assert asyncio.run(read(server.url))[-1] == "room_completed"
    assert server.posts == 1


# --- follow_run ---------------------------------------------------------------------------------------


async def test_a_lost_run_shows_what_is_stored_before_it_says_so(clock: FakeClock) -> None:
    async with OriginalRoomsServer(stop_after=6) as server:
        server.on("GET", "/api/rooms/r1/messages", answers_json([{"id": "m0", "content": '{"text": "hi"}'}]))
        client = client_of(server, clock)
        async with Collector(client.follow_run("r1")) as reading:
            await reading.end()
        await client.aclose()
    assert isinstance(reading.error, StreamLost)
    last = reading.items[-1]
    assert isinstance(last, ev.RoomLoaded)
    assert [message.text for message in last.messages] == ["hi"]
    assert last.room == ev.RoomInfo("r1")
    assert any(isinstance(event, ev.TextAdded) and event.accumulated for event in reading.items)


async def test_a_lost_run_of_a_server_without_messages_only_says_so(clock: FakeClock) -> None:
    async with OriginalRoomsServer(stop_after=6) as server:
        client = client_of(server, clock)
        async with Collector(client.follow_run("r1")) as reading:
            await reading.end()
        await client.aclose()
    assert isinstance(reading.error, StreamLost)
    assert not any(isinstance(event, ev.RoomLoaded) for event in reading.items)


async def test_rubbish_in_a_run_is_unknown_and_the_run_goes_on(
    server: FakeServer, client: RoomsClient
) -> None:
    done = frame("room_completed", {"room_id": "r1", "total_rounds": 1})
    server.on(
        "POST", RUN, streams(b"event: message_chunk\ndata: {oops\n\n", b"event: who\ndata: 1\n\n", done)
    )
    async with Collector(client.follow_run("r1")) as reading:
        await reading.end()
    assert [type(event).__name__ for event in reading.items[2:]] == ["Unknown", "Unknown", "RunCompleted"]
