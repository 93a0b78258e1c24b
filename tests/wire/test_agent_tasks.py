"""Frames of an agent service: whatever comes, the decoder tells the task's own events and never raises."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_tui.events import RunFailed, StepAdded, StepSet, TurnDone
from agent_tui.wire.agent_tasks import AgentTaskDecoder, accepted, ends_session, subscribe

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


def frame(**data: object) -> str:
    return json.dumps({"event": "stream_event", "data": data})


def test_words_grow_one_step_and_thoughts_another() -> None:
    decoder = AgentTaskDecoder("t1")
    frames = (
        frame(type="thinking", content="Hm"),
        frame(type="text", content="A"),
        frame(type="text", content="b"),
    )
    events = [event for one in frames for event in decoder.decode(one)]
    assert [event.step.type for event in events if isinstance(event, StepSet)] == ["thinking", "text"]
    assert [(event.step_id, event.content) for event in events if isinstance(event, StepAdded)] == [
        ("step-0", "Hm"),
        ("step-1", "A"),
        ("step-1", "b"),
    ]


def test_a_frame_of_another_task_is_left_alone_and_one_of_none_is_its_own() -> None:
    decoder = AgentTaskDecoder("t1")
    assert decoder.decode(frame(type="completed", taskId="t2")) == []
    assert decoder.decode(frame(type="completed", taskId=None)) == [TurnDone("t1", "t1")]
    assert decoder.decode(frame(type="completed")) == [TurnDone("t1", "t1")]


@pytest.mark.parametrize(
    "odd", ["", "[]", "nonsense", b"\xff", "[" * 100_000, '{"event":"stream_event"}', frame(type=["text"])]
)
def test_what_is_no_frame_of_the_protocol_is_skipped(odd: str | bytes) -> None:
    assert AgentTaskDecoder("t1").decode(odd) == []


@given(
    st.sampled_from(["text", "thinking", "tool_use", "tool_result", "error", "completed"]), JSON, JSON, JSON
)
def test_no_payload_is_too_odd(kind: str, content: object, id_: object, input_: object) -> None:
    decoder = AgentTaskDecoder("t1")
    data = {"type": kind, "content": content, "id": id_, "input": input_, "name": input_, "message": content}
    for event in decoder.decode(frame(**data)):
        assert not isinstance(event, RunFailed) or event.content


def test_which_session_and_task_were_made() -> None:
    assert accepted({"sessionId": "s", "taskId": "t"}) == ("s", "t")
    odds: list[object] = [None, [], {}, {"sessionId": "", "taskId": "t"}, {"sessionId": 1, "taskId": "t"}]
    for odd in odds:
        with pytest.raises(ValueError, match="no sessionId"):
            accepted(odd)
    assert json.loads(subscribe("s")) == {"event": "subscribe_session", "data": {"sessionId": "s"}}


def test_which_errors_end_a_session() -> None:
    assert ends_session("Session Aborted")
    assert ends_session("process EXITED with 1")
    assert not ends_session("busy")
