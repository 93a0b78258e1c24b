from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from textual import events, on
from textual.app import ComposeResult
from textual.pilot import Pilot

from tests.widgets.apps import Hand, MayBeAscii, resize
from tests.widgets.drawing import screen_of
from tests.widgets.markdown.test_splitter import TEXTS, cut
from widgets.transcript import selection as selection_module
from widgets.transcript.happened import Happened
from widgets.transcript.marks import MarkedLines
from widgets.transcript.transcript import Transcript

TEXT = "some **bold words** that wrap\n\n> quoted\n> lines\n\n```py\nx = 1\n\ty\n```\n\nthe end"


class Reader(MayBeAscii[None]):
    """One pane, and what it posted."""

    ENABLE_COMMAND_PALETTE = False

    def __init__(self, pane: Transcript) -> None:
        super().__init__()
        self.pane = pane
        self.posted: list[Happened] = []

    def compose(self) -> ComposeResult:
        yield self.pane

    @on(Transcript.CopyRequested)
    def keep_copy(self, event: Transcript.CopyRequested) -> None:
        self.posted.append(event)

    @on(Transcript.SelectionChanged)
    def keep_change(self, event: Transcript.SelectionChanged) -> None:
        self.posted.append(event)

    @property
    def copies(self) -> list[tuple[str, str]]:
        return [
            (event.text, event.what) for event in self.posted if isinstance(event, Transcript.CopyRequested)
        ]


class Mouse:
    """Presses, moves and releases the first button over a pane."""

    def __init__(self, pilot: Pilot[Any], pane: Transcript, hand: Hand) -> None:
        self._pilot, self._pane, self._hand = pilot, pane, hand

    async def send(self, event: type[events.MouseEvent], x: int, y: int, *, shift: bool = False) -> None:
        await self._pilot._post_mouse_events([event], self._pane, (x, y), button=1, shift=shift)
        self._hand.turn_until_clean()
        await self._pilot.pause()

    async def drag(self, start: tuple[int, int], *ways: tuple[int, int]) -> None:
        await self.send(events.MouseDown, *start)
        for way in ways:
            await self.send(events.MouseMove, *way)
        await self.send(events.MouseUp, *ways[-1])
        await self._pilot._post_mouse_events([events.Click], self._pane, ways[-1], button=1)

    async def click(self, x: int, y: int, times: int = 1, *, shift: bool = False) -> None:
        await self._pilot.click(self._pane, (x, y), times=times, shift=shift)
        self._hand.turn_until_clean()
        await self._pilot.pause()


def a_pane(text: str = TEXT) -> tuple[Transcript, Hand]:
    hand = Hand()
    pane = Transcript(clock=hand.clock())
    pane.text_added("a", text)
    pane.turn_closed("a")
    return pane, hand


def reversed_cells(pane: Transcript) -> list[str]:
    """Return of each row what is drawn as selected."""
    look = pane.get_component_rich_style("transcript--selection").bgcolor
    return [
        "".join(text for text, style, _ in strip if style and style.bgcolor == look)
        for strip in pane.render_lines(pane.outer_size.region)
    ]


async def test_dragging_selects_the_source_of_what_it_covers() -> None:
    pane, hand = a_pane()
    app = Reader(pane)
    async with app.run_test(size=(17, 14)) as pilot:
        hand.turn_until_clean()
        mouse = Mouse(pilot, pane, hand)
        assert screen_of(pane)[1:4] == [" some bold words", " that wrap", ""]
        await mouse.drag((6, 1), (3, 2), (4, 2))
        assert pane.reader.has_selection
        assert pane.reader.selected_text() == "bold words** that"
        assert reversed_cells(pane)[1:3] == ["bold words", "that"]
        await pilot.press("y")
        assert app.copies == [("bold words** that", "selection")]


async def test_a_selection_stays_where_it_is_while_words_stream_and_the_width_changes() -> None:
    pane, hand = a_pane("some words that wrap")
    async with Reader(pane).run_test(size=(17, 8)) as pilot:
        hand.turn_until_clean()
        await Mouse(pilot, pane, hand).drag((6, 1), (1, 2))
        selected = pane.reader.selected_text()
        assert selected == "words that w"
        pane.text_added("b", "more\n" * 20)
        hand.turn_until_clean()
        await resize(pilot, 40, 8)
        hand.turn_until_clean()
        await pilot.pause()
        assert pane.reader.selected_text() == selected
        assert "words that w" in reversed_cells(pane)
        assert not pane.follow


