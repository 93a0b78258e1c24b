"""Restores the terminal: whatever happens on a screen, the user gets a usable shell back."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import termios
from collections.abc import Callable, Iterator
from time import monotonic
from types import FrameType
from typing import Any, Final

from tui.cli.exits import PAUSED

# Leave the alternate screen, show the cursor, wrap lines, end mouse, focus, size and paste reporting, held
# frames and the extended keyboard, reset colours: harmless where a screen has tidied up already.
_RESET = (
    b"\x1b[?2026l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?1015l\x1b[?1016l\x1b[?1004l"
    b"\x1b[?2048l\x1b[?2004l\x1b[<u\x1b[?1049l\x1b[?7h\x1b[?25h\x1b[0m"
)
ENDING_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
ANSWER_SECONDS: Final = 0.1  # how long a program that is ended waits for each answer that the shell would get
MOST_SECONDS: Final = 0.5  # and for all of them together

Handler = Callable[[int, FrameType | None], object]


def is_terminal() -> bool:
    """Return whether a screen can be shown: keys come from a terminal and output goes to one."""
    return os.isatty(0) and os.isatty(1)


@contextlib.contextmanager
def restoring() -> Iterator[None]:
    """Restore the terminal's modes at the end, and after an error its screen, too.

    A signal that ends the program restores the modes itself, at every moment from before they are changed
    until after they are restored: an exception that it raised could be lost, or could interrupt the cleanup.
    """
    modes = termios.tcgetattr(0)

    def received(number: int, frame: FrameType | None) -> None:
        _put_back(modes)
        os._exit(PAUSED)

    with _handling(received):
        try:
            yield
        except BaseException:
            with contextlib.suppress(OSError):
                os.write(1, _RESET)
            raise
        finally:
            with contextlib.suppress(termios.error):
                termios.tcsetattr(0, termios.TCSADRAIN, modes)


@contextlib.contextmanager
def ended_by(end: Callable[[], bool]) -> Iterator[None]:
    """Have a signal that ends the program call ``end``, inside ``restoring``.

    ``end`` runs between any two steps of the program. It returns whether it arranged an orderly end; if not,
    the program ends at once.
    """
    before = {number: signal.getsignal(number) for number in ENDING_SIGNALS}

    def received(number: int, frame: FrameType | None) -> None:
        former = before[signal.Signals(number)]
        if not end() and callable(former):
            former(number, frame)

    with _handling(received):
        yield


@contextlib.contextmanager
def _handling(received: Handler) -> Iterator[None]:
    """Have ``received`` called for the signals that end a program, except those that are ignored."""
    before = {number: signal.getsignal(number) for number in ENDING_SIGNALS}
    try:
        for number, former in before.items():
            if former is not signal.SIG_IGN:
                signal.signal(number, received)
        yield
    finally:
        for number, former in before.items():
            signal.signal(number, former)


def _put_back(modes: list[Any]) -> None:
    """Restore the modes at once, and keep late answers of the terminal from the shell."""
    with contextlib.suppress(OSError, termios.error):  # the terminal is gone
        if termios.tcgetattr(0) != modes:
            deadline = monotonic() + MOST_SECONDS
            while monotonic() < deadline and select.select([0], [], [], ANSWER_SECONDS)[0]:
                if not os.read(0, 1024):
                    break
        termios.tcsetattr(0, termios.TCSANOW, modes)
