"""What people say stands in the panes of those who heard it; what is no longer meant is dim."""

from __future__ import annotations

from typing import Any

from rich.style import Style

from agent_tui.model import events as ev
from agent_tui.state.conversation import ConversationState
from tests.tui.room.one_room import AGENTS, LIVE, Screen, loaded, opened, start
from tests.widgets.apps import Hand, running
from tui.room.panes import RoomFeed
from widgets.transcript.transcript import Transcript

MIKA, ADA, WANG = AGENTS


def word(number: int, text: str, to: str = "") -> ev.Message:
    return ev.Message(f"w{number}", "r", "user", text, text, "", "", 0, 1, "t", to=to)


def turn(number: int, agent: ev.AgentInfo, text: str) -> ev.Message:
    return ev.Message(str(number), "r", "assistant", text, text, agent.name, "", 1, 1, "t", agent.id)


def panes(text: str) -> list[str]:
    """Return what stands in each of three panes side by side."""
    rows = [row.split("│") for row in text.splitlines()[1:-3]]
    return ["\n".join(row[at] for row in rows if len(row) == 3) for at in range(3)]


def style_of(screen: Screen, words: str) -> Style:
    """Return how ``words`` look where they stand first."""
    strips = screen.app.screen._compositor.render_strips(screen.app.size)
    pieces = (segment for strip in strips for segment in strip)
    return next(piece.style or Style.null() for piece in pieces if words in piece.text)


async def test_words_for_all_are_in_every_pane_and_a_whisper_in_one() -> None:
    async with opened() as screen:
        await screen.send(loaded(status="running", current_round=1), LIVE)
        await screen.send(ev.MessageStored(turn(1, MIKA, "Before")))
        await screen.send(ev.MessageStored(word(1, "Hear me")), ev.MessageStored(word(2, "psst", to="b")))
        mika, ada, wang = panes(await screen.send(ev.MessageStored(turn(2, MIKA, "After"))))
        assert mika.index("Before") < mika.index("▎You ") < mika.index("▎Hear me") < mika.index("After")
        assert "▎You, to Ada only" in ada
        assert ada.index("Hear me") < ada.index("psst")
        assert "Hear me" in wang
        assert "psst" not in mika + wang


async def test_the_task_stands_above_the_panes_and_not_in_each_of_them() -> None:
    async with opened() as screen:
        await screen.send(loaded(status="running", current_round=1), LIVE)
        text = await screen.send(ev.MessageStored(word(1, "Should we?")), ev.MessageStored(word(2, "Well")))
        assert text.count("Should we?") == 1
        assert text.count("Well") == 3
        assert "Should we?" in await screen.press("t")


async def test_after_a_reload_they_stand_where_they_stood() -> None:
    messages = (turn(1, MIKA, "Before"), word(1, "Hear me"), word(2, "psst", to="b"), turn(2, MIKA, "After"))
    async with opened() as screen:
        await screen.send(loaded(status="running", current_round=1), LIVE)
        live = await screen.send(*(ev.MessageStored(message) for message in messages))
        room = ev.RoomInfo("r", task="Should we?", status="running", current_round=1, agents=AGENTS)
        again = await screen.send(ev.RoomLoaded(room, messages))
        assert panes(again) == panes(live)


async def test_an_agent_that_left_is_not_shown_words_that_it_never_heard() -> None:
    messages = (word(1, "All of you"), turn(1, WANG, "Yes"), word(2, "Without him"), turn(2, MIKA, "Good"))
    async with opened() as screen:
        room = ev.RoomInfo("r", status="running", current_round=1, agents=AGENTS[:2], view="panes")
        await screen.send(ev.RoomLoaded(room, messages), LIVE)
        _, ada, wang = panes(await screen.text())
        assert "Without him" in ada
        assert "All of you" in wang
        assert "Without him" not in wang


async def test_a_persons_line_ends_where_they_ended_it() -> None:
    async with opened() as screen:
        await screen.send(loaded(status="running", current_round=1), LIVE)
        text = await screen.send(ev.MessageStored(word(1, "one \ntwo\n    three\n\nfour")))
        rows = [row.strip(" ▎") for row in panes(text)[0].splitlines()]
        at = rows.index("one")
        assert rows[at : at + 5] == ["one", "two", "three", "", "four"]


async def test_a_chunk_costs_no_look_at_what_people_said() -> None:
    class Counting(Transcript):
        told = 0

        def turn_opened(self, key: str, title: str = "", **how: Any) -> None:
            Counting.told += 1
            super().turn_opened(key, title, **how)

    class Turns(dict[str, object]):
        looks = 0

        def values(self) -> object:  # type: ignore[override]  # only counts
            Turns.looks += 1
            return super().values()

    state = ConversationState(ev.RoomInfo("r"))
    state.apply(ev.RoomLoaded(ev.RoomInfo("r", status="running", agents=AGENTS), (word(1, "a"),)))
    state.apply(start("now", MIKA))
    state.turns = Turns(state.turns)  # type: ignore[assignment]  # a dict that counts
    transcript = Counting(clock=Hand().clock())
    feed = RoomFeed(transcript, state, "a")
    async with running(transcript, (40, 8)):
        for _ in range(100):
            state.apply(ev.TextAdded("now", "word "))
            feed.take([state.turns["now"]])
        assert (Counting.told, Turns.looks) == (2, 1)


async def test_a_turn_that_is_said_again_is_dim_in_pane_and_timeline() -> None:
    async with opened() as screen:
        await screen.send(loaded(status="running", current_round=1), LIVE, start("1", MIKA))
        await screen.send(ev.TextAdded("1", "**First** try"), ev.TurnEnded("1", "", 1, "a"))
        plain = style_of(screen, " try")
        again = ev.TurnStarted("2", "r", "assistant", "Mika", "", 1, "a", supersedes="1")
        await screen.send(again, ev.TextAdded("2", "Second one"))
        assert style_of(screen, " try").color != plain.color == style_of(screen, "Second one").color
        assert style_of(screen, " try").color == style_of(screen, "retried below").color
        text = await screen.press("t")
        assert text.index("First try") < text.index("retried below") < text.index("Second one")
        assert style_of(screen, " try").color == style_of(screen, "retried below").color
        assert style_of(screen, "Second one").color == plain.color


async def test_words_whose_speaker_is_told_later_move_into_its_pane_once() -> None:
    async with opened((160, 30)) as screen:
        await screen.send(loaded(status="running", current_round=1), LIVE)
        await screen.send(ev.MessageStored(word(1, "Hear me")), ev.TextAdded("x", "Who am I?"))
        text = await screen.send(start("x", MIKA), ev.TextAdded("x", " It is me."))
        assert text.count("Who am I? It is me.") == 1
        assert text.count("Hear me") == 3
