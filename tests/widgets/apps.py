"""Apps around one widget, and a frame clock that the test turns by hand."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import pyte
from textual.app import App, ComposeResult
from textual.drivers.headless_driver import HeadlessDriver
from textual.filter import LineFilter
from textual.pilot import Pilot
from textual.widget import Widget

from widgets.signs import ASCII_SIGNS
from widgets.terminal.frame_clock import FrameClock, ScheduledCall

R = TypeVar("R")


@dataclass(slots=True)
class Asked:
    """A call the clock asked for."""

    seconds: float
    callback: Callable[[], None]
    is_cancelled: bool = False

    def cancel(self) -> None:
        self.is_cancelled = True


@dataclass(slots=True)
class Hand:
    """Turns a ``FrameClock``: keeps what it asked for until the test says that the time has come."""

    time: float = 100.0
    is_behind: bool = False
    asked: list[Asked] = field(default_factory=list)

    def clock(self) -> FrameClock:
        return FrameClock(self.schedule, is_behind=lambda: self.is_behind, now=lambda: self.time)

    def schedule(self, seconds: float, callback: Callable[[], None]) -> ScheduledCall:
        self.asked.append(Asked(seconds, callback))
        return self.asked[-1]

    @property
    def waiting(self) -> list[Asked]:
        return [asked for asked in self.asked if not asked.is_cancelled]

    def turn(self) -> None:
        """Let the time of everything asked for come."""
        due, self.asked = self.waiting, []
        for asked in due:
            self.time += asked.seconds
            asked.callback()

    def turn_until_clean(self) -> int:
        """Turn until nothing is asked for; return the number of frames."""
        frames = 0
        while self.waiting:
            self.turn()
            frames += 1
        return frames


class MayBeAscii(App[R]):
    """An app whose terminal has only ASCII, if ``is_ascii`` is set."""

    is_ascii = False

    def get_line_filters(self) -> Sequence[LineFilter]:
        filters = super().get_line_filters()
        return [*filters, ASCII_SIGNS] if self.is_ascii else filters


class OneWidget(MayBeAscii[None]):
    """An app that shows one widget."""

    ENABLE_COMMAND_PALETTE = False

    def __init__(self, widget: Widget, *, is_ascii: bool = False) -> None:
        super().__init__()
        self.widget = widget
        self.is_ascii = is_ascii

    def compose(self) -> ComposeResult:
        yield self.widget


@asynccontextmanager
async def running(
    widget: Widget, size: tuple[int, int] = (40, 10), *, is_ascii: bool = False
) -> AsyncIterator[Pilot[None]]:
    """Show ``widget`` alone on a screen of ``size`` (columns, rows)."""
    async with OneWidget(widget, is_ascii=is_ascii).run_test(size=size) as pilot:
        await pilot.pause()
        yield pilot


class CountingDriver(HeadlessDriver):
    """A terminal that keeps what is written to it."""

    written: str = ""
    writes: int = 0
    _terminal: tuple[pyte.Screen, pyte.Stream] | None = None
    _shown: int = 0  # characters that the terminal has got

    @property
    def is_headless(self) -> bool:
        return False  # so that Textual renders its output

    def write(self, data: str) -> None:
        self.written += data
        self.writes += 1

    def flush(self) -> None:
        """Nothing waits here."""

    def screen(self, size: tuple[int, int]) -> list[str]:
        """Return what a terminal of that size shows after all that was written, row by row."""
        if self._terminal is None:
            screen = pyte.Screen(*size)
            self._terminal = screen, pyte.Stream(screen)
        self._terminal[1].feed(self.written[self._shown :])
        self._shown = len(self.written)
        return [row.rstrip() for row in self._terminal[0].display]


async def painted(
    widget: Widget, size: tuple[int, int], act: Callable[[Pilot[Any], CountingDriver], Awaitable[None]]
) -> None:
    """Show ``widget`` on a counting terminal and call ``act`` once everything stands."""
    app = OneWidget(widget)
    app.driver_class = CountingDriver

    async def pilot_acts(pilot: Pilot[Any]) -> None:
        await pilot.pause()
        driver = app._driver
        assert isinstance(driver, CountingDriver)
        try:
            await act(pilot, driver)
        finally:
            app.exit()

    await app.run_async(headless=False, size=size, auto_pilot=pilot_acts)


async def resize(pilot: Pilot[Any], columns: int, rows: int) -> None:
    """Have a terminal of another size, and wait until the screen has taken it: it is told by a timer."""
    await pilot.resize_terminal(columns, rows)
    while pilot.app.screen.size != (columns, rows):
        await pilot.pause()
