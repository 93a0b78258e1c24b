"""How soon something is there: help, the first frame, the first word, the pause.

Everything runs in a real pty against real processes, each pair in turn in one run; medians of five.
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

from tests.fakes.terminal import terminal

TIMES: Final = 5
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
                view.wait_for(lambda text: text.count("tok/s") == 3)
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


def main() -> None:
    """Print the figures, their targets and what they are compared with."""
    helps = [(run_seconds(NOTHING), run_seconds([*PROGRAM, "--help"])) for _ in range(TIMES)]
    nothing, page = (median(column) for column in zip(*helps, strict=True))
    print(
        f"  --help                      {page / nothing:4.1f} × python -c pass      (target ≤ 12 ×)  {page:.3f} s"
    )
    frames = [
        (
            shown_seconds([sys.executable, "-c", HELLO], "hello, terminal"),
            shown_seconds([*PROGRAM, "rooms"], "the backend"),
        )
        for _ in range(TIMES)
    ]
    bare, ours = (median(column) for column in zip(*frames, strict=True))
    print(
        f"  first frame                 {ours / bare:4.1f} × a bare Textual app  (target ≤ 2 ×)   {ours:.3f} s"
    )
    first = median(shown_seconds([*PROGRAM, "rooms"], lambda text: text.count("tok/s") == 3) for _ in range(TIMES))
    print(f"  start to words on screen    {first:4.2f} s                     (target ≤ 2 s)")
    pauses = pause_seconds()
    worst = max(pauses)
    print(
        f"  pause key to “paused”       {median(pauses) * 1000:4.0f} ms, worst {worst * 1000:.0f} ms     (target ≤ 200 ms)"
    )


if __name__ == "__main__":
    main()
