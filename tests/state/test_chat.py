from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_tui.model import events as ev
from agent_tui.state.conversation import ConversationState
from tests.state.chat_events import after, call, loaded, message, started, status, words

# --- ends -------------------------------------------------------------------------------------------------


def test_an_error_after_words_keeps_the_words() -> None:
    state = after(started(), words("So far"), ev.RunFailed("API Error: 500"))
    turn = state.turns["a1"]
    assert (turn.status, turn.error, turn.text) == ("failed", "API Error: 500", "So far")
    assert state.open_turn is None
    assert state.run_error == ""


@pytest.mark.parametrize(
    ("content", "why"),
    [("Stopped", "stop"), ("Interrupted: crash", "crash"), ("Interrupted: unwatched", "unwatched")],
)
def test_an_answer_that_somebody_cut_did_not_fail(content: str, why: str) -> None:
    state = after(started(), words("So far"), ev.RunFailed(content))
    turn = state.turns["a1"]
    assert (turn.status, turn.interrupted, turn.error, turn.text) == ("cut", why, "", "So far")


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
    assert [turn.text for turn in state.turns.values()] == ["One", "Two"]


def test_steps_after_the_end_are_counted_and_change_nothing() -> None:
    state = after(started(), words("One"), ev.TurnDone("a1", ""), ev.StepAdded("a1", "step-0", " two"))
    assert (state.turns["a1"].text, state.unknown_count) == ("One", 1)


def test_an_answer_whose_end_is_lost_is_cut_by_the_next() -> None:
    state = after(started("a1"), words("One"), started("a2"))
    assert (state.turns["a1"].status, state.turns["a1"].interrupted) == ("cut", "lost")
    assert state.open_turn is state.turns["a2"]


def test_steps_of_an_answer_that_nobody_announced_are_kept() -> None:
    state = after(words("One"), started(parent_id="m1"))
    assert (state.turns["a1"].text, state.turns["a1"].sender_name) == ("One", "demo")


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
    assert state.turns["a1"].text == "So far"


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
    assert state.turns["m1"].text == "Hi"


# --- the conversation -------------------------------------------------------------------------------------


def test_what_was_used_is_counted_once_however_often_it_is_told() -> None:
    usage = ev.Usage(100, 20, cost=0.25)
    info = ev.ConversationInfo("c", tokens=1000, cost=1.0)
    state = after(ev.ConversationLoaded(info, ()), started())
    state.apply(ev.TurnEnded("a1", "", 20, usage=usage))
    state.apply(ev.TurnDone("a1", "a1", 20, usage))
    assert (state.ledger.tokens, state.ledger.cost) == (1120, 1.25)
    state.apply(ev.ConversationChanged(dataclasses.replace(info, tokens=1120, cost=1.25)))
    assert (state.ledger.tokens, state.ledger.cost) == (1120, 1.25)
    state.apply(ev.ConversationChanged(dataclasses.replace(info, tokens=1300, title="New")))
    assert (state.ledger.tokens, state.conversation.title) == (1300, "New")


def test_the_link_and_unknown_frames_are_noted() -> None:
    state = after(ev.LinkChanged("live"), *[ev.Unknown("x", str(n)) for n in range(300)])
    assert state.link.status == "live"
    assert (state.unknown_count, len(state.unknown)) == (300, 200)


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
