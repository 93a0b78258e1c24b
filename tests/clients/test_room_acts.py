"""What a person does to a room, asked of servers on real sockets."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from agent_tui.clients.http import Net
from agent_tui.clients.records import ModelInfo, ProviderInfo
from agent_tui.clients.rooms import RoomsClient
from agent_tui.model.errors import NotFound, NotOffered, Refused, StreamLost
from tests.fakes.servers.http_server import FakeServer, Reply, Request, answers, answers_json
from tests.fakes.servers.rooms_server import LogRoom, LogRoomsServer, OriginalRoomsServer

AGENTS = [{"id": "a", "name": "Mika"}, {"id": "b", "name": "Ada"}]


@asynccontextmanager
async def asking(server: FakeServer) -> AsyncGenerator[RoomsClient, None]:
    async with server, Net(server.url, environ={}) as net:
        yield RoomsClient(net)


def a_room() -> LogRoom:
    return LogRoom("r1", agents=[dict(agent) for agent in AGENTS], status="running")


async def test_words_wait_in_the_queue_and_may_be_changed_and_taken_back() -> None:
    server = LogRoomsServer(a_room())
    async with asking(server) as client:
        said = await client.say("r1", "Привет", to="b", client_key="k")
        assert (said.status, [(m.id, m.content, m.to) for m in said.queue]) == (
            "queued",
            [(said.id, "Привет", "b")],
        )
        assert [m.content for m in await client.change_queued("r1", said.id, "你好", "")] == ["你好"]
        assert [(m.content, m.to) for m in await client.queue("r1")] == [("你好", "")]
        assert await client.drop_queued("r1", said.id) == ()
        with pytest.raises(Refused, match="It was said"):
            await client.drop_queued("r1", said.id)


async def test_words_for_now_are_said_at_once() -> None:
    server = LogRoomsServer(a_room())
    async with asking(server) as client:
        said = await client.say("r1", "Stop that", when="now", to="a")
        assert (said.status, said.queue) == ("said", ())
    [(_, name, data)] = server.rooms["r1"].log
    assert (name, data["id"], data["to"], data["role"]) == ("message", said.id, "a", "user")


async def test_the_same_key_makes_one_message_however_often_a_person_asks() -> None:
    server = LogRoomsServer(a_room())
    async with asking(server) as client:
        first = await client.say("r1", "hello", client_key="k")
        again = await client.say("r1", "hello", client_key="k")
        assert first == again
        assert len(again.queue) == 1


async def test_words_whose_answer_is_lost_are_not_sent_again_by_themselves(server: FakeServer) -> None:
    async def drop(request: Request, reply: Reply) -> None:
        await reply.reset()

    server.on("POST", "/api/rooms/r1/messages", drop, answers_json({"id": "m", "status": "queued"}, 202))
    async with Net(server.url, environ={}) as net:
        client = RoomsClient(net)
        with pytest.raises(StreamLost):
            await client.say("r1", "hello", client_key="k")
        assert len(server.asked("POST", "/api/rooms/r1/messages")) == 1
        assert (await client.say("r1", "hello", client_key="k")).id == "m"
    keys = [json.loads(request.body)["client_key"] for request in server.requests]
    assert keys == ["k", "k"]


async def test_a_refusal_brings_the_servers_words() -> None:
    room = a_room()
    async with asking(LogRoomsServer(room)) as client:
        with pytest.raises(Refused, match="no such agent"):
            await client.say("r1", "hello", to="nobody")
        room.status = "completed"
        with pytest.raises(Refused, match=r"Add a round first"):
            await client.say("r1", "hello")


async def test_stop_skip_and_retry_give_the_room() -> None:
    async with asking(LogRoomsServer(a_room())) as client:
        assert (await client.stop_agent("r1", "a")).id == "r1"
        assert (await client.skip_agent("r1", "b")).agents[1].skip_next
        assert not (await client.skip_agent("r1", "b")).agents[1].skip_next
        assert (await client.retry_agent("r1", "a")).status == "running"


@pytest.mark.parametrize("call", ["stop_agent", "skip_agent", "retry_agent"])
async def test_a_202_without_a_body_looks_at_the_room(server: FakeServer, call: str) -> None:
    act = call.removesuffix("_agent")
    server.on("POST", f"/api/rooms/r1/agents/a/{act}", answers(b"", 202))
    server.on("GET", "/api/rooms/r1", answers_json({"id": "r1", "name": "a room"}))
    async with Net(server.url, environ={}) as net:
        assert (await getattr(RoomsClient(net), call)("r1", "a")).name == "a room"


async def test_words_taken_with_an_empty_answer_are_taken(server: FakeServer) -> None:
    server.on("POST", "/api/rooms/r1/messages", answers(b"", 202))
    async with Net(server.url, environ={}) as net:
        said = await RoomsClient(net).say("r1", "hello", when="now")
    assert (said.id, said.status, said.queue) == ("", "said", ())


async def test_a_404_for_an_agent_is_not_a_call_that_is_missing() -> None:
    async with asking(LogRoomsServer(a_room())) as client:
        with pytest.raises(NotFound, match="No such agent"):
            await client.stop_agent("r1", "nobody")
        with pytest.raises(NotFound, match="No such message"):
            await client.drop_queued("r1", "nothing")


@pytest.mark.parametrize("call", ["stop_agent", "skip_agent", "retry_agent", "drop_queued", "change_queued"])
async def test_on_an_original_server_acts_are_not_offered(call: str) -> None:
    server = OriginalRoomsServer()
    async with asking(server) as client:
        with pytest.raises(NotOffered, match="does not offer"):
            await getattr(client, call)("r1", "a")
        assert server.posts <= 1


async def test_a_room_is_changed_with_all_its_agents_and_its_budget() -> None:
    async with asking(LogRoomsServer(a_room())) as client:
        agents = [{"id": "b", "name": "Ada"}, {"name": "Noor", "model": "m"}]
        room = await client.change("r1", agents=agents, max_tokens=5000, max_cost=0.5, on_error="pause")
        assert [agent.name for agent in room.agents] == ["Ada", "Noor"]
        assert (room.max_tokens, room.max_cost, room.on_error) == (5000, 0.5, "pause")
        assert (await client.change("r1", archived=True)).archived
        assert await client.list_all() == []
        assert [room.id for room in await client.list_all(archived=True)] == ["r1"]


async def test_a_room_is_made_with_a_budget() -> None:
    async with asking(LogRoomsServer()) as client:
        room = await client.create("t", max_tokens=7, max_cost=0.25, on_error="pause")
        assert (room.max_tokens, room.max_cost, room.on_error) == (7, 0.25, "pause")


async def test_changes_come_as_soon_as_there_are_any() -> None:
    server = LogRoomsServer(a_room(), LogRoom("r2"))
    async with asking(server) as client:
        first = await client.changes(None, 20)
        assert (first.is_all, [room.id for room in first.rooms]) == (True, ["r1", "r2"])
        server.publish("r2", "round_end", {"round": 1})
        second = await client.changes(first.cursor, 20)
        assert (second.is_all, [room.id for room in second.rooms]) == (False, ["r2"])
        await client.delete("r1")
        assert (await client.changes(second.cursor, 20)).removed == ("r1",)


@pytest.mark.parametrize("body", [[{"id": "r1"}], {"rooms": [{"id": "r1"}]}])
async def test_a_server_without_changes_answers_all_rooms_and_no_cursor(
    server: FakeServer, body: object
) -> None:
    server.on("GET", "/api/rooms", answers_json(body))
    async with Net(server.url, environ={}) as net:
        changes = await RoomsClient(net).changes(None, 20)
    assert (changes.is_all, changes.cursor, [room.id for room in changes.rooms]) == (True, "", ["r1"])


async def test_providers_and_their_models_are_listed() -> None:
    async with asking(LogRoomsServer()) as client:
        assert await client.backend.providers() == [ProviderInfo("demo", "Demo", "demo", "demo")]
        assert await client.backend.models("demo") == ["demo"]
        test = await client.backend.test_provider(kind="openai", base_url="http://127.0.0.1:1/v1")
        assert (test.models, test.answer_seconds) == (("demo",), 0.25)


@pytest.mark.parametrize(
    "body", [{"models": [{"id": "m"}, "n", {}, 7, "m"]}, {"data": [{"id": "m"}, {"id": "n"}]}, ["m", "n"]]
)
async def test_models_are_read_in_every_shape(server: FakeServer, body: object) -> None:
    server.on("GET", "/api/providers/local%2F1/models", answers_json(body))
    async with Net(server.url, environ={}) as net:
        assert await RoomsClient(net).backend.models("local/1") == ["m", "n"]


async def test_what_is_known_of_a_model_is_read_and_nonsense_is_not(server: FakeServer) -> None:
    known = {"id": "m", "context_tokens": 128_000, "input_price": 2.5, "output_price": 10}
    odd = {"id": "n", "context_tokens": -1, "input_price": True, "output_price": 1e400}
    server.on("GET", "/api/providers/local/models", answers_json({"models": [known, odd]}))
    async with Net(server.url, environ={}) as net:
        offered = await RoomsClient(net).backend.list_models("local")
    assert offered == [ModelInfo("m", 128_000, 2.5, 10), ModelInfo("n")]


# --- what a server lacks -------------------------------------------------------------------------------


async def test_a_whole_server_lacks_nothing_and_is_asked_once() -> None:
    server = LogRoomsServer(a_room())
    async with asking(server) as client:
        assert await client.missing("r1") == {}
        asked = len(server.requests)
        assert await client.missing("r1") == {}
        assert len(server.requests) == asked
        assert {request.method for request in server.requests} == {"OPTIONS"}


async def test_a_server_that_only_runs_and_shows_lacks_every_act() -> None:
    async with asking(LogRoomsServer(a_room(), original=True)) as client:
        lacking = await client.missing("r1")
    shown = {"queue", "providers"}  # they are only looked at
    names = {"say", "stop", "skip", "retry", "continue", "change", "pause", "resume", "delete", "create"}
    assert set(lacking) == names
    assert not shown & set(lacking)
    assert lacking["pause"] == "this server does not offer pausing"


async def test_an_original_server_has_none_of_the_paths() -> None:
    server = OriginalRoomsServer()
    async with asking(server) as client:
        assert len(await client.missing("r1")) == 12
    assert server.posts == 0


@pytest.mark.parametrize(
    ("answer", "is_missing"),
    [
        (answers(b"", 405, {"Allow": "GET, HEAD"}), True),
        (answers(b"", 204, {"Allow": "get"}), True),
        (answers(b"", 405, {"Allow": "get, post"}), False),
        (answers(b"", 405), False),
        (answers(b"", 200), False),
        (answers(b"", 401, {"Allow": "GET"}), False),
        (answers(b"", 500), False),
        (answers(b"", 302, {"Location": "/login"}), False),
    ],
)
async def test_only_a_clear_answer_means_that_a_call_is_missing(
    server: FakeServer, answer: object, is_missing: bool
) -> None:
    server.on("OPTIONS", "/api/rooms/r1/messages", answer)  # type: ignore[arg-type]
    async with Net(server.url, environ={}) as net:
        assert ("say" in await RoomsClient(net).missing("r1")) == is_missing


async def test_a_server_that_is_away_lacks_nothing_and_is_asked_again_later() -> None:
    server = LogRoomsServer(a_room(), original=True)
    await server.start()
    await server.stop()
    async with Net(server.url, environ={}) as net:
        client = RoomsClient(net)
        assert await client.missing("r1") == {}
        async with server:
            assert "pause" in await client.missing("r1")


async def test_no_more_than_four_are_asked_at_once(server: FakeServer) -> None:
    most = 0

    async def respond(request: Request, reply: Reply) -> None:
        nonlocal most
        most = max(most, server.open)
        await answers(b"", 204)(request, reply)

    for path in ("", "/messages", "/queue", "/pause", "/resume", "/agents/agent/stop"):
        server.on("OPTIONS", f"/api/rooms/r1{path}", respond)
    async with Net(server.url, environ={}) as net:
        await RoomsClient(net).missing("r1")
    assert 1 <= most <= 4
