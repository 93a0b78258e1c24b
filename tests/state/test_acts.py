"""A room while people step in: words that wait, whispers, turns said again, skips, budgets, new agents."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_tui.model import events as ev
from agent_tui.state.agents import STRANGER
from agent_tui.state.conversation import ConversationState
from tests.state.test_room import AGENTS, feed, loaded, message, start

WAITING = ev.QueuedMessage("w", "psst", "b")


def cut(turn_id: str, why: str) -> ev.TurnEnded:
    return ev.TurnEnded(turn_id, "He", 0, "", why)


def due(state: ConversationState) -> list[str]:
    return [agent.id for agent in state.members.due(state.room)]


def info(*agents: ev.AgentInfo, **fields: Any) -> ev.RoomChanged:
    return ev.RoomChanged(ev.RoomInfo("r", "a room", agents=agents, **fields))


# --- words of people -----------------------------------------------------------------------------------


def test_words_leave_the_queue_when_they_are_said() -> None:
    other = ev.QueuedMessage("x", "and this")
    state = loaded(queue=(WAITING, other))
    feed(state, ev.MessageStored(message("w", "psst", role="user", to="b")))
    assert state.queue == (other,)
    assert (state.turns["w"].to, state.turns["w"].to_name) == ("b", "Ada")
    feed(state, info(*AGENTS, queue=(WAITING, other)))  # an answer that is older than the event
    assert state.queue == (other,)


def test_what_a_person_said_is_no_agents_turn() -> None:
    state = loaded()
    feed(state, ev.MessageStored(message("w", "psst", role="user", to="b")))
    feed(state, ev.MessageStored(message("v", "all", role="user")))
    assert state.changed == {"w", "v"}
    assert [agent.turns for agent in state.members.ordered] == [[], []]


def test_a_whisper_follows_the_new_name_of_its_agent() -> None:
    state = loaded(message("w", "psst", role="user", to="b"))
    feed(state, info(AGENTS[0], ev.AgentInfo("b", "Countess")))
    assert state.turns["w"].to_name == "Countess"
    feed(state, info(AGENTS[0]))
    assert state.turns["w"].to_name == "Countess"


# --- turns said again ----------------------------------------------------------------------------------


def test_a_turn_that_is_said_again_stays_and_is_marked() -> None:
    state = feed(loaded(current_round=1), start("1"), ev.TurnEnded("1", "old", 1))
    assert due(state) == ["b"]
    feed(state, start("2", "", attempt=2, supersedes="1", trimmed=4))
    assert [(t.id, t.superseded) for t in state.agents["a"].turns] == [("1", True), ("2", False)]
    assert state.turns["2"].trimmed == 4
    feed(state, cut("2", "pause"))
    assert due(state) == ["a"]
    assert state.whole_text() == "old\n\nHe"


def test_a_loaded_turn_knows_what_it_was_told_and_what_it_used() -> None:
    usage = ev.Usage(10, 5, 0.5, 0.25)
    state = loaded(message("1", "old", superseded=True, trimmed=2, usage=usage))
    turn = state.turns["1"]
    assert (turn.superseded, turn.trimmed, turn.usage) == (True, 2, usage)


# --- who goes on ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("why", "next_one"),
    [("stop", "b"), ("skip", "b"), ("interject", "a"), ("pause", "a"), ("crash", "a"), ("handover", "a")],
)
def test_a_turn_that_was_stopped_is_finished_and_any_other_cut_one_is_due_again(
    why: str, next_one: str
) -> None:
    state = feed(loaded(current_round=1), start("1"), ev.TextAdded("1", "He"), cut("1", why))
    assert due(state) == [next_one]
    assert state.agents["a"].word == "cut"


def test_an_agent_that_will_be_skipped_is_not_due() -> None:
    skipping = (ev.AgentInfo("a", "Mika", skip_next=True), AGENTS[1])
    state = feed(loaded(current_round=1), info(*skipping))
    assert due(state) == ["b"]
    feed(state, info(*skipping, execution_mode="parallel"))
    assert due(state) == ["b"]


def test_skips_that_this_round_uses_up_do_not_count_in_the_next() -> None:
    both = tuple(ev.AgentInfo(i, i, skip_next=True) for i in "ab")
    state = feed(loaded(current_round=1), info(*both))
    assert due(state) == ["a"]  # both are skipped, then the next round begins
    feed(state, start("1", "a"), ev.TurnEnded("1", "said", 1))
    assert due(state) == ["b"]  # who is skipped now; the other one is in the next round


def test_a_skipped_agent_has_had_its_turn_of_the_round() -> None:
    state = feed(loaded(current_round=1), info(ev.AgentInfo("a", "Mika", skip_next=True), AGENTS[1]))
    feed(state, ev.AgentStatusChanged("a", "Mika", "skipped"))
    agent = state.agents["a"]
    assert (agent.word, agent.skip_next, due(state)) == ("skipped", False, ["b"])
    feed(state, ev.RoundStarted(2, 2))
    assert (agent.word, due(state)) == ("waiting", ["a"])


def test_a_room_loaded_after_a_skip_knows_of_it() -> None:
    agents = (ev.AgentInfo("a", "Mika", status="skipped"), AGENTS[1])
    state = ConversationState(ev.RoomInfo(""))
    state.apply(ev.RoomLoaded(ev.RoomInfo("r", agents=agents, current_round=1, status="paused"), ()))
    assert (state.agents["a"].word, due(state)) == ("skipped", ["b"])


def test_a_failed_turn_is_due_again_only_where_it_paused_the_room() -> None:
    state = feed(loaded(current_round=1), start("1"), ev.TurnFailed("boom", "a", "Mika"))
    assert due(state) == ["b"]
    feed(state, ev.RunPaused("r", 1, "error"))
    assert due(state) == ["a"]


# --- budget --------------------------------------------------------------------------------------------


def test_what_turns_used_adds_up_and_is_counted_once() -> None:
    state = loaded(max_tokens=100, max_cost=1.0)
    assert (state.ledger.tokens, state.ledger.cost) == (0, None)
    ending = ev.TurnEnded("1", "said", 1, "", "", ev.Usage(30, 10, None, 0.25))
    stored = message("1", "said", usage=ev.Usage(30, 10, None, 0.25))
    feed(state, start("1"), ending, ev.MessageStored(stored), ev.MessageStored(stored))
    assert (state.ledger.tokens, state.ledger.cost) == (40, 0.25)
    feed(state, start("2", "Ada"), ev.TurnEnded("2", "said", 7))
    assert (state.ledger.tokens, state.ledger.cost) == (47, 0.25)
    feed(state, info(*AGENTS, tokens=60, cost=0.5, max_tokens=100, max_cost=2.0, on_error="pause"))
    assert (state.ledger.tokens, state.ledger.cost, state.room.max_cost, state.room.on_error) == (
        60,
        0.5,
        2.0,
        "pause",
    )


def test_loading_again_does_not_count_again() -> None:
    state = loaded(message("1", "said", usage=ev.Usage(30, 10)))
    room = ev.RoomInfo("r", agents=AGENTS, tokens=40)
    feed(state, ev.RoomLoaded(room, (message("1", "said", usage=ev.Usage(30, 10)),)))
    assert state.ledger.tokens == 40


# --- agents that come and go ---------------------------------------------------------------------------


def test_agents_are_added_renamed_ordered_and_removed() -> None:
    state = feed(loaded(current_round=1), start("1"), ev.TurnEnded("1", "said", 1))
    ada = ev.AgentInfo("b", "Countess", "#333333", "m", system_prompt="Be kind.")
    feed(state, info(ev.AgentInfo("c", "Noor"), ada))
    assert [(a.id, a.name, a.is_gone) for a in state.members.ordered] == [
        ("c", "Noor", False),
        ("b", "Countess", False),
        ("a", "Mika", True),  # it has turns
    ]
    assert (state.agents["b"].system_prompt, state.agents["b"].model) == ("Be kind.", "m")
    assert due(state) == ["c"]
    feed(state, info(ada))
    assert set(state.agents) == {"a", "b"}  # Noor never spoke


def test_a_room_that_is_changed_asks_no_turn_to_be_looked_at() -> None:
    state = loaded()
    state.changed.clear()
    feed(state, info(*AGENTS))
    assert state.changed == set()


def test_a_room_loaded_with_turns_of_somebody_who_left_shows_them() -> None:
    state = loaded(message("1", "said", "Zed", agent_id="z"), current_round=1, status="paused")
    assert [(a.id, a.is_gone) for a in state.members.ordered] == [("a", False), ("b", False), ("z", True)]
    assert due(state) == ["a"]


def test_a_server_that_answers_nothing_changes_nothing() -> None:
    state = loaded(execution_mode="parallel", max_tokens=5)
    feed(state, ev.RoomChanged(ev.RoomInfo("r")))
    assert (state.room.execution_mode, state.room.max_rounds, state.room.max_tokens, len(state.agents)) == (
        "parallel",
        2,
        5,
        2,
    )


def test_rounds_added_to_a_completed_room_make_it_paused_and_nothing_else_does() -> None:
    state = feed(loaded(status="running"), info(*AGENTS, status="paused", max_rounds=2))
    assert state.room.status == "running"  # only ``room_paused`` says that it is not
    feed(state, ev.RunCompleted("r", 2), info(*AGENTS, status="paused", max_rounds=2))
    assert state.room.status == "completed"
    feed(state, info(*AGENTS, status="paused", max_rounds=3))
    assert (state.room.status, state.room.max_rounds) == ("paused", 3)


# --- everything at once --------------------------------------------------------------------------------

_ACTS = ("chunk", "chunk", "chunk", "end", "stop", "skip", "interject", "fail", "whisper", "retry", "skipped")


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(_ACTS)), max_size=60), st.booleans())
def test_interleaved_turns_never_mix_their_words(steps: list[tuple[str, str]], reload: bool) -> None:
    agents = tuple(ev.AgentInfo(i, i.upper(), turn_order=n) for n, i in enumerate("abc"))
    state = ConversationState(ev.RoomInfo(""))
    room = ev.RoomInfo("r", agents=agents, execution_mode="parallel", current_round=1, status="running")
    state.apply(ev.RoomLoaded(room, ()))
    spoken: dict[str, str] = {}
    said_again: set[str] = set()
    open_turns: dict[str, str] = {}
    newest: dict[str, str] = {}
    for number, (agent, act) in enumerate(steps):
        turn = open_turns.get(agent, "")
        match act:
            case "whisper":
                spoken[f"w{number}"] = f"psst {number}"
                whisper = message(f"w{number}", f"psst {number}", "用户", role="user", to=agent)
                state.apply(ev.MessageStored(whisper))
            case "skipped":
                state.apply(ev.AgentStatusChanged(agent, agent.upper(), "skipped"))
            case "chunk" | "retry":
                older = newest.get(agent, "") if act == "retry" else ""
                if turn and older:
                    state.apply(ev.TurnEnded(turn, spoken[turn], 0, agent, "stop"))
                    turn = ""
                if not turn:
                    turn = open_turns[agent] = newest[agent] = f"t{number}"
                    spoken[turn] = ""
                    said_again |= {older} - {""}
                    state.apply(start(turn, agent.upper(), agent_id=agent, supersedes=older))
                spoken[turn] += f"{agent}{number} "
                state.apply(ev.TextAdded(turn, f"{agent}{number} ", None, agent))
            case _ if turn:
                why = "" if act in ("end", "fail") else act
                ending = ev.TurnEnded(turn, spoken[turn], 1, agent, why)
                state.apply(ev.TurnFailed("boom", agent) if act == "fail" else ending)
                del open_turns[agent]
            case _:
                pass  # nobody speaks who could be cut
    if reload:
        state.apply(ev.RoomLoaded(room, ()))  # a server that lost everything: words stay where they were
        spoken = {turn: words for turn, words in spoken.items() if not turn.startswith("w")}
    assert {turn.id: turn.text for turn in state.turns.values()} == spoken
    assert {turn.id for turn in state.turns.values() if turn.superseded} == said_again
    for agent_id in "abc":
        words = "".join(turn.text for turn in state.agents[agent_id].turns).split()
        assert all(word.startswith(agent_id) for word in words)
    assert STRANGER not in state.agents
