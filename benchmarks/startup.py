"""How soon something is there: help, the first frame, the first word, the pause.

Everything runs in a real pty against real processes, what is compared in turn in one run; medians of five,
of first frames medians of nine.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Final

from benchmarks.table import row, times
from tests.fakes.terminal import terminal

TIMES: Final = 5
FRAMES: Final = 9  # of each program; the backend that starts beside ours makes them differ more
PROGRAM: Final = [sys.executable, "-P", "-m", "tui"]
NOTHING: Final = [sys.executable, "-c", "pass"]
HELLO: Final = """
from textual.app import App
from textual.widgets import Static
class Hello(App):
    def compose(self):
        yield Static("hello, terminal")
Hello().run()
"""
KEPT: Final = ("PATH", "PYTHONPATH", "VIRTUAL_ENV")


def everybody_speaks(text: str) -> bool:
    """Whether all three agents of the demo room speak on a screen with ``text``."""
    return text.count("tok/s") == 3


def environ(home: Path) -> dict[str, str]:
    """Return the environment of a user who has nothing yet."""
    kept = {key: os.environ[key] for key in KEPT if key in os.environ}
    terminal_is = {"TERM": "xterm-256color", "COLORTERM": "truecolor", "LANG": "C.UTF-8"}
    return kept | terminal_is | {"HOME": str(home)}


def run_seconds(command: Sequence[str]) -> float:
    """Return how long a command takes from start to end."""
    start = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - start


def shown_seconds(command: Sequence[str], words: str | Callable[[str], bool]) -> float:
    """Return how long it takes from the start of a program until ``words`` are on its screen."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        start = time.perf_counter()
        with terminal(command, environ(home), home) as view:
            view.wait_for(words)
            seconds = time.perf_counter() - start
        stop_backend(environ(home))
    return seconds


def stop_backend(variables: Mapping[str, str]) -> None:
    """End the backend of a home, where there is one."""
    subprocess.run([*PROGRAM, "backend", "stop"], env=variables, stdout=subprocess.DEVNULL, check=False)


def pause_seconds() -> list[float]:
    """Return the times from the pause key to the word "paused" on the screen of a room that speaks."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        with terminal([*PROGRAM, "rooms"], environ(home), home) as view:
            for _ in range(TIMES):
                view.wait_for(everybody_speaks)
                start = time.perf_counter()
                view.send("p")
                view.wait_for("paused by you")
                found.append(time.perf_counter() - start)
                view.send("p")
                view.wait_for("● live")
            view.send("p")
            view.wait_for("paused by you")
        stop_backend(environ(home))
    return found


def first_frames() -> None:
    """Print how soon rooms, chats and the home screen show something, against a bare program."""
    frames = [
        (
            shown_seconds([sys.executable, "-c", HELLO], "hello, terminal"),
            shown_seconds([*PROGRAM, "rooms"], "the backend"),
            shown_seconds([*PROGRAM, "chat"], "the backend"),
            shown_seconds(PROGRAM, "What should they talk about?"),
        )
        for _ in range(FRAMES)
    ]
    bare, rooms, chat, home = (median(column) for column in zip(*frames, strict=True))
    row("first frame, against a bare Textual app", "≤ 2 ×", times(rooms / bare), f"{rooms:.2f} s")
    row("first frame of a chat, against the same", "≤ 2 ×", times(chat / bare), f"{chat:.2f} s")
    row("first frame of the home screen, against the same", "≤ 2 ×", times(home / bare), f"{home:.2f} s")


def main() -> None:
    """Print the figures, their targets and what they are compared with."""
    helps = [(run_seconds(NOTHING), run_seconds([*PROGRAM, "--help"])) for _ in range(TIMES)]
    nothing, page = (median(column) for column in zip(*helps, strict=True))
    row("--help, against python -c pass", "≤ 12 ×", times(page / nothing), f"{page * 1000:.0f} ms")
    first_frames()
    speaking = [shown_seconds([*PROGRAM, "rooms"], everybody_speaks) for _ in range(TIMES)]
    row("program start to words on screen, no backend yet", "≤ 2 s", f"{median(speaking):.2f} s")
    pauses = pause_seconds()
    worst = f"worst {max(pauses) * 1000:.0f} ms"
    row("pause key to “paused” on screen", "≤ 200 ms", f"{median(pauses) * 1000:.0f} ms", worst)


if __name__ == "__main__":
    main()
