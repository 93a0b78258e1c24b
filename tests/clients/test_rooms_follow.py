from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from agent_tui.clients.clock import TICK_SECONDS
from agent_tui.clients.http import Net
from agent_tui.clients.rooms import ROOMS, RoomsClient
from agent_tui.model import events as ev
from agent_tui.model.errors import ConnectFailed, NotFound, Refused
from agent_tui.model.events import Event, LinkChanged, RoomLoaded
from tests.fakes.clock import FakeClock, settle
from tests.fakes.collector import Collector
from tests.fakes.servers.http_server import Reply, Request, answers, answers_json, streams
from tests.fakes.servers.rooms_server import LogRoom, LogRoomsServer, OriginalRoomsServer, frame, stored

ROOM = "/api/rooms/r1"
EVENTS = ROOM + "/events"


@pytest.fixture
async def server() -> AsyncIterator[LogRoomsServer]:
    room = LogRoom("r1", messages=[stored("m0", "hello", "Mika", 1)], status="running", next_id=11)
    async with LogRoomsServer(room) as server:
        yield server


@pytest.fixture
async def client(server: LogRoomsServer, clock: FakeClock) -> AsyncIterator[RoomsClient]:
    client = RoomsClient(Net(server.url, environ={}), clock=clock)
    yield client
    await client.aclose()


def statuses(items: list[Event]) -> list[str]:
    return [item.status for item in items if isinstance(item, LinkChanged)]


def loads(items: list[Event]) -> list[RoomLoaded]:
    return [item for item in items if isinstance(item, RoomLoaded)]


def rounds(items: list[Event]) -> list[int]:
    return [item.round for item in items if isinstance(item, ev.RoundEnded)]


async def live(reading: Collector[Event], times: int = 1) -> None:
    await reading.until(lambda items: statuses(items).count("live") == times)


async def waiting(reading: Collector[Event], clock: FakeClock, nth: int = 1) -> None:
    """Let the time of the nth wait pass."""
    await reading.until(lambda items: statuses(items).count("waiting") >= nth)
    waits = [i for i in reading.items if isinstance(i, LinkChanged) and i.status == "waiting"]
    await clock.advance(waits[nth - 1].delay)


async def test_a_room_is_loaded_and_then_followed(server: LogRoomsServer, client: RoomsClient) -> None:
    server.publish("r1", "round_end", {"round": 1})  # before the messages: stored already
    async with Collector(client.follow("r1")) as reading:
        await live(reading)
        server.publish("r1", "round_end", {"round": 2})
        await reading.until(lambda items: len(rounds(items)) == 1)
    first, loaded, second, event = reading.items
    assert first == LinkChanged("connecting")
    assert isinstance(loaded, RoomLoaded)
    assert (loaded.room.id, loaded.room.status) == ("r1", "running")
    assert [message.text for message in loaded.messages] == ["hello"]
    assert second == LinkChanged("live")
    assert event == ev.RoundEnded(2)
    asked = server.asked("GET", EVENTS)[0].query
    assert asked == {"after": "11", "accumulated": "0", "asks": "1", "queue": "1"}


async def test_that_a_room_was_changed_comes_without_an_id_and_each_time(
    server: LogRoomsServer, client: RoomsClient
) -> None:
    told = frame("queue_changed", {"room_id": "r1"})
    server.on("GET", EVENTS, streams(told, told, frame("round_end", {"round": 1}, 11), told, then="stay"))
    changed = ev.QueueChanged("r1")
    async with Collector(client.follow("r1")) as reading:
        await reading.until(lambda items: items.count(changed) == 3)
    assert reading.items[3:] == [changed, changed, ev.RoundEnded(1), changed]


async def test_a_drop_is_said_and_nothing_is_missed_or_doubled(
    server: LogRoomsServer, client: RoomsClient, clock: FakeClock
) -> None:
    async with Collector(client.follow("r1")) as reading:
        await live(reading)
        server.publish("r1", "round_end", {"round": 1})
        await reading.until(lambda items: rounds(items) == [1])
        await server.drop_all()
        server.publish("r1", "round_end", {"round": 2})
        await waiting(reading, clock)
        await live(reading, 2)
        server.publish("r1", "round_end", {"round": 3})
        await reading.until(lambda items: len(rounds(items)) == 3)
    assert rounds(reading.items) == [1, 2, 3]
    assert len(loads(reading.items)) == 1
    assert statuses(reading.items) == ["connecting", "live", "waiting", "connecting", "live"]


async def test_a_backend_that_is_not_there_is_waited_for(
    server: LogRoomsServer, client: RoomsClient, clock: FakeClock
) -> None:
    await server.stop()
    async with Collector(client.follow("r1")) as reading:
        await waiting(reading, clock, 1)
        await reading.until(lambda items: statuses(items).count("waiting") == 2)
        await server.start()
        await waiting(reading, clock, 2)
        await live(reading)
    assert statuses(reading.items) == ["connecting", "waiting", "connecting", "waiting", "connecting", "live"]
    assert len(loads(reading.items)) == 1
    waits = [item for item in reading.items if isinstance(item, LinkChanged) and item.status == "waiting"]
    assert [wait.attempt for wait in waits] == [1, 2]
    assert "Connection refused" in waits[0].detail


