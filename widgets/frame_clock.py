"""The one clock that says when panes draw: at once after a pause, then at most thirty times a second."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from time import monotonic
from typing import Any, Final, Protocol

from textual.app import App

FRAME_SECONDS: Final = 1 / 30


class Pane(Protocol):
    """What the clock draws."""

    @property
    def is_shown(self) -> bool:
        """Whether anything of it can be seen now."""
        ...

    def draw(self) -> bool:
        """Draw what is new; return whether work was left for the next frame."""
        ...


class Scheduled(Protocol):
    """A call that was asked for."""

    def cancel(self) -> None:
        """Forget it."""
        ...


class FrameClock:
    """Collects the panes that have something new and draws them together.

    Nothing is scheduled while nothing is new. Panes that cannot be seen are dropped: they draw when they are
    shown again. While ``is_behind`` says that the terminal has not taken the last frame, frames are skipped,
    so that a slow terminal delays the picture and never the program.
    """

    def __init__(
        self,
        schedule: Callable[[float, Callable[[], None]], Scheduled],
        *,
        is_behind: Callable[[], bool] = lambda: False,
        now: Callable[[], float] = monotonic,
        frame_seconds: float = FRAME_SECONDS,
    ) -> None:
        """``schedule(seconds, callback)`` calls back once; ``now`` is in seconds, from any start."""
        self._schedule = schedule
        self._is_behind = is_behind
        self._now = now
        self._frame_seconds = frame_seconds
        self._panes: dict[Pane, None] = {}
        self._next: Scheduled | None = None
        self._last_frame = now() - frame_seconds
        self._is_stopped = False

    @classmethod
    def for_app(cls, app: App[Any]) -> FrameClock:
        """Return the clock of an app: frames run in its message loop, which shows what fails."""

        def schedule(seconds: float, callback: Callable[[], None]) -> Scheduled:
            return asyncio.get_running_loop().call_later(seconds, app.call_later, callback)

        return cls(schedule, is_behind=lambda: terminal_is_behind(app))

    def mark(self, pane: Pane) -> None:
        """Have ``pane`` drawn with the next frame. O(1): meant to be called for every chunk."""
        self._panes[pane] = None
        if self._next is None and not self._is_stopped:
            self._ask(max(0.0, self._last_frame + self._frame_seconds - self._now()))

    def stop(self) -> None:
        """Draw nothing until ``start``: before the terminal is lent to another program."""
        self._is_stopped = True
        if self._next is not None:
            self._next.cancel()
            self._next = None

    def start(self) -> None:
        """Draw again, beginning with what came meanwhile."""
        self._is_stopped = False
        if self._panes and self._next is None:
            self._ask(0.0)

    def tick(self) -> None:
        """Draw one frame."""
        self._next = None
        if self._is_stopped:
            return
        self._last_frame = self._now()
        if not self._is_behind():
            panes, self._panes = self._panes, {}
            for pane in panes:
                if pane.is_shown and pane.draw():
                    self._panes[pane] = None
        if self._panes:
            self._ask(self._frame_seconds)

    def _ask(self, seconds: float) -> None:
        self._next = self._schedule(seconds, self.tick)


def terminal_is_behind(app: App[Any]) -> bool:
    """Whether output is still waiting for the terminal.

    Textual's driver writes through a queue of thirty entries whose ``put`` blocks the event loop when it is
    full. The queue is private and has no public twin, so it is looked up here alone and its absence means
    "not behind".
    """
    writer = getattr(getattr(app, "_driver", None), "_writer_thread", None)
    queue = getattr(writer, "_queue", None)
    size = getattr(queue, "qsize", None)
    return size is not None and size() > 0
