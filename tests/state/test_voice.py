"""A voice session as its events tell it: where it stands, and what was said."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_tui.model import voice as vo
from agent_tui.model.events import Step, StepSet, ToolAsk, ToolStatusChanged, Unknown
from agent_tui.state.voice import MOVES, Phase, VoiceState
from agent_tui.state.voice_lines import VoiceLine
from tests.state.voice_talk import JOINED, items_of, turn


def state_after(events: Iterable[vo.VoiceEvent]) -> VoiceState:
    """Return what a session is after ``events``."""
    state = VoiceState()
    for event in events:
        state.apply(event)
    return state


def phase_after(state: VoiceState, *events: vo.VoiceEvent) -> Phase:
    """Return where ``state`` stands after more events."""
    for event in events:
        state.apply(event)
    return state.phase


def said(state: VoiceState) -> list[tuple[str, str]]:
    """Return who said what, notices and steps left out."""
    return [
        (line.kind, line.text.text) for line in state.lines.all.values() if line.kind in ("person", "agent")
    ]


def notices(state: VoiceState) -> list[tuple[str, str]]:
    return [(line.notice, line.text.text) for line in state.lines.all.values() if line.kind == "notice"]


def stored(state: VoiceState) -> dict[str, VoiceLine]:
    return {line.item_id: line for line in state.lines.all.values() if line.item_id}


# --- where it stands -------------------------------------------------------------------------------------


def test_a_session_goes_through_its_phases() -> None:
    state = VoiceState()
    seen: list[Phase] = [state.phase]
    events: list[vo.VoiceEvent] = [*JOINED, *turn(1, "What rooms are running?", "Two of them.")]
    for event in [*events, vo.LinkMoved("ended")]:
        state.apply(event)
        if state.phase != seen[-1]:
            seen.append(state.phase)
    assert seen == [
        "idle",
        "preparing",
        "connecting",
        "waiting_agent",
        "initializing",
        "listening",
        "user_speaking",
        "listening",
        "thinking",
        "speaking",
        "listening",
        "ended",
    ]


@pytest.mark.parametrize(
    ("events", "event"),
    [
        ([], vo.AgentStateChanged("speaking")),
        ([], vo.UserStateChanged("speaking")),
        (JOINED[:1], vo.AgentStateChanged("listening")),
        ([*JOINED, vo.LinkMoved("ended")], vo.AgentStateChanged("speaking")),
        ([*JOINED, vo.LinkMoved("ended")], vo.LinkMoved("connected")),
        ([*JOINED, vo.LinkMoved("failed")], vo.AgentJoined("agent-demo")),
    ],
)
def test_what_makes_no_sense_moves_nothing(events: Iterable[vo.VoiceEvent], event: vo.VoiceEvent) -> None:
    state = state_after(events)
    phase = state.phase
    state.apply(event)
    assert state.phase == phase


def test_an_agent_that_was_there_first_is_seen_once_connected() -> None:
    early = (vo.AgentJoined("agent-demo"), vo.AgentStateChanged("listening"))
    state = state_after((JOINED[0], *early, vo.LinkMoved("connected")))
    assert state.phase == "listening"


def test_who_speaks_when_the_agent_listens_again_is_heard_speaking() -> None:
    state = state_after([*JOINED, vo.AgentStateChanged("speaking"), vo.UserStateChanged("speaking")])
    assert state.phase == "speaking"
    assert phase_after(state, vo.AgentStateChanged("listening")) == "user_speaking"


def test_a_lost_agent_is_waited_for_again() -> None:
    state = state_after([*JOINED, vo.AgentLeft("agent-demo"), vo.AgentLeft("agent-demo")])
    assert state.phase == "waiting_agent"
    assert "agent_left" in state.overlays
    assert phase_after(state, vo.AgentJoined("agent-demo", "demo")) == "initializing"
    assert notices(state) == [("agent_left", "demo"), ("agent_back", "demo")]


def test_another_agent_than_the_one_that_left_joins_and_is_not_back() -> None:
    state = state_after([*JOINED, vo.AgentLeft("agent-demo"), vo.AgentJoined("agent-7", "Nova")])
    assert notices(state) == [("agent_left", "demo"), ("joined", "Nova")]


def test_reconnecting_lies_over_the_phase_and_leaves_a_mark() -> None:
    state = state_after([*JOINED, vo.LinkMoved("reconnecting", attempt=2)])
    assert (state.phase, "reconnecting" in state.overlays, state.link.attempt) == ("listening", True, 2)
    state.apply(vo.LinkMoved("connected"))
    assert "reconnecting" not in state.overlays
    assert notices(state) == [("reconnected", "")]


def test_overlays_say_what_else_holds() -> None:
    other = vo.Person("bob", "Bob", is_heard=True)
    state = state_after(
        [*JOINED, vo.MicChanged(is_muted=True), vo.PeopleChanged((vo.Person("me", is_me=True), other))]
    )
    assert state.overlays == {"muted", "not_linked"}
    assert state.heard == other
    state.apply(vo.MicChanged(is_muted=False, is_talking=True))
    state.apply(vo.UserStateChanged("away"))
    assert state.overlays == {"talking", "away", "not_linked"}
    state.apply(vo.SoundChanged(input_problem="no microphone"))
    assert "no_audio" in state.overlays
    state.apply(vo.SoundChanged(input_problem="no microphone", is_text_only=True))
    assert "text_only" in state.overlays
    assert "no_audio" not in state.overlays


def test_the_table_leads_from_everything_that_is_alive_to_its_end() -> None:
    phases = {phase for phase, _ in MOVES}
    assert set(MOVES.values()) <= phases
    for phase in phases - {"ended"}:
        assert MOVES[phase, "link ended"] == ("failed" if phase == "failed" else "ended")


@given(
    st.lists(
        st.sampled_from([*JOINED, *turn(1, "a b", "c d"), vo.LinkMoved("failed"), vo.LinkMoved("ended")])
    )
)
def test_no_order_of_events_leaves_the_table(events: list[vo.VoiceEvent]) -> None:
    assert state_after(events).phase in {phase for phase, _ in MOVES}


# --- what was said ---------------------------------------------------------------------------------------


def test_words_grow_while_they_are_heard_and_the_item_is_the_last_word() -> None:
    state = state_after([*JOINED, vo.WordsHeard("s", "What"), vo.WordsHeard("s", "What rums are")])
    (line,) = state.lines.all.values()
    assert (line.text.text, line.status) == ("What rums are", "open")
    state.apply(vo.WordsHeard("s", "What rums are running?", is_final=True))
    state.apply(vo.WordsHeard("s", "What rums are running?", is_final=True))  # always told twice
    assert line.status == "said"
    state.apply(vo.ItemStored(vo.SpokenItem("i", "user", "What rooms are running?", created_at=5.0)))
    assert said(state) == [("person", "What rooms are running?")]
    assert (line.item_id, line.at) == ("i", 5.0)
    state.apply(vo.WordsHeard("s", "What rums", is_final=True))
    assert said(state) == [("person", "What rooms are running?")]


def test_an_interim_that_comes_after_its_final_changes_nothing() -> None:
    state = state_after([*JOINED, vo.WordsHeard("s", "one two", is_final=True), vo.WordsHeard("s", "one")])
    assert said(state) == [("person", "one two")]


def test_chunks_of_the_agent_are_appended_and_what_was_cut_off_is_marked() -> None:
    state = state_after([*JOINED, *turn(1, "Hello", "Two. Redis or PostgreSQL, in round two.", cut_at=16)])
    assert said(state) == [("person", "Hello"), ("agent", "Two. Redis or Po")]
    assert [line.status for line in state.lines.all.values()] == ["said", "cut"]


def test_words_that_were_interrupted_before_a_sound_of_them_was_heard_are_marked() -> None:
    state = state_after([vo.WordsSpoken("s", "Two")])
    state.lines.cut()
    state.apply(vo.WordsSpoken("s", "", is_final=True))
    assert [line.status for line in state.lines.all.values()] == ["cut"]


def test_words_that_a_broken_connection_ended_are_not_said_to_be_cut_off_by_a_person() -> None:
    cut = vo.SpokenItem("i", "assistant", "Two rooms", interrupted=True)
    state = state_after([vo.WordsSpoken("s", "Two rooms are"), vo.WordsLost("s"), vo.ItemStored(cut)])
    assert said(state) == [("agent", "Two rooms")]
    assert [line.status for line in state.lines.all.values()] == ["lost"]


def test_a_whole_text_replaces_what_was_told() -> None:
    state = state_after([vo.WordsSpoken("s", "Two r"), vo.WordsSpoken("s", "Two rooms.", is_whole=True)])
    assert said(state) == [("agent", "Two rooms.")]


def test_an_item_without_words_before_it_is_a_line() -> None:
    state = state_after([vo.ItemStored(vo.SpokenItem("i", "assistant", "Good day."))])
    assert said(state) == [("agent", "Good day.")]


def test_words_that_come_after_their_item_say_nothing_twice() -> None:
    state = state_after(
        [
            vo.ItemStored(vo.SpokenItem("i", "user", "Pause it.")),
            vo.WordsHeard("s", "pause it"),  # agents send final words twice
            vo.WordsHeard("s", "pause it", is_final=True),
        ]
    )
    assert said(state) == [("person", "Pause it.")]


def test_an_answer_whose_words_come_after_its_item_stands_there_once() -> None:
    answer = vo.SpokenItem("i", "assistant", "It is half past nine.")
    pieces = [vo.WordsSpoken("s", piece) for piece in ("It is", " half pa", "st nine.")]
    state = state_after([vo.ItemStored(answer), *pieces, vo.WordsSpoken("s", "", is_final=True)])
    assert said(state) == [("agent", answer.text)]
    # It begins like the one before.
    next_turn = vo.WordsTyped("k", "And now?"), vo.WordsSpoken("t", "It is ten.")
    state = state_after([vo.ItemStored(answer), *next_turn])
    assert said(state) == [("agent", answer.text), ("person", "And now?"), ("agent", "It is ten.")]


def test_words_that_are_corrected_after_their_item_are_said_once() -> None:
    item = vo.SpokenItem("u1", "user", "What rooms are there?")
    first = vo.WordsHeard("s", "What room are running?", identity="me")
    corrected = vo.WordsHeard("s", item.text, identity="me")
    final = vo.WordsHeard("s", item.text, is_final=True, identity="me")
    for more in ((), (final,), (final, final)):
        state = state_after([*JOINED, first, vo.ItemStored(item), corrected, *more])
        assert said(state) == [("person", item.text)]


def test_several_pieces_of_one_turn_are_one_line() -> None:
    pieces = [
        vo.WordsHeard("s1", "Pause the room", is_final=True),
        vo.WordsHeard("s2", "about Redis.", is_final=True),
    ]
    state = state_after(pieces)
    assert said(state) == [("person", "Pause the room about Redis.")]
    state.apply(vo.ItemStored(vo.SpokenItem("i", "user", "Pause the room about Redis.")))
    assert said(state) == [("person", "Pause the room about Redis.")]
    assert state.lines.generation == 0


def test_pieces_that_become_two_items_are_two_lines() -> None:
    pieces = [
        vo.WordsHeard("s1", "Good morning.", is_final=True),
        vo.WordsHeard("s2", "Pause it.", is_final=True),
    ]
    state = state_after([*pieces, vo.ItemStored(vo.SpokenItem("i", "user", "Good morning."))])
    assert said(state) == [("person", "Good morning."), ("person", "Pause it.")]
    state.apply(vo.ItemStored(vo.SpokenItem("j", "user", "Pause it.")))
    assert list(stored(state)) == ["i", "j"]


def test_words_that_come_after_their_item_say_whose_it_is() -> None:
    stored = vo.ItemStored(vo.SpokenItem("i1", "user", "What is running?"))
    heard = vo.WordsHeard("s1", "What is running?", is_final=True, identity="bob")
    state = state_after([*JOINED, stored, heard])
    assert [line.identity for line in state.lines.all.values()] == ["bob"]


def test_words_of_two_people_are_two_lines() -> None:
    state = state_after(
        [vo.WordsHeard("s1", "One", is_final=True, identity="a"), vo.WordsHeard("s2", "Two", identity="b")]
    )
    assert said(state) == [("person", "One"), ("person", "Two")]


def test_a_typed_line_is_shown_at_once_and_once() -> None:
    state = state_after([*JOINED, vo.WordsTyped("t1", "What rooms are there?")])
    assert said(state) == [("person", "What rooms are there?")]
    state.apply(vo.ItemStored(vo.SpokenItem("i", "user", "What rooms are there?")))
    state.apply(vo.WordsTyped("t1", "What rooms are there?"))
    assert said(state) == [("person", "What rooms are there?")]
    state.apply(vo.WordsTyped("t2", "What rooms are there?"))  # asked again
    assert len(said(state)) == 2


def test_a_typed_line_that_was_not_sent_says_so() -> None:
    state = state_after([*JOINED, vo.WordsTyped("t1", "Hello"), vo.WordsLost("t1")])
    assert [line.status for line in state.lines.all.values()] == ["lost"]


def test_words_that_the_agent_takes_back_are_marked_and_the_next_ones_are_another_line() -> None:
    first, unclear = vo.WordsHeard("s", "What will matter?", identity="me"), vo.WordsUnclear()
    state = state_after([*JOINED, first, unclear, unclear, vo.WordsHeard("s", "What rooms", identity="me")])
    assert [(line.status, line.text.text) for line in state.lines.all.values()] == [
        ("unclear", "What will matter?"),
        ("open", "What rooms"),
    ]


def test_a_stream_that_broke_off_is_marked_until_its_item_comes() -> None:
    state = state_after([vo.WordsSpoken("s", "Two rooms are"), vo.WordsLost("s")])
    (line,) = state.lines.all.values()
    assert (line.status, line.text.text) == ("lost", "Two rooms are")
    state.apply(vo.ItemStored(vo.SpokenItem("i", "assistant", "Two rooms are running.")))
    assert (line.status, line.text.text) == ("said", "Two rooms are running.")


def test_what_was_open_when_the_session_ended_is_marked() -> None:
    state = state_after([*JOINED, vo.WordsSpoken("s", "Two rooms are"), vo.LinkMoved("ended")])
    assert [line.status for line in state.lines.all.values()] == ["lost"]


def test_an_answer_that_ended_with_the_session_was_cut_by_nobody() -> None:
    answered = [*JOINED, *turn(1, "Hello", "Two. Redis or PostgreSQL, in round two.", cut_at=16)]
    state = state_after([*answered, vo.AgentLeft("agent-demo")])
    assert [line.status for line in state.lines.all.values()] == ["said", "lost", "said"]
    state = state_after([*answered, vo.WordsHeard("s", "Stop"), vo.AgentLeft("agent-demo")])
    assert [line.status for line in state.lines.all.values()][:3] == ["said", "cut", "said"]


def test_history_after_coming_back_puts_what_is_missing_where_it_belongs() -> None:
    events = [*JOINED, *turn(1, "One question", "One answer"), *turn(3, "Third matter", "Third reply")]
    state = state_after(events)
    missed = items_of(turn(2, "Second thing", "Second word"))
    history = items_of([*events, *turn(4, "Fourth", "Last")])
    order = ["u1", "a1", "u2", "a2", "u3", "a3", "u4", "a4"]
    loaded = vo.HistoryLoaded(tuple({**history, **missed}[id_] for id_ in order))
    state.apply(loaded)
    assert list(stored(state)) == order
    assert state.lines.generation == 1
    state.apply(loaded)
    assert list(stored(state)) == order
    assert state.lines.generation == 1


def test_tools_of_the_history_stand_where_they_were_called() -> None:
    turns = [*turn(1, "One question", "One answer"), *turn(2, "Two questions", "Two answers")]
    calls = [("u1", "c1"), ("u1", "c2"), ("u2", "c3")]
    steps = [StepSet(turn_id, Step(id_, type="tool_call", name=id_)) for turn_id, id_ in calls]
    state = state_after([*JOINED, vo.HistoryLoaded(tuple(items_of(turns).values())), *steps])
    order = [line.item_id or line.step_id for line in state.lines.all.values()]
    assert order == ["u1", "c1", "c2", "a1", "u2", "c3", "a2"]


def test_what_asks_when_a_terminal_joins_stands_behind_what_was_said_before() -> None:
    ask = Step("c1", type="tool_call", name="resume_room", status="asks", ask=ToolAsk("resume_room Redis"))
    state = state_after([*JOINED, StepSet("t", ask)])
    state.apply(vo.HistoryLoaded(tuple(items_of(turn(1, "Resume it", "I will.")).values())))
    assert [line.kind for line in state.lines.all.values()] == ["person", "agent", "step"]
    state.apply(vo.ItemStored(vo.SpokenItem("u9", "user", "And now?")))
    assert [line.kind for line in state.lines.all.values()] == ["person", "agent", "step", "person"]


def test_items_of_no_speaker_are_not_shown() -> None:
    roles = ("system", "developer", "something new")
    state = state_after([vo.ItemStored(vo.SpokenItem(role, role, "You are kind.")) for role in roles])
    assert said(state) == []


def test_a_turn_says_what_it_took() -> None:
    asked = vo.SpokenItem("u", "user", "Hi", times=vo.TurnTimes(hearing=0.4, end_of_turn=0.5))
    told = vo.SpokenItem("a", "assistant", "Hello.", times=vo.TurnTimes(model=0.02, voice=0.01, whole=0.61))
    state = state_after([vo.ItemStored(asked), vo.ItemStored(told), vo.ItemStored(asked)])
    assert list(state.lines.all.values())[-1].times == vo.TurnTimes(0.4, 0.5, 0.02, 0.01, 0.61)
    state.apply(vo.ItemStored(vo.SpokenItem("b", "assistant", "More.", times=vo.TurnTimes(whole=0.2))))
    assert list(state.lines.all.values())[-1].times == vo.TurnTimes(whole=0.2)


def test_tools_stand_where_they_were_called() -> None:
    call = StepSet("t", Step("c1", type="tool_call", name="pause_room", arguments="{}", status="running"))
    state = state_after([*turn(1, "Pause it", "Done."), call, *turn(2, "Thanks", "Good.")])
    kinds = [line.kind for line in state.lines.all.values()]
    assert kinds == ["person", "agent", "step", "person", "agent"]
    (line,) = [line for line in state.lines.all.values() if line.kind == "step"]
    state.lines.changed.clear()
    state.apply(ToolStatusChanged("t", "c1", "done", 0.014))
    state.apply(StepSet("t", Step("r1", type="tool_result", content="ok", id_ref="c1")))
    assert state.lines.changed == {line.id}
    step = state.lines.step_of(line)
    assert (step.status, step.result is not None) == ("done", True)
    assert len(state.lines) == 5


def test_a_call_that_two_sources_tell_of_is_one_line_in_whatever_order_they_come() -> None:
    ask = ToolAsk("resume_room Redis", pattern="resume_room")
    agents = StepSet(
        "u1", Step("m:c", type="tool_call", name="resume_room", arguments="{}", status="running")
    )
    result = StepSet("u1", Step("result-m:c", type="tool_result", content="ok", id_ref="m:c"))
    logs = StepSet("m", Step("m:c", type="tool_call", name="resume_room", arguments="{}"))
    asks = ToolStatusChanged("m", "m:c", "asks", ask=ask)
    orders: list[list[vo.VoiceEvent]] = [[agents, logs, asks], [logs, asks, agents], [logs, agents, asks]]
    for told in orders:
        state = state_after(told)
        (line,) = state.lines.all.values()
        assert (state.lines.step_of(line).status, state.lines.step_of(line).ask) == ("asks", ask)
        state.apply(ToolStatusChanged("m", "m:c", "running"))
        state.apply(result)
        assert len(state.lines) == 1
        assert state.lines.step_of(line).result is not None


def test_what_happens_to_people_and_agents_is_noticed() -> None:
    me, bob = vo.Person("me", "Ada", is_me=True), vo.Person("bob", "Bob")
    state = state_after(
        [
            *JOINED,
            vo.PeopleChanged((me, bob)),
            vo.PeopleChanged((me, bob)),
            vo.PeopleChanged((me,)),
            vo.HandedOver("Greeter", "Clerk"),
            vo.FalseInterruption(resumed=True),
            vo.FalseInterruption(resumed=False),
            vo.SessionFailed("the model does not answer"),
        ]
    )
    assert notices(state) == [
        ("joined", "Bob"),
        ("left", "Bob"),
        ("handed_over", "Clerk"),
        ("false_interruption", ""),
        ("failed", "the model does not answer"),
    ]


def test_what_nobody_understands_is_counted_and_kept() -> None:
    state = state_after([Unknown("eot_prediction", "{}")])
    assert (state.unknown_count, len(state.unknown)) == (1, 1)


# --- any order -------------------------------------------------------------------------------------------

_NUMBERS = ["zero", "one", "two", "three", "four"]


def _talk(count: int) -> list[vo.VoiceEvent]:
    events: list[vo.VoiceEvent] = []
    for number in range(count):
        name = _NUMBERS[number]
        events += turn(number, f"{name}q {name}r {name}s", f"{name}a {name}b {name}c", cut_at=number % 2 * 7)
    return events


@given(st.integers(1, 5).map(_talk).flatmap(lambda talk: st.permutations(talk * 2)))
def test_no_order_and_no_repetition_loses_or_doubles_an_item(events: list[vo.VoiceEvent]) -> None:
    state = state_after(events)
    items = items_of(events)
    lines = [line for line in state.lines.all.values() if line.item_id]
    assert sorted(line.item_id for line in lines) == sorted(items)
    assert {line.item_id: line.text.text for line in lines} == {id_: item.text for id_, item in items.items()}
    state.apply(vo.HistoryLoaded(tuple(items.values())))
    assert len([line for line in state.lines.all.values() if line.item_id]) == len(items)


@given(st.integers(1, 5).map(_talk), st.data())
def test_in_order_every_word_belongs_to_its_item_however_often_it_is_told(
    events: list[vo.VoiceEvent], data: st.DataObject
) -> None:
    told: list[vo.VoiceEvent] = []
    for event in events:
        told.append(event)
        again: list[vo.VoiceEvent] = [
            one for one in told[-6:] if not isinstance(one, vo.WordsSpoken)
        ]  # chunks: a stream, once
        if again:
            told += data.draw(st.lists(st.sampled_from(again), max_size=1))
    state = state_after(told)
    assert list(stored(state)) == list(items_of(events))
    assert all(line.item_id for line in state.lines.all.values())


def test_an_event_costs_the_same_however_long_the_session_is() -> None:
    def steps(before: int) -> int:
        """Return how many instructions a few events take after so many turns."""
        state = state_after(JOINED)
        for number in range(before):
            for event in turn(number, f"question number {number}", f"answer number {number}"):
                state.apply(event)
        talk = [e for n in range(5) for e in turn(10**6 + n, f"x{n} y{n}", f"z{n} w{n}")]
        count = 0

        def trace(frame: FrameType, event: str, _: object) -> Callable[..., Any]:
            nonlocal count
            count += event == "opcode"
            frame.f_trace_opcodes = True
            return trace

        previous = sys.gettrace()
        sys.settrace(trace)
        try:
            for event in talk:
                state.apply(event)
        finally:
            sys.settrace(previous)
        return count

    few, many = steps(10), steps(1_000)
    assert 1_000 < many <= 1.1 * few
