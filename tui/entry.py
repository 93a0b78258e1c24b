"""The program's entry: what must be there before its other modules are loaded, which takes a while."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)  # they end a command with exit code 3
INTERRUPTED = 3
WITH_VALUES = ("--output", "--url", "--token", "--backend", "--token-file")
END = '"reason":"interrupted","text":"","detail":null'


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


def end_of_nothing(arguments: Sequence[str]) -> str:
    """Return the ``--output`` of a run that ended before it began (cli.md, «Formats»); else ""."""
    words, command, form = iter(arguments), [], ""
    for word in words:
        name, has_value, value = word.partition("=")
        if name in WITH_VALUES:
            value = value if has_value else next(words, "")
            form = value if name == "--output" else form
        elif not word.startswith("-"):
            command.append(word)
    match command:
        case ["ask", *_]:
            about = '"conversation":null'
        case ["rooms", "run", *_]:
            about = '"room":null'
        case ["voice", *others] if others[:1] not in (["devices"], ["setup"]):
            about = '"room":null,"conversation":null'
        case _:
            return ""
    ends = {
        "json": f'{{{END},{about},"messages":[]}}\n',
        "stream-json": f'{{"id":null,"event":"end","data":{{{END}}}}}\n',
    }
    return ends.get(form, "")


def write_end() -> None:
    """Write that to stdout; never raises."""
    with suppress(OSError):
        os.write(1, end_of_nothing(sys.argv[1:]).encode())


def _leave(number: int, frame: FrameType | None) -> None:
    write_end()
    with suppress(OSError):
        os.write(2, b"agent-tui: interrupted\n")
    os._exit(INTERRUPTED)