async def test_following_gives_up_when_told_to(
    server: LogRoomsServer, client: RoomsClient, clock: FakeClock
) -> None:
    await server.stop()
    async with Collector(client.follow("r1", give_up_seconds=1)) as reading:
        await clock.advance(0)
        while not reading.done:
            await settle()
            await clock.advance(0.25)
    assert isinstance(reading.error, ConnectFailed)
    assert clock.time() <= 1003


async def test_a_backend_that_hangs_is_given_up_too(
    server: LogRoomsServer, client: RoomsClient, clock: FakeClock
) -> None:
    async def hang(request: Request, reply: Reply) -> None:
        await reply.stay()

    server.on("GET", ROOM + "/messages", hang)
    async with Collector(client.follow("r1", give_up_seconds=1)) as reading:
        await server.until(lambda: len(server.requests) == 1)
        await settle()
        for _ in range(3):
            await clock.advance(TICK_SECONDS)
        await reading.end()
    assert isinstance(reading.error, ConnectFailed)
    await server.until(lambda: server.open == 0)


@pytest.mark.parametrize("status", [401, 403])
async def test_a_refused_token_is_raised(server: LogRoomsServer, client: RoomsClient, status: int) -> None:
    server.on("GET", ROOM + "/messages", answers_json({"title": "no"}, status))
    async with Collector(client.follow("r1")) as reading:
        await reading.end()
    assert isinstance(reading.error, Refused)
    assert reading.error.status == status


async def test_no_such_room_is_raised(client: RoomsClient) -> None:
    async with Collector(client.follow("r2")) as reading:
        await reading.end()
    assert isinstance(reading.error, NotFound)
    assert loads(reading.items) == []


async def test_a_room_that_was_deleted_is_raised(
    server: LogRoomsServer, client: RoomsClient, clock: FakeClock
) -> None:
    async with Collector(client.follow("r1")) as reading:
        await live(reading)
        del server.rooms["r1"]
        await server.drop_all()
        await waiting(reading, clock)
        await reading.end()
    assert isinstance(reading.error, NotFound)


# --- the server lost our place -----------------------------------------------------------------------


async def test_gone_loads_the_room_again(
    server: LogRoomsServer, client: RoomsClient, clock: FakeClock
) -> None:
    async with Collector(client.follow("r1")) as reading:
        await live(reading)
        server.on("GET", EVENTS, answers_json({"title": "Gone"}, 410))
        await server.drop_all()
        await reading.until(lambda items: "waiting" in statuses(items))
        server.rooms["r1"].messages.append(stored("m1", "more", "Ada", 1))
        asked = len(server.asked("GET", EVENTS))
        await waiting(reading, clock)
        await server.until(lambda: len(server.asked("GET", EVENTS)) > asked)
        server.calm()
        await live(reading, 2)
    first, *_, last = loads(reading.items)
    assert (len(first.messages), len(last.messages)) == (1, 2)


async def test_a_server_where_everything_is_gone_is_not_asked_for_ever(
    server: LogRoomsServer, client: RoomsClient
) -> None:
    server.on("GET", EVENTS, answers_json({"title": "Gone"}, 410))
    async with Collector(client.follow("r1")) as reading:
        await reading.end()
    assert isinstance(reading.error, Refused)
    assert reading.error.status == 410
    assert len(server.asked("GET", EVENTS)) <= 5


@pytest.mark.parametrize("status", [404, 405])
async def test_a_server_that_shows_no_single_room_is_followed_over_a_drop(
    server: LogRoomsServer, client: RoomsClient, clock: FakeClock, status: int
) -> None:
    server.on("GET", ROOM, answers_json({"detail": "no"}, status))
    async with Collector(client.follow("r1")) as reading:
        await live(reading)
        await server.drop_all()
        await waiting(reading, clock)
        await live(reading, 2)
        server.publish("r1", "round_end", {"round": 1})
        await reading.until(lambda items: rounds(items) == [1])
    assert reading.error is None


async def test_another_store_behind_the_address_loads_the_room_again(
    server: LogRoomsServer, client: RoomsClient, clock: FakeClock
) -> None:
    async with Collector(client.follow("r1")) as reading:
        await live(reading)
        server.publish("r1", "round_end", {"round": 1})
        await reading.until(lambda items: rounds(items) == [1])
        server.rooms["r1"] = LogRoom("r1", messages=[stored("n0", "another", "Ada", 1)], next_id=4)
        await server.drop_all()
        await waiting(reading, clock)
        await reading.until(lambda items: len(loads(items)) == 2)
        await live(reading, 2)
        server.publish("r1", "round_end", {"round": 9})  # a small id, and yet news
        await reading.until(lambda items: rounds(items) == [1, 9])
    assert loads(reading.items)[1].messages[0].text == "another"


