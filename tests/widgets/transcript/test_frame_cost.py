"""What a frame of a pane that follows costs: as much as changed, whatever else is in sight."""

from __future__ import annotations

import pytest
from textual.geometry import Region

from tests.widgets.apps import Hand, running
from tests.widgets.drawing import screen_of
from tests.widgets.transcript.test_counts import counted, frames, tokens
from widgets.layout import Layout
from widgets.painter import Look, Painter
from widgets.transcript.agent_pane import AgentPane
from widgets.transcript.message import TranscriptMessage
from widgets.transcript.transcript import Transcript
from widgets.transcript.view import View

ABOVE = "".join(f"- item {number}\n" for number in range(40)) + "\nThe last block"


def test_a_frame_looks_up_each_part_in_sight_once(monkeypatch: pytest.MonkeyPatch) -> None:
    view = View()
    view.resize(60, 20)
    view.messages.append(TranscriptMessage("a", "title"))
    lookups = counted(monkeypatch, View, "layout")
    for chunk in frames(tokens()):
        view.messages[0].add(chunk)
        lookups.clear()
        assert len(lookups) <= len(view.frame())


@pytest.mark.parametrize("height", [10, 40])
async def test_a_word_more_composes_and_paints_the_row_it_stands_in(
    height: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    hand = Hand()
    pane = Transcript(clock=hand.clock())
    async with running(pane, (60, height)):
        pane.text_added("a", ABOVE)
        hand.turn_until_clean()
        lines = counted(monkeypatch, Painter, "line")
        looks = counted(monkeypatch, Look, "__init__")
        singly = counted(monkeypatch, Layout, "line")
        dirty: list[tuple[Region, ...]] = []
        monkeypatch.setattr(pane, "refresh", lambda *regions: dirty.append(regions))
        for word in (" grows", " by", " a word"):
            pane.text_added("a", word)
            hand.turn()
        assert [len(regions) for regions in dirty] == [1, 1, 1]
        assert {regions[0].y for regions in dirty} == {height - 1}
        assert (len(lines), looks) == (3, [])
        assert len(singly) == 0, "rows that were painted before are handed on in one piece"
        assert screen_of(pane)[-1].strip(" ▌") == "The last block grows by a word"


async def test_a_new_row_is_the_only_one_that_is_composed(monkeypatch: pytest.MonkeyPatch) -> None:
    hand = Hand()
    pane = Transcript(clock=hand.clock())
    async with running(pane, (60, 20)):
        pane.text_added("a", ABOVE)
        hand.turn_until_clean()
        lines = counted(monkeypatch, Painter, "line")
        pane.text_added("a", " is so long that it does not stand in one row of this pane any more")
        hand.turn()
        assert len(lines) == 2, "the row that was filled, and the one that grows now"


async def test_another_colour_or_theme_is_another_look(monkeypatch: pytest.MonkeyPatch) -> None:
    hand = Hand()
    pane = AgentPane(clock=hand.clock())
    async with running(pane, (60, 20)) as pilot:
        pane.text_added("a", ABOVE)
        hand.turn_until_clean()
        looks = counted(monkeypatch, Look, "__init__")
        pane.header("Mika", "", "", "#ff0000")
        hand.turn_until_clean()
        assert len(looks) == 1
        before = pane.render_lines(Region(0, 0, 60, 20))
        pilot.app.theme = "textual-light"
        await pilot.pause()
        after = pane.render_lines(Region(0, 0, 60, 20))
        assert [strip.text for strip in after] == [strip.text for strip in before]
        assert all(new != old for new, old in zip(after, before, strict=True))
