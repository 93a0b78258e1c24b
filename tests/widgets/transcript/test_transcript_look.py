from __future__ import annotations

import pytest

from tests.widgets.apps import Hand, running
from tests.widgets.drawing import screen_of
from tests.widgets.transcript.test_transcript import a_pane, lines, shown
from widgets.signs import CARET
from widgets.transcript.transcript import Transcript


async def test_the_caret_waits_for_room() -> None:
    hand = Hand()
    pane = a_pane(hand)
    async with running(pane, (12, 3)) as pilot:
        pane.text_added("a", "0123456789")  # ten cells between the margins
        assert await shown(pane, hand, pilot) == ["", " 0123456789", ""]
        pane.text_replaced("a", "012345678")
        assert await shown(pane, hand, pilot) == ["", f" 012345678{CARET}", ""]


async def test_ascii_terminals_get_ascii_signs_and_the_words_as_they_are() -> None:
    hand = Hand()
    pane = a_pane(hand, has_divider=True)
    async with running(pane, (30, 8), is_ascii=True) as pilot:
        pane.turn_opened("a", "● round")
        pane.text_added("a", "- ü…\n> q\n\n---\n| a | b |\n|--|--|\n")
        pane.turn_closed("a", "┄ cut")
        rows = [row.rstrip("|").rstrip() for row in await shown(pane, hand, pilot)]
        assert rows == [
            " * round",
            "   * ü…",
            " | q",
            "",
            " " + "-" * 27,
            " a | b",
            " --+--",
            " - cut",
        ]


async def test_a_divider_stands_at_the_right_of_every_row() -> None:
    hand = Hand()
    pane = a_pane(hand, has_divider=True)
    async with running(pane, (20, 4)) as pilot:
        pane.text_added("a", "中文" * 9)
        assert all(row.endswith("│") for row in await shown(pane, hand, pilot))


async def test_a_divider_can_come_and_go() -> None:
    hand = Hand()
    pane = a_pane(hand)
    async with running(pane, (20, 2)) as pilot:
        assert not any("│" in row for row in await shown(pane, hand, pilot))
        pane.canvas.divide(True)
        assert pane.canvas.has_divider
        assert all(row.endswith("│") for row in await shown(pane, hand, pilot))


async def test_a_failure_is_red_and_other_notes_are_not() -> None:
    hand = Hand()
    pane = a_pane(hand)
    async with running(pane, (30, 4)) as pilot:
        pane.turn_opened("a")
        pane.turn_closed("a", "✗ quota exceeded")
        pane.turn_opened("b")
        pane.turn_closed("b", "┄ cut")
        await shown(pane, hand, pilot)
        strips = pane.render_lines(pane.outer_size.region)
        red = pane.app.theme_variables["error"].lower()
        colors = {
            segment.text.strip(): segment.style.color.get_truecolor().hex
            for strip in strips
            for segment in strip
            if segment.style and segment.style.color
        }
        assert colors["✗ quota exceeded"] == red
        assert colors["┄ cut"] != red


async def test_no_color_leaves_no_colour_in_any_strip(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    hand = Hand()
    pane = Transcript(clock=hand.clock())
    pane.canvas.color = "#00ff00"
    async with running(pane, (30, 6)) as pilot:
        pane.text_added("a", "`code` [link](x) **b**\n" + lines(1, 9))
        await shown(pane, hand, pilot)
        await pilot.press("up")
        await shown(pane, hand, pilot)
        for strip in pane.render_lines(pane.outer_size.region):
            for segment in strip:
                for color in (segment.style.color, segment.style.bgcolor) if segment.style else ():
                    red, green, blue = color.get_truecolor() if color else (0, 0, 0)
                    assert red == green == blue


async def test_another_theme_repaints_everything_in_its_colours() -> None:
    hand = Hand()
    pane = a_pane(hand)
    async with running(pane, (30, 6)) as pilot:
        pane.text_added("a", "words")
        await shown(pane, hand, pilot)
        before = backgrounds(pane)
        pilot.app.theme = "textual-light"
        await pilot.pause()
        assert backgrounds(pane).isdisjoint(before)
        assert " words" in screen_of(pane)[1]


def backgrounds(pane: Transcript) -> set[str]:
    strips = pane.render_lines(pane.outer_size.region)
    return {str(segment.style.bgcolor) for strip in strips for segment in strip if segment.style}