async def test_a_room_that_comes_to_rest_while_it_is_read_is_read_again(
    server: LogRoomsServer, client: RoomsClient
) -> None:
    room = server.rooms["r1"]

    async def last_words(request: Request, reply: Reply) -> None:
        await answers_json({"messages": room.messages, "next": None, "as_of": room.last_event_id})(
            request, reply
        )
        if room.status == "running":
            room.messages[0] = stored("m0", "hello and goodbye", "Mika", 1)
            room.status = "paused"
            server.publish("r1", "room_paused")

    server.on("GET", ROOM + "/messages", last_words)
    async with Collector(client.follow("r1")) as reading:
        await live(reading)
    (loaded,) = loads(reading.items)
    assert loaded.room.status == "paused"
    assert loaded.messages[0].text == "hello and goodbye"


# --- servers of other people -------------------------------------------------------------------------


async def test_an_original_server_shows_nothing_until_it_runs(clock: FakeClock) -> None:
    async with OriginalRoomsServer() as server, Net(server.url, environ={}) as net:
        reading = Collector(RoomsClient(net, clock=clock).follow("r1"))
        async with reading:
            await reading.end()
    assert reading.error is None
    assert reading.items == [
        LinkChanged("connecting"),
        RoomLoaded(ev.RoomInfo("r1"), ()),
        LinkChanged("ended", ROOMS.ended_detail),
    ]
    assert server.posts == 0


@pytest.mark.parametrize("status", [404, 405])
async def test_a_server_with_messages_but_no_events_shows_them(clock: FakeClock, status: int) -> None:
    async with OriginalRoomsServer() as server, Net(server.url, environ={}) as net:
        server.on("GET", ROOM, answers_json({"id": "r1", "name": "theirs"}))
        server.on("GET", ROOM + "/messages", answers_json([stored("m0", "hi", "Mika", 1)]))
        server.on("GET", EVENTS, answers_json({"detail": "no"}, status))
        async with Collector(RoomsClient(net, clock=clock).follow("r1")) as reading:
            await reading.end()
    (loaded,) = loads(reading.items)
    assert loaded.room.name == "theirs"
    assert loaded.messages[0].text == "hi"
    assert reading.items[-1] == LinkChanged("ended", ROOMS.ended_detail)


async def test_a_server_that_only_lists_rooms_shows_the_listed_one(clock: FakeClock) -> None:
    async with OriginalRoomsServer() as server, Net(server.url, environ={}) as net:
        server.on("GET", "/api/rooms", answers_json([{"id": "r0"}, {"id": "r1", "name": "theirs"}]))
        async with Collector(RoomsClient(net, clock=clock).follow("r1")) as reading:
            await reading.end()
        assert loads(reading.items)[0].room.name == "theirs"
        async with Collector(RoomsClient(net, clock=clock).follow("r9")) as reading:
            await reading.end()
        assert isinstance(reading.error, NotFound)


async def test_no_content_ends_the_following(server: LogRoomsServer, client: RoomsClient) -> None:
    server.on("GET", EVENTS, answers(b"", 204))
    async with Collector(client.follow("r1")) as reading:
        await reading.end()
    assert reading.error is None
    assert statuses(reading.items)[-1] == "ended"


async def test_paths_may_lie_elsewhere(clock: FakeClock) -> None:
    paths = {"room": "/v2/{id}", "messages": "/v2/{id}/said", "events": "/v2/{id}/stream?v=2"}
    async with OriginalRoomsServer() as server, Net(server.url + "/base", environ={}) as net:
        server.on("GET", "/base/v2/a%2Fb", answers_json({"id": "a/b"}))
        server.on("GET", "/base/v2/a%2Fb/said", answers_json([]))
        server.on("GET", "/base/v2/a%2Fb/stream", streams(frame("round_end", {"round": 1}, 1), then="stay"))
        async with Collector(RoomsClient(net, paths, clock=clock).follow("a/b")) as reading:
            await reading.until(lambda items: rounds(items) == [1])
    query = {"v": "2", "after": "0", "accumulated": "0", "asks": "1", "queue": "1"}
    assert server.requests[-1].query == query


@pytest.mark.parametrize("moment", ["loading", "live", "waiting"])
async def test_leaving_a_room_leaves_nothing_open(
    server: LogRoomsServer, client: RoomsClient, clock: FakeClock, moment: str
) -> None:
    async def hang(request: Request, reply: Reply) -> None:
        await reply.stay()

    if moment == "loading":
        server.on("GET", ROOM + "/messages", hang)
    elif moment == "waiting":
        server.on("GET", ROOM, answers("", 503))
    async with Collector(client.follow("r1")) as reading:
        await server.until(lambda: len(server.requests) >= 1)
        if moment != "loading":
            await reading.until(lambda items: moment in statuses(items))
        await settle()
    await client.aclose()
    await server.until(lambda: server.open == 0)
    assert clock.sleepers == 0
    assert len(asyncio.all_tasks()) <= 2
