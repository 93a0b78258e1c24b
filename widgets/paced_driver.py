"""Textual's driver, which also notes what the terminal has taken, and asks it how far it is.

The one place that builds on what Textual's Linux driver does inside: it writes through ``_file`` from a
thread of its own and ends every synchronised frame with ``CSI ?2026l``.
"""

from __future__ import annotations

from threading import Event
from time import monotonic
from typing import IO, Final

from textual.app import App
from textual.drivers.linux_driver import LinuxDriver
from textual.message import Message
from textual.messages import TerminalSupportsSynchronizedOutput

from widgets.pace import Pace

ENDS_FRAME: Final = "\x1b[?2026l"
ASKS: Final = "\x1b[?2026$p"  # whether frames can be held back: Textual reads the answer, CSI ?2026;n$y


class Tap:
    """The terminal's file, written to by the driver's thread; tells ``pace`` what was taken."""

    def __init__(self, file: IO[str], pace: Pace) -> None:
        self._file = file
        self._pace = pace
        self._written = 0

    def write(self, text: str) -> int:
        """Write ``text``; blocks while the terminal is full."""
        self._written += len(text)
        return self._file.write(text)

    def flush(self) -> None:
        """Hand everything to the terminal; blocks until it is taken."""
        self._file.flush()
        self._pace.took(self._written, monotonic())

    def fileno(self) -> int:
        """Return the file's descriptor."""
        return self._file.fileno()


class PacedDriver(LinuxDriver):
    """Keeps a ``Pace``.

    A question follows a frame when the pace allows one, so an idle screen asks nothing, and a terminal that
    did not answer Textual's own first question is never asked again (tmux before 3.7, xterm, Terminal.app).
    """

    def __init__(
        self,
        app: App[object],
        *,
        debug: bool = False,
        mouse: bool = True,
        size: tuple[int, int] | None = None,
    ) -> None:
        super().__init__(app, debug=debug, mouse=mouse, size=size)
        self.pace = Pace()
        self._file: IO[str] = Tap(self._file, self.pace)  # type: ignore[assignment]  # all that is used of it
        self._is_leaving = False
        self._is_answered = Event()
        self._is_sync_told = False

    def start_application_mode(self) -> None:
        """Take the terminal, at the start and after each suspension."""
        self._is_leaving = False
        super().start_application_mode()  # type: ignore[no-untyped-call]  # as Textual has it

    def write(self, data: str) -> None:
        """Queue ``data`` for the terminal, with a question behind it when one is due."""
        now = monotonic()
        if data == ENDS_FRAME and not self._is_leaving and self.pace.may_ask(now):
            data += ASKS
        self.pace.gave(len(data), now)
        if data.endswith(ASKS):
            self._is_answered.clear()
            self.pace.asked(now)
        super().write(data)

    def process_message(self, message: Message) -> None:
        """Pass on what the terminal said; runs in the thread that reads it, so answers are timed exactly."""
        if isinstance(message, TerminalSupportsSynchronizedOutput):
            self.pace.answered(monotonic())
            self._is_answered.set()
            if self._is_sync_told:
                return
            self._is_sync_told = True
        super().process_message(message)

    def disable_input(self) -> None:
        """Stop reading, but not before the open question is answered: the shell would get the answer."""
        self._is_leaving = True
        if seconds := self.pace.answer_due(monotonic()):
            self._is_answered.wait(seconds)
        super().disable_input()
