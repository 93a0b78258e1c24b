from __future__ import annotations

import pytest

from agent_tui.model import events as ev
from agent_tui.state.steps import Steps, StepState
from tests.state.chat_events import after, call, kinds, result, started, status, words

# --- steps ------------------------------------------------------------------------------------------------


def test_an_answer_grows_step_by_step() -> None:
    state = after(
        started(),
        words("I look.", kind="thinking"),
        call(),
        result("step-1", "step-2"),
        words("It", "step-3"),
        ev.StepAdded("a1", "step-3", " has"),
        ev.TurnDone("a1", "a1", 3, ev.Usage(5, 3)),
    )
    turn = state.turns["a1"]
    assert kinds(state) == [
        ("thinking", "I look."),
        ("tool_call", "{}"),
        ("tool_result", "found"),
        ("text", "It has"),
    ]
    assert (turn.status, turn.text, turn.tokens, turn.spent) == ("said", "It has", 3, 8)
    assert turn.steps.all["step-1"].result is turn.steps.all["step-2"]
    assert turn.steps.all["step-2"].call_id == "step-1"
    assert turn.steps.all["step-1"].status == "done"
    assert state.whole_text() == "It has"


def test_a_reader_of_what_is_new_gets_only_that() -> None:
    state = after(started(), words("One "))
    step = state.turns["a1"].steps.all["step-0"]
    state.apply(ev.StepAdded("a1", "step-0", "two"))
    assert (step.content.since(4), step.revision) == ("two", 0)
    assert state.changed == {"a1"}
    assert state.turns["a1"].steps.changed == {"step-0"}


def test_content_that_shrinks_or_changes_its_beginning_is_replaced() -> None:
    state = after(started(), words("One two"), words("One"))
    step = state.turns["a1"].steps.all["step-0"]
    assert (step.content.text, step.revision) == ("One", 1)
    state.apply(words("Won"))
    assert (step.content.text, step.revision) == ("Won", 2)
    state.apply(words("Wonder"))
    assert (step.content.text, step.revision) == ("Wonder", 2)


def test_steps_stand_in_the_order_they_came_whatever_their_index_says() -> None:
    state = after(
        started(),
        ev.StepSet("a1", ev.Step("step-5", 5, "text", "first")),
        ev.StepSet("a1", ev.Step("step-0", 0, "tool_call", name="x")),
        ev.StepSet("a1", ev.Step("step-1", 0, "text", "last")),
    )
    assert [step.id for step in state.turns["a1"].steps.all.values()] == ["step-5", "step-0", "step-1"]
    assert [step.place for step in state.turns["a1"].steps.all.values()] == [0, 1, 2]


def test_one_id_for_two_things_keeps_both() -> None:
    state = after(started(), words("One", "step-0"), call("step-0"), ev.StepAdded("a1", "step-0", "", "x"))
    assert kinds(state) == [("text", "One"), ("tool_call", "{}x")]


def test_a_call_that_never_gets_a_result_ends_with_its_answer() -> None:
    for end, word in (
        (ev.TurnDone("a1", ""), "unknown"),
        (ev.RunFailed("Stopped"), "cut"),
        (ev.RunFailed("Interrupted: crash"), "unknown"),
        (ev.RunFailed("API Error: 500"), "cut"),
    ):
        state = after(started(), call(), end)
        assert state.turns["a1"].steps.all["step-1"].status == word
        assert state.turns["a1"].steps.all["step-1"].result is None


def test_a_result_that_names_an_unknown_call_is_a_step_of_its_own() -> None:
    state = after(started(), result("step-9"), result("", "step-3"), ev.TurnDone("a1", ""))
    steps = state.turns["a1"].steps.all
    assert [steps[id_].call_id for id_ in steps] == ["", ""]
    assert len(steps) == 2


def test_a_result_before_its_call_finds_it() -> None:
    state = after(started(), result("step-1", success=False), call("step-1"))
    steps = state.turns["a1"].steps.all
    assert steps["step-1"].result is steps["step-2"]
    assert steps["step-1"].status == "failed"
    assert list(steps) == ["step-2", "step-1"]


def test_a_result_may_name_its_call_by_the_providers_id() -> None:
    state = after(started(), call("step-1", id_ref="call_9"), result("call_9"))
    assert state.turns["a1"].steps.all["step-2"].call_id == "step-1"
    late = after(started(), result("call_9"), call("step-1", id_ref="call_9"))
    assert late.turns["a1"].steps.all["step-2"].call_id == "step-1"


def test_a_second_result_of_one_call_is_kept_beside_the_first() -> None:
    state = after(started(), call(), result("step-1"), result("step-1", "step-3"))
    steps = state.turns["a1"].steps.all
    assert (steps["step-1"].result, steps["step-3"].call_id) == (steps["step-2"], "")


