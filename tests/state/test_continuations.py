"""A message that continues another is part of its turn, live and when it is loaded."""

from __future__ import annotations

import pytest

from agent_tui.model import events as ev
from agent_tui.model.chains import join_chains
from agent_tui.model.records import MAX_AGENTS
from agent_tui.state.conversation import ConversationState
from tests.state.chat_events import after, call, loaded, message, result, started, words
from tests.state.test_room import AGENTS, crowd, feed
from tests.state.test_room import loaded as room_loaded
from tests.state.test_room import message as room_message
from tests.state.test_room import start as turn_start

A, B = AGENTS[0], AGENTS[1]
USED = ev.Usage(10, 4)


def begun(turn_id: str, continues: str, agent: ev.AgentInfo = A) -> ev.TurnStarted:
    return ev.TurnStarted(turn_id, "r", "assistant", agent.name, "", 1, agent.id, 2, continues=continues)


def cut_room() -> ConversationState:
    """Return a room in which the first agent was cut off, and the second spoke after it."""
    state = room_loaded(status="running", current_round=1)
    feed(state, ev.TurnStarted("1", "r", "assistant", A.name, "", 1, A.id), ev.TextAdded("1", "So far"))
    feed(state, ev.TurnEnded("1", "So far", 1, A.id, "length", USED))
    feed(state, ev.TurnStarted("2", "r", "assistant", B.name, "", 1, B.id), ev.TextAdded("2", "Well."))
    feed(state, ev.TurnEnded("2", "Well.", 1, B.id))
    return state


def test_a_turn_without_tokens_left_is_cut_and_over() -> None:
    turn = cut_room().turns["1"]
    assert (turn.status, turn.interrupted, turn.is_finished, turn.tokens) == ("cut", "length", True, 4)


def test_its_rest_is_part_of_the_same_turn() -> None:
    state = cut_room()
    feed(state, begun("3", "1"))
    assert (list(state.turns), state.turns["1"].status) == (["1", "2"], "speaking")
    feed(state, ev.TextAdded("3", " and"), ev.TextAdded("3", " on."))
    assert [turn.text for turn in state.turns.values()] == ["So far and on.", "Well."]
    feed(state, ev.TurnEnded("3", " and on.", 2, A.id, "", ev.Usage(20, 3)))
    feed(
        state,
        ev.MessageStored(room_message("3", " and on.", agent_id=A.id, continues="1", usage=ev.Usage(20, 3))),
    )
    turn = state.turns["1"]
    assert (turn.text, turn.status, turn.parts, turn.part_id) == ("So far and on.", "said", 2, "3")
    assert turn.usage == ev.Usage(30, 7)
    assert state.whole_text() == "So far and on.\n\nWell."
    assert state.turn_of("3") is turn


def test_a_part_that_was_cut_before_its_provider_counted_keeps_the_tokens_it_had() -> None:
    state = room_loaded(status="running", current_round=1)
    feed(state, begun("1", ""), ev.TextAdded("1", "So far"), ev.TurnEnded("1", "So far", 90, A.id, "pause"))
    spent = state.ledger.tokens
    assert (state.turns["1"].tokens, spent) == (90, 90)
    feed(state, begun("3", "1"), ev.TextAdded("3", " and on."))
    feed(state, ev.TurnEnded("3", " and on.", 2, A.id, "", ev.Usage(20, 3)))
    turn = state.turns["1"]
    assert (turn.tokens, turn.estimated_tokens, turn.spent) == (93, 93, 113)
    assert state.ledger.tokens == 113


def test_what_each_part_costs_counts_once_however_often_it_is_told() -> None:
    state = room_loaded(status="running", current_round=1)
    parts = [("1", "", "One", ev.Usage(10, 4, cost=0.25)), ("2", "1", " two", ev.Usage(20, 3, cost=0.5))]
    parts.append(("3", "2", " three.", ev.Usage(30, 2, cost=0.125)))
    stored = []
    for id_, continues, words_, usage in parts:
        feed(state, begun(id_, continues), ev.TextAdded(id_, words_))
        feed(state, ev.TurnEnded(id_, words_, 1, A.id, "" if id_ == "3" else "pause", usage))
        stored.append(room_message(id_, words_, agent_id=A.id, continues=continues, usage=usage))
        feed(state, ev.MessageStored(stored[-1]))
    for one in stored:  # told again after the connection was lost
        feed(state, ev.MessageStored(one))
    assert state.turns["1"].text == "One two three."
    assert (state.turns["1"].cost, state.ledger.cost) == (0.875, 0.875)
    (whole,) = join_chains(stored)
    assert whole.usage is not None
    assert whole.usage.cost == 0.875
    again = room_loaded(*stored)
    assert again.turns["1"].cost == 0.875


def test_a_room_that_is_loaded_shows_the_same() -> None:
    state = room_loaded(
        room_message("1", "So far", agent_id=A.id, interrupted="length"),
        room_message("2", "Well.", B.name, agent_id=B.id),
        room_message("3", " and on.", agent_id=A.id, continues="1"),
    )
    assert [turn.text for turn in state.turns.values()] == ["So far and on.", "Well."]
    assert state.turns["1"].status == "said"


def test_a_rest_that_failed_before_a_word_is_forgotten_when_the_next_one_begins() -> None:
    state = cut_room()
    feed(state, ev.TurnFailed("no model", A.id, A.name))
    assert len(state.turns) == 3
    feed(state, begun("4", "1"), ev.TextAdded("4", " on."))
    assert [turn.text for turn in state.turns.values()] == ["So far on.", "Well."]


