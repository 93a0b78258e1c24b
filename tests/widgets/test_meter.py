"""A level as a row: bar, peak, number, and what is repainted of it."""

from __future__ import annotations

import pytest
from rich.cells import cell_len
from textual.app import ComposeResult
from textual.geometry import Region

from tests.settling import settle
from tests.widgets.apps import MayBeAscii
from widgets.meter import Meter, share_of
from widgets.terminal.frame_clock import FrameClock

FRAMES_SECONDS = 0.1


class OneMeter(MayBeAscii[None]):
    """An app with a meter in it, which notes what is repainted."""

    def __init__(self, label: str = "you", *, is_ascii: bool = False) -> None:
        super().__init__()
        self.clock = FrameClock.for_app(self)
        self.is_ascii = is_ascii
        self.meter = Noted(label, clock=self.clock, label_cells=cell_len(label) + 2)

    def compose(self) -> ComposeResult:
        yield self.meter


class Noted(Meter):
    """Keeps the regions that it wants repainted."""

    repainted: list[Region] = []  # noqa: RUF012 - of the one there is

    def refresh(self, *regions: Region, **options: bool) -> Noted:
        self.repainted.extend(regions)
        return super().refresh(*regions, **options)


@pytest.mark.parametrize(("dbfs", "share"), [(-96, 0), (-60, 0), (-30, 0.5), (0, 1), (3, 1)])
def test_the_bar_is_of_sixty_decibels(dbfs: float, share: float) -> None:
    assert share_of(dbfs) == share


async def test_a_wide_label_has_a_blank_before_the_bar() -> None:
    app = OneMeter("智能体")
    async with app.run_test(size=(60, 5)):
        app.meter.show(-3.0, -3.0)
        await settle(FRAMES_SECONDS)
        assert app.meter.text.startswith(" 智能体 █")
        assert cell_len(app.meter.text) <= app.meter.size.width


async def test_a_level_is_a_bar_its_peak_and_a_number() -> None:
    app = OneMeter()
    async with app.run_test(size=(60, 5)) as pilot:
        app.meter.show(-30.0, -15.0)
        await settle(FRAMES_SECONDS)
        assert app.meter.text == " you   ████████▌····▏···  −30 dB"
        app.meter.show(-96.0, -96.0)
        await settle(FRAMES_SECONDS)
        assert app.meter.text == " you   ·················  quiet"
        app.meter.show(-3.0, 0.0, is_clipping=True)
        await settle(FRAMES_SECONDS)
        assert app.meter.text.endswith("clipping")
        app.meter.show(-3.0, 0.0, is_clipping=True, word="muted")
        await settle(FRAMES_SECONDS)
        assert app.meter.text.endswith("muted")
        await pilot.pause()


async def test_in_ascii_it_is_ascii() -> None:
    app = OneMeter(is_ascii=True)
    async with app.run_test(size=(60, 5)):
        app.meter.show(-30.0, -15.0)
        await settle(FRAMES_SECONDS)
        assert app.meter.text == " you   ########-----|---  -30 dB"
        assert app.meter.text.isascii()


async def test_only_the_cells_that_differ_are_repainted() -> None:
    app = OneMeter()
    async with app.run_test(size=(60, 5)):
        app.meter.show(-30.0, -15.0, word="talking")
        await settle(FRAMES_SECONDS)
        app.meter.repainted.clear()
        app.meter.show(-26.0, -15.0, word="talking")
        await settle(FRAMES_SECONDS)
        assert len(app.meter.repainted) == 1
        assert app.meter.repainted[0].height == 1
        assert app.meter.repainted[0].width <= 3
        app.meter.repainted.clear()
        app.meter.show(-26.01, -15.02, word="talking")  # no cell differs
        await settle(FRAMES_SECONDS)
        assert app.meter.repainted == []


async def test_beside_a_wide_label_the_cells_that_differ_are_repainted_too() -> None:
    app = OneMeter("智能体")
    async with app.run_test(size=(60, 5)):
        app.meter.show(-60.0, -60.0, word="安静")
        await settle(FRAMES_SECONDS)
        before = app.meter.render_line(0).crop(0, 8)
        app.meter.repainted.clear()
        app.meter.show(-26.0, -26.0, word="安静")
        await settle(FRAMES_SECONDS)
        (region,) = app.meter.repainted
        assert before.text == " 智能体 "
        assert region.x == 8  # where the bar begins


async def test_a_word_of_another_script_fits() -> None:
    app = OneMeter()
    async with app.run_test(size=(30, 5)):
        app.meter.show(-30.0, -15.0, word="没有信号没有信号")
        await settle(FRAMES_SECONDS)
        assert cell_len(app.meter.render_line(0).text) == app.meter.size.width
