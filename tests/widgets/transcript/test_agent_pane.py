from __future__ import annotations

from typing import Any

import pytest
from rich.cells import cell_len
from textual.app import App, ComposeResult
from textual.containers import Horizontal
from textual.pilot import Pilot

from tests.widgets.apps import CountingDriver, Hand, painted, running
from tests.widgets.drawing import screen_of
from widgets.transcript.agent_pane import AgentPane, arranged


def a_pane(hand: Hand, *, has_divider: bool = False) -> AgentPane:
    pane = AgentPane(clock=hand.clock())
    pane.canvas.has_divider = has_divider
    return pane


def header(pane: AgentPane) -> str:
    return screen_of(pane)[0]


async def test_the_header_says_who_speaks_and_what_it_is_doing() -> None:
    hand = Hand()
    pane = a_pane(hand, has_divider=True)
    async with running(pane, (42, 5)) as pilot:
        pane.header("Mika", "critic", "● 41 tok/s", "#7aa2f7")
        pane.text_added("a", "words")
        hand.turn_until_clean()
        await pilot.pause()
        assert screen_of(pane)[:3] == [
            "█Mika · critic                ● 41 tok/s │",
            "                                         │",
            " words▌                                  │",
        ]


async def test_a_header_that_did_not_change_asks_for_nothing() -> None:
    hand = Hand()
    pane = a_pane(hand)
    async with running(pane, (42, 5)):
        pane.header("Mika", "critic", "● 41 tok/s", "#7aa2f7")
        hand.turn_until_clean()
        pane.header("Mika", "critic", "● 41 tok/s", "#7aa2f7")
        assert hand.waiting == []


async def test_a_new_state_paints_one_row() -> None:
    hand = Hand()
    pane = a_pane(hand)

    async def act(pilot: Pilot[Any], driver: CountingDriver) -> None:
        pane.header("Mika", "critic", "● 41 tok/s", "#7aa2f7")
        pane.text_added("a", "words and words\n" * 10)
        hand.turn_until_clean()
        await pilot.pause()
        driver.written = ""
        pane.header("Mika", "critic", "● 42 tok/s", "#7aa2f7")
        hand.turn_until_clean()
        await pilot.pause()
        assert "42 tok/s" in driver.written
        assert "words" not in driver.written

    await painted(pane, (60, 10), act)


@pytest.mark.parametrize(
    ("room", "expected"),
    [
        (60, ("Mika the critic", " · some-model", "● 41 tok/s")),
        (36, ("Mika the critic", " · some-m…", "● 41 tok/s")),
        (30, ("Mika the critic", "", "● 41 tok/s")),
        (20, ("Mika the…", "", "● 41 tok/s")),
        (14, ("Mika th…", "", "● 41…")),
        (3, ("Mi…", "", "")),
        (1, ("…", "", "")),
    ],
)
def test_where_there_is_no_room_the_model_goes_first_then_the_name_then_the_state(
    room: int, expected: tuple[str, str, str]
) -> None:
    found = arranged("Mika the critic", "some-model", "● 41 tok/s", room)
    assert found == expected
    assert sum(map(cell_len, found)) <= room


def test_a_name_in_wide_characters_is_cut_by_cells() -> None:
    name, _, _ = arranged("老王老王老王老王", "", "✓", 11)
    assert (name, cell_len(name)) == ("老王老王…", 9)


async def test_the_focus_is_seen_in_the_header_with_and_without_colours() -> None:
    hand = Hand()

    class Two(App[None]):
        def compose(self) -> ComposeResult:
            with Horizontal():
                yield a_pane(hand)
                yield a_pane(hand)

    async with Two().run_test(size=(60, 5)) as pilot:
        one, two = pilot.app.query(AgentPane)
        for pane in (one, two):
            pane.header("Mika", "critic", "", "#7aa2f7")
        hand.turn_until_clean()
        await pilot.pause()
        assert (header(one)[0], header(two)[0]) == ("█", "▎")
        before = grounds(one), grounds(two)
        await pilot.press("tab")
        await pilot.pause()
        assert (header(one)[0], header(two)[0]) == ("▎", "█")
        assert (grounds(two), grounds(one)) == before
        assert before[0] != before[1]


def grounds(pane: AgentPane) -> set[str]:
    strip = pane.render_line(0)
    return {str(segment.style.bgcolor) for segment in strip if segment.style}


async def test_the_focus_repaints_what_the_terminal_shows() -> None:
    hand = Hand()
    pane = a_pane(hand)

    async def act(pilot: Pilot[Any], driver: CountingDriver) -> None:
        pane.header("Mika", "", "", "")
        hand.turn_until_clean()
        await pilot.pause()
        assert driver.screen((30, 4))[0] == "█Mika"
        pane.blur()
        await pilot.pause()
        assert driver.screen((30, 4))[0] == "▎Mika"

    await painted(pane, (30, 4), act)


@pytest.mark.parametrize("color", ["#000001", "#fefefe", "nonsense", "\x1b[31m", ""])
@pytest.mark.parametrize("theme", ["textual-dark", "textual-light"])
async def test_every_colour_can_be_read_on_its_header(color: str, theme: str) -> None:
    from tests.widgets.test_color import rgb
    from widgets.color import contrast
    from widgets.palettes import MIN_CONTRAST

    hand = Hand()
    pane = a_pane(hand)
    async with running(pane, (30, 4)) as pilot:
        pilot.app.theme = theme
        pane.header("Mika", "", "", color)
        hand.turn_until_clean()
        await pilot.pause()
        [style] = {segment.style for segment in pane.render_line(0) if "Mika" in segment.text}
        assert style is not None
        assert style.color is not None
        assert style.bgcolor is not None
        ground = rgb(style.bgcolor.get_truecolor().hex)
        assert contrast(rgb(style.color.get_truecolor().hex), ground) >= MIN_CONTRAST


async def test_a_failed_state_is_red() -> None:
    hand = Hand()
    pane = a_pane(hand)
    async with running(pane, (40, 4)):
        pane.header("Mika", "", "✗ quota exceeded", "")
        hand.turn_until_clean()
        [style] = {segment.style for segment in pane.render_line(0) if "quota" in segment.text}
        assert style is not None
        assert style.color is not None
        red, green, blue = style.color.get_truecolor()  # as light as the band wants it
        assert red > max(green, blue)


async def test_ascii_terminals_get_an_ascii_header() -> None:
    hand = Hand()
    pane = a_pane(hand)
    async with running(pane, (30, 4), is_ascii=True):
        pane.header("Mika", "critic", "‖ cut", "")
        hand.turn_until_clean()
        assert header(pane) == '#Mika - critic          " cut'


@pytest.mark.parametrize("size", [(1, 1), (3, 1), (7, 2), (8, 2), (20, 5)])
async def test_it_works_at_any_size(size: tuple[int, int]) -> None:
    hand = Hand()
    pane = a_pane(hand, has_divider=True)
    async with running(pane, size) as pilot:
        pane.header("老王", "model", "● 41 tok/s", "#fff")
        pane.text_added("a", "words\n\n" * 20)
        hand.turn_until_clean()
        await pilot.press("up")
        strips = pane.render_lines(pane.outer_size.region)
        assert [strip.cell_length for strip in strips] == [size[0]] * size[1]