async def test_a_selection_reaches_over_messages_and_blocks_without_what_is_not_source() -> None:
    pane, hand = a_pane("# One\n\n- first item\n- second")
    pane.turn_opened("b", "● round 2")
    pane.text_added("b", "two **b**")
    pane.turn_closed("b", "┄ cut")
    async with Reader(pane).run_test(size=(30, 12)) as pilot:
        hand.turn_until_clean()
        assert screen_of(pane)[3:9] == [
            "   • first item",
            "   • second",
            "",
            " ● round 2",
            " two b",
            " ┄ cut",
        ]
        mouse = Mouse(pilot, pane, hand)
        await mouse.drag((11, 3), (3, 7))
        assert pane.reader.selected_text() == "item\n- second\n\ntwo"
        assert reversed_cells(pane)[3:9] == ["item", "second", "", "", "two", ""]
        await mouse.drag((0, 0), (20, 8))
        assert pane.reader.selected_text() == "# One\n\n- first item\n- second\n\ntwo **b**"


async def test_a_block_that_is_selected_whole_comes_with_its_signs() -> None:
    pane, hand = a_pane("**bold** and `code`")
    async with Reader(pane).run_test(size=(30, 6)) as pilot:
        hand.turn_until_clean()
        mouse = Mouse(pilot, pane, hand)
        await mouse.drag((1, 1), (25, 1))
        assert pane.reader.selected_text() == "**bold** and `code`"
        await mouse.drag((1, 1), (4, 1))
        assert pane.reader.selected_text() == "bold"


async def test_a_table_is_selected_line_by_line() -> None:
    pane, hand = a_pane("| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |")
    async with Reader(pane).run_test(size=(30, 8)) as pilot:
        hand.turn_until_clean()
        await Mouse(pilot, pane, hand).drag((5, 3), (1, 4))
        assert pane.reader.selected_text() == "| 1 | 2 |\n| 3 | 4 |"


async def test_wide_characters_are_selected_whole() -> None:
    pane, hand = a_pane("两位的分歧 👩‍👩‍👧 x")
    async with Reader(pane).run_test(size=(30, 5)) as pilot:
        hand.turn_until_clean()
        mouse = Mouse(pilot, pane, hand)
        await mouse.drag((4, 1), (7, 1))
        assert pane.reader.selected_text() == "位的分"
        assert reversed_cells(pane)[1] == "位的分"
        await mouse.drag((13, 1), (15, 1))
        assert pane.reader.selected_text() == "👩‍👩‍👧 x"


async def test_two_clicks_select_a_word_three_a_block() -> None:
    pane, hand = a_pane()
    async with Reader(pane).run_test(size=(40, 14)) as pilot:
        hand.turn_until_clean()
        mouse = Mouse(pilot, pane, hand)
        await mouse.click(8, 1, times=2)
        assert pane.reader.selected_text() == "bold"
        await mouse.click(8, 1, times=3)
        assert pane.reader.selected_text() == "some **bold words** that wrap"
        await mouse.click(5, 6, times=3)
        assert pane.reader.selected_text() == "x = 1\n\ty"


async def test_a_click_selects_nothing_and_shift_extends() -> None:
    pane, hand = a_pane("some words")
    app = Reader(pane)
    async with app.run_test(size=(30, 5)) as pilot:
        hand.turn_until_clean()
        mouse = Mouse(pilot, pane, hand)
        await mouse.click(3, 1)
        assert not pane.reader.has_selection
        assert app.posted == []
        await mouse.click(6, 1, shift=True)
        assert pane.reader.selected_text() == "me w"
        await mouse.click(9, 1)
        assert not pane.reader.has_selection
        assert [type(event) for event in app.posted] == [Transcript.SelectionChanged] * 2


