"""Rooms and messages as the backend's JSON answers have them (cli.md)."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from agent_tui.model import events as ev
from agent_tui.wire.content import steps_content
from agent_tui.wire.rooms import decode, decode_messages, decode_room
from agent_tui.wire.rooms_encode import encode, listed_message_fields, room_fields

ROOM = ev.RoomInfo(
    "r",
    "Stores",
    "Redis or PostgreSQL?",
    "paused",
    "parallel",
    2,
    3,
    (
        ev.AgentInfo("a1", "Mika", "#ff0000", "demo", 0, "You doubt.", "demo"),
        ev.AgentInfo("a2", "Ada", "#00ff00", "gpt-4", 1, "You build.", "local"),
    ),
    41,
    "2026-01-01T00:00:00+00:00",
    "2026-01-01T00:01:00+00:00",
    True,
    "pause",
)
MESSAGE = ev.Message(
    "m", "r", "assistant", steps_content("hi"), "hi", "Ada", "#10b981", 1, 0, "2026-01-01T00:00:00Z", "a2"
)


def test_a_room_has_the_fields_of_the_reference_in_its_order() -> None:
    fields = room_fields(ROOM)
    assert list(fields)[:13] == [
        "id",
        "name",
        "task",
        "status",
        "execution_mode",
        "current_round",
        "max_rounds",
        "turn_order",
        "agents",
        "last_event_id",
        "created_at",
        "updated_at",
        "keep_running",
    ]
    assert fields["turn_order"] == ["a1", "a2"]
    assert fields["last_event_id"] == 41
    assert fields["agents"][1]["turn_order"] == 1


def test_a_room_is_read_back_as_it_was_written() -> None:
    assert decode_room(room_fields(ROOM)) == ROOM


def test_budget_queue_and_words_of_a_room_are_read_back_too() -> None:
    queue = (ev.QueuedMessage("w", "psst", "a2", "next", "You", "t"), ev.QueuedMessage("x", "all"))
    room = replace(ROOM, max_tokens=9, max_cost=0.5, tokens=3, cost=0.25, on_error="pause", archived=True)
    room = replace(room, last_speaker="Ada", last_words="…so be it", queue=queue)
    room = replace(room, agents=(replace(room.agents[0], skip_next=True, status="skipped", tokens=3),))
    assert decode_room(room_fields(room)) == room
    assert [list(fields) for fields in room_fields(room)["queue"]] == [
        ["id", "content", "when", "sender_name", "created_at", "to"],
        ["id", "content", "when", "sender_name", "created_at"],
    ]


@pytest.mark.parametrize(
    "usage", [ev.Usage(), ev.Usage(10, 5), ev.Usage(10, 5, 0.5), ev.Usage(10, 5, 0.5, 0.0), None]
)
def test_whispers_and_turns_said_again_are_read_back(usage: ev.Usage | None) -> None:
    message = replace(MESSAGE, to="a2", superseded=True, trimmed=4, usage=usage)
    [read], _, _ = decode_messages([listed_message_fields(message)])
    assert read == replace(message, status="completed")
    assert not {"to", "superseded", "trimmed", "usage"} & set(listed_message_fields(MESSAGE))


def test_why_a_room_is_paused_is_left_out_where_it_is_not() -> None:
    assert "interrupted" not in room_fields(replace(ROOM, status="running", interrupted=""))


@pytest.mark.parametrize(
    ("message", "status"),
    [
        (MESSAGE, "completed"),
        (replace(MESSAGE, status="streaming"), "streaming"),
        (replace(MESSAGE, interrupted="pause"), "interrupted"),
        (replace(MESSAGE, error="LLM stream failed: gone"), "failed"),
    ],
)
def test_a_listed_message_says_how_it_stands(message: ev.Message, status: str) -> None:
    fields = listed_message_fields(message)
    assert fields["status"] == status
    [read], _, _ = decode_messages([fields])
    assert read == replace(message, status=status)


def test_a_skipped_turn_is_sent_in_the_words_of_the_protocol_and_read_in_both() -> None:
    event = ev.AgentStatusChanged("a2", "Ada", "skipped")
    name, sent = encode(event)
    who = {"agent_id": "a2", "agent_name": "Ada"}
    assert (name, sent) == ("agent_status", {**who, "status": "completed", "skipped": True})
    for fields in (sent, {**who, "status": "skipped"}):
        assert decode(name, json.dumps(fields)) == event
    for odd in (False, None, "true", 1):
        fields = {**who, "status": "completed", "skipped": odd}
        assert decode(name, json.dumps(fields)) == ev.AgentStatusChanged("a2", "Ada", "completed")
