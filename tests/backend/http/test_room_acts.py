"""What people do in a room, call by call and refusal by refusal."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from agent_tui.backend.models.model import CutPiece, ModelRequest
from agent_tui.wire.content import content_text
from tests.backend.in_process import Backend, backend
from tests.backend.talk import HALF, run_to_end, until, until_said
from tests.backend.wire_client import Answer, Frame
from tests.fakes.scripted_model import Script, ScriptedModel


async def say(running: Backend, room_id: str, content: str, **fields: Any) -> Answer:
    body = {"content": content, **fields}
    return await running.client.call("POST", f"/api/rooms/{room_id}/messages", body)


async def act(running: Backend, room_id: str, agent_id: str, what: str) -> Answer:
    return await running.client.call("POST", f"/api/rooms/{room_id}/agents/{agent_id}/{what}")


async def agents(running: Backend, room_id: str) -> list[str]:
    answer = await running.client.call("GET", f"/api/rooms/{room_id}")
    order: list[str] = answer.json["turn_order"]
    return order


@asynccontextmanager
async def running_room(running: Backend, room_id: str) -> AsyncIterator[AsyncIterator[Frame]]:
    async with running.client.open("POST", f"/api/rooms/{room_id}/run") as stream:
        yield stream.frames()


async def test_who_asks_for_it_is_told_of_the_queue_and_nobody_else_without_its_words(held: Backend) -> None:
    room_id = await held.room()
    one, two = [(await say(held, room_id, words)).json["id"] for words in ("One", "Two")]
    path = f"/api/rooms/{room_id}/queue"
    await held.client.call("PATCH", f"{path}/{one}", {"content": "Uno"})
    await held.client.call("DELETE", f"{path}/{two}")
    async with held.client.open("GET", f"/api/rooms/{room_id}/events?queue=1") as stream:
        told = stream.frames()
        first = [await anext(told) for _ in range(4)]
        async with held.client.open("GET", f"/api/rooms/{room_id}/events") as other:
            await held.client.call("POST", f"/api/rooms/{room_id}/pause")
            async with running_room(held, room_id):
                assert (await anext(other.frames())).name == "room_started"
    assert [(frame.name, frame.fields) for frame in first] == [("queue_changed", {"room_id": room_id})] * 4


async def test_words_wait_are_changed_taken_back_and_said_in_their_order(held: Backend) -> None:
    room_id = await held.room(agents=2, max_rounds=1)
    one, two = await agents(held, room_id)
    first = await say(held, room_id, "First")
    assert (first.status, first.json["status"]) == (202, "queued")
    second = (await say(held, room_id, "Secnd", to=one)).json
    third = (await say(held, room_id, "Third", when="next")).json
    assert [words["content"] for words in third["queue"]] == ["First", "Secnd", "Third"]
    path = f"/api/rooms/{room_id}/queue"
    assert (await held.client.call("GET", path)).json["queue"] == third["queue"]
    changed = await held.client.call("PATCH", f"{path}/{second['id']}", {"content": "Second", "to": two})
    assert [(words["content"], words.get("to")) for words in changed.json["queue"]] == [
        ("First", None),
        ("Second", two),
        ("Third", None),
    ]
    left = (await held.client.call("DELETE", f"{path}/{third['id']}")).json["queue"]
    assert [words["content"] for words in left] == ["First", "Second"]
    async with running_room(held, room_id) as frames:
        call = await held.model.called(1)
        assert [message.content for message in call.request.messages][-1] == "First"
        call.finish()
        call = await held.model.called(2)
        assert "Second" in [message.content for message in call.request.messages]
        call.finish()
        said = [f.fields for f in await until(frames, "room_completed") if f.name == "message"]
    people = [(one["id"], one.get("to", "")) for one in said if one["role"] == "user"][1:]
    assert people == [(first.json["id"], ""), (second["id"], two)]
    for method, body in (("PATCH", {"content": "Late"}), ("DELETE", None)):
        answer = await held.client.call(method, f"{path}/{second['id']}", body)
        assert (answer.status, bool(answer.json["title"])) == (409, True)
        assert (await held.client.call(method, f"{path}/unknown", body)).status == 404


async def test_what_cannot_be_said_is_refused(talking: Backend) -> None:
    room_id = await talking.room(max_rounds=1)
    for body in ({}, {"content": 1}, {"content": " "}, {"content": "x", "when": "later"}):
        answer = await talking.client.call("POST", f"/api/rooms/{room_id}/messages", body)
        assert answer.status == 422, body
    assert (await say(talking, room_id, "x", to="nobody")).status == 422
    assert (await say(talking, "unknown", "x")).status == 404
    await run_to_end(talking, room_id)
    answer = await say(talking, room_id, "x")
    assert (answer.status, "round" in f"{answer.json['title']} {answer.json['detail']}") == (409, True)


async def test_the_same_key_is_the_same_message_however_often_it_is_posted(talking: Backend) -> None:
    room_id = await talking.room()
    answers = await asyncio.gather(*(say(talking, room_id, "Once", client_key="k-1") for _ in range(5)))
    assert {answer.status for answer in answers} == {202}
    assert len({answer.json["id"] for answer in answers}) == 1
    assert len(answers[-1].json["queue"]) == 1
    other = await say(talking, room_id, "Twice", client_key="k-2")
    assert len(other.json["queue"]) == 2


async def test_words_for_now_cut_who_speaks_and_it_speaks_again_knowing_them(held: Backend) -> None:
    room_id = await held.room(agents=1, max_rounds=1)
    async with running_room(held, room_id) as frames:
        (await held.model.called(1)).release(2)
        await until_said(frames, HALF)
        answer = (await say(held, room_id, "Stop!", when="now")).json
        assert (answer["status"], answer["queue"]) == ("said", [])
        call = await held.model.called(2)
        assert [message.content for message in call.request.messages][-1] == "Stop!"
        call.finish()
        heard = await until(frames, "room_completed")
    ends = [frame.fields.get("interrupted", "") for frame in heard if frame.name == "message_end"]
    assert ends == ["interject", ""]
    assert [f.fields.get("attempt") for f in heard if f.name == "message_start"] == [2]


async def test_one_agent_is_stopped_and_the_round_goes_on(held: Backend) -> None:
    room_id = await held.room(agents=2, max_rounds=1)
    one, two = await agents(held, room_id)
    async with running_room(held, room_id) as frames:
        (await held.model.called(1)).release(2)
        await until_said(frames, HALF)
        assert (await act(held, room_id, two, "stop")).status == 202  # it does not speak
        assert (await act(held, room_id, one, "stop")).status == 202
        (await held.model.called(2)).finish()
        heard = await until(frames, "room_completed")
    ends = [frame.fields.get("interrupted", "") for frame in heard if frame.name == "message_end"]
    assert ends == ["stop", ""]


async def test_a_turn_is_skipped_once_and_the_mark_can_be_taken_back(talking: Backend) -> None:
    room_id = await talking.room(agents=2, max_rounds=1)
    one, two = await agents(talking, room_id)
    for agent_id, marks in ((one, [True, False]), (two, [True])):
        for mark in marks:
            room = (await act(talking, room_id, agent_id, "skip")).json
            assert {agent["id"]: agent["skip_next"] for agent in room["agents"]}[agent_id] is mark
    frames = await run_to_end(talking, room_id)
    skipped = [f.fields for f in frames if f.name == "agent_status" and f.fields.get("skipped")]
    assert [fields["agent_id"] for fields in skipped] == [two]
    assert len([frame for frame in frames if frame.name == "message_start"]) == 1
    room = (await talking.client.call("GET", f"/api/rooms/{room_id}")).json
    assert [agent["status"] for agent in room["agents"]] == ["said", "skipped"]
    assert not any(agent["skip_next"] for agent in room["agents"])


async def test_the_newest_turn_is_said_again_and_the_old_one_stays_as_superseded(talking: Backend) -> None:
    room_id = await talking.room(agents=2, max_rounds=1)
    one, two = await agents(talking, room_id)
    frames = await run_to_end(talking, room_id)
    old = [frame.fields["id"] for frame in frames if frame.name == "message_start"][-1]
    refused = await act(talking, room_id, one, "retry")  # somebody spoke after it
    assert (refused.status, bool(refused.json["title"])) == (409, True)
    assert (await act(talking, room_id, two, "retry")).status == 202
    path = f"/api/rooms/{room_id}/events?after={frames[-1].id}"
    again = await talking.client.frames("GET", path, until="room_completed")
    starts = [frame.fields["supersedes"] for frame in again if frame.name == "message_start"]
    assert (starts, [f.name for f in again].count("round_end")) == ([old], 0)
    listed = (await talking.client.call("GET", f"/api/rooms/{room_id}/messages")).json["messages"]
    assert [message["id"] for message in listed if message.get("superseded")] == [old]


async def test_unknown_rooms_and_agents_are_not_found(talking: Backend) -> None:
    room_id = await talking.room()
    for what in ("stop", "skip", "retry"):
        assert (await act(talking, room_id, "nobody", what)).status == 404
        assert (await act(talking, "nowhere", "nobody", what)).status == 404
    assert (await talking.client.call("GET", "/api/rooms/nowhere/queue")).status == 404


async def test_a_turn_that_ran_out_of_tokens_is_finished_by_a_call(tmp_path: Path) -> None:
    def parts(request: ModelRequest) -> Script:
        return [" and on."] if request.continues else ["So far", CutPiece("length")]

    async with backend(tmp_path, ScriptedModel(parts, free=True)) as running:
        room_id = await running.room(agents=1, max_rounds=1)
        (agent,) = await agents(running, room_id)
        await run_to_end(running, room_id)
        path = f"/api/rooms/{room_id}/messages"
        cut = (await running.client.call("GET", path)).json["messages"][-1]
        assert (cut["status"], cut["interrupted"], "error" in cut) == ("interrupted", "length", False)
        assert (await act(running, room_id, agent, "continue")).status == 202
        await run_to_end(running, room_id)
        *_, first, rest = (await running.client.call("GET", path)).json["messages"]
        assert first == cut
        assert (rest["continues"], content_text(rest["content"])) == (cut["id"], " and on.")
        refused = await act(running, room_id, agent, "continue")
        assert (refused.status, refused.headers["content-type"]) == (409, "application/problem+json")
        assert "complete" in refused.json["title"]
        assert (await act(running, room_id, "nobody", "continue")).status == 404