async def test_escape_and_ctrl_c_belong_to_the_selection_only_while_there_is_one() -> None:
    pane, hand = a_pane("some words")
    app = Reader(pane)
    async with app.run_test(size=(30, 5)) as pilot:
        hand.turn_until_clean()
        assert not pane.check_action("clear_selection", ())
        assert not pane.check_action("copy", ("selection",))
        await Mouse(pilot, pane, hand).drag((1, 1), (4, 1))
        await pilot.press("ctrl+c")
        assert app.copies == [("some", "selection")]
        await pilot.press("escape")
        assert not pane.reader.has_selection
        assert pane.reader.selected_text() == ""
        hand.turn_until_clean()
        await pilot.pause()
        assert reversed_cells(pane) == [""] * 5


async def test_dragging_over_an_edge_scrolls_as_long_as_the_button_is_down() -> None:
    pane, hand = a_pane("".join(f"- {number}\n" for number in range(1, 41)))
    async with Reader(pane).run_test(size=(30, 6)) as pilot:
        hand.turn_until_clean()
        assert screen_of(pane)[0] == "   • 35"
        mouse = Mouse(pilot, pane, hand)
        pane.pointer.take(events.MouseDown(pane, 5, 0, 0, 0, 1, False, False, False))
        pane.pointer.take(events.MouseMove(pane, 4, -2, 0, 0, 1, False, False, False))
        for _ in range(5):
            hand.turn()
        await pilot.pause()
        assert hand.waiting
        pane.pointer.take(events.MouseUp(pane, 4, -2, 0, 0, 1, False, False, False))
        hand.turn_until_clean()
        await pilot.pause()
        top = int(screen_of(pane)[0].split()[1])
        assert top <= 27
        assert pane.reader.selected_text().splitlines()[1] == f"- {top + 1}"
        assert not pane.follow
        await mouse.click(5, 2)
        assert not pane.reader.has_selection


async def test_a_selection_can_be_seen_without_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    pane, hand = a_pane("some words")
    async with Reader(pane).run_test(size=(30, 5)) as pilot:
        hand.turn_until_clean()
        await Mouse(pilot, pane, hand).drag((1, 1), (4, 1))
        strip = pane.render_line(1)
        assert [text for text, style, _ in strip if style and style.reverse] == ["some"]


async def test_on_a_wide_screen_words_are_selected_where_they_stand_and_beside_them_their_rows() -> None:
    words = [f"word{number}" for number in range(60)]
    pane, hand = a_pane(" ".join(words))
    async with Reader(pane).run_test(size=(200, 8)) as pilot:
        hand.turn_until_clean()
        first, second, *_ = [row.strip() for row in screen_of(pane) if "word" in row]
        assert len(first) <= 110
        at = next(y for y, row in enumerate(screen_of(pane)) if second in row)
        await Mouse(pilot, pane, hand).drag((1, at), (190, at))
        assert pane.reader.selected_text() == second
        await Mouse(pilot, pane, hand).drag((190, at - 1), (1 + len(second.split()[0]) - 1, at))
        assert pane.reader.selected_text().strip() == second.split()[0]
        pane.reader.find("word59")
        hand.turn_until_clean()
        assert any("word59" in row for row in screen_of(pane))


async def test_clearing_the_pane_clears_the_selection() -> None:
    pane, hand = a_pane("some words")
    async with Reader(pane).run_test(size=(30, 5)) as pilot:
        hand.turn_until_clean()
        await Mouse(pilot, pane, hand).drag((1, 1), (4, 1))
        pane.clear()
        assert not pane.reader.has_selection
        assert pane.reader.message_text() == pane.reader.code_text() == pane.reader.selected_text() == ""


@settings(max_examples=10)
@given(TEXTS, st.lists(st.integers(0, 400), max_size=8), st.integers(8, 60), st.data())
async def test_any_drag_selects_source_and_never_fails(
    text: str, places: list[int], width: int, data: st.DataObject
) -> None:
    hand = Hand()
    pane = Transcript(clock=hand.clock())
    async with Reader(pane).run_test(size=(width, 12)) as pilot:
        for chunk in cut(text, places):
            pane.text_added("a", chunk)
            hand.turn_until_clean()
        cells = st.tuples(st.integers(0, width - 1), st.integers(0, 11))
        await Mouse(pilot, pane, hand).drag(data.draw(cells), data.draw(cells))
        assert pane.reader.selected_text().strip("\n") in text


