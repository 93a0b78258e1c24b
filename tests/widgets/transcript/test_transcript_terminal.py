"""What of a transcript reaches the terminal: links of ours, bars of agents, the scroll mark."""

from __future__ import annotations

import re
from typing import Any

import pytest
from textual.pilot import Pilot

from tests.widgets.apps import CountingDriver, Hand, painted, running
from tests.widgets.drawing import screen_of
from tests.widgets.transcript.test_transcript import a_pane, lines, shown
from widgets.signs import GUTTER, SCROLL_MARK, twin

TARGET = "https://example.org/a/path/that/is/long/enough/to/be/wrapped"
OURS = re.compile(r"\x1b\]8;id=[0-9a-f]{8};https?://[!-~]+?\x1b\\([^\x1b]|\x1b\[[0-9;]*m)*\x1b\]8;;\x1b\\")
HOSTILE = (
    "[a](javascript:alert(1)) [b](https://u:p@example.org/) [c](<https://a.org/\x1b\\\x1b]52;c;eA==\x07>) "
    "[d](file:///etc/passwd) [e](https://exämple.org/) <ftp://example.org/> \x1b]8;;evil\x1b\\evil "
    "[f](https://example.org/&#27;]52;c;eA==&#7;) [g](https://example.org/&quot;)"
)


def targets(written: str) -> set[str]:
    """Return what a terminal may be asked to open."""
    return set(re.findall(r"\x1b\]8;id=[^;]*;([^\x1b]*)\x1b", written))


@pytest.mark.parametrize("no_color", ["", "1"])
async def test_links_are_opened_and_closed_on_each_row_and_are_the_same_on_every_run(
    no_color: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if no_color:
        monkeypatch.setenv("NO_COLOR", no_color)
    runs: list[str] = []
    for _ in range(2):
        hand = Hand()
        pane = a_pane(hand)

        async def act(pilot: Pilot[Any], driver: CountingDriver, hand: Hand = hand) -> None:
            driver.written = ""
            pilot.app.query_one("Transcript").text_added("a", f"see [the guide]({TARGET}) and more")  # type: ignore[attr-defined]
            hand.turn_until_clean()
            await pilot.pause()
            runs.append(driver.written)

        await painted(pane, (30, 8), act)
    assert runs[0] == runs[1]
    found = [match.group() for match in OURS.finditer(runs[0])]
    assert len(found) >= 3  # the text and the rows of the target
    assert targets(runs[0]) == {TARGET}
    assert "\x1b]" not in OURS.sub("", runs[0])


async def test_hostile_targets_are_words_and_nothing_else() -> None:
    hand = Hand()
    pane = a_pane(hand)

    async def act(pilot: Pilot[Any], driver: CountingDriver) -> None:
        driver.written = ""
        for at in range(0, len(HOSTILE), 3):
            pane.text_added("a", HOSTILE[at : at + 3])
            hand.turn()
            await pilot.pause()
        assert "\x1b]" not in OURS.sub("", driver.written)
        # What looks like a URL is one, as it is written: signs to read, nothing decoded.
        assert targets(driver.written) == {"https://example.org/&#27;]52;c;eA==&#7;"}
        assert "\x07" not in driver.written
        assert "javascript:alert(1)" in "".join(screen_of(pane)).replace(" ", "")

    await painted(pane, (60, 20), act)


async def test_the_mouse_over_a_link_paints_nothing() -> None:
    hand = Hand()
    pane = a_pane(hand)

    async def act(pilot: Pilot[Any], driver: CountingDriver) -> None:
        pane.text_added("a", f"[the guide]({TARGET})")
        hand.turn_until_clean()
        await pilot.pause()
        driver.written = ""
        for column in (20, 3, 20):
            await pilot.hover(pane, offset=(column, 1))
        await pilot.pause()
        assert driver.written == ""

    await painted(pane, (30, 8), act)


@pytest.mark.parametrize("is_ascii", [False, True])
async def test_a_message_with_a_colour_has_a_bar_on_every_row_of_its_own(is_ascii: bool) -> None:
    hand = Hand()
    pane = a_pane(hand)
    bar = twin(GUTTER) if is_ascii else GUTTER
    async with running(pane, (30, 12), is_ascii=is_ascii) as pilot:
        pane.turn_opened("a", "Mika", color="#7aa2f7", who="Mika")
        pane.text_added("a", "one\n\ntwo")
        pane.turn_closed("a", "cut")
        pane.turn_opened("b", "李", who="李")
        pane.text_added("b", "three")
        pane.turn_closed("b")
        pane.turn_opened("c", "round 2")
        pane.text_added("c", "four")
        pane.turn_closed("c")
        rows = await shown(pane, hand, pilot)
        assert rows == [
            "",
            f"{bar}Mika",
            f"{bar}one",
            bar,
            f"{bar}two",
            f"{bar}cut",
            "",
            f"{bar}李",
            f"{bar}three",
            "",
            " round 2",
            " four",
        ]
        strips = pane.render_lines(pane.outer_size.region)
        colors = {strips[row]._segments[0].style.color for row in (1, 2, 3)}  # type: ignore[union-attr]
        assert len(colors) == 1
        assert colors != {strips[7]._segments[0].style.color}  # type: ignore[union-attr]


async def test_the_scroll_mark_is_there_while_the_end_is_not_followed() -> None:
    hand = Hand()
    pane = a_pane(hand, has_divider=True)
    async with running(pane, (30, 6)) as pilot:
        pane.text_added("a", lines(1, 12))
        assert SCROLL_MARK not in "".join(await shown(pane, hand, pilot))
        await pilot.press("home")
        marked = [row[-2] == SCROLL_MARK for row in await shown(pane, hand, pilot)]
        assert marked == [True, True, False, False, False, False]
        await pilot.press("down", "down", "down")
        marked = [row[-2] == SCROLL_MARK for row in await shown(pane, hand, pilot)]
        assert marked == [False, False, True, True, False, False]
        await pilot.press("end")
        assert SCROLL_MARK not in "".join(await shown(pane, hand, pilot))


async def test_a_row_that_some_terminals_count_longer_is_painted_over_whole() -> None:
    hand = Hand()
    pane = a_pane(hand)

    async def act(pilot: Pilot[Any], driver: CountingDriver) -> None:
        for has_divider in (False, True):
            pane.canvas.divide(has_divider)
            pane.text_added("a", "\n\nहिन्दी")
            hand.turn()
            await pilot.pause()
            below = pane.canvas.lines
            pane.text_added("a", "\n\nSo.\n\nWell.")
            regions = pane.canvas.compose() or []
            covered = [region.width == 30 for region in regions if not below[region.y].is_sure]
            assert covered
            assert all(covered)

    await painted(pane, (30, 8), act)
