"""What the parts of a live screen may do of it."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from textual.screen import Screen
from textual.worker import Worker

from agent_tui.model.errors import AgentTuiError
from tui.screens.localised import localised
from widgets.terminal.frame_clock import FrameClock

R = TypeVar("R")


class Host:
    """Says something to the person, opens dialogs and runs work on behalf of the parts of one screen."""

    def __init__(self, screen: Screen[Any], clock: FrameClock, show: Callable[[], None]) -> None:
        """``show`` updates headers and lines."""
        self.clock = clock
        self.screen = screen
        self._show = show

    @property
    def is_shown(self) -> bool:
        """Whether the screen has its parts, and is not being left: then some of them may be gone."""
        return self.screen.is_attached and self.screen.display

    def show_soon(self) -> None:
        """Have headers and lines updated with the next frame, once for many events."""
        self.clock.mark(self)

    def draw(self) -> bool:
        """Update headers and lines: the frame clock calls this."""
        self._show()
        return False

    def tell(self, line: str) -> None:
        """Show a toast."""
        self.screen.notify(line, markup=False)

    def warn(self, line: str) -> None:
        self.screen.notify(line, severity="warning", markup=False)

    def fail(self, error: AgentTuiError) -> None:
        self.screen.notify(localised(error), severity="error", markup=False)

    def allows(self, reason: str) -> bool:
        """Show ``reason``, why something is impossible; return whether there is none."""
        if reason:
            self.tell(reason)
        return not reason

    def open(self, dialog: Screen[R], done: Callable[[R | None], None] | None = None) -> None:
        """Open a dialog; ``done`` gets its result."""
        self.screen.app.push_screen(dialog, done)

    def run(self, group: str, work: Coroutine[Any, Any, R], *, exclusive: bool = False) -> Worker[R]:
        """Run ``work`` while the screen lives; an ``exclusive`` one cancels the others of its group."""
        return self.screen.run_worker(work, group=group, exclusive=exclusive)

    def do(self, action: str) -> None:
        """Run an action of the screen, or of the program ("app.themes"), after the current message."""
        self.screen.call_later(self.screen.run_action, action)

    def leave_program(self) -> None:
        self.screen.app.exit(0)
