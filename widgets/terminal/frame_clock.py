"""The one clock that decides when panes draw: at once after a pause, then as often as the terminal can
follow.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from sys import maxsize
from time import monotonic
from typing import Any, Final, Protocol
from weakref import WeakKeyDictionary

from textual.app import App
from textual.drivers.linux_driver import LinuxDriver

from widgets.terminal.paced_driver import PacedDriver
from widgets.terminal.private import driver_of

FRAME_SECONDS: Final = 1 / 30
CALM_SECONDS: Final = 1 / 4  # between frames with reduced motion
UNWATCHED_SECONDS: Final = 1 / 4  # between frames while the terminal does not have the focus
CROWD: Final = 4  # panes beside the focused one that draw with every frame; of more than twelve, a third
BUDGET_SECONDS: Final = 0.008  # of drawing in a frame; the panes that are left come first in the next
SLACK_SECONDS: Final = 0.001  # a frame this little early counts as in time


class Pane(Protocol):
    @property
    def is_shown(self) -> bool:
        """Whether it is visible now."""

    def draw(self) -> bool:
        """Draw what is new; return whether work is left for the next frame."""


class ScheduledCall(Protocol):
    def cancel(self) -> None:
        """Cancel the callback."""


class FrameClock:
    """Collects the panes with something new and draws them together.

    Nothing is scheduled while nothing is new. Invisible panes are dropped: they draw when they are shown
    again. While ``is_behind`` says that the terminal has not taken the last frame, frames are skipped, so
    that a slow terminal delays the picture and never the program; ``line_seconds`` keeps part of a slow line
    free. What a person did (``mark(pane, now=True)``) waits for neither rate nor budget. With reduced motion
    (``is_calm``) panes draw at most four times a second, and keys still at once. Whatever moves by itself
    (carets, rates, spinners, slides) asks ``is_calm`` and stays still, or changes at most once a second.
    """

    def __init__(
        self,
        schedule: Callable[[float, Callable[[], None]], ScheduledCall],
        *,
        is_behind: Callable[[], bool] = lambda: False,
        line_seconds: Callable[[], float] = lambda: 0.0,
        line_panes: Callable[[int], int] = lambda drawn: maxsize,
        is_watched: Callable[[], bool] = lambda: True,
        focused: Callable[[], object] = lambda: None,
        now: Callable[[], float] = monotonic,
        frame_seconds: float = FRAME_SECONDS,
        is_calm: bool = False,
    ) -> None:
        """``schedule(seconds, callback)`` calls back once; ``now`` is in seconds, from any start.

        ``line_seconds``, called once a frame, returns the seconds between frames that the line needs.
        ``line_panes`` gets the number of panes that were drawn since its last call, and returns how many the
        frame may have. ``is_watched`` says whether the terminal has the focus; ``focused`` returns the pane
        to draw first.
        """
        self._schedule = schedule
        self._is_behind = is_behind
        self._line_seconds = line_seconds
        self._line_panes = line_panes
        self._is_watched = is_watched
        self._focused = focused
        self._now = now
        self._least_seconds = max(frame_seconds, CALM_SECONDS) if is_calm else frame_seconds
        self._line = 0.0
        self._drawn = 0  # panes since the last call of ``line_panes``
        self._panes: dict[Pane, None] = {}
        self._urgent: dict[Pane, None] = {}
        self._turns: WeakKeyDictionary[Pane, int] = WeakKeyDictionary()  # a greater number was drawn later
        self._turn = 0
        self._next: ScheduledCall | None = None
        self._last_frame = now() - self.interval
        self._is_stopped = False
        self.is_calm = is_calm

    @classmethod
    def for_app(
        cls, app: App[Any], *, frame_seconds: float = FRAME_SECONDS, is_calm: bool = False
    ) -> FrameClock:
        """Return the clock of an app: frames run in its message loop, which reports errors. To be called
        before the app runs: it sets the driver that knows what the terminal has taken, unless
        ``TEXTUAL_DRIVER`` did.
        """
        if app.driver_class is LinuxDriver:
            app.driver_class = PacedDriver

        def schedule(seconds: float, callback: Callable[[], None]) -> ScheduledCall:
            return asyncio.get_running_loop().call_later(seconds, app.call_later, callback)

        return cls(
            schedule,
            is_behind=lambda: terminal_is_behind(app),
            line_seconds=lambda: line_seconds(app),
            line_panes=lambda drawn: line_panes(app, drawn),
            is_watched=lambda: app.app_focus,
            focused=lambda: app.focused,
            now=time.monotonic,
            frame_seconds=frame_seconds,
            is_calm=is_calm,
        )

    def mark(self, pane: Pane, *, now: bool = False) -> None:
        """Draw ``pane`` with the next frame, in O(1). With ``now``, as soon as the terminal can take it,
        since a person is waiting.
        """
        if now:
            self._urgent[pane] = None
            self.hurry()
            return
        self._panes[pane] = None
        if self._next is None and not self._is_stopped:
            self._ask_for_frame()

    def hurry(self) -> None:
        """Compute again when the next frame is due: something made it sooner."""
        if self._is_stopped:
            return
        if self._urgent:
            self._ask(0.0)
        elif self._panes:
            self._ask_for_frame()

    @property
    def is_clean(self) -> bool:
        """Whether nothing is waiting to be drawn, or drawing is stopped."""
        return self._is_stopped or not (self._panes or self._urgent)

    def stop(self) -> None:
        """Draw nothing until ``start``: the terminal will be lent to another program."""
        self._is_stopped = True
        if self._next is not None:
            self._next.cancel()
            self._next = None

    def start(self) -> None:
        self._is_stopped = False
        if self._panes or self._urgent:
            self._ask(0.0)

    def tick(self) -> None:
        """Draw one frame: what a person did, and everything else if it is due."""
        if self._next is not None:  # another one, if ``hurry`` came too late to cancel this one
            self._next.cancel()
        self._next = None
        if self._is_stopped:
            return
        if self._is_behind():
            self._ask(FRAME_SECONDS)
            return
        start = self._now()
        urgent, self._urgent = self._urgent, {}
        for pane in urgent:
            self._draw(pane)
        late = start - self._last_frame - self.interval
        if late >= -SLACK_SECONDS:
            # Counted from when it was due; otherwise the delay of each frame would add up.
            self._last_frame = start - late if late < self._least_seconds else start
            self._line = self._line_seconds()
            self._draw_some(start)
        self.hurry()

    def _draw_some(self, start: float) -> None:
        """Draw the panes whose turn it is: the focused one first and always, then those that waited
        longest.
        """
        room = self._line_panes(self._drawn)
        self._drawn = 0
        for pane in [pane for pane in self._panes if not pane.is_shown]:
            del self._panes[pane]  # at once: otherwise an invisible pane would wait for its turn forever
        focused = self._focused()
        others = [pane for pane in self._panes if pane is not focused]
        for pane in self._panes.keys() - others:
            self._draw(pane)
            room -= 1
        others.sort(key=lambda pane: self._turns.get(pane, 0))
        # On a slow line small frames let the echo of a key through soonest.
        share = CROWD if self._line else max(CROWD, -(-len(others) // 3))
        for pane in others[: min(share, max(room, 1))]:  # otherwise the focused one might be alone forever
            self._draw(pane)
            if self._now() - start > BUDGET_SECONDS:
                return

    def _draw(self, pane: Pane) -> None:
        self._panes.pop(pane, None)
        self._turn += 1
        self._turns[pane] = self._turn
        if not pane.is_shown:
            return
        self._drawn += 1
        if pane.draw():
            self._panes[pane] = None

    @property
    def interval(self) -> float:
        """The least seconds between two frames at this moment."""
        return max(self._least_seconds, self._line, 0.0 if self._is_watched() else UNWATCHED_SECONDS)

    def _ask_for_frame(self) -> None:
        self._ask(max(0.0, self._last_frame + self.interval - self._now()))

    def _ask(self, seconds: float) -> None:
        if self._next is not None:  # what was drawn asked for it: two would each ask again, forever
            self._next.cancel()
        self._next = self._schedule(seconds, self.tick)


def terminal_is_behind(app: App[Any]) -> bool:
    """Whether output is waiting for the terminal. Our own driver knows; Textual's other drivers have a
    private queue of thirty writes, whose ``put`` blocks the event loop when it is full.
    """
    driver = driver_of(app)
    if isinstance(driver, PacedDriver):
        return driver.is_behind()
    queue = getattr(getattr(driver, "_writer_thread", None), "_queue", None)
    size = getattr(queue, "qsize", None)
    return size is not None and size() > 0


def line_seconds(app: App[Any]) -> float:
    """Return the least seconds between frames on the line to the terminal, 0 if it is fast."""
    driver = driver_of(app)
    return driver.pace.interval(monotonic()) if isinstance(driver, PacedDriver) else 0.0


def line_panes(app: App[Any], drawn: int) -> int:
    """Return how many panes a frame may draw on the line to the terminal, after ``drawn`` in the last one."""
    driver = driver_of(app)
    return driver.pace.panes(drawn, monotonic()) if isinstance(driver, PacedDriver) else maxsize
