from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_tui import events as ev
from agent_tui.state.conversation import ConversationState
from agent_tui.state.steps import Steps


def started(turn_id: str = "a1", parent_id: str = "") -> ev.TurnStarted:
    return ev.TurnStarted(turn_id, "", "assistant", "demo", "", 0, parent_id=parent_id)


def words(text: str, step_id: str = "step-0", turn_id: str = "a1", kind: str = "text") -> ev.StepSet:
    return ev.StepSet(turn_id, ev.Step(step_id, type=kind, content=text))


def call(step_id: str = "step-1", arguments: str = "{}", turn_id: str = "a1", **fields: Any) -> ev.StepSet:
    step = ev.Step(step_id, type="tool_call", name="look", arguments=arguments, **fields)
    return ev.StepSet(turn_id, step)


def result(of: str, step_id: str = "step-2", turn_id: str = "a1", **fields: Any) -> ev.StepSet:
    return ev.StepSet(turn_id, ev.Step(step_id, type="tool_result", id_ref=of, content="found", **fields))


def status(word: str, step_id: str = "step-1", **fields: Any) -> ev.ToolStatusChanged:
    return ev.ToolStatusChanged("a1", step_id, word, **fields)


def message(id_: str, text: str = "", role: str = "user", **fields: Any) -> ev.Message:
    steps = (ev.Step("step-0", content=text),) if text and role != "user" else ()
    common: dict[str, Any] = {"sender_name": "", "sender_color": "", "round_number": 0, "token_count": 0}
    return ev.Message(id_, "c", role, text, text, created_at="t", **common, **{"steps": steps, **fields})


def loaded(*messages: ev.Message, **fields: Any) -> ev.ConversationLoaded:
    return ev.ConversationLoaded(ev.ConversationInfo("c", **fields), messages)


def after(*events: ev.Event) -> ConversationState:
    state = ConversationState()
    for event in events:
        state.apply(event)
    return state


def kinds(state: ConversationState, turn_id: str = "a1") -> list[tuple[str, str]]:
    steps = state.turns[turn_id].steps.all.values()
    return [(step.type, step.content.text or step.arguments.text) for step in steps]


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
    assert (turn.status, turn.said, turn.tokens, turn.spent) == ("said", "It has", 3, 8)
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


# --- ends -------------------------------------------------------------------------------------------------


def test_an_error_after_words_keeps_the_words() -> None:
    state = after(started(), words("So far"), ev.RunFailed("API Error: 500"))
    turn = state.turns["a1"]
    assert (turn.status, turn.error, turn.said) == ("failed", "API Error: 500", "So far")
    assert state.open_turn is None
    assert state.run_error == ""


def test_what_was_told_first_of_an_end_stays_true() -> None:
    end = ev.TurnEnded("a1", "", 7, interrupted="stop", seconds=2.0)
    state = after(started(), words("So"), end, ev.RunFailed("Stopped"), ev.TurnDone("a1", "a1"))
    turn = state.turns["a1"]
    assert (turn.status, turn.interrupted, turn.error) == ("cut", "stop", "")
    assert (turn.token_count, turn.seconds, state.run_error) == (7, 2.0, "")


def test_an_answer_that_fails_before_it_begins_says_why() -> None:
    state = after(loaded(message("m1", "Hi")), ev.RunFailed("API Error: 401"))
    assert state.run_error == "API Error: 401"
    state.apply(started())
    assert state.run_error == ""


def test_done_of_another_message_ends_the_answer_under_way() -> None:
    state = after(started(), words("So"), ev.TurnDone("nobody", "made-up"))
    assert state.turns["a1"].status == "said"
    assert list(state.turns) == ["a1"]


def test_ids_that_start_again_with_each_message_stay_apart() -> None:
    state = after(
        started("a1"), words("One"), ev.TurnDone("a1", ""), started("a2"), words("Two", turn_id="a2")
    )
    assert [turn.said for turn in state.turns.values()] == ["One", "Two"]


def test_steps_after_the_end_are_counted_and_change_nothing() -> None:
    state = after(started(), words("One"), ev.TurnDone("a1", ""), ev.StepAdded("a1", "step-0", " two"))
    assert (state.turns["a1"].said, state.unknown_count) == ("One", 1)


def test_an_answer_whose_end_is_lost_is_cut_by_the_next() -> None:
    state = after(started("a1"), words("One"), started("a2"))
    assert (state.turns["a1"].status, state.turns["a1"].interrupted) == ("cut", "lost")
    assert state.open_turn is state.turns["a2"]


