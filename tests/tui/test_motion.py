"""Reduced motion: who asks for it, and what keeps still then."""

from __future__ import annotations

import pytest

from agent_tui.config.file import ScreenConfig
from tests.widgets.apps import Hand, running
from tui.app import wants_calm
from widgets.terminal.frame_clock import FrameClock
from widgets.transcript.transcript import Transcript

CARET = "▌"


@pytest.mark.parametrize(
    ("motion", "environ", "is_calm"),
    [
        ("full", {}, False),
        ("reduced", {}, True),
        ("full", {"AGENT_TUI_MOTION": "reduced"}, True),
        ("reduced", {"AGENT_TUI_MOTION": "full"}, False),
        ("full", {"TEXTUAL_ANIMATIONS": "none"}, True),
        ("full", {"TEXTUAL_ANIMATIONS": "NONE", "AGENT_TUI_MOTION": "full"}, False),
        ("full", {"TEXTUAL_ANIMATIONS": "basic"}, False),
    ],
)
def test_reduced_motion_is_asked_for_by_the_variable_the_file_or_textuals_own(
    motion: str, environ: dict[str, str], is_calm: bool
) -> None:
    assert wants_calm(ScreenConfig(motion=motion), environ) is is_calm


@pytest.mark.parametrize("is_calm", [False, True])
async def test_a_growing_text_has_a_caret_unless_motion_is_reduced(is_calm: bool) -> None:
    hand = Hand()
    pane = Transcript(clock=FrameClock(hand.schedule, now=lambda: hand.time, is_calm=is_calm))
    async with running(pane) as pilot:
        pane.text_added("turn", "words that grow")
        hand.turn_until_clean()
        await pilot.pause()
        rows = [pane.render_line(y).text for y in range(10)]
    assert any("words that grow" in row for row in rows)
    assert any(CARET in row for row in rows) is not is_calm
