"""The calls about rooms and their messages, to the letter of cli.md."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from tests.backend.in_process import Backend
from tests.backend.talk import HALF, TEXT, WORDS, run_to_end, said, until_said


async def test_a_room_is_made_shown_changed_listed_and_deleted(talking: Backend) -> None:
    call = talking.client.call
    made = await call(
        "POST",
        "/api/rooms",
        {
            "task": "Redis or PostgreSQL?",
            "name": "Stores",
            "execution_mode": "parallel",
            "max_rounds": 2,
            "keep_running": True,
            "agents": [{"name": "Mika", "color": "#F00", "system_prompt": "You doubt.", "model": "m1"},
                       {"name": "Ada", "provider_id": "local", "unknown": [1]}],
            "unknown": {"ignored": True},
        },
    )  # fmt: skip
    assert made.status == 201
    assert made.headers["content-type"] == "application/json"
    room = made.json
    assert {"name": "Stores", "task": "Redis or PostgreSQL?", "status": "idle", "execution_mode": "parallel",
            "current_round": 0, "max_rounds": 2, "last_event_id": 0,
            "keep_running": True}.items() <= room.items()  # fmt: skip
    assert [agent["name"] for agent in room["agents"]] == ["Mika", "Ada"]
    assert room["turn_order"] == [agent["id"] for agent in room["agents"]]
    assert [agent["turn_order"] for agent in room["agents"]] == [0, 1]
    mika = room["agents"][0]
    assert (mika["color"], mika["system_prompt"], mika["model"]) == ("#ff0000", "You doubt.", "m1")
    assert room["agents"][1]["provider_id"] == "local"
    for time in (room["created_at"], room["updated_at"]):
        assert datetime.fromisoformat(time).utcoffset() is not None
    path = f"/api/rooms/{room['id']}"
    assert (await call("GET", path)).json == room
    changed = (await call("PATCH", path, {"name": "Where to keep it", "max_rounds": 4, "task": None})).json
    assert (changed["name"], changed["max_rounds"], changed["task"]) == ("Where to keep it", 4, room["task"])
    assert changed["updated_at"] > room["updated_at"]
    seen = (await call("PATCH", path, {"view": "timeline"})).json
    assert seen == changed | {"view": "timeline"}  # to look at it otherwise is no activity
    assert (await call("GET", "/api/rooms")).json["rooms"] == [seen]
    deleted = await call("DELETE", path)
    assert (deleted.status, deleted.json["id"]) == (200, room["id"])
    assert (await call("GET", path)).status == 404
    assert (await call("GET", "/api/rooms")).json["rooms"] == []


async def test_a_task_is_enough_for_a_room(talking: Backend) -> None:
    room = (await talking.client.call("POST", "/api/rooms", {"task": "x", "agents": None, "name": None})).json
    assert (room["execution_mode"], room["max_rounds"], room["keep_running"]) == ("sequential", 3, False)
    assert len({agent["name"] for agent in room["agents"]}) >= 2
    assert all(agent["color"] and agent["model"] and agent["provider_id"] for agent in room["agents"])


async def test_what_a_room_cannot_be_is_a_422_that_names_the_field(talking: Backend) -> None:
    wrong: list[tuple[dict[str, Any], str]] = [
        ({}, "task"),
        ({"task": ""}, "task"),
        ({"task": 1}, "task"),
        ({"task": "x", "name": 1}, "name"),
        ({"task": "x", "execution_mode": "both"}, "execution_mode"),
        ({"task": "x", "execution_mode": 1}, "execution_mode"),
        ({"task": "x", "max_rounds": 0}, "max_rounds"),
        ({"task": "x", "max_rounds": -1}, "max_rounds"),
        ({"task": "x", "max_rounds": 10**30}, "max_rounds"),
        ({"task": "x", "max_rounds": "3"}, "max_rounds"),
        ({"task": "x", "max_rounds": True}, "max_rounds"),
        ({"task": "x", "keep_running": "yes"}, "keep_running"),
        ({"task": "x", "agents": {}}, "agents"),
        ({"task": "x", "agents": ["Ada"]}, "agents[0]"),
        ({"task": "x", "agents": [{}]}, "agents[0].name"),
        ({"task": "x", "agents": [{"name": ""}]}, "name"),
        ({"task": "x", "agents": [{"name": "a", "model": 4}]}, "agents[0].model"),
        ({"task": "x", "agents": [{"name": "a"}] * 1000}, "agents"),
        *(
            ({"task": "x", "agents": [{"name": "a", "color": odd}]}, "color")
            for odd in ("blue", "#ffff", "#")
        ),
    ]
    for fields, field in wrong:
        answer = await talking.client.call("POST", "/api/rooms", fields)
        assert answer.status == 422, fields
        assert field in answer.json["title"] + answer.json["detail"], answer.json
    room_id = await talking.room()
    for fields in (
        {"max_rounds": 0},
        {"name": []},
        {"task": " "},
        {"execution_mode": "x"},
        {"keep_running": 1},
    ):
        assert (await talking.client.call("PATCH", f"/api/rooms/{room_id}", fields)).status == 422, fields
    assert len((await talking.client.call("GET", "/api/rooms")).json["rooms"]) == 1


async def test_halves_of_surrogate_pairs_and_control_characters_are_taken_and_given_back_as_text(
    talking: Backend,
) -> None:
    body = b'{"task": "a\\ud800b\\u001b[2J\\u0000", "name": "\\udfff\\u202e", "agents": []}'
    room = (await talking.client.call("POST", "/api/rooms", body)).json
    assert room["task"].startswith("a\ufffdb\x1b[2J")
    assert room["name"] == "\ufffd\u202e"


# --- messages ------------------------------------------------------------------------------------------


async def test_messages_are_those_of_the_stream_page_by_page(talking: Backend) -> None:
    room_id = await talking.room(max_rounds=2)
    frames = await run_to_end(talking, room_id)
    path = f"/api/rooms/{room_id}/messages"
    whole = (await talking.client.call("GET", path)).json
    assert whole["next"] is None
    assert whole["as_of"] == frames[-1].id
    stored = [frame.fields for frame in frames if frame.name == "message"]
    turn_order = (await talking.client.call("GET", f"/api/rooms/{room_id}")).json["turn_order"]
    speakers = ["", *turn_order, *turn_order]
    assert whole["messages"] == [
        {**message, "agent_id": speaker, "status": "completed"}
        for message, speaker in zip(stored, speakers, strict=True)
    ]
    pages, after = [], ""
    while True:
        page = (await talking.client.call("GET", f"{path}?limit=2{after}")).json
        pages += page["messages"]
        if page["next"] is None:
            break
        assert page["next"] == page["messages"][-1]["id"]
        after = f"&after={page['next']}"
    assert pages == whole["messages"]
    assert (await talking.client.call("GET", f"{path}?after=unknown")).status == 404


async def test_a_turn_under_way_is_among_the_messages_and_following_from_as_of_misses_nothing(
    held: Backend,
) -> None:
    room_id = await held.room(agents=1, max_rounds=1)
    path = f"/api/rooms/{room_id}"
    async with held.client.open("POST", f"{path}/run") as running:
        call = await held.model.called(1)
        call.release(2)
        await until_said(running.frames(), HALF)
        page = (await held.client.call("GET", f"{path}/messages")).json
        assert [message["status"] for message in page["messages"]] == ["completed", "streaming"]
        assert json.loads(page["messages"][1]["content"])["steps"][0]["content"] == HALF
        call.finish()
    rest = await held.client.frames("GET", f"{path}/events?after={page['as_of']}", until="room_completed")
    assert rest[0].id == page["as_of"] + 1
    assert HALF + said(rest) == TEXT
    assert rest[0].fields["accumulated"] == HALF + rest[0].fields["content"]


async def test_a_cut_message_says_so_in_the_list(held: Backend) -> None:
    path = f"/api/rooms/{await held.room(agents=1)}"
    async with held.client.open("POST", f"{path}/run") as running:
        (await held.model.called(1)).release(1)
        frames = running.frames()
        await until_said(frames, WORDS[0])
        await held.client.call("POST", f"{path}/pause")
        async for _ in frames:
            pass
    message = (await held.client.call("GET", f"{path}/messages")).json["messages"][-1]
    assert (message["status"], message["interrupted"]) == ("interrupted", "pause")
