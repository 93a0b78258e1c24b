from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from agent_tui.clients import conversations
from agent_tui.clients.http import Net
from agent_tui.clients.rooms import RoomsClient
from agent_tui.model.errors import NotFound, NotOffered, ProtocolError, Refused, Unauthorized
from tests.fakes.servers.http_server import FakeServer, Reply, Request, answers, answers_json
from tests.fakes.servers.rooms_server import LogRoom, LogRoomsServer, OriginalRoomsServer, stored

ROOM = {"id": "r1", "name": "a room", "task": "t", "status": "paused", "last_event_id": 7}


@pytest.fixture
async def client(server: FakeServer) -> AsyncIterator[RoomsClient]:
    client = RoomsClient(Net(server.url, environ={}))
    yield client
    await client.aclose()


@pytest.mark.parametrize("body", [{"rooms": [ROOM]}, [ROOM], [ROOM, "rubbish", {"no": "id"}]])
async def test_rooms_are_listed_from_an_object_or_a_bare_list(
    server: FakeServer, client: RoomsClient, body: object
) -> None:
    server.on("GET", "/api/rooms", answers_json(body))
    assert [room.name for room in await client.list_all()] == ["a room"]
    assert await client.list_raw() == body


@pytest.mark.parametrize("body", [{}, {"rooms": 5}, "rooms", 7])
async def test_what_is_no_list_of_rooms_is_not_shown_as_an_empty_one(
    server: FakeServer, client: RoomsClient, body: object
) -> None:
    server.on("GET", "/api/rooms", answers_json(body))
    with pytest.raises(ProtocolError, match="not a list of rooms"):
        await client.list_all()


async def test_a_room_is_shown(server: FakeServer, client: RoomsClient) -> None:
    server.on("GET", "/api/rooms/r1", answers_json(ROOM | {"more": 1}))
    room = await client.show("r1")
    assert (room.id, room.status, room.last_event_id) == ("r1", "paused", 7)
    assert await client.show_raw("r1") == ROOM | {"more": 1}


@pytest.mark.parametrize("body", [[], {}, {"name": "no id"}, "x"])
async def test_what_is_no_room_is_a_protocol_error(
    server: FakeServer, client: RoomsClient, body: object
) -> None:
    server.on("GET", "/api/rooms/r1", answers_json(body))
    with pytest.raises(ProtocolError, match="not a room"):
        await client.show("r1")


async def test_a_room_is_made_of_what_was_said_and_nothing_else(
    server: FakeServer, client: RoomsClient
) -> None:
    server.on("POST", "/api/rooms", answers_json(ROOM, 201))
    agents = [{"name": "Mika", "model": "m"}]
    assert (await client.create("t", agents=agents, max_rounds=2, keep_running=False)).id == "r1"
    await client.create("t")
    bodies = [json.loads(request.body) for request in server.requests]
    assert bodies == [{"task": "t", "max_rounds": 2, "agents": agents, "keep_running": False}, {"task": "t"}]


@pytest.mark.parametrize(("call", "path"), [("pause", "pause"), ("resume", "resume")])
async def test_pause_and_resume_give_the_room(
    server: FakeServer, client: RoomsClient, call: str, path: str
) -> None:
    server.on("POST", f"/api/rooms/r1/{path}", answers_json(ROOM, 202))
    assert (await getattr(client, call)("r1")).status == "paused"


async def test_a_pause_answered_with_nothing_looks_at_the_room(
    server: FakeServer, client: RoomsClient
) -> None:
    server.on("POST", "/api/rooms/r1/pause", answers(b"", 204))
    server.on("GET", "/api/rooms/r1", answers_json(ROOM))
    assert (await client.pause("r1")).status == "paused"


async def test_a_change_is_sent_as_it_is(server: FakeServer, client: RoomsClient) -> None:
    server.on("PATCH", "/api/rooms/r1", answers_json(ROOM))
    await client.change("r1", keep_running=True)
    assert json.loads(server.requests[0].body) == {"keep_running": True}


async def test_a_conflict_brings_the_servers_words(server: FakeServer, client: RoomsClient) -> None:
    problem = {"title": "The room is completed", "detail": "It cannot go on.", "status": 409}
    server.on("POST", "/api/rooms/r1/resume", answers_json(problem, 409, kind="application/problem+json"))
    with pytest.raises(Refused, match="The room is completed: It cannot go on") as caught:
        await client.resume("r1")
    assert caught.value.status == 409


CALLS = ["pause", "resume", "delete"]


@pytest.mark.parametrize("call", CALLS)
async def test_on_an_original_server_other_calls_are_not_offered(call: str) -> None:
    async with OriginalRoomsServer() as server, Net(server.url, environ={}) as net:
        client = RoomsClient(net)
        with pytest.raises(NotOffered, match="does not offer"):
            await getattr(client, call)("r1")
        with pytest.raises(NotOffered, match="does not offer a list"):
            await client.list_all()
        with pytest.raises(NotOffered, match="does not offer making"):
            await client.create("t")
        with pytest.raises(NotFound):
            await client.show("r1")
        assert server.posts <= 2


@pytest.mark.parametrize("call", CALLS)
async def test_where_the_room_is_shown_a_404_means_the_call(
    server: FakeServer, client: RoomsClient, call: str
) -> None:
    server.on("GET", "/api/rooms/r1", answers_json(ROOM))
    with pytest.raises(NotOffered):
        await getattr(client, call)("r1")


