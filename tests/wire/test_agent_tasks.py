"""Frames of an agent service: whatever comes, the decoder tells the task's own events and never raises."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_tui.model.events import RunFailed, StepAdded, StepSet, ToolStatusChanged, TurnDone
from agent_tui.wire.agent_tasks import AgentTask, AgentTaskDecoder, accepted, ends_session, subscribe

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


def frame(**data: object) -> str:
    return json.dumps({"event": "stream_event", "data": data})


def test_words_behind_a_tool_are_a_step_without_the_blank_line_that_parts_them() -> None:
    decoder = AgentTaskDecoder("t1")
    frames = (
        frame(type="text", content="I look."),
        frame(type="tool_use", id="c", name="look", input={}),
        frame(type="tool_result", id="c", name="look", content="it"),
        frame(type="text", content="\n\nSo."),
        frame(type="text", content="\n\nThat is it."),
    )
    events = [event for one in frames for event in decoder.decode(one)]
    said = [event.content for event in events if isinstance(event, StepAdded)]
    assert said == ["I look.", "So.", "\n\nThat is it."]


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
    assert decoder.decode(frame(type="completed", taskId=["t1"])) == []
    assert decoder.decode(frame(type="completed", taskId=None)) == [TurnDone("t1", "t1")]
    assert decoder.decode(frame(type="completed", taskId="")) == [TurnDone("t1", "t1")]
    assert decoder.decode(frame(type="completed")) == [TurnDone("t1", "t1")]


def test_ids_may_be_numbers_and_go_back_as_numbers() -> None:
    session_id, task_id = accepted({"sessionId": 0, "taskId": 7})
    told = json.loads(subscribe(session_id, task_id))
    assert told["data"] == {"sessionId": 0, "taskId": 7}
    assert AgentTask("Hi").json(session_id)["sessionId"] == 0
    decoder = AgentTaskDecoder(task_id)
    assert decoder.decode(frame(type="completed", taskId=8)) == []
    assert decoder.decode(frame(type="completed", taskId=7)) == [TurnDone("7", "7")]
    assert decoder.decode(frame(type="completed", taskId="7")) == [TurnDone("7", "7")]
    calls = [frame(type="tool_use", id=number, name="look") for number in (1, 2)]
    steps = [event for call in calls for event in decoder.decode(call)]
    (_, result) = decoder.decode(frame(type="tool_result", id=2, name="look", content="blue"))
    assert isinstance(steps[2], StepSet)
    assert isinstance(result, StepSet)
    assert (steps[2].step.id_ref, result.step.id_ref) == ("2", steps[2].step.id)


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
    odds: list[object] = [None, [], {}, {"sessionId": "", "taskId": "t"}, {"sessionId": True, "taskId": "t"}]
    for odd in odds:
        with pytest.raises(ValueError, match="no sessionId"):
            accepted(odd)
    assert json.loads(subscribe("s")) == {"event": "subscribe_session", "data": {"sessionId": "s"}}


def test_which_errors_end_a_session() -> None:
    assert ends_session("Session Aborted")
    assert ends_session("process EXITED with 1")
    assert not ends_session("busy")


@pytest.mark.parametrize(
    ("use", "result"),
    [
        (
            {"id": "c2", "name": "look", "input": {"n": 2}},
            {"id": "c2", "name": "look", "content": "blue", "success": True},
        ),
        (
            {"tool_use_id": "c2", "tool_name": "look", "arguments": '{"n":2}'},
            {"tool_use_id": "c2", "result": "blue"},
        ),
        ({"toolName": "look", "args": {"n": 2}}, {"toolName": "look", "output": "blue"}),
        ({"tool": "look", "input": {"n": 2}}, {"content": "blue"}),
    ],
)
def test_tools_are_read_however_a_service_names_their_fields(
    use: dict[str, object], result: dict[str, object]
) -> None:
    decoder = AgentTaskDecoder("t1")
    call = decoder.decode(frame(type="tool_use", **use))[0]
    assert isinstance(call, StepSet)
    assert (call.step.name, call.step.arguments) == ("look", '{"n":2}')
    status, told = decoder.decode(frame(type="tool_result", **result))
    assert isinstance(told, StepSet)
    assert (told.step.name, told.step.content, told.step.id_ref) == ("look", "blue", call.step.id)
    assert status == ToolStatusChanged("t1", call.step.id, "done")


def test_a_result_without_an_id_is_of_the_oldest_open_call_of_its_name() -> None:
    decoder = AgentTaskDecoder("t1")
    for name in ("a", "b", "b"):
        decoder.decode(frame(type="tool_use", name=name))
    results = [
        decoder.decode(frame(type="tool_result", name=name, content="x")) for name in ("b", "b", "a", "a")
    ]
    refs = [event.step.id_ref for events in results for event in events if isinstance(event, StepSet)]
    assert refs == ["step-1", "step-2", "step-0", ""]


@pytest.mark.parametrize("failed", [{"success": False}, {"is_error": True}])
def test_a_result_may_say_that_the_tool_failed(failed: dict[str, bool]) -> None:
    decoder = AgentTaskDecoder("t1")
    decoder.decode(frame(type="tool_use", id="c1", name="look"))
    status, result = decoder.decode(frame(type="tool_result", id="c1", content={"why": "x"}, **failed))
    assert status == ToolStatusChanged("t1", "step-0", "failed")
    assert isinstance(result, StepSet)
    assert (result.step.success, result.step.content) == (False, '{"why":"x"}')


def test_the_events_may_be_of_a_turn_with_another_id() -> None:
    decoder = AgentTaskDecoder("t1", "local-1")
    assert decoder.decode(frame(type="text", taskId="t1", content="Hi"))[1] == StepAdded(
        "local-1", "step-0", "Hi"
    )
    assert decoder.decode(frame(type="completed", taskId="local-1")) == []
    assert decoder.decode(frame(type="completed", taskId="t1")) == [TurnDone("local-1", "t1")]


def test_an_emoji_that_comes_in_two_halves_is_one() -> None:
    decoder = AgentTaskDecoder("t1")
    frames = [frame(type="text", content=half) for half in ("a\ud83d", "\ude00b")]
    events = [event for one in frames for event in decoder.decode(one)]
    assert [event.content for event in events if isinstance(event, StepAdded)] == ["a", "\U0001f600b"]
