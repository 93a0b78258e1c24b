"""The timeline: every turn once, in the order of its start, whatever comes in which order."""

from __future__ import annotations

from dataclasses import replace

import pytest
from textual.events import AppBlur

from agent_tui.model import events as ev
from agent_tui.state.conversation import ConversationState
from tests.tui.room.one_room import AGENTS, LIVE, loaded, opened, speaking, start
from tests.widgets.apps import Hand
from tui.room.panes import RoomFeed
from widgets.transcript.transcript import Transcript

MIKA, ADA, WANG = AGENTS


def stored(number: int, agent: ev.AgentInfo, text: str, round_number: int = 1) -> ev.Message:
    return ev.Message(
        str(number), "r", "assistant", text, text, agent.name, "", round_number, 1, "t", agent.id
    )


def room(*messages: ev.Message, status: str = "paused") -> ev.RoomLoaded:
    return ev.RoomLoaded(ev.RoomInfo("r", agents=AGENTS, status=status, view="panes"), messages)


def words(text: str) -> list[str]:
    """The rows of the transcript without the mark that says how far down they are."""
    return [row[:119].rstrip() for row in text.splitlines()[1:8]]


def in_order(text: str, *words: str) -> bool:
    """Whether all ``words`` are in ``text``, one behind the other."""
    places = [text.find(word) for word in words]
    return -1 not in places and places == sorted(places)


async def test_turns_stand_in_the_order_of_their_start_and_grow_in_place() -> None:
    async with opened() as screen:
        await screen.send(
            loaded(status="running", current_round=1),
            LIVE,
            start("1", ADA),
            start("2", MIKA),
            ev.TextAdded("2", "Mika is first to speak"),
            ev.TextAdded("1", "Ada began"),
        )
        text = await screen.press("t")
        assert "t back" in text
        assert in_order(text, "Ada · round 1", "Ada began", "Mika · round 1", "Mika is first to speak")
        text = await screen.send(ev.TextAdded("1", " and goes on"), ev.TurnEnded("2", "", 1, "a", "pause"))
        assert in_order(text, "Ada began and goes on", "Mika is first to speak", "┄ cut at the pause")


async def test_what_a_person_said_stands_there_too() -> None:
    async with opened() as screen:
        asked = ev.Message("0", "r", "user", "Should we?", "Should we, really?", "", "", 0, 1, "t")
        await screen.send(
            ev.RoomLoaded(ev.RoomInfo("r", agents=AGENTS, view="panes"), (asked, stored(1, ADA, "Yes"))), LIVE
        )
        assert in_order(await screen.press("t"), "You", "Should we, really?", "Ada · round 1", "Yes")


async def test_a_room_that_is_loaded_again_says_nothing_twice() -> None:
    async with opened() as screen:
        again = room(stored(1, ADA, "Once"), stored(2, MIKA, "Again"))
        await screen.send(again, LIVE)
        await screen.press("t")
        text = await screen.send(again, LIVE)
        assert text.count("Once") == text.count("Again") == 1


async def test_a_turn_whose_speaker_is_told_later_gets_its_name() -> None:
    async with opened() as screen:
        await screen.send(ev.RoomLoaded(ev.RoomInfo("r", status="running", view="panes"), ()), LIVE)
        await screen.send(ev.TextAdded("1", "Who am I?"))
        await screen.press("t")
        text = await screen.send(start("1", ev.AgentInfo("z", "Zed")), ev.TextAdded("1", " Zed, it seems."))
        assert "Zed · round 1" in text
        assert text.count("Who am I? Zed, it seems.") == 1


async def test_what_one_reads_is_kept_from_the_panes_to_the_timeline_and_back() -> None:
    async with opened((120, 30)) as screen:
        lines = "".join(f"\n\nline {number}" for number in range(60))
        await screen.send(*speaking(AGENTS), ev.TextAdded("a", "\n\nmore" * 60), ev.TextAdded("b", lines))
        panes = await screen.press("home")
        timeline = await screen.press("t")
        assert timeline.splitlines()[3][:60].rstrip() == "▎First line."  # of Mika, whose pane it was
        assert await screen.press("t") == panes
        await screen.press("t", "end")
        timeline = await screen.press("pageup")
        top = timeline.splitlines()[2][1:60].strip()
        assert top.startswith("line ")
        beside = await screen.press("t")  # Ada's pane has the words now, the others stay
        assert top in beside.splitlines()[3].split("│")[1]
        assert "First line." in beside.splitlines()[4].split("│")[0]
        assert await screen.press("t") == timeline
        await screen.press("end", "t")
        assert "line 59" in await screen.send(ev.TextAdded("b", "\n\nThe end is followed."))
        assert "The end is followed." in await screen.text()


