"""Rooms changed while they run, put away, given more rounds; and lists that wait for what changed."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from tests.backend.in_process import Backend, backend
from tests.backend.talk import run_to_end, until
from tests.backend.wire_client import Answer
from tests.fakes.scripted_model import FakeModels, ScriptedModel


async def change(running: Backend, room_id: str, **fields: Any) -> Answer:
    return await running.client.call("PATCH", f"/api/rooms/{room_id}", fields)


async def show(running: Backend, room_id: str) -> Any:
    return (await running.client.call("GET", f"/api/rooms/{room_id}")).json


async def poll(running: Backend, cursor: str, wait: float = 30) -> Any:
    return (await running.client.call("GET", f"/api/rooms?after={cursor}&wait={wait}")).json


# --- what a room is ------------------------------------------------------------------------------------


async def test_budget_and_what_an_error_does_are_made_changed_and_shown(talking: Backend) -> None:
    room_id = await talking.room(max_tokens=500, max_cost=1.5, on_error="pause")
    room = await show(talking, room_id)
    assert (room["max_tokens"], room["max_cost"], room["on_error"]) == (500, 1.5, "pause")
    assert (room["tokens"], room["cost"], room["archived"], room["queue"]) == (0, None, False, [])
    assert (await change(talking, room_id, answer_tokens=900)).json["answer_tokens"] == 900
    assert (await show(talking, room_id))["answer_tokens"] == 900
    assert (await show(talking, room_id))["on_resume"] == "continue"
    assert (await change(talking, room_id, on_resume="again")).json["on_resume"] == "again"
    assert (await show(talking, room_id))["on_resume"] == "again"
    answer = await change(talking, room_id, max_tokens=0, max_cost=2, on_error="continue")
    assert (answer.json["max_tokens"], answer.json["max_cost"], answer.json["on_error"]) == (0, 2, "continue")


async def test_what_a_change_cannot_be_is_refused_and_changes_nothing(talking: Backend) -> None:
    room_id = await talking.room()
    before = await show(talking, room_id)
    first = before["agents"][0]["id"]
    wrong: list[dict[str, Any]] = [
        {"max_tokens": -1},
        {"answer_tokens": -1},
        {"answer_tokens": 10_000_001},
        {"max_tokens": "1"},
        {"max_cost": -0.1},
        {"max_cost": True},
        {"on_error": "explode"},
        {"on_resume": "explode"},
        {"archived": 1},
        {"agents": []},
        {"agents": [{}]},
        {"agents": [{"id": "nobody"}]},
        {"agents": [{"id": first}, {"id": first}]},
        {"agents": [{"id": first, "name": " "}]},
        {"agents": [{"name": "x"}] * 65},
    ]
    for fields in wrong:
        answer = await change(talking, room_id, name="New", **fields)
        assert (answer.status, bool(answer.json["title"])) == (422, True), fields
    assert (await talking.client.call("PATCH", f"/api/rooms/{room_id}", b'{"max_cost": 1e999}')).status == 422
    assert await show(talking, room_id) == before


async def test_a_provider_that_is_not_configured_is_refused_but_where_it_was_before(tmp_path: Path) -> None:
    model = ScriptedModel(lambda _: ["Hm."])
    models = FakeModels(model)
    async with backend(tmp_path, model, models=models) as running:
        room_id = await running.room()
        (first, second) = ({"id": agent["id"]} for agent in (await show(running, room_id))["agents"])
        gone = {"name": "Ada", "provider_id": "gone", "model": "any name at all"}
        assert (await change(running, room_id, agents=[{**first, **gone}, second])).status == 200
        models.configured = {"scripts"}
        made = await running.client.call("POST", "/api/rooms", {"task": "Why?", "agents": [gone]})
        assert made.status == 422
        assert made.json["title"] == "The provider is not configured"
        assert made.json["detail"] == "no provider called 'gone': the config file has: scripts"
        assert (await change(running, room_id, agents=[first, {**second, **gone}])).status == 422
        assert (await change(running, room_id, agents=[first, {"name": "Neu", **gone}])).status == 422
        kept = await change(running, room_id, agents=[{**first, "system_prompt": "Be kind."}, second])
        assert (kept.status, kept.json["agents"][0]["provider_id"]) == (200, "gone")
        moved = await change(running, room_id, agents=[{**first, "provider_id": "scripts"}])
        assert (moved.status, moved.json["agents"][0]["model"]) == (200, "scripts-model")


async def test_the_whole_list_of_agents_is_changed_added_to_reordered_and_shortened(talking: Backend) -> None:
    room_id = await talking.room(agents=3)
    one, two, three = (await show(talking, room_id))["agents"]
    kinder, first = {"id": three["id"], "system_prompt": "Be kind."}, {"id": one["id"], "name": "Eins"}
    changed = (await change(talking, room_id, agents=[kinder, {"name": "Neu"}, first])).json
    assert [agent["name"] for agent in changed["agents"]] == [three["name"], "Neu", "Eins"]
    assert [agent["turn_order"] for agent in changed["agents"]] == [0, 1, 2]
    kept = changed["agents"][0]
    assert (kept["id"], kept["system_prompt"]) == (three["id"], "Be kind.")
    assert (kept["color"], kept["model"], kept["provider_id"]) == (
        three["color"],
        three["model"],
        three["provider_id"],
    )
    assert two["id"] not in changed["turn_order"]
    again = await change(talking, room_id, agents=[{"id": two["id"]}])
    assert again.status == 422  # it left


async def test_an_agent_that_is_added_with_the_name_of_another_gets_a_number(talking: Backend) -> None:
    room_id = await talking.room(agents=1, max_rounds=1)
    first = (await show(talking, room_id))["agents"][0]
    changed = (await change(talking, room_id, agents=[{"id": first["id"]}, {"name": first["name"]}])).json
    assert [agent["name"] for agent in changed["agents"]] == [first["name"], f"{first['name']} 2"]
    await run_to_end(talking, room_id)
    told = talking.model.calls[-1].request.messages
    assert [message.role for message in told][-1] == "user"  # the other one's words are not its own


async def test_an_agent_removed_while_it_speaks_is_stopped_and_the_room_goes_on(held: Backend) -> None:
    room_id = await held.room(agents=2, max_rounds=1)
    second = (await show(held, room_id))["agents"][1]
    async with held.client.open("POST", f"/api/rooms/{room_id}/run") as stream:
        frames = stream.frames()
        (await held.model.called(1)).release()
        await until(frames, "message_chunk")
        assert (await change(held, room_id, agents=[{"id": second["id"]}])).status == 200
        ended = (await until(frames, "message_end"))[-1]
        assert ended.fields["interrupted"] == "stop"
        (await held.model.called(2)).finish()
        assert (await until(frames, "room_completed"))[-1].fields["total_rounds"] == 1
    assert held.model.calls[1].request.speaker == second["name"]


async def test_another_task_of_a_started_room_is_said_to_it(held: Backend) -> None:
    room_id = await held.room(agents=2, max_rounds=1)
    async with held.client.open("POST", f"/api/rooms/{room_id}/run") as stream:
        frames = stream.frames()
        first = await held.model.called(1)
        room = (await change(held, room_id, task="SQLite?")).json
        assert (room["task"], [words["content"] for words in room["queue"]]) == ("SQLite?", ["SQLite?"])
        first.finish()
        second = await held.model.called(2)
        assert second.request.messages[-1].content == "SQLite?"
        second.finish()
        await until(frames, "room_completed")
    assert (await show(held, room_id))["queue"] == []


async def test_rounds_cannot_end_before_the_current_one(talking: Backend) -> None:
    room_id = await talking.room(max_rounds=3)
    await run_to_end(talking, room_id)
    answer = await change(talking, room_id, max_rounds=2)
    assert (answer.status, "Round 3" in answer.json["detail"]) == (422, True)


async def test_a_completed_room_with_more_rounds_is_paused_and_goes_on(talking: Backend) -> None:
    room_id = await talking.room(max_rounds=1)
    await run_to_end(talking, room_id)
    assert (await talking.client.call("POST", f"/api/rooms/{room_id}/resume")).status == 409
    assert (await change(talking, room_id, max_rounds=2)).json["status"] == "paused"
    frames = await run_to_end(talking, room_id)
    assert [frame.fields["round"] for frame in frames if frame.name == "round_start"] == [2]
    assert (await show(talking, room_id))["status"] == "completed"


async def test_a_room_is_put_away_only_while_it_stands_still_and_does_nothing_there(held: Backend) -> None:
    room_id = await held.room(agents=1, max_rounds=1)
    async with held.client.open("POST", f"/api/rooms/{room_id}/run") as stream:
        frames = stream.frames()
        await held.model.called(1)
        assert (await change(held, room_id, archived=True)).status == 409
        await held.client.call("POST", f"/api/rooms/{room_id}/pause")
        await until(frames, "room_paused")
    assert (await change(held, room_id, archived=True)).json["archived"] is True
    for path, body in (("run", None), ("resume", None), ("messages", {"content": "x"})):
        assert (await held.client.call("POST", f"/api/rooms/{room_id}/{path}", body)).status == 409
    assert (await held.client.call("GET", "/api/rooms")).json["rooms"] == []
    put_away = (await held.client.call("GET", "/api/rooms?archived=1")).json["rooms"]
    assert [room["id"] for room in put_away] == [room_id]
    assert (await change(held, room_id, archived=False)).json["archived"] is False
    assert (await held.client.call("POST", f"/api/rooms/{room_id}/resume")).status == 202


# --- lists that wait -----------------------------------------------------------------------------------


async def test_a_list_without_a_cursor_is_everything_at_once(talking: Backend) -> None:
    room_id = await talking.room()
    for cursor in ("", "rubbish", "0123456789abcdef-7"):
        news = await poll(talking, cursor)
        assert (news["all"], news["removed"], [room["id"] for room in news["rooms"]]) == (True, [], [room_id])
    plain = (await talking.client.call("GET", "/api/rooms")).json
    assert plain["cursor"] == news["cursor"]
    for wrong in ("-1", "soon", "inf"):
        assert (await talking.client.call("GET", f"/api/rooms?after=&wait={wrong}")).status == 400


async def test_a_waiting_list_hears_of_rooms_made_changed_run_and_deleted(talking: Backend) -> None:
    cursor = (await poll(talking, ""))["cursor"]
    waiting = asyncio.create_task(poll(talking, cursor))
    room_id = await talking.room(max_rounds=1)
    news = await waiting
    assert ([room["id"] for room in news["rooms"]], news["all"]) == ([room_id], False)
    waiting = asyncio.create_task(poll(talking, news["cursor"]))
    await change(talking, room_id, name="New")
    news = await waiting
    assert [room["name"] for room in news["rooms"]] == ["New"]
    await run_to_end(talking, room_id)
    while (news := await poll(talking, news["cursor"]))["rooms"][0]["status"] != "completed":
        pass
    assert news["rooms"][0]["last_speaker"] == "Agent 2"
    assert news["rooms"][0]["last_words"].endswith("- a - b")
    assert [agent["status"] for agent in news["rooms"][0]["agents"]] == ["said", "said"]
    await talking.client.call("DELETE", f"/api/rooms/{room_id}")
    while not (news := await poll(talking, news["cursor"]))["removed"]:
        pass
    assert (news["removed"], news["rooms"]) == ([room_id], [])


async def test_nothing_new_is_an_empty_answer_after_the_wait(talking: Backend) -> None:
    cursor = (await poll(talking, ""))["cursor"]
    assert await poll(talking, cursor, 0) == {"rooms": [], "removed": [], "cursor": cursor, "all": False}


async def test_a_waiting_list_whose_client_leaves_is_let_go(talking: Backend) -> None:
    cursor = (await poll(talking, ""))["cursor"]
    _, writer = await asyncio.open_connection("127.0.0.1", talking.client.port)
    writer.write(talking.client.request("GET", f"/api/rooms?after={cursor}&wait=30"))
    while talking.traffic.under_way == 0:  # noqa: ASYNC110 - the server says it to nobody
        await asyncio.sleep(0)
    writer.close()
    async with asyncio.timeout(25):  # before the wait that was asked for is over
        while talking.traffic.under_way:  # noqa: ASYNC110 - the server says it to nobody
            await asyncio.sleep(0)
    assert talking.traffic.under_way == 0


async def test_a_backend_that_stops_lets_waiting_lists_go(talking: Backend) -> None:
    cursor = (await poll(talking, ""))["cursor"]
    waiting = asyncio.create_task(poll(talking, cursor))
    while talking.traffic.under_way == 0:  # noqa: ASYNC110 - the server says it to nobody
        await asyncio.sleep(0)
    await talking.engine.stop_all()
    assert (await waiting)["rooms"] == []


async def test_who_asks_for_it_is_told_at_once_that_a_room_was_changed_and_nothing_is_stored(
    talking: Backend,
) -> None:
    room_id = await talking.room(agents=1, max_rounds=1)
    await run_to_end(talking, room_id)
    last = (await show(talking, room_id))["last_event_id"]
    events = f"/api/rooms/{room_id}/events?after={last}"
    async with (
        talking.client.open("GET", f"{events}&queue=1") as asked,
        talking.client.open("GET", events) as other,
    ):
        await change(talking, room_id, name="Another")
        told = await anext(asked.frames())
        assert (told.name, told.id, told.fields) == ("queue_changed", 0, {"room_id": room_id})
        assert (await show(talking, room_id))["last_event_id"] == last
        await change(talking, room_id, max_rounds=2)
        assert (await anext(other.frames())).name == "room_paused"