def test_pieces_before_their_step_are_kept() -> None:
    state = after(
        started(),
        ev.StepAdded("a1", "step-0", "Hel"),
        words("Hello"),
        ev.StepAdded("a1", "step-1", "", '{"a'),
        call("step-1", '{"a":1}'),
        ev.StepAdded("a1", "step-2", "thought"),
        words("thoughts", "step-2", kind="thinking"),
    )
    assert kinds(state) == [("text", "Hello"), ("tool_call", '{"a":1}'), ("thinking", "thoughts")]


def test_arguments_grow_and_are_never_taken_away() -> None:
    state = after(started(), call(arguments=""), ev.StepAdded("a1", "step-1", "", '{"a":'))
    step = state.turns["a1"].steps.all["step-1"]
    assert (step.arguments.text, step.status) == ('{"a":', "")
    state.apply(call(arguments=""))
    assert step.arguments.text == '{"a":'
    state.apply(call(arguments='{"a":1}'))
    assert (step.arguments.since(5), step.revision, step.status) == ("1}", 0, "running")


# --- permission -------------------------------------------------------------------------------------------


def test_calls_that_ask_are_listed_until_they_are_answered() -> None:
    ask = ev.ToolAsk("rm x", pattern="run_command(rm *)")
    state = after(
        started(), call(), call("step-2"), status("asks", ask=ask), status("asks", "step-2", ask=ask)
    )
    assert state.asking == [("a1", "step-1"), ("a1", "step-2")]
    assert state.step("a1", "step-1").ask == ask  # type: ignore[union-attr]
    state.apply(status("running"))
    assert state.asking == [("a1", "step-2")]
    assert state.step("a1", "step-1").ask is None  # type: ignore[union-attr]
    state.apply(status("denied", "step-2", seconds=0.5))
    assert state.asking == []
    assert state.step("a1", "step-2").seconds == 0.5  # type: ignore[union-attr]


def test_a_result_or_an_end_answers_what_was_asked() -> None:
    ask = ev.ToolAsk("rm x")
    state = after(
        started(), call(), call("step-3"), status("asks", ask=ask), status("asks", "step-3", ask=ask)
    )
    state.apply(result("step-1", success=False))
    assert state.asking == [("a1", "step-3")]
    state.apply(ev.TurnEnded("a1", "", 0, interrupted="stop"))
    assert state.asking == []
    state.apply(status("asks", ask=ask))  # late: the answer is over
    assert state.asking == []


def test_what_was_told_of_a_call_stays_when_its_result_comes() -> None:
    state = after(started(), call(), status("denied"), result("step-1", success=False))
    assert state.turns["a1"].steps.all["step-1"].status == "denied"


@pytest.mark.parametrize("count", [1, 50])
def test_every_step_has_an_id_of_its_own(count: int) -> None:
    steps = Steps()
    for number in range(count):
        kind = "text" if number % 2 else "tool_call"
        steps.apply(ev.StepSet("a1", ev.Step("step-0", type=kind)))
    assert len(steps) == count
    assert len({step.id for step in steps.all.values()}) == count


def test_finding_a_name_for_a_step_costs_the_same_however_often_its_id_was_used() -> None:
    class Looked(dict[str, StepState]):
        times = 0

        def __contains__(self, key: object) -> bool:
            self.times += 1
            return super().__contains__(key)

    steps = Steps()
    steps.all = looked = Looked()
    for number in range(500):
        steps.apply(ev.StepSet("a1", ev.Step("step-0", type="text" if number % 2 else "tool_call")))
    assert len(looked) == 500
    assert looked.times <= 3 * 500


# --- what was undone ----------------------------------------------------------------------------------------


def test_what_was_undone_is_said_of_its_call_also_after_the_end() -> None:
    state = after(started(), call(), result("step-1"), ev.TurnDone("a1", "a1"), status("undone"))
    assert state.turns["a1"].steps.all["step-1"].status == "undone"
    assert state.unknown_count == 0


def test_an_undone_change_of_a_branch_that_is_not_shown_makes_no_turn() -> None:
    state = after(started(), words("So"), ev.TurnDone("a1", "a1"))
    state.apply(ev.ToolStatusChanged("a9", "step-1", "undone"))
    assert list(state.turns) == ["a1"]


def test_an_undone_change_of_an_answer_that_was_continued_is_of_its_own_step() -> None:
    state = after(started(), call(), result("step-1"), ev.TurnEnded("a1", "", 0, interrupted="stop"))
    state.apply(ev.TurnStarted("a2", "", "assistant", "demo", "", 0, continues="a1"))
    state.apply(ev.StepSet("a2", ev.Step("step-3", content="So")))
    state.apply(ev.TurnDone("a2", "a2"))
    state.apply(status("undone"))
    assert state.turns["a1"].steps.all["step-1"].status == "undone"
    assert len(state.turns["a1"].steps) == 3
