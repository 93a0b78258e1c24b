"""Textual's driver, which also notes what the terminal has taken, and asks it how far it is.

The one place that builds on what Textual's Linux driver does inside: it writes through ``_file`` from a
thread of its own, ends every synchronised frame with ``CSI ?2026l``, and reads keys with ``XTermParser``.
"""

from __future__ import annotations

import os
import select
from codecs import getincrementaldecoder
from threading import Event
from time import monotonic
from typing import IO, Final, Protocol

from textual._xterm_parser import XTermParser
from textual.app import App
from textual.drivers.linux_driver import LinuxDriver
from textual.message import Message
from textual.messages import TerminalSupportsSynchronizedOutput

from widgets.pace import Pace

ENDS_FRAME: Final = "\x1b[?2026l"
ASKS: Final = "\x1b[?2026$p"  # whether frames can be held back: Textual reads the answer, CSI ?2026;n$y
EARLY_SECONDS: Final = 2.0  # for answers that are still on their way when the screen begins
KEY_SECONDS: Final = 0.1  # a lone ``ESC`` is a key when nothing has come behind it for so long
READ_BYTES: Final = 4096


class EarlyInput(Protocol):
    """What came from the terminal before the screen began, and knows what may still come: an app's
    ``early_input``, if it has one.
    """

    @property
    def is_settled(self) -> bool:
        """Whether nothing but keys is to come."""
        ...

    def sift(self, data: bytes) -> bytes:
        """Return what was typed, of all that came before and of ``data``."""
        ...

    def release(self) -> bytes:
        """Return what was kept for the case that more comes."""
        ...


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
        self._was_early_read = False

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

    def run_input_thread(self) -> None:
        """Read what the terminal sends until the screen ends."""
        early: EarlyInput | None = getattr(self._app, "early_input", None)
        if early is not None and not self._was_early_read:
            self._was_early_read = True
            self._read_early(early)
        super().run_input_thread()

    def _read_early(self, early: EarlyInput) -> None:
        """Hand on what was typed before the screen began, and keep late answers from passing for keys."""
        parser = XTermParser()
        decode = getincrementaldecoder("utf-8")("replace").decode
        deadline = monotonic() + EARLY_SECONDS
        typed = early.sift(b"")
        while True:
            if text := decode(typed):
                for event in parser.feed(text):
                    self.process_message(event)
            for event in parser.tick():
                self.process_message(event)
            if not typed and (early.is_settled or monotonic() > deadline or self.exit_event.is_set()):
                return
            ready, _, _ = select.select([self.fileno], [], [], KEY_SECONDS)
            data = os.read(self.fileno, READ_BYTES) if ready else b""
            if ready and not data:  # the terminal is gone
                return
            typed = early.sift(data) if data else early.release()

    def disable_input(self) -> None:
        """Stop reading, but not before the open question is answered: the shell would get the answer."""
        self._is_leaving = True
        if seconds := self.pace.answer_due(monotonic()):
            self._is_answered.wait(seconds)
        super().disable_input()
