"""ConversationState against whole runs and against every fault that protocols.md §1 lists."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_tui.model import events as ev
from agent_tui.model.records import MAX_AGENTS
from agent_tui.state.agents import MAX_OTHERS, OTHERS, STRANGER
from agent_tui.state.conversation import ConversationState

AGENTS = (ev.AgentInfo("a", "Mika", "#111111"), ev.AgentInfo("b", "Ada", "#222222", turn_order=1))


def loaded(*messages: ev.Message, **room: Any) -> ConversationState:
    state = ConversationState(ev.RoomInfo(""))
    state.apply(ev.RoomLoaded(ev.RoomInfo("r", agents=AGENTS, max_rounds=2, **room), messages))
    return state


def message(turn_id: str, text: str, name: str = "Mika", **fields: Any) -> ev.Message:
    role = fields.pop("role", "assistant")
    return ev.Message(turn_id, "r", role, text, text, name, "", fields.pop("round", 1), 3, "t", **fields)


def start(turn_id: str, name: str = "Mika", round_number: int = 1, **fields: Any) -> ev.TurnStarted:
    return ev.TurnStarted(turn_id, "r", "assistant", name, "#111111", round_number, **fields)


def feed(state: ConversationState, *events: ev.Event) -> ConversationState:
    for event in events:
        state.apply(event)
    return state


def test_a_turn_goes_from_thinking_over_speaking_to_said() -> None:
    state = feed(loaded(status="running"), ev.RunStarted("r", "task"), start("1"))
    assert state.agents["a"].word == "thinking"
    feed(state, ev.TextAdded("1", "Hel"), ev.TextAdded("1", "lo"))
    assert (state.agents["a"].word, state.turns["1"].text) == ("speaking", "Hello")
    feed(state, ev.TurnEnded("1", "Hello", 1))
    assert (state.agents["a"].word, state.turns["1"].status) == ("said", "said")
    assert state.room.status == "running"


def test_a_cut_turn_keeps_its_words_and_the_reason() -> None:
    state = feed(loaded(), start("1"), ev.TextAdded("1", "Hel"), ev.TurnEnded("1", "Hel", 0, "", "pause"))
    feed(state, ev.RunPaused("r", 1, "pause"))
    turn = state.turns["1"]
    assert (turn.status, turn.interrupted, turn.text) == ("cut", "pause", "Hel")
    assert (state.room.status, state.room.interrupted) == ("paused", "pause")


def test_an_original_server_that_drops_the_words_at_a_pause_still_leaves_the_turn_cut() -> None:
    state = feed(loaded(), start("1"), ev.TextAdded("1", "Hel"), ev.RunPaused("r"))
    assert (state.turns["1"].status, state.turns["1"].text) == ("cut", "Hel")


@pytest.mark.parametrize(
    "error",
    [ev.TurnFailed("boom", agent_name="Mika"), ev.TurnFailed("boom", "a", "Mika"), ev.TurnFailed("boom")],
)
def test_an_agent_error_that_names_no_message_closes_the_open_turn_as_failed(error: ev.TurnFailed) -> None:
    state = feed(loaded(), start("1"), ev.TextAdded("1", "Hel"), error)
    turn = state.turns["1"]
    assert (turn.status, turn.error, turn.text) == ("failed", "boom", "Hel")
    assert state.agents["a"].word == "failed"


def test_an_agent_error_without_any_open_turn_is_shown_as_a_failed_turn() -> None:
    state = feed(loaded(), ev.TurnFailed("no provider", "b", "Ada"))
    assert [(t.status, t.error) for t in state.agents["b"].turns] == [("failed", "no provider")]


def test_the_words_of_a_failed_turn_survive_its_stored_message() -> None:
    state = feed(loaded(), start("1"), ev.TextAdded("1", "Hel"), ev.TurnFailed("boom", "a", "Mika"))
    feed(state, ev.MessageStored(message("1", "Hel", error="boom")))
    assert (state.turns["1"].status, state.turns["1"].error) == ("failed", "boom")


def test_in_a_sequential_room_two_agents_of_one_name_stay_apart() -> None:
    twins = (ev.AgentInfo("a", "Ada"), ev.AgentInfo("b", "Ada", turn_order=1))
    state = ConversationState(ev.RoomInfo(""))
    state.apply(ev.RoomLoaded(ev.RoomInfo("r", agents=twins, max_rounds=2), ()))
    feed(state, start("1", "Ada"), ev.TurnEnded("1", "first", 1), start("2", "Ada"))
    feed(state, ev.TurnEnded("2", "second", 1), start("3", "Ada", 2))
    assert [t.id for t in state.agents["a"].turns] == ["1", "3"]
    assert [t.id for t in state.agents["b"].turns] == ["2"]


def test_a_second_attempt_goes_to_the_agent_that_was_cut() -> None:
    state = feed(loaded(), start("1", "Ada"), ev.TurnEnded("1", "He", 0, "", "crash"))
    feed(state, ev.RunStarted("r", "t", resumed=True), start("2", "Ada", attempt=2))
    assert [(t.status, t.attempt) for t in state.agents["b"].turns] == [("cut", 1), ("speaking", 2)]


def test_a_gap_is_repaired_from_what_the_server_accumulated() -> None:
    state = feed(loaded(), start("1"), ev.TextAdded("1", "Hel", "Hel"), ev.TextAdded("1", "!", "Hello!"))
    assert state.turns["1"].text == "Hello!"


def test_an_end_that_says_more_than_the_chunks_wins() -> None:
    state = feed(loaded(), start("1"), ev.TextAdded("1", "Hel"), ev.TurnEnded("1", "Hello", 1))
    assert (state.turns["1"].text, state.turns["1"].revision) == ("Hello", 0)
    feed(state, start("2"), ev.TextAdded("2", "abc"), ev.TurnEnded("2", "xyz", 1))
    assert (state.turns["2"].text, state.turns["2"].revision) == ("xyz", 1)


def test_an_end_without_content_takes_nothing_away() -> None:
    state = feed(loaded(), start("1"), ev.TextAdded("1", "Hello"), ev.TurnEnded("1", "", 0))
    assert state.turns["1"].text == "Hello"


def test_a_start_told_twice_changes_nothing() -> None:
    state = feed(loaded(), start("1"), ev.TextAdded("1", "Hel"), start("1"), ev.TextAdded("1", "lo"))
    assert state.turns["1"].text == "Hello"
    assert len(state.agents["a"].turns) == 1


def test_a_chunk_after_the_end_is_counted_and_not_shown() -> None:
    state = feed(loaded(), start("1"), ev.TurnEnded("1", "Hello", 1), ev.TextAdded("1", "?"))
    assert (state.turns["1"].text, state.unknown_count) == ("Hello", 1)


def test_words_of_an_unknown_turn_are_kept_and_claimed_when_its_start_comes_late() -> None:
    state = feed(loaded(), ev.TextAdded("9", "Hel"))
    assert state.agents[STRANGER].turns[0].text == "Hel"
    feed(state, start("9", "Ada"), ev.TextAdded("9", "lo"))
    assert STRANGER not in state.agents
    assert state.agents["b"].turns[0].text == "Hello"


def test_agents_that_only_the_stream_names_get_their_panes() -> None:
    state = ConversationState(ev.RoomInfo(""))
    names = (ev.AgentInfo("x", "Xu"), ev.AgentInfo("y", "Yo"))
    feed(state, ev.RunStarted("r", "task"), ev.ParallelStarted(1, 3, names))
    feed(state, ev.AgentStatusChanged("y", "Yo", "streaming"))
    assert [(a.name, a.word) for a in state.members.ordered] == [("Xu", "waiting"), ("Yo", "thinking")]
    assert (state.room.execution_mode, state.room.max_rounds, state.room.task) == ("parallel", 3, "task")


def test_unknown_events_are_counted_and_kept() -> None:
    state = feed(loaded(), ev.Unknown("what", "{}", "no such event"))
    assert (state.unknown_count, state.unknown[0].name) == (1, "what")


def test_a_room_loaded_while_it_runs_goes_on_with_the_open_turn() -> None:
    state = loaded(
        message("0", "task", "用户", role="user"),
        message("1", "said", status="completed"),
        message("2", "half", "Ada", status="streaming"),
        status="running",
    )
    assert state.agents["b"].word == "speaking"
    feed(state, ev.TextAdded("2", " way"))
    assert state.turns["2"].text == "half way"


def test_words_that_the_server_has_no_record_of_are_kept_and_marked() -> None:
    state = feed(loaded(), start("1"), ev.TextAdded("1", "half"), start("2", "Ada"))
    before = state.generation
    feed(state, ev.RoomLoaded(ev.RoomInfo("r", agents=AGENTS), (message("0", "said"),)))
    assert (state.generation, list(state.turns)) == (before + 1, ["0", "1"])
    assert (state.turns["1"].status, state.turns["1"].interrupted) == ("cut", "lost")
    assert [turn.id for turn in state.agents["a"].turns] == ["0", "1"]


def test_a_room_loaded_while_paused_has_no_turn_left_open() -> None:
    state = loaded(message("2", "half", status="streaming"), status="paused", interrupted="crash")
    assert state.turns["2"].status == "cut"
    assert (state.room.interrupted, state.members.speaking) == ("crash", [])


def test_who_is_due_after_a_pause() -> None:
    state = loaded(message("1", "said"), status="paused", current_round=1)
    assert [agent.name for agent in state.members.due(state.room)] == ["Ada"]
    parallel = loaded(status="paused", current_round=1, execution_mode="parallel")
    assert [agent.name for agent in parallel.members.due(parallel.room)] == ["Mika", "Ada"]


def test_the_whole_text_has_every_agents_words_and_not_the_task() -> None:
    state = loaded(message("0", "task", "用户", role="user"))
    feed(state, start("1"), ev.TurnEnded("1", "one", 0), start("2", "Ada"), ev.TextAdded("2", "tw"))
    feed(state, ev.TurnEnded("2", "tw", 0, "", "pause"), start("3", "Ada"))
    assert state.whole_text() == "one\n\ntw"


ids = st.sampled_from(["1", "2", "3", ""])
names = st.sampled_from(["Mika", "Ada", "Zed", ""])
agent_ids = st.sampled_from(["a", "b", "z", ""])
texts = st.text(max_size=8)
step_ids = st.sampled_from(["step-0", "step-1", "step-2"])
steps = st.builds(
    ev.Step,
    step_ids,
    type=st.sampled_from(["text", "thinking", "tool_call", "tool_result", "?"]),
    content=st.sampled_from(["", "a", "\n\nb"]),
    id_ref=step_ids,
)
any_event = st.one_of(
    st.builds(ev.StepSet, ids, steps),
    st.builds(ev.StepAdded, ids, step_ids, content=st.sampled_from(["", "a"]), arguments=st.just("{}")),
    st.builds(ev.ToolStatusChanged, ids, step_ids, st.sampled_from(["asks", "running", "done"])),
    st.builds(ev.TextAdded, ids, st.sampled_from(["a", "\n\nb"]), step_id=step_ids),
    st.builds(ev.RunStarted, ids, texts, st.booleans()),
    st.builds(ev.RunPaused, ids, st.none() | st.integers(0, 3), st.sampled_from(["", "pause", "crash"])),
    st.builds(ev.RunCompleted, ids, st.integers(0, 3)),
    st.builds(ev.RunFailed, texts),
    st.builds(ev.RoundStarted, st.integers(0, 3), st.integers(0, 3)),
    st.builds(ev.ParallelStarted, st.integers(0, 3), st.integers(0, 3), st.just(AGENTS)),
    st.builds(
        ev.AgentStatusChanged, agent_ids, names, st.sampled_from(["pending", "streaming", "completed"])
    ),
    st.builds(start, ids, names, st.integers(0, 3), agent_id=agent_ids),
    st.builds(ev.TextAdded, ids, texts, st.none() | texts, agent_ids),
    st.builds(ev.TurnEnded, ids, texts, st.integers(0, 9), agent_ids, st.sampled_from(["", "pause"])),
    st.builds(ev.TurnFailed, texts, agent_ids, names),
    st.builds(
        lambda i, t, n, r, s: ev.MessageStored(message(i, t, n, role=r, status=s)),
        ids,
        texts,
        names,
        st.sampled_from(["assistant", "user"]),
        st.sampled_from(["", "streaming", "completed", "failed"]),
    ),
)


@given(st.lists(any_event, max_size=30))
def test_no_order_of_events_breaks_the_books(events: list[ev.Event]) -> None:
    state = feed(loaded(), *events)
    spoken = [turn for agent in state.agents.values() for turn in agent.turns]
    assert len(spoken) == len({turn.id for turn in spoken})
    assert all(turn.length == len(turn.text) for turn in state.turns.values())
    assert all(sum(t.status == "speaking" for t in a.turns) <= 1 for a in state.agents.values())
    assert {turn.agent_id for turn in spoken} <= set(state.agents)
    speaking = {agent.open_turn.id for agent in state.agents.values() if agent.open_turn is not None}
    assert {turn_id for turn_id, _ in state.asking} <= speaking


# --- too many agents -----------------------------------------------------------------------------------


def crowd(count: int) -> tuple[ev.AgentInfo, ...]:
    return tuple(ev.AgentInfo(f"a{n}", f"Agent {n}", turn_order=n) for n in range(count))


def test_agents_after_the_first_64_are_one_and_lose_no_word() -> None:
    state = ConversationState(ev.RoomInfo(""))
    state.apply(ev.RoomLoaded(ev.RoomInfo("r", agents=crowd(1_000), status="running"), ()))
    assert (len(state.agents), len(state.members.others)) == (MAX_AGENTS, 1_000 - MAX_AGENTS)
    for n in (63, 64, 999, 5_000):  # at the same time
        state.apply(start(f"t{n}", f"Agent {n}", agent_id=f"a{n}"))
    for n in (63, 64, 999, 5_000):
        state.apply(ev.TextAdded(f"t{n}", f"words {n}"))
    assert [turn.text for turn in state.turns.values()] == ["words 63", "words 64", "words 999", "words 5000"]
    assert [turn.sender_name for turn in state.turns.values()][1:] == ["Agent 64", "Agent 999", "Agent 5000"]
    assert [turn.agent_id for turn in state.turns.values()] == ["a63", OTHERS, OTHERS, OTHERS]
    assert (len(state.agents), len(state.members.others)) == (MAX_AGENTS + 1, 1_000 - MAX_AGENTS + 1)
    state.apply(ev.RunPaused("r", 1, "pause"))
    assert {turn.status for turn in state.turns.values()} == {"cut"}


@pytest.mark.parametrize(
    ("event", "failed"),
    [
        (ev.TurnFailed("no", "a70"), ["t70"]),
        (ev.TurnFailed("no", "a70", "Agent 71"), ["t70"]),
        (ev.TurnFailed("no", "", "Agent 71"), ["t71"]),
        (ev.TurnFailed("no", "a900"), []),
        (ev.TurnFailed("no", "nobody"), []),
        (ev.TurnFailed("no"), []),
    ],
)
def test_of_many_agents_the_one_that_failed_has_failed(event: ev.TurnFailed, failed: list[str]) -> None:
    state = ConversationState(ev.RoomInfo(""))
    state.apply(ev.RoomLoaded(ev.RoomInfo("r", agents=crowd(1_000), status="running"), ()))
    for n in (70, 71, 72):
        state.apply(start(f"t{n}", f"Agent {n}", agent_id=f"a{n}"))
    state.apply(event)
    told = [turn for turn in state.turns.values() if turn.status == "failed"]
    assert [turn.id for turn in told] == (failed or ["failed-3"])
    assert [turn.error for turn in told] == ["no"]


def test_only_so_many_of_the_other_agents_are_counted() -> None:
    state = ConversationState(ev.RoomInfo(""))
    state.apply(ev.RoomLoaded(ev.RoomInfo("r", agents=crowd(MAX_OTHERS + 50), status="running"), ()))
    for n in range(100):
        state.apply(start(f"t{n}", "", agent_id=f"new-{n}"))
    assert len(state.members.others) == MAX_OTHERS


def test_a_room_that_has_lost_its_many_agents_has_them_all() -> None:
    state = ConversationState(ev.RoomInfo(""))
    state.apply(ev.RoomLoaded(ev.RoomInfo("r", agents=crowd(MAX_AGENTS + 1)), ()))
    assert state.members.others == {f"a{MAX_AGENTS}"}
    state.apply(ev.RoomChanged(ev.RoomInfo("r", agents=crowd(MAX_AGENTS + 1)[1:])))
    assert not state.members.others
    assert len(state.agents) == MAX_AGENTS