def test_steps_of_an_answer_that_nobody_announced_are_kept() -> None:
    state = after(words("One"), started(parent_id="m1"))
    assert (state.turns["a1"].said, state.turns["a1"].model) == ("One", "demo")


# --- branches ---------------------------------------------------------------------------------------------


def talk() -> ev.ConversationLoaded:
    return loaded(
        message("m1", "One?"),
        message("a1", "One.", "assistant", parent_id="m1"),
        message("m2", "Two?", parent_id="a1"),
        message("a2", "Two.", "assistant", parent_id="m2", versions=("a0", "a2")),
    )


def test_a_question_that_is_edited_begins_another_branch() -> None:
    state = after(talk())
    generation = state.generation
    state.apply(ev.MessageStored(message("m3", "Two, really?", parent_id="a1")))
    assert list(state.turns) == ["m1", "a1", "m3"]
    assert state.turns["m3"].versions == ("m2", "m3")
    assert state.generation == generation + 1


def test_an_answer_that_is_given_again_takes_the_place_of_the_old() -> None:
    state = after(talk(), started("a3", parent_id="m2"))
    assert list(state.turns) == ["m1", "a1", "m2", "a3"]
    assert state.turns["a3"].versions == ("a0", "a2", "a3")


def test_another_beginning_takes_everything_away() -> None:
    state = after(talk(), ev.MessageStored(message("m9", "Other?")))
    assert list(state.turns) == ["m9"]
    assert state.turns["m9"].versions == ("m1", "m9")


def test_messages_of_a_server_that_names_no_parents_follow_each_other() -> None:
    state = after(loaded(message("m1", "One?"), message("a1", "One.", "assistant")))
    state.apply(ev.MessageStored(message("m2", "Two?")))
    state.apply(started("a2"))
    assert list(state.turns) == ["m1", "a1", "m2", "a2"]
    assert state.generation == 1


def test_a_message_that_follows_one_nobody_knows_is_shown_last() -> None:
    state = after(talk(), ev.MessageStored(message("m3", "Three?", parent_id="elsewhere")))
    assert list(state.turns)[-1] == "m3"
    assert len(state.turns) == 5


# --- what is stored ---------------------------------------------------------------------------------------


def test_a_loaded_answer_under_way_goes_on() -> None:
    steps = (
        ev.Step("step-0", content="So "),
        ev.Step("step-1", type="tool_call", name="x", status="asks", ask=ev.ToolAsk("x")),
    )
    answer = message("a1", role="assistant", parent_id="m1", status="streaming", steps=steps)
    state = after(loaded(message("m1", "Hi"), answer))
    assert state.open_turn is state.turns["a1"]
    assert state.asking == [("a1", "step-1")]
    assert state.turns["a1"].steps.all["step-1"].ask == ev.ToolAsk("x")
    state.apply(ev.StepAdded("a1", "step-0", "far"))
    assert state.turns["a1"].said == "So far"


def test_loading_again_starts_over() -> None:
    state = after(started(), words("One"), call(), status("asks", ask=ev.ToolAsk("x")), talk())
    assert list(state.turns) == ["m1", "a1", "m2", "a2"]
    assert (state.asking, state.open_turn, state.generation) == ([], None, 1)
    assert {turn.status for turn in state.turns.values()} == {"said"}
    assert state.changed == {"m1", "a1", "m2", "a2"}


def test_words_that_a_server_has_no_record_of_stay() -> None:
    question = message("local-question-1", "One?")
    state = after(
        ev.MessageStored(question),
        started("local-answer-1"),
        words("One", turn_id="local-answer-1"),
        ev.TurnEnded("local-answer-1", "", 0, interrupted="lost"),
    )
    state.apply(loaded(message("m1", "One?")))
    assert [(turn.id, turn.status) for turn in state.turns.values()] == [
        ("m1", "said"),
        ("local-answer-1", "cut"),
    ]
    state.apply(loaded(message("m1", "One?"), message("a1", "One", "assistant")))
    assert list(state.turns) == ["m1", "a1"]


def test_a_stored_answer_says_how_it_ended() -> None:
    state = after(
        loaded(
            message("a1", "One", "assistant", error="API Error"),
            message(
                "a2", "Two", "assistant", interrupted="stop", seconds=3.0, usage=ev.Usage(1, 2, cost=0.5)
            ),
        )
    )
    assert [(turn.status, turn.error, turn.interrupted) for turn in state.turns.values()] == [
        ("failed", "API Error", ""),
        ("cut", "", "stop"),
    ]
    assert state.turns["a2"].seconds == 3.0


