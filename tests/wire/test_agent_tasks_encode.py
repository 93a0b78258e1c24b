"""The agent service's half of the wire: what it writes, its own client's half reads."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent_tui.model import events as ev
from agent_tui.wire.agent_tasks import AgentTaskDecoder, ends_session, subscribe
from agent_tui.wire.agent_tasks_encode import (
    AgentTaskEncoder,
    error_event,
    parse_subscription,
    session_ended,
    task_id_of,
)

ANSWER: tuple[ev.Event, ...] = (
    ev.TurnStarted("t", "c", "assistant", "m", "", 1),
    ev.StepSet("t", ev.Step("step-0", 0, "thinking")),
    ev.StepAdded("t", "step-0", "Hm"),
    ev.StepSet("t", ev.Step("step-1", 1, "text")),
    ev.StepAdded("t", "step-1", "First "),
    ev.StepAdded("t", "step-1", "I look."),
    ev.StepSet("t", ev.Step("step-2", 2, "tool_call", name="look")),
    ev.StepAdded("t", "step-2", arguments='{"at":'),
    ev.StepAdded("t", "step-2", arguments='"it"}'),
    ev.StepSet("t", ev.Step("step-2", 2, "tool_call", name="look", arguments='{"at":"it"}')),
    ev.ToolStatusChanged("t", "step-2", "running"),
    ev.ToolStatusChanged("t", "step-2", "running", progress="half"),
    ev.ToolStatusChanged("t", "step-2", "done"),
    ev.StepSet("t", ev.Step("step-3", 3, "tool_result", "blue", name="look", id_ref="step-2")),
    ev.StepSet("t", ev.Step("step-4", 4, "text", "Blue.")),
    ev.TurnEnded("t", "First I look.\n\nBlue.", 3),
    ev.TurnDone("t", "t", 3),
)


def frames(task_id: str, *events: ev.Event) -> list[dict[str, Any]]:
    """Return the data of the frames of these events."""
    encoder = AgentTaskEncoder(task_id)
    return [json.loads(frame)["data"] for event in events for frame in encoder.encode(event)]


def test_an_answer_is_written_to_the_letter() -> None:
    told = frames("t1", *ANSWER)
    assert all(data.pop("taskId") == "t1" for data in told)
    assert told == [
        {"type": "thinking", "content": "Hm"},
        {"type": "text", "content": "First "},
        {"type": "text", "content": "I look."},
        {"type": "tool_use", "id": "step-2", "name": "look", "input": {"at": "it"}},
        {"type": "tool_result", "id": "step-2", "name": "look", "content": "blue", "success": True},
        {"type": "text", "content": "\n\nBlue."},
        {"type": "completed"},
    ]


def test_a_voice_task_has_only_words_and_its_end() -> None:
    told = frames(task_id_of("k", voice_mode=True), *ANSWER)
    assert [data["type"] for data in told] == ["text", "text", "text", "completed"]


def test_our_client_reads_what_the_service_writes() -> None:
    task_id = task_id_of("k", voice_mode=False)
    encoder, decoder = AgentTaskEncoder(task_id), AgentTaskDecoder(task_id)
    heard = [event for one in ANSWER for frame in encoder.encode(one) for event in decoder.decode(frame)]
    steps = [event.step.type for event in heard if isinstance(event, ev.StepSet)]
    assert steps == ["thinking", "text", "tool_call", "tool_result", "text"]
    assert isinstance(heard[-1], ev.TurnDone)


@pytest.mark.parametrize("arguments", ["{", "NaN", "[" * 100_000, "words"])
def test_arguments_that_are_no_json_are_told_as_text(arguments: str) -> None:
    call = ev.StepSet("t", ev.Step("step-0", 0, "tool_call", name="look", arguments=arguments))
    [use] = frames("t1", call, ev.ToolStatusChanged("t", "step-0", "failed"))
    assert use["input"] == arguments


@pytest.mark.parametrize("message", ["Request Aborted", "it exited with 1", "EXITED, aborted", ""])
def test_only_the_end_of_a_session_is_told_in_words_that_end_it(message: str) -> None:
    [data] = frames("t1", ev.RunFailed(message))
    assert (data["type"], ends_session(data["message"])) == ("error", False)
    assert data["message"]
    assert not ends_session(json.loads(error_event("t1", message))["data"]["message"])
    assert ends_session(json.loads(session_ended("t1"))["data"]["message"])


def test_subscriptions_are_read_as_our_client_writes_them() -> None:
    assert parse_subscription(subscribe("s1")) == ("s1", "")
    assert parse_subscription(subscribe("s1", "t1")) == ("s1", "t1")


@pytest.mark.parametrize(
    "frame",
    ["", "x", "[]", "{}", "[" * 100_000, '{"event":"subscribe_session"}', subscribe("x" * 201),
     subscribe("s", "t" * 201), subscribe(""), '{"event":"subscribe_session","data":{"sessionId":1}}',
     '{"event":"subscribe_session","data":{"sessionId":"s","taskId":[1]}}', subscribe("s") + " " * 70_000],
)  # fmt: skip
def test_other_frames_are_skipped(frame: str) -> None:
    assert parse_subscription(frame) is None
