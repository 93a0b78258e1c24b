"""Rooms whose agents use tools, over HTTP: fields, the stream of an original client, asks."""

from __future__ import annotations

from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from agent_tui.backend.models.model import ModelRequest
from agent_tui.clients.http import Net
from agent_tui.clients.rooms import RoomsClient
from agent_tui.model.errors import NotFound, Refused
from agent_tui.model.events import LinkChanged, RoomInfo, RunCompleted, StepSet, ToolStatusChanged
from agent_tui.state.conversation import ConversationState
from tests.backend.engine.chat_house import call
from tests.backend.in_process import TOKEN, Backend, backend
from tests.fakes.scripted_model import Script, ScriptedModel
from tests.fakes.scripted_tools import ScriptedBox, reader, writer

TOOLS = ["look", "change"]


def changes_first(request: ModelRequest) -> Script:
    if request.messages[-1].role == "tool":
        return ["So it is."]
    return ["I change it.", call("change", {"by": request.speaker})]


def speaker() -> ScriptedModel:
    return ScriptedModel(changes_first, free=True)


async def test_a_room_says_and_changes_what_its_agents_may_use(tmp_path: Path) -> None:
    async with backend(tmp_path, speaker(), box=ScriptedBox(reader())) as running:
        room_id = await running.room(enabled_tools=TOOLS, workspace=str(tmp_path))
        path = f"/api/rooms/{room_id}"
        room = (await running.client.call("GET", path)).json
        assert (room["enabled_tools"], room["workspace"]) == (TOOLS, str(tmp_path))
        room = (await running.client.call("PATCH", path, {"enabled_tools": [], "workspace": ""})).json
        assert not {"enabled_tools", "workspace"} & set(room)


@pytest.mark.parametrize(
    "fields",
    [
        {"enabled_tools": "look"},
        {"enabled_tools": [1]},
        {"workspace": "relative"},
        {"workspace": "/no/such/folder"},
        {"workspace": 7},
    ],
)
async def test_what_cannot_be_is_refused_with_its_name(tmp_path: Path, fields: dict[str, Any]) -> None:
    async with backend(tmp_path, speaker()) as running:
        made = await running.client.call("POST", "/api/rooms", {"task": "Talk", **fields})
        assert made.status == 422, made.body
        changed = await running.client.call("PATCH", f"/api/rooms/{await running.room()}", fields)
        assert changed.status == 422


async def test_a_server_lets_tools_work_only_where_it_was_told(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    async with backend(tmp_path, speaker(), workspaces=(inside,)) as running:
        refused = await running.client.call("POST", "/api/rooms", {"task": "T", "workspace": str(tmp_path)})
        assert refused.status == 422
        made = await running.client.call("POST", "/api/rooms", {"task": "T", "workspace": str(inside)})
        assert made.status == 201


async def test_an_original_client_sees_words_alone_and_its_agents_are_denied(tmp_path: Path) -> None:
    change = writer()
    async with backend(tmp_path, speaker(), box=ScriptedBox(change)) as running:
        room_id = await running.room(agents=1, max_rounds=1, enabled_tools=TOOLS)
        shown: dict[str, str] = {}
        names = set()
        async with running.client.open("POST", f"/api/rooms/{room_id}/run") as stream:
            async for frame in stream.frames():
                names.add(frame.name)
                if frame.name == "message_chunk":
                    fields = frame.fields
                    shown[fields["id"]] = shown.get(fields["id"], "") + fields["content"]
                    assert fields["accumulated"] == shown[fields["id"]]
        assert list(shown.values()) == ["I change it.\n\nSo it is."]
        assert change.ran == []  # nobody was there who could have been asked
        assert names == {
            "room_started",
            "message",
            "round_start",
            "message_start",
            "message_chunk",
            "message_end",
            "round_end",
            "room_completed",
        }


def client_of(running: Backend) -> RoomsClient:
    return RoomsClient(Net(f"http://127.0.0.1:{running.client.port}", token=TOKEN, environ={}))


async def test_whoever_follows_the_room_is_asked_and_answers(tmp_path: Path) -> None:
    change = writer()
    async with backend(tmp_path, speaker(), box=ScriptedBox(change)) as running:
        room_id = await running.room(agents=1, max_rounds=1, enabled_tools=TOOLS)
        client, state = client_of(running), ConversationState(RoomInfo(""))
        async with aclosing(client.follow(room_id)) as events:
            async for event in events:
                state.apply(event)
                if isinstance(event, LinkChanged) and event.status == "live":
                    await running.engine.rooms.run(room_id)
                if isinstance(event, ToolStatusChanged) and event.status == "asks":
                    assert event.ask is not None
                    assert state.asking == [(event.turn_id, event.step_id)]
                    with pytest.raises(NotFound):
                        await client.answer(room_id, event.turn_id, "step-77", "once")
                    await client.answer(room_id, event.turn_id, event.step_id, "once")
                    with pytest.raises(Refused) as refused:
                        await client.answer(room_id, event.turn_id, event.step_id, "deny", reason="no")
                    assert refused.value.status == 409
                if state.room.status == "completed":
                    break
        (turn,) = (turn for turn in state.turns.values() if turn.role != "user")
        assert [step.type for step in turn.steps.all.values()] == ["text", "tool_call", "tool_result", "text"]
        assert (turn.text, len(change.ran)) == ("I change it.\n\nSo it is.", 1)
        again = ConversationState(RoomInfo(""))  # who comes later sees the same
        again.apply((await client.source(room_id, None).load()).event)
        steps = again.turns[turn.id].steps
        assert [(s.type, s.content.text, s.status) for s in steps.all.values()] == [
            (s.type, s.content.text, s.status) for s in turn.steps.all.values()
        ]
        await client.aclose()


async def test_a_denial_says_why(tmp_path: Path) -> None:
    change = writer()
    async with backend(tmp_path, speaker(), box=ScriptedBox(change)) as running:
        room_id = await running.room(agents=1, max_rounds=1, enabled_tools=TOOLS)
        client, results = client_of(running), []
        async with aclosing(client.follow(room_id)) as events:
            async for event in events:
                if isinstance(event, LinkChanged) and event.status == "live":
                    await running.engine.rooms.run(room_id)
                if isinstance(event, ToolStatusChanged) and event.status == "asks":
                    await client.answer(room_id, event.turn_id, event.step_id, "deny", reason="not now")
                if isinstance(event, StepSet) and event.step.type == "tool_result":
                    results.append(event.step)
                if isinstance(event, RunCompleted):
                    break
        assert [step.success for step in results] == [False]
        assert "denied by the user: not now" in results[0].content
        assert change.ran == []
        await client.aclose()


async def test_a_server_says_that_asks_can_be_answered_with_post_alone(held: Backend) -> None:
    room_id = await held.room()
    path = f"/api/rooms/{room_id}/asks/m/step-1"
    assert (await held.client.call("GET", path)).status == 405
    assert (await held.client.call("POST", path, {})).status == 422
    assert (await held.client.call("POST", path, {"decision": "once"})).status == 404
    unknown = f"/api/rooms/{'0' * 32}/asks/m/step-1"
    assert (await held.client.call("POST", unknown, {"decision": "once"})).status == 404