async def test_a_text_that_is_replaced_under_the_pointer_harms_nothing() -> None:
    pane, hand = a_pane("one\n\ntwo\n\n- three\n\nfour")
    async with Reader(pane).run_test(size=(30, 10)) as pilot:
        hand.turn_until_clean()
        pane.reader.find("four")
        hand.turn_until_clean()
        pane.text_replaced("a", "x")
        pane.reader.find_step(1)
        for event in (events.MouseDown, events.MouseMove, events.MouseUp, events.Click):
            await pilot._post_mouse_events([event], pane, (3, 7), button=1)
        assert pane.reader.code_text() == ""
        hand.turn_until_clean()
        await Mouse(pilot, pane, hand).drag((1, 1), (9, 1))
        assert pane.reader.selected_text() == "x"


async def test_a_button_that_goes_up_outside_the_terminal_ends_selecting() -> None:
    pane, hand = a_pane("some words")
    async with Reader(pane).run_test(size=(30, 5)) as pilot:
        hand.turn_until_clean()
        mouse = Mouse(pilot, pane, hand)
        await mouse.send(events.MouseDown, 1, 1)
        await mouse.send(events.MouseMove, 4, 1)
        await pilot._post_mouse_events([events.MouseMove], pane, (9, 1), button=0)
        assert pane.reader.selected_text() == "some"
        assert pilot.app.mouse_captured is None


async def test_nothing_is_aligned_or_marked_while_nothing_is_selected(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls: list[str] = []
    for owner, name in ((selection_module, "offsets"), (MarkedLines, "line")):
        original = getattr(owner, name)

        def counting(*args: Any, name: str = name, original: Any = original) -> Any:
            calls.append(name)
            return original(*args)

        monkeypatch.setattr(owner, name, counting)
    pane, hand = a_pane("one\n\n")
    async with Reader(pane).run_test(size=(30, 10)) as pilot:
        hand.turn_until_clean()
        for _ in range(20):
            pane.text_added("b", "words and ")
            hand.turn_until_clean()
        assert calls == []
        await Mouse(pilot, pane, hand).drag((1, 1), (2, 1))
        calls.clear()
        for _ in range(20):
            pane.text_added("b", "words and ")
            hand.turn_until_clean()
        assert "offsets" not in calls  # the block that is selected was aligned once


async def test_an_idle_pane_with_marks_asks_for_no_frame() -> None:
    pane, hand = a_pane("some words")
    async with Reader(pane).run_test(size=(30, 5)) as pilot:
        pane.reader.find("words")
        await Mouse(pilot, pane, hand).drag((1, 1), (4, 1))
        hand.turn_until_clean()
        assert pane.draw() is False
        assert hand.waiting == []


@pytest.mark.parametrize(("is_ascii", "sign"), [(False, "↳"), (True, "\\")])
async def test_a_code_line_that_goes_on_says_so_and_the_sign_is_not_copied(is_ascii: bool, sign: str) -> None:
    hand = Hand()
    pane = Transcript(clock=hand.clock())
    pane.turn_opened("1", "Ada")
    line = "abcdefghij" * 6
    pane.text_added("1", f"```\n{line}\nshort\n```")
    pane.turn_closed("1")
    app = Reader(pane)
    app.is_ascii = is_ascii
    async with app.run_test(size=(30, 12)) as pilot:
        hand.turn_until_clean()
        rows = [row.rstrip("▐# ").strip() for row in screen_of(pane)]
        first = next(at for at, row in enumerate(rows) if "abc" in row)
        assert [row[0] == sign for row in rows[first : first + 4]] == [False, True, True, False]
        mouse = Mouse(pilot, pane, hand)
        await mouse.drag((3, first), (20, first + 3))
        await pilot.press("y")
        assert f"{line}\nshort" in app.copies[-1][0]
        assert sign not in app.copies[-1][0]


async def test_a_pane_that_is_cleared_while_the_button_is_down_lets_go_of_the_mouse() -> None:
    pane, hand = a_pane("some words")
    async with Reader(pane).run_test(size=(30, 6)) as pilot:
        hand.turn_until_clean()
        pane.pointer.take(events.MouseDown(pane, 5, 1, 0, 0, 1, False, False, False))
        await pilot.pause()
        assert pilot.app.mouse_captured is pane
        pane.clear()
        await pilot.pause()
        assert pilot.app.mouse_captured is None
