"""Turns of rooms that use tools: their words and steps, in the order they came."""

from __future__ import annotations

import pytest

from agent_tui.model import events as ev
from agent_tui.state.conversation import ConversationState
from tests.state.test_room import feed, loaded, message, start

CALL = ev.Step("step-1", 1, "tool_call", name="look", arguments="{}", id_ref="c1")
RESULT = ev.Step("step-2", 2, "tool_result", "seen", "look", id_ref="step-1")
ASK = ev.ToolAsk("change notes.txt", "-a\n+b", "diff", "change")


def told(state: ConversationState, turn_id: str = "1") -> list[tuple[str, str]]:
    steps = state.turns[turn_id].steps
    return [(step.type, step.content.text) for step in steps.all.values()]


def used(**room: str) -> ConversationState:
    return feed(
        loaded(status="running", **room),
        start("1"),
        ev.TextAdded("1", "I ", step_id="step-0"),
        ev.TextAdded("1", "look.", step_id="step-0"),
        ev.StepSet("1", CALL),
        ev.ToolStatusChanged("1", "step-1", "running"),
        ev.StepSet("1", RESULT),
        ev.ToolStatusChanged("1", "step-1", "done", 0.5),
        ev.TextAdded("1", "\n\nSo ", step_id="step-3"),
        ev.TextAdded("1", "it is.", step_id="step-3"),
    )


def test_words_alone_are_one_step() -> None:
    state = feed(loaded(), start("1"), ev.TextAdded("1", "Words", step_id="step-0"))
    assert (told(state), state.turns["1"].text) == ([("text", "Words")], "Words")


def test_words_and_calls_stand_in_the_order_they_came() -> None:
    state = used()
    assert told(state) == [
        ("text", "I look."),
        ("tool_call", ""),
        ("tool_result", "seen"),
        ("text", "So it is."),
    ]
    assert state.turns["1"].text == "I look.\n\nSo it is."
    assert state.changed >= {"1"}


def test_what_is_stored_of_a_turn_says_the_same_again() -> None:
    state = used()
    before = told(state)
    steps = (
        ev.Step("step-0", 0, "text", "I look."),
        CALL,
        RESULT,
        ev.Step("step-3", 3, "text", "So it is."),
    )
    text = "I look.\n\nSo it is."
    feed(state, ev.TurnEnded("1", text, 4), ev.MessageStored(message("1", text, steps=steps)))
    assert (told(state), state.turns["1"].status) == (before, "said")


def test_a_turn_that_is_loaded_half_said_goes_on_where_it_was() -> None:
    steps = (ev.Step("step-0", 0, "text", "I look."), CALL, RESULT, ev.Step("step-3", 3, "text", "So "))
    state = loaded(message("1", "I look.\n\nSo ", steps=steps, status="streaming"), status="running")
    feed(
        state,
        ev.TextAdded("1", "it is.", step_id="step-3"),
        ev.StepSet("1", ev.Step("step-4", 4, "thinking")),
    )
    feed(state, ev.TextAdded("1", "\n\nYes.", step_id="step-5"))
    assert [content for type_, content in told(state) if type_ == "text"] == ["I look.", "So it is.", "Yes."]


def test_words_that_are_loaded_before_the_first_call_are_a_step_of_it() -> None:
    state = loaded(message("1", "I look.", status="streaming"), status="running")
    feed(state, ev.StepSet("1", CALL))
    assert told(state) == [("text", "I look."), ("tool_call", "")]


def test_a_call_that_asks_is_among_those_that_ask_until_it_does_not() -> None:
    state = feed(loaded(status="running"), start("1"), ev.StepSet("1", CALL))
    assert state.asking == []
    feed(state, ev.ToolStatusChanged("1", "step-1", "asks", ask=ASK))
    assert state.asking == [("1", "step-1")]
    feed(state, ev.ToolStatusChanged("1", "step-1", "running"))
    assert state.asking == []


@pytest.mark.parametrize(("why", "status"), [("crash", "unknown"), ("pause", "cut")])
def test_a_turn_that_is_cut_leaves_no_call_open(why: str, status: str) -> None:
    state = feed(loaded(status="running"), start("1"), ev.StepSet("1", CALL))
    feed(state, ev.ToolStatusChanged("1", "step-1", "asks", ask=ASK), ev.TurnEnded("1", "", 0, "", why))
    steps = state.turns["1"].steps
    assert (steps.all["step-1"].status, state.asking) == (status, [])


def test_a_step_after_the_end_of_its_turn_is_counted_and_one_of_no_turn_is_kept() -> None:
    state = feed(loaded(), start("1"), ev.TurnEnded("1", "Hi", 0), ev.StepSet("1", CALL))
    assert (state.unknown_count, told(state)) == (1, [("text", "Hi")])
    feed(state, ev.StepSet("9", CALL))
    assert told(state, "9") == [("tool_call", "")]


def test_what_the_room_allows_is_known() -> None:
    state = loaded(enabled_tools=("look",), workspace="/code")
    assert (state.room.enabled_tools, state.room.workspace) == (("look",), "/code")


def test_what_became_of_a_tool_may_come_after_its_turn_and_is_nothing_unknown() -> None:
    state = feed(
        loaded(status="running"),
        start("1"),
        ev.StepSet("1", CALL),
        ev.TurnEnded("1", "", 0, interrupted="stop"),
        ev.ToolStatusChanged("1", "step-1", "denied", 0.5),
    )
    steps = state.turns["1"].steps
    assert (steps.all["step-1"].status, state.unknown_count) == ("denied", 0)
    feed(state, ev.ToolStatusChanged("1", "step-1", "asks", ask=ASK), ev.StepSet("1", RESULT))
    assert (steps.all["step-1"].status, state.unknown_count) == ("denied", 2)  # nobody can answer it now
    assert [unknown.name for unknown in state.unknown] == ["process_step", "process_step"]
    assert state.asking == []
