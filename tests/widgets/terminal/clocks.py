"""A frame clock that the test turns by hand, with all that it asks about."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.widgets.apps import Hand
from widgets.terminal.frame_clock import FRAME_SECONDS, FrameClock


class FakePane:
    def __init__(self) -> None:
        self.is_shown = True
        self.frames = 0
        self.left = 0  # frames of work that remain

    def draw(self) -> bool:
        self.frames += 1
        self.left -= 1
        return self.left > 0


@dataclass(slots=True)
class Place(Hand):
    """A clock with all that it asks about."""

    line: float = 0.0
    is_watched: bool = True
    focused: FakePane | None = None
    frame_seconds: float = FRAME_SECONDS
    is_calm: bool = False
    drawn: list[int] = field(default_factory=list)  # panes drawn, frame by frame

    def clock(self) -> FrameClock:
        return FrameClock(
            self.schedule,
            is_behind=lambda: self.is_behind,
            line_seconds=lambda: self.line,
            is_watched=lambda: self.is_watched,
            focused=lambda: self.focused,
            now=lambda: self.time,
            frame_seconds=self.frame_seconds,
            is_calm=self.is_calm,
        )

    def run(self, clock: FrameClock, panes: list[FakePane], seconds: float) -> None:
        """Let everybody speak all the time, for so long."""
        end = self.time + seconds
        before = 0
        while self.time < end:
            for pane in panes:
                clock.mark(pane)
            self.turn()
            now = sum(pane.frames for pane in panes)
            self.drawn.append(now - before)
            before = now
