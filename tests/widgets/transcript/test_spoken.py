"""Lines of a spoken conversation: time, name and words in one row, at every width, under a reader's hand."""

from __future__ import annotations

import pytest

from tests.widgets.apps import Hand, resize, running
from tests.widgets.drawing import screen_of
from tests.widgets.transcript.test_selection import Mouse, Reader
from widgets.transcript.transcript import Transcript


def a_talk(*lines: tuple[str, str]) -> tuple[Transcript, Hand]:
    hand = Hand()
    pane = Transcript(clock=hand.clock())
    for number, (name, text) in enumerate(lines, 1):
        key = str(number)
        pane.turn_opened(key, f"{name}\t18:02", is_spoken=True)
        pane.text_replaced(key, text)
        pane.turn_closed(key)
    return pane, hand


TALK = (("you", "What rooms are running?"), ("agent", "Two: `Redis`,\n\n- and another"), ("老王", "好的"))


async def test_a_line_is_one_row_and_goes_on_below_its_words() -> None:
    pane, hand = a_talk(*TALK)
    pane.turn_closed("2", tail="┄   (you cut in)", note="model 0.02 · answer 0.61 s")
    pane.turn_opened("n", "\t18:03", is_spoken=True)
    pane.turn_closed("n", note="┄ Bob joined")
    async with running(pane, (80, 9)) as pilot:
        hand.turn_until_clean()
        await pilot.pause()
        assert [row.rstrip() for row in screen_of(pane)][:7] == [
            " 18:02  you       What rooms are running?",
            " 18:02  agent     Two: Redis,",
            "",
            "                    • and another┄   (you cut in)",
            "        model 0.02 · answer 0.61 s",
            " 18:02  老王      好的",
            " 18:03  ┄ Bob joined",
        ]
        await resize(pilot, 40, 12)
        hand.turn_until_clean()
        await pilot.pause()
        assert [row.rstrip() for row in screen_of(pane)][3:7] == [
            "                • and another",
            "              ┄   (you cut in)",
            "       model 0.02 · answer 0.61 s",
            " 18:02 老王   好的",
        ]
        await resize(pilot, 24, 18)
        hand.turn_until_clean()
        await pilot.pause()
        assert [row.rstrip() for row in screen_of(pane)][:2] == [" you", " What rooms are"]


async def test_the_times_of_an_answer_stay_in_their_column_when_they_need_two_rows() -> None:
    pane, hand = a_talk(("agent", "Two."))
    pane.turn_closed(
        "1", note="hearing 0.64 · end of turn 0.64 · model 4.10 · voice 0.55 · slow answer 5.48 s"
    )
    async with running(pane, (80, 4)):
        hand.turn_until_clean()
        assert [row.rstrip() for row in screen_of(pane)][1:3] == [
            "        hearing 0.64 · end of turn 0.64 · model 4.10 · voice 0.55",
            "        slow answer 5.48 s",
        ]


async def test_a_name_that_comes_later_stands_before_the_words() -> None:
    pane, hand = a_talk(("somebody", "Hello"))
    async with running(pane, (60, 4)) as pilot:
        hand.turn_until_clean()
        await pilot.pause()
        assert screen_of(pane)[0].rstrip() == " 18:02 someb… Hello"
        pane.turn_titled("1", "Вера\t18:02")
        hand.turn_until_clean()
        await pilot.pause()
        assert screen_of(pane)[0].rstrip() == " 18:02 Вера   Hello"


@pytest.mark.parametrize("columns", [80, 40, 20])
async def test_a_reader_gets_to_every_line_and_back(columns: int) -> None:
    pane, hand = a_talk(*((f"p{number}", f"words of {number}") for number in range(1, 31)))
    async with Reader(pane).run_test(size=(columns, 6)) as pilot:
        hand.turn_until_clean()
        await pilot.press("home")
        hand.turn_until_clean()
        await pilot.pause()
        assert "p1" in screen_of(pane)[0]
        seen = set()
        for key in ("home", *["down"] * 80):
            await pilot.press(key)
            hand.turn_until_clean()
            await pilot.pause()
            seen |= {row.split("words of ")[1].strip(" ▐▌▼") for row in screen_of(pane) if "words of" in row}
        assert {str(number) for number in range(1, 31)} <= seen
        assert pane.follow
        for number in (29, 28, 27):
            await pilot.press("shift+up")
            assert pane.reader.current_message == number


async def test_what_is_selected_and_found_is_words_and_no_names() -> None:
    pane, hand = a_talk(*TALK)
    app = Reader(pane)
    async with app.run_test(size=(80, 9)) as pilot:
        hand.turn_until_clean()
        await pilot.pause()
        await Mouse(pilot, pane, hand).drag((1, 0), (40, 0))
        assert pane.reader.selected_text() == "What rooms are running?"
        pane.reader.find("18:02")
        hand.turn_until_clean()
        assert pane.reader.found.total == 0
        pane.reader.find("another")
        hand.turn_until_clean()
        assert pane.reader.found.total == 1
