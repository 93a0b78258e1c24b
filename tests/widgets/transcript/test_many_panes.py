"""What sixteen panes cost together, counted instead of timed."""

from __future__ import annotations

from collections import Counter
from itertools import cycle, islice
from typing import Any

import pytest
from textual._compositor import Compositor
from textual.app import App, ComposeResult
from textual.containers import Grid
from textual.pilot import Pilot
from textual.strip import Strip

from tests.widgets.apps import CountingDriver, Hand
from tests.widgets.transcript.test_counts import counted, tokens
from widgets.layout import Layout
from widgets.transcript.message import TranscriptMessage
from widgets.transcript.transcript import Transcript
from widgets.transcript.view import View

PANES = 16
SIZE = (200, 60)
FRAMES = 40
TOKENS_PER_FRAME = 2  # of each pane: about sixty a second
# Measured plus five in a hundred: the numbers are the same on every run.
MAX_BYTES_PER_TOKEN = 160
MAX_BYTES_PER_FRAME = 19_000
MAX_STRIPS_PER_TOKEN = 1.3


class Panes(App[None]):
    """Sixteen panes in a square."""

    ENABLE_COMMAND_PALETTE = False
    CSS = "Grid { grid-size: 4 4; }"

    def __init__(self, hand: Hand) -> None:
        super().__init__()
        self.hand = hand
        clock = hand.clock()
        self.panes = [Transcript(clock=clock) for _ in range(PANES)]
        for pane in self.panes:
            pane.canvas.has_divider = True

    def compose(self) -> ComposeResult:
        with Grid():
            yield from self.panes


async def fed(app: Panes, pilot: Pilot[Any], frames: int = FRAMES) -> list[int]:
    """Stream to all panes, each at another place of the text; return the bytes of each frame."""
    driver = app._driver
    assert isinstance(driver, CountingDriver)
    feeds = [islice(cycle(tokens()), 29 * number, None) for number in range(PANES)]
    sizes: list[int] = []
    for _ in range(frames):
        before = len(driver.written)
        for pane, feed in zip(app.panes, feeds, strict=True):
            pane.text_added("a", "".join(islice(feed, TOKENS_PER_FRAME)))
        app.hand.turn()
        await pilot.pause()
        sizes.append(len(driver.written[before:].encode()))
    return sizes


@pytest.fixture
def painted_panes() -> Panes:
    app = Panes(Hand())
    app.driver_class = CountingDriver
    return app


async def test_sixteen_panes_cost_no_layout_and_bounded_strips_and_bytes(
    painted_panes: Panes, monkeypatch: pytest.MonkeyPatch
) -> None:
    reflows = counted(monkeypatch, Compositor, "reflow")
    strips = counted(monkeypatch, Strip, "__init__")
    keys: list[object] = []
    laid_out = View._laid_out

    def counting(self: View, message: TranscriptMessage, part: int, *, is_open: bool) -> Layout:
        if message.open_index(part) < 0:
            keys.append((message, message.part_key(part)))
        return laid_out(self, message, part, is_open=is_open)

    monkeypatch.setattr(View, "_laid_out", counting)

    async def act(pilot: Pilot[Any]) -> None:
        await pilot.pause()
        await fed(painted_panes, pilot, 1)
        widgets = len(painted_panes.query("*"))
        reflows.clear()
        strips.clear()
        sizes = await fed(painted_panes, pilot)
        count = FRAMES * TOKENS_PER_FRAME * PANES
        assert reflows == []
        assert len(painted_panes.query("*")) == widgets
        assert len(strips) / count <= MAX_STRIPS_PER_TOKEN
        assert sum(sizes) / count <= MAX_BYTES_PER_TOKEN
        assert max(sizes) <= MAX_BYTES_PER_FRAME
        assert set(Counter(keys).values()) == {1}
        painted_panes.exit()

    await painted_panes.run_async(headless=False, size=SIZE, auto_pilot=act)


async def test_panes_that_nobody_sees_cost_nothing_until_they_are_shown(
    painted_panes: Panes, monkeypatch: pytest.MonkeyPatch
) -> None:
    frames = counted(monkeypatch, View, "frame")
    settled = counted(monkeypatch, TranscriptMessage, "settle")
    strips = counted(monkeypatch, Strip, "__init__")

    async def act(pilot: Pilot[Any]) -> None:
        await pilot.pause()
        hidden = painted_panes.panes[1:]
        for pane in hidden:
            pane.display = False
        await pilot.pause()
        painted_panes.hand.turn_until_clean()
        await pilot.pause()
        for made in (frames, settled, strips):
            made.clear()
        for pane in hidden:
            pane.text_added("a", "said while nobody looks\n\n" * 100)
        painted_panes.hand.turn_until_clean()
        await pilot.pause()
        assert (frames, settled, strips) == ([], [], [])
        painted_panes.exit()

    await painted_panes.run_async(headless=False, size=SIZE, auto_pilot=act)