async def test_a_room_that_ends_rings_once_where_the_terminal_is_elsewhere() -> None:
    async with opened() as screen:
        await screen.send(loaded(status="running"), LIVE, ev.RunCompleted("r", 3))
        assert screen.app.rung == 0
        screen.app.post_message(AppBlur())
        await screen.send(ev.RunStarted("r", ""), ev.RunCompleted("r", 3))
        assert screen.app.rung == 1


async def test_a_chunk_is_given_once_and_costs_no_look_at_other_turns() -> None:
    class Counting(Transcript):
        added = 0

        def text_added(self, key: str, text: str) -> None:
            Counting.added += 1
            super().text_added(key, text)

    transcript = Counting(clock=Hand().clock())
    state = ConversationState(ev.RoomInfo("r"))
    state.apply(room(*(stored(n, ADA, "x") for n in range(50)), status="running"))
    feed = RoomFeed(transcript, state)
    feed.take(())
    state.apply(start("now", MIKA))
    before = Counting.added
    for _ in range(100):
        state.apply(ev.TextAdded("now", "word "))
        feed.take([state.turns[id_] for id_ in state.changed])
        state.changed.clear()
    assert Counting.added - before == 100


@pytest.mark.slow
async def test_ten_thousand_turns_are_all_there() -> None:
    async with opened() as screen:
        messages = tuple(stored(n, AGENTS[n % 3], f"Turn {n}.", n // 3 + 1) for n in range(10_000))
        await screen.send(room(*messages), LIVE)
        assert "Turn 9999." in await screen.press("t")
        assert "Turn 0." in await screen.press("home")
        assert "Turn 5000." in await screen.press("colon", *"5001", "enter")


async def test_hostile_names_are_inert_in_titles() -> None:
    nasty = "\x1b]52;c;aGk=\x07\x9b31m\u202eevil[bold]\ud800"
    async with opened() as screen:
        await screen.send(
            ev.RoomLoaded(ev.RoomInfo("r", status="running", agents=(ev.AgentInfo("a", nasty, nasty),)), ()),
            LIVE,
        )
        await screen.send(ev.TurnStarted("rule 1", "r", "assistant", nasty, nasty, 1, "a"))
        text = await screen.press("t")
        assert "evil[bold]" in text
        assert not set(text) & set("\x1b\x07\x9b\u202e\ud800")


async def test_a_sequential_room_opens_in_the_timeline_with_a_line_for_each_agent() -> None:
    async with opened() as screen:
        text = await screen.send(
            loaded(status="running", current_round=1, execution_mode="sequential"),
            LIVE,
            start("1", ADA),
            ev.TextAdded("1", "Ada began"),
        )
        assert "Ada · round 1" in text
        assert text.count("Ada began") == 1
        strip = [row for row in text.splitlines() if "Mika" in row and "Ada" in row]
        assert len(strip) == 1
        assert "t panes" in text
        assert "t back" in await screen.press("t")
        assert "t back" not in await screen.press("escape")
        assert screen.app.room.is_current


async def test_a_sequential_room_that_was_not_started_says_what_its_agents_are_about() -> None:
    agents = tuple(replace(agent, system_prompt=f"You doubt {agent.name}.") for agent in AGENTS)
    async with opened() as screen:
        text = await screen.send(loaded(execution_mode="sequential", agents=agents), LIVE)
        assert all(f"You doubt {agent.name}." in text for agent in agents)
        text = await screen.send(start("1", ADA), ev.TextAdded("1", "Ada began"))
        assert "Ada · round 1" in text
        assert "t panes" in text


async def test_the_agent_that_speaks_is_the_one_that_keys_act_on_in_the_timeline() -> None:
    async with opened() as screen:
        room_ = loaded(status="running", current_round=1, execution_mode="sequential")
        await screen.send(room_, LIVE, start("1", ADA), ev.TextAdded("1", "Ada began"))
        await screen.press("s")
        assert screen.link.calls.asked[-1] == (f"stop {ADA.id}", "r")


async def test_the_room_says_what_it_opens_with() -> None:
    for view, mode, is_timeline in (
        ("panes", "sequential", False),
        ("timeline", "parallel", True),
        ("auto", "parallel", False),
    ):
        async with opened() as screen:
            text = await screen.send(loaded(view=view, execution_mode=mode), LIVE, start("1", ADA))
            assert ("t panes" in text) is is_timeline
