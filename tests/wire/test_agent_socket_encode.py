"""The events of one answer to frames of an agent socket, and back (protocols.md §4)."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_tui.model import events as ev
from agent_tui.state.conversation import ConversationState
from agent_tui.wire.agent_socket import MAIN, AgentSocketDecoder, SocketFrame, parse_frame, source_of
from agent_tui.wire.agent_socket_encode import NO_RESULT, AgentSocketEncoder, error_frame
from tests.fakes.agents.agent_socket_original import Answer

SUB = "tools:4f2a"


def encoded(*events: ev.Event) -> list[dict[str, Any]]:
    encoder = AgentSocketEncoder()
    return [json.loads(frame.json()) for event in events for frame in encoder.encode(event)]


def step(number: int, kind: str = "text", turn: str = "m1", **fields: Any) -> ev.StepSet:
    return ev.StepSet(turn, ev.Step(f"step-{number}", number, kind, **fields))


def added(number: int, content: str = "", arguments: str = "", turn: str = "m1") -> ev.StepAdded:
    return ev.StepAdded(turn, f"step-{number}", content, arguments)


def status(number: int, word: str, progress: str = "") -> ev.ToolStatusChanged:
    return ev.ToolStatusChanged("m1", f"step-{number}", word, progress=progress)


def read(frames: Iterable[dict[str, Any]]) -> Answer:
    """Return what an original client makes of the frames."""
    answer = Answer()
    for frame in frames:
        answer.take(frame)
    return answer


def test_an_answer_of_our_log_to_the_letter() -> None:
    usage = ev.Usage(100, 20)
    assert encoded(
        ev.TurnStarted("m1", "c1", "assistant", "demo", "", 0),
        step(0, "thinking"),
        added(0, "Let me see"),
        step(1),
        added(1, "I look. "),
        step(2, "tool_call", name="read", id_ref="call_1"),
        added(2, arguments='{"path":'),
        added(2, arguments='"a"}'),
        step(2, "tool_call", name="read", id_ref="call_1", arguments='{"path":"a"}'),
        status(2, "running"),
        status(2, "running", "a quarter\nhalf"),
        step(3, "tool_result", name="read", id_ref="step-2", content="text"),
        status(2, "done"),
        step(4),
        added(4, "Done."),
        ev.TurnNoted("m1", "file_offered", about="out/b.png"),
        ev.TurnEnded("m1", "", 20, usage=usage),
        ev.TurnDone("m1", "m1", 20, usage),
    ) == [
        {"type": "AGENT_EVENT_TEXT_CHUNK", "text": "I look. ", "source": "main"},
        {"type": "AGENT_EVENT_TOOL_CALL_CHUNK", "tool_name": "read", "source": "main"},
        {"type": "AGENT_EVENT_TOOL_CALL_CHUNK", "args_chunk": '{"path":', "source": "main"},
        {"type": "AGENT_EVENT_TOOL_CALL_CHUNK", "args_chunk": '"a"}', "source": "main"},
        {
            "type": "AGENT_EVENT_CUSTOM_UPDATE",
            "payload": {"status": "running", "progress": "half"},
            "source": "main",
        },
        {"type": "AGENT_EVENT_TOOL_RESULT", "tool_name": "read", "result": "text", "source": "main"},
        {"type": "AGENT_EVENT_TEXT_CHUNK", "text": "Done.", "source": "main"},
        {"type": "AGENT_EVENT_SEND_FILE", "path": "out/b.png"},
        {"type": "AGENT_EVENT_END", "tokens_used": 120},
    ]


def test_tokens_are_what_the_event_counts_where_no_usage_is_known() -> None:
    assert encoded(ev.TurnDone("m1", "m1", 9)) == [{"type": "AGENT_EVENT_END", "tokens_used": 9}]


def test_thinking_has_no_frame_and_the_texts_around_it_stay_apart() -> None:
    frames = encoded(
        step(0), added(0, "A"), step(1, "thinking"), added(1, "hm"), step(2), added(2, "B"), added(2, "C")
    )
    assert [frame["text"] for frame in frames] == ["A", "\n\nB", "C"]


def test_a_snapshot_sends_what_is_new_and_what_replaces_words_follows_them() -> None:
    frames = encoded(
        step(0, content="Hel"), step(0, content="Hello"), step(0, content="Hello"), step(0, content="Bye")
    )
    assert [frame["text"] for frame in frames] == ["Hel", "lo", "\n\nBye"]


def test_the_words_of_a_room_are_text_chunks() -> None:
    assert encoded(ev.TextAdded("m1", "Hi")) == [
        {"type": "AGENT_EVENT_TEXT_CHUNK", "text": "Hi", "source": "main"}
    ]


def test_an_attempt_that_continues_joins_its_words_and_one_that_says_them_anew_does_not() -> None:
    def attempt(continues: str) -> ev.TurnStarted:
        return ev.TurnStarted("m2", "c1", "assistant", "demo", "", 0, attempt=2, continues=continues)

    first: list[ev.Event] = [step(0), added(0, "It is bl")]
    second: list[ev.Event] = [step(0, turn="m2"), added(0, "ue.", turn="m2")]
    assert read(encoded(*first, attempt("m1"), *second)).text == "It is blue."
    assert read(encoded(*first, attempt(""), *second)).text == "It is bl\n\nue."


def test_what_a_sub_agent_says_and_calls_has_its_source() -> None:
    call = ev.Step(f"step-1@{SUB}", 1, "tool_call", name="grep", arguments="{}")
    assert encoded(
        ev.StepSet("m1", ev.Step(f"step-0@{SUB}", 0, "sub_agent", name=SUB, content="Looking")),
        ev.StepSet("m1", call),
        ev.StepSet("m1", ev.Step(f"step-2@{SUB}", 2, "tool_result", "x", "grep", id_ref=f"step-1@{SUB}")),
    ) == [
        {"type": "AGENT_EVENT_TEXT_CHUNK", "text": "Looking", "source": SUB},
        {"type": "AGENT_EVENT_TOOL_CALL_CHUNK", "tool_name": "grep", "args_chunk": "{}", "source": SUB},
        {"type": "AGENT_EVENT_TOOL_RESULT", "tool_name": "grep", "result": "x", "source": SUB},
    ]


def test_calls_that_are_written_at_once_are_sent_one_after_the_other() -> None:
    frames = encoded(
        step(0, "tool_call", name="a"),
        step(1, "tool_call", name="b"),
        added(0, arguments='{"n":'),
        added(1, arguments='{"m":'),
        added(0, arguments="1}"),
        added(1, arguments="2}"),
        step(0, "tool_call", name="a", arguments='{"n":1}'),
        step(1, "tool_call", name="b", arguments='{"m":2}'),
    )
    assert read(frames).calls == [[MAIN, "a", '{"n":1}'], [MAIN, "b", '{"m":2}']]


def test_results_of_calls_of_one_name_come_in_the_order_of_the_calls() -> None:
    calls = [step(n, "tool_call", name="get", arguments=f'{{"n":{n}}}') for n in range(3)]
    results = [
        step(n + 3, "tool_result", name="get", id_ref=f"step-{n}", content=f"of {n}") for n in (2, 0, 1)
    ]
    frames = encoded(*calls, *results)
    assert [found for _, _, found in read(frames).results] == ["of 0", "of 1", "of 2"]


def test_a_call_that_got_no_result_does_not_take_that_of_the_next_of_its_name() -> None:
    frames = encoded(
        step(0, "tool_call", name="get", arguments="{}"),
        step(1, "tool_call", name="get", arguments="{}"),
        step(2, "tool_result", name="get", id_ref="step-1", content="of 1"),
        ev.TurnDone("m1", "m1"),
    )
    assert [found for _, _, found in read(frames).results] == [NO_RESULT, "of 1"]


def test_a_call_without_arguments_and_without_a_result_is_sent_before_the_end() -> None:
    frames = encoded(
        step(0, "tool_call", name="a"), step(1, "tool_call", name="b"), ev.TurnDone("m1", "m1", 1)
    )
    assert [frame.get("tool_name") for frame in frames] == ["a", "b", None]


def test_a_result_of_no_known_call_is_sent_as_it_is() -> None:
    assert encoded(step(0, "tool_result", name="f", content="x")) == [
        {"type": "AGENT_EVENT_TOOL_RESULT", "tool_name": "f", "result": "x", "source": "main"}
    ]


@pytest.mark.parametrize(
    ("content", "code"),
    [
        ("API Error: 500", "AGENT_ERROR"),
        ("Stopped", "STOPPED"),
        ("Interrupted: budget", "INTERRUPTED"),
        ("Exceeded maximum tool call iterations", "MAX_ITERATIONS"),
    ],
)
def test_a_failure_is_an_error_with_a_code_and_comes_back_as_it_was(content: str, code: str) -> None:
    (frame,) = encoded(ev.RunFailed(content))
    assert frame == {"type": "ERROR", "code": code, "details": content}
    assert AgentSocketDecoder("t1").decode(parse_frame(json.dumps(frame))) == [ev.RunFailed(content)]
    assert encoded(ev.TurnFailed(content)) == [frame]


def test_a_code_of_ones_own_is_kept() -> None:
    assert error_frame("one at a time", "CHAT_BUSY").data()["code"] == "CHAT_BUSY"


@pytest.mark.parametrize(
    "event",
    [
        ev.TurnNoted("m1", "rate_limit"),
        ev.TurnEnded("m1", "", 3),
        ev.RoundStarted(1, 2),
        ev.LinkChanged("live"),
        step(0, "dance", content="?"),
        added(9, "of no step"),
        status(9, "running", "of no call"),
    ],
)
def test_what_this_protocol_has_no_words_for_has_no_frame(event: ev.Event) -> None:
    assert encoded(event) == []


# --- there and back ----------------------------------------------------------------------------------


@dataclass
class Log:
    """A log of one answer, and what a reader of it must find."""

    events: list[ev.Event] = field(default_factory=list)
    calls: dict[str, list[tuple[str, str, str]]] = field(default_factory=dict)  # by source, in order


@st.composite
def logs(draw: st.DrawFn) -> Log:
    """Return steps of two sources at once: words, thoughts, and calls whose pieces and results mix."""
    log = Log()
    plans: list[list[ev.Event]] = []
    for number in range(draw(st.integers(1, 7))):
        source = draw(st.sampled_from([MAIN, MAIN, SUB]))
        id_ = f"step-{number}" if source == MAIN else f"step-{number}@{source}"
        if draw(st.booleans()):
            name, written = draw(st.sampled_from("fg")), json.dumps({"n": number})
            cut = draw(st.integers(0, len(written)))
            whole = ev.Step(id_, number, "tool_call", name=name, arguments=written)
            content = f"result {number}"
            result = ev.Step(f"r{id_}", number, "tool_result", content, name, id_ref=id_)
            plans.append(
                [
                    ev.StepSet("m1", ev.Step(id_, number, "tool_call", name=name)),
                    *(
                        ev.StepAdded("m1", id_, arguments=part)
                        for part in (written[:cut], written[cut:])
                        if part
                    ),
                    ev.StepSet("m1", whole),
                    ev.StepSet("m1", result),
                ]
            )
            log.calls.setdefault(source, []).append((name, written, content))
        else:
            kind = draw(st.sampled_from(["text", "thinking"])) if source == MAIN else "sub_agent"
            words = draw(st.lists(st.text("ab \n", min_size=1, max_size=4), min_size=1, max_size=3))
            first = ev.StepSet("m1", ev.Step(id_, number, kind, name=source if source != MAIN else ""))
            log.events += [first, *(ev.StepAdded("m1", id_, word) for word in words)]
        if draw(st.booleans()):
            log.events += mixed(draw, plans)
            plans = []
    log.events += mixed(draw, plans)
    return log


def mixed(draw: st.DrawFn, plans: list[list[ev.Event]]) -> list[ev.Event]:
    """Return all events of the plans, each plan in its own order; they begin one after the other."""
    begun = [plan[0] for plan in plans]
    rest = [plan[1:] for plan in plans]
    events: list[ev.Event] = list(begun)
    while waiting := [plan for plan in rest if plan]:
        events.append(draw(st.sampled_from(waiting)).pop(0))
    return events


@given(logs())
def test_what_a_log_says_is_what_a_client_reads(log: Log) -> None:
    frames: list[SocketFrame] = []
    encoder = AgentSocketEncoder()
    for event in [*log.events, ev.TurnDone("m1", "m1", 5)]:
        frames += encoder.encode(event)
    decoder, read_state, log_state = AgentSocketDecoder("t1"), ConversationState(), ConversationState()
    read_state.apply(ev.TurnStarted("t1", "", "assistant", "", "", 0))
    for frame in frames:
        for event in decoder.decode(parse_frame(frame.json())):
            read_state.apply(event)
    for event in log.events:
        log_state.apply(event)
    assert read_state.whole_text() == log_state.whole_text()
    assert read_state.unknown_count == 0
    found: dict[str, list[tuple[str, str, str]]] = {}
    for turn in read_state.turns.values():
        for one in turn.steps.all.values():
            if one.type == "tool_call":
                assert one.result is not None
                said = (one.name, one.arguments.text, one.result.content.text)
                found.setdefault(source_of(one.id), []).append(said)
    assert found == log.calls
