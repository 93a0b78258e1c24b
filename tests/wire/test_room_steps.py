"""Steps of rooms' turns on the wire: they travel in chunks that say nothing, and come back as they were."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from agent_tui.backend.engine.answer.chunks import TurnChunks
from agent_tui.backend.store.rows import ConversationRow, TurnRow
from agent_tui.model import events as ev
from agent_tui.wire.content import dump
from agent_tui.wire.rooms import decode, decode_messages, decode_room
from agent_tui.wire.rooms_encode import encode, listed_message_fields, room_fields
from agent_tui.wire.steps_encode import step_fields

ASK = ev.ToolAsk("run_command(make)", "-a\n+b", "diff", "run_command(make *)")
WORDS = ev.Step("step-0", 0, "text", "I look.")
CALL = ev.Step("step-1", 1, "tool_call", name="look", arguments='{"a":"一"}', id_ref="call_1")
RESULT = ev.Step("step-2", 2, "tool_result", '{"success":false}', "look", id_ref="step-1", success=False)
EVENTS = [
    ev.StepSet("m1", CALL),
    ev.StepSet("m1", RESULT),
    ev.StepSet("m1", ev.Step("step-0", 0, "thinking")),
    ev.StepAdded("m1", "step-0", content="Hm\n"),
    ev.StepAdded("m1", "step-1", arguments='{"a'),
    ev.ToolStatusChanged("m1", "step-1", "asks", ask=ASK),
    ev.ToolStatusChanged("m1", "step-1", "running", progress="2 of 5: reading"),
    ev.ToolStatusChanged("m1", "step-1", "done", 1.5),
    ev.TextAdded("m1", "\n\nSo.", step_id="step-3"),
]


@pytest.mark.parametrize("event", EVENTS)
def test_what_is_told_of_a_step_comes_back_as_it_was(event: ev.Event) -> None:
    name, data = encode(event)
    assert name == "message_chunk"
    assert decode(name, dump(data)) == event


@pytest.mark.parametrize("event", EVENTS[:-1])
def test_who_does_not_know_steps_is_told_no_words(event: ev.Event) -> None:
    assert encode(event)[1]["content"] == ""


@pytest.mark.parametrize(
    "more",
    [
        '"step":7',
        '"step":{"type":"text"}',
        '"step_delta":"x"',
        '"step_delta":{}',
        '"tool_status":[]',
        '"tool_status":{"id":"step-1"}',
        '"step":null,"step_delta":null',
    ],
)
def test_a_server_that_means_something_else_by_it_says_its_words(more: str) -> None:
    told = decode("message_chunk", f'{{"id":"m1","content":"Words","agent_id":"a",{more}}}')
    assert told == ev.TextAdded("m1", "Words", agent_id="a")


@pytest.mark.parametrize("parallel", [False, True])
def test_text_steps_are_told_as_words_a_blank_line_between_two(parallel: bool) -> None:
    room = ConversationRow("r", "", "", "parallel" if parallel else "sequential", 1)
    chunks = TurnChunks(room, TurnRow(1, "a", 1, "m1"))
    told: list[ev.Event] = [
        ev.StepSet("m1", replace(WORDS, content="")),
        ev.StepAdded("m1", "step-0", "I "),
        ev.StepAdded("m1", "step-0", "look."),
        ev.StepSet("m1", CALL),
        ev.StepSet("m1", ev.Step("step-3", 3)),
        ev.StepAdded("m1", "step-3", "So."),
    ]
    written = [encode(one.event)[1] for event in told for one in chunks(event)]
    assert "".join(one["content"] for one in written) == "I look.\n\nSo."
    assert [one.get("progress") for one in written] == ([0, 0, 0, 0] if parallel else [None] * 4)
    assert {one.get("agent_id", "") for one in written} == {"a" if parallel else ""}


def test_a_stored_message_has_its_steps_and_how_its_calls_stand() -> None:
    steps = (WORDS, replace(CALL, status="asks", ask=ASK), RESULT)
    content = dump({"steps": [step_fields(step) for step in steps]})
    message = ev.Message(
        "m1", "r", "assistant", content, "I look.", "Ada", "", 1, 1, "t", status="streaming", steps=steps
    )
    (read,), _, _ = decode_messages([json.loads(dump(listed_message_fields(message)))])
    assert (read.steps, read.text, read.status) == (steps, "I look.", "streaming")


def test_words_alone_are_read_as_no_steps() -> None:
    (read,), _, _ = decode_messages(
        [{"id": "m", "role": "assistant", "content": dump({"steps": [step_fields(WORDS)]})}]
    )
    assert (read.text, read.steps) == ("I look.", ())


def test_a_room_says_what_its_agents_may_use_only_where_they_may_use_something() -> None:
    room = ev.RoomInfo("r", enabled_tools=("look", "change"), workspace="/code")
    assert decode_room(room_fields(room)) == room
    assert not {"enabled_tools", "workspace"} & set(room_fields(ev.RoomInfo("r")))


@pytest.mark.parametrize("tools", [None, "look", {"a": 1}, [1, None]])
def test_a_room_is_shown_whatever_its_tools_are(tools: object) -> None:
    assert decode_room({"id": "r", "enabled_tools": tools}).enabled_tools == ()
