"""The program's entry: what must be there before its other modules are loaded, which takes a while."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from contextlib import suppress
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)  # they end a command with exit code 3
INTERRUPTED = 3


def program() -> None:
    """Run the program and end the process with its exit code."""
    on_signals(_leave)
    from tui.__main__ import program as loaded  # lazy: a signal may come while it loads

    loaded()


def on_signals(received: Callable[[int, FrameType | None], object]) -> None:
    """Have ``received`` called for the signals that end a command, except those that are ignored."""
    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup does
            signal.signal(number, received)


def _leave(number: int, frame: FrameType | None) -> None:
    with suppress(OSError):
        os.write(2, b"agent-tui: interrupted\n")
    os._exit(INTERRUPTED)