def test_a_turn_that_is_said_anew_supersedes_all_its_parts() -> None:
    state = cut_room()
    feed(state, begun("3", "1"), ev.TurnEnded("3", " on.", 1, A.id))
    feed(state, ev.TurnStarted("4", "r", "assistant", A.name, "", 1, A.id, 3, supersedes="3"))
    assert state.turns["1"].superseded


@pytest.mark.parametrize("has_spoken", [False, True])
def test_of_many_agents_only_the_turns_of_its_own_agent_are_behind_a_message(has_spoken: bool) -> None:
    many = crowd(MAX_AGENTS + 2)
    state = ConversationState(ev.RoomInfo("r", agents=many))
    feed(state, ev.RoomLoaded(ev.RoomInfo("r", agents=many, status="running", current_round=1), ()))
    one, other = many[-2:]
    feed(state, begun("1", "", one), ev.TextAdded("1", "So far", agent_id=one.id))
    feed(state, ev.TurnEnded("1", "So far", 1, one.id, "pause"), begun("2", "", other))
    if has_spoken:
        feed(state, ev.TextAdded("2", "Well.", agent_id=other.id))
    feed(state, begun("3", "1", one), ev.TextAdded("3", " and on.", agent_id=one.id))
    assert [turn.text for turn in state.turns.values()] == ["So far and on.", "Well." if has_spoken else ""]


def test_what_continues_a_message_that_is_not_there_stands_alone() -> None:
    state = room_loaded(room_message("3", " and on.", agent_id=A.id, continues="1"))
    assert [turn.text for turn in state.turns.values()] == [" and on."]


def test_words_with_tools_go_on_in_their_step() -> None:
    state = room_loaded(status="running", current_round=1)
    feed(state, turn_start("1", A.name), ev.TextAdded("1", "Look.", step_id="step-0"))
    feed(state, call(turn_id="1"), result("step-1", turn_id="1"))
    feed(
        state,
        ev.TextAdded("1", "\n\nIt is", step_id="step-3"),
        ev.TurnEnded("1", "Look.\n\nIt is", 1, A.id, "length"),
    )
    feed(state, begun("2", "1"), ev.TextAdded("2", " here.", step_id="step-4"))
    steps = state.turns["1"].steps
    assert steps is not None
    assert [step.content.text for step in steps.all.values() if step.type == "text"] == [
        "Look.",
        "It is here.",
    ]
    assert state.turns["1"].text == "Look.\n\nIt is here."


# --- chats ---------------------------------------------------------------------------------------------


def cut_chat() -> ConversationState:
    return after(
        ev.MessageStored(message("q1", "Well?")),
        started("a1", "q1"),
        words("So far"),
        ev.TurnEnded("a1", "", 4, interrupted="length", usage=USED, seconds=2.0),
        ev.RunFailed("The model ran out of tokens"),
    )


def test_the_rest_of_an_answer_is_part_of_it() -> None:
    state = cut_chat()
    assert (state.turns["a1"].status, state.turns["a1"].interrupted) == ("cut", "length")
    rest = ev.TurnStarted("a2", "", "assistant", "demo", "", 0, parent_id="a1", continues="a1")
    for event in (rest, ev.StepSet("a2", ev.Step("step-1")), ev.StepAdded("a2", "step-1", " and on.")):
        state.apply(event)
    assert (list(state.turns), state.open_turn) == (["q1", "a1"], state.turns["a1"])
    state.apply(ev.TurnEnded("a2", "", 3, usage=ev.Usage(20, 3), seconds=1.0))
    state.apply(ev.TurnDone("a2", "a2", 3, ev.Usage(20, 3)))
    turn = state.turns["a1"]
    assert (turn.text, turn.status, turn.tokens, turn.seconds) == ("So far and on.", "said", 7, 3.0)
    assert state.whole_text() == "So far and on."
    assert (state.step("a2", "step-0"), state.open_turn) == (turn.steps.all["step-0"], None)
    state.apply(ev.MessageStored(message("q2", "And?", parent_id="a2")))  # it follows the answer
    assert list(state.turns) == ["q1", "a1", "q2"]


@pytest.mark.parametrize("thinks", [False, True])
def test_an_answer_that_is_loaded_is_one(thinks: bool) -> None:
    thought = (ev.Step("step-1", type="thinking", content="Hm."),) if thinks else ()
    rest = (*thought, ev.Step("step-2", content=" and on."))
    state = after(
        loaded(
            message("q1", "Well?"),
            message("a1", "So far", "assistant", parent_id="q1", interrupted="length", usage=USED),
            message("a2", " and on.", "assistant", parent_id="a1", continues="a1", steps=rest),
        )
    )
    assert [turn.text for turn in state.turns.values()] == ["Well?", "So far and on."]
    assert state.turns["a1"].status == "said"


def test_a_call_of_the_rest_is_answered_under_its_own_message() -> None:
    state = cut_chat()
    state.apply(ev.TurnStarted("a2", "", "assistant", "demo", "", 0, parent_id="a1", continues="a1"))
    state.apply(call("step-1", turn_id="a2"))
    state.apply(ev.ToolStatusChanged("a2", "step-1", "asks", ask=ev.ToolAsk("look")))
    assert state.asking == [("a1", "step-1")]
    assert state.turns["a1"].part_id == "a2"