def test_a_question_has_its_attachments() -> None:
    file = ev.Attachment("a.md", "# A")
    state = after(ev.MessageStored(message("m1", "Hi", attachments=(file,))))
    assert (state.turns["m1"].text, state.turns["m1"].attachments) == ("Hi", (file,))
    assert state.turns["m1"].said == "Hi"


# --- the conversation -------------------------------------------------------------------------------------


def test_what_was_used_is_counted_once_however_often_it_is_told() -> None:
    usage = ev.Usage(100, 20, cost=0.25)
    info = ev.ConversationInfo("c", tokens=1000, cost=1.0)
    state = after(ev.ConversationLoaded(info, ()), started())
    state.apply(ev.TurnEnded("a1", "", 20, usage=usage))
    state.apply(ev.TurnDone("a1", "a1", 20, usage))
    assert (state.used_tokens, state.cost) == (1120, 1.25)
    state.apply(ev.ConversationChanged(dataclasses.replace(info, tokens=1120, cost=1.25)))
    assert (state.used_tokens, state.cost) == (1120, 1.25)
    state.apply(ev.ConversationChanged(dataclasses.replace(info, tokens=1300, title="New")))
    assert (state.used_tokens, state.conversation.title) == (1300, "New")


def test_the_link_and_unknown_frames_are_noted() -> None:
    state = after(ev.LinkChanged("live"), *[ev.Unknown("x", str(n)) for n in range(300)])
    assert state.link.status == "live"
    assert (state.unknown_count, len(state.unknown)) == (300, 200)


def test_events_of_rooms_change_nothing() -> None:
    state = after(ev.TextAdded("t", "x"), ev.RunStarted("r", "t"), ev.RoundEnded(1), ev.TurnFailed("x"))
    assert (state.turns, state.unknown_count) == ({}, 0)


# --- any order --------------------------------------------------------------------------------------------

_ids = st.sampled_from(["step-0", "step-1", "step-2"])
_turns = st.sampled_from(["a1", "a2"])
_texts = st.text(max_size=3)
_steps = st.builds(
    ev.Step,
    _ids,
    type=st.sampled_from(["text", "thinking", "tool_call", "tool_result", "odd"]),
    content=_texts,
    id_ref=st.sampled_from(["", "step-0", "step-1", "call"]),
    arguments=_texts,
    success=st.booleans(),
)
_events = st.one_of(
    st.builds(ev.StepSet, _turns, _steps),
    st.builds(ev.StepAdded, _turns, _ids, _texts, _texts),
    st.builds(ev.ToolStatusChanged, _turns, _ids, st.sampled_from(["asks", "running", "done", "?"])),
    st.builds(started, _turns, st.sampled_from(["", "m1", "a1", "a2"])),
    st.builds(lambda turn, why: ev.TurnEnded(turn, "", 1, interrupted=why), _turns, _texts),
    st.builds(ev.TurnDone, _turns, _turns),
    st.builds(ev.RunFailed, _texts),
    st.builds(
        lambda id_, parent: ev.MessageStored(message(id_, "x", parent_id=parent)), st.just("m1"), _turns
    ),
    st.just(talk()),
)


@given(events=st.lists(_events, max_size=30))
def test_no_order_of_events_breaks_what_is_known(events: list[ev.Event]) -> None:
    state = ConversationState()
    for event in events:
        state.apply(event)
        speaking = [turn.id for turn in state.turns.values() if turn.status == "speaking"]
        assert speaking == ([state.open_turn.id] if state.open_turn else [])
        for turn_id, step_id in state.asking:
            step = state.step(turn_id, step_id)
            assert step is not None
            assert step.status == "asks"
        assert state.changed <= set(state.turns)
        for turn in state.turns.values():
            for step in turn.steps.all.values():
                assert not step.call_id or turn.steps.all[step.call_id].result is step


@pytest.mark.parametrize("count", [1, 50])
def test_every_step_has_an_id_of_its_own(count: int) -> None:
    steps = Steps()
    for number in range(count):
        kind = "text" if number % 2 else "tool_call"
        steps.apply(ev.StepSet("a1", ev.Step("step-0", type=kind)))
    assert len(steps) == count
    assert len({step.id for step in steps.all.values()}) == count