@pytest.mark.parametrize("call", CALLS)
async def test_where_rooms_are_listed_a_404_means_the_room(call: str) -> None:
    async with LogRoomsServer(LogRoom("other")) as server, Net(server.url, environ={}) as net:
        with pytest.raises(NotFound, match="No such room"):
            await getattr(RoomsClient(net), call)("r1")


async def test_a_405_is_not_offered_at_once(server: FakeServer, client: RoomsClient) -> None:
    server.on("POST", "/api/rooms/r1/pause", answers_json({"detail": "Method Not Allowed"}, 405))
    with pytest.raises(NotOffered, match="this server does not offer pausing: it answered 405"):
        await client.pause("r1")
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("method", "path", "call"),
    [
        ("GET", "/api/rooms", lambda client: client.list_all()),
        ("POST", "/api/rooms", lambda client: client.create("t")),
        ("DELETE", "/api/rooms/r1", lambda client: client.delete("r1")),
        ("POST", "/api/rooms/r1/agents/a1/stop", lambda client: client.stop_agent("r1", "a1")),
        ("GET", "/api/tools", lambda client: client.backend.tools()),
        ("GET", "/api/providers", lambda client: client.backend.providers()),
    ],
)
async def test_a_405_names_what_is_not_offered(
    server: FakeServer,
    client: RoomsClient,
    method: str,
    path: str,
    call: Callable[[RoomsClient], Awaitable[object]],
) -> None:
    server.on(method, path, answers_json({"detail": "Method Not Allowed"}, 405))
    with pytest.raises(NotOffered, match=r"this server does not offer .+: it answered 405"):
        await call(client)


async def test_a_refused_token_stays_that(server: FakeServer, client: RoomsClient) -> None:
    server.on("POST", "/api/rooms/r1/pause", answers_json({"detail": "Not Found"}, 404))
    server.on("GET", "/api/rooms/r1", answers_json({"detail": "no"}, 401))
    with pytest.raises(NotFound):
        await client.pause("r1")
    with pytest.raises(Unauthorized):
        await client.as_known("r1")


# --- messages ----------------------------------------------------------------------------------------


def many(count: int) -> list[dict[str, Any]]:
    return [stored(f"m{n}", f"text {n}", "Ada", 1) for n in range(count)]


@pytest.mark.parametrize("size", [1, 3, 7, 8, 100])
async def test_messages_are_read_from_all_pages(size: int) -> None:
    room = LogRoom("r1", messages=many(7), next_id=42)
    async with LogRoomsServer(room, page_size=size) as server, Net(server.url, environ={}) as net:
        messages, as_of = await RoomsClient(net).messages("r1")
        assert await RoomsClient(net).messages_raw("r1") == room.messages
    assert [message.text for message in messages] == [f"text {n}" for n in range(7)]
    assert as_of == 41


async def test_messages_may_be_a_bare_list(server: FakeServer, client: RoomsClient) -> None:
    server.on("GET", "/api/rooms/r1/messages", answers_json([*many(2), "rubbish"]))
    messages, as_of = await client.messages("r1")
    assert [message.id for message in messages] == ["m0", "m1"]
    assert as_of is None


@pytest.mark.parametrize("body", [{}, {"messages": 5}, 7, "x"])
async def test_what_is_no_list_of_messages_is_a_protocol_error(
    server: FakeServer, client: RoomsClient, body: object
) -> None:
    server.on("GET", "/api/rooms/r1/messages", answers_json(body))
    with pytest.raises(ProtocolError, match="not a list of messages"):
        await client.messages("r1")


async def test_a_next_that_leads_back_ends_the_reading(server: FakeServer, client: RoomsClient) -> None:
    page = {"messages": many(2), "next": "m1", "as_of": 5}
    server.on("GET", "/api/rooms/r1/messages", answers_json(page))
    messages, _ = await client.messages("r1")
    assert [message.id for message in messages] == ["m0", "m1"] * 2  # it may have been the second page
    assert len(server.requests) == 2


async def test_pages_without_end_are_refused(
    server: FakeServer, client: RoomsClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversations, "MAX_PAGES", 20)
    number = 0

    async def respond(request: Request, reply: Reply) -> None:
        nonlocal number
        number += 1
        await answers_json({"messages": [{"id": number}], "next": number, "as_of": 1})(request, reply)

    server.on("GET", "/api/rooms/r1/messages", respond)
    with pytest.raises(ProtocolError, match="more than"):
        await client.messages("r1")
    assert number == 20


async def test_turns_under_way_are_all_read_as_of_one_moment() -> None:
    """Two turns go on while the pages are read, one on each: both must come as of the last answer."""
    room = LogRoom("r1", messages=many(4), next_id=10)

    class Growing(LogRoomsServer):
        """Says another word of each open turn between any two answers."""

        def _page(self, room: LogRoom, after: str | None, limit: int) -> dict[str, Any]:
            for message in room.messages[1:3]:
                message |= {"status": "streaming"} | {"content": f"{room.last_event_id} words"}
            page = super()._page(room, after, limit)
            room.next_id += 1
            return page

    async with Growing(room, page_size=2) as server, Net(server.url, environ={}) as net:
        messages, as_of = await RoomsClient(net).messages("r1")
    assert [message.id for message in messages] == ["m0", "m1", "m2", "m3"]
    assert {message.content for message in messages[1:3]} == {f"{as_of} words"}
