"""The real program in a real terminal multiplexer, on a socket of the test's own."""

from __future__ import annotations

import os
import select
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

PATIENCE_SECONDS: Final = 90.0
ENDED: Final = "it has ended with "
LOOK_SECONDS: Final = 0.5  # the longest between two looks at a screen on which nothing happens


class Tmux:
    """One window. What the program writes wakes whoever waits: nothing is waited for by the clock."""

    def __init__(
        self, command: Sequence[str], environ: Mapping[str, str], folder: Path, columns: int, rows: int
    ) -> None:
        kept = {name: value for name, value in environ.items() if name not in ("TMUX", "TMUX_PANE")}
        self._environ = {**kept, "TMUX_TMPDIR": str(folder)}
        size = ("-x", str(columns), "-y", str(rows))
        self.do("new-session", "-d", *size, "-c", str(folder), "sleep infinity")
        fifo = folder / "written"
        os.mkfifo(fifo)
        self._written = os.open(fifo, os.O_RDWR | os.O_NONBLOCK)  # both: it never ends
        told = f'"$@"; echo "{ENDED}$?"; exec sleep infinity'  # tmux itself does not always know
        self.do("respawn-pane", "-k", "sh", "-c", told, "sh", *command)
        self.do("pipe-pane", "-O", f"exec cat > {fifo}")

    def do(self, *words: str) -> str:
        """Give a command; return what it says."""
        done = subprocess.run(
            ["tmux", "-L", "test", "-f", os.devnull, *words],
            env=self._environ,
            capture_output=True,
            text=True,
            check=False,
        )
        assert not done.returncode, (words, done.stderr)
        return done.stdout.rstrip("\n")

    @property
    def text(self) -> str:
        """What stands on the screen now."""
        return self.do("capture-pane", "-p")

    @property
    def has_rung(self) -> bool:
        """Whether the terminal's bell has rung."""
        return self.do("display-message", "-p", "#{window_bell_flag}") == "1"

    def press(self, *keys: str) -> None:
        """Press keys, named as tmux names them."""
        self.do("send-keys", *keys)

    def until(self, condition: Callable[[str], bool], seconds: float = PATIENCE_SECONDS) -> str:
        """Wait until ``condition`` holds of the screen; return that."""
        deadline = time.monotonic() + seconds
        while not condition(text := self.text):
            assert time.monotonic() < deadline, f"it never came, the screen says:\n{text}"
            self._wait_for_more()
        return text

    def press_until(self, key: str, condition: Callable[[str], bool]) -> str:
        """Press a key again and again until ``condition`` holds of the screen; return that."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not condition(text := self.text):
            assert time.monotonic() < deadline, f"{key} did nothing, the screen says:\n{text}"
            self.press(key)
            self._wait_for_more()
        return text

    def ended(self) -> int:
        """Wait until the program has ended; return its exit code, 128 and more for a signal."""
        text = self.until(lambda text: ENDED in text)
        return int(text.rpartition(ENDED)[2].split()[0])

    def _wait_for_more(self) -> None:
        """Wait until the program has written something, for a moment at most."""
        if select.select([self._written], [], [], LOOK_SECONDS)[0]:
            os.read(self._written, 1 << 20)

    def close(self) -> None:
        self.do("kill-server")
        os.close(self._written)


@contextmanager
def tmux(
    command: Sequence[str], environ: Mapping[str, str], folder: Path, *, columns: int = 100, rows: int = 30
) -> Iterator[Tmux]:
    """Run ``command``; skip the test where tmux is not installed. The path of ``folder`` is a short one."""
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed (apt: tmux)")
    opened = Tmux(command, environ, folder, columns, rows)
    try:
        yield opened
    finally:
        opened.close()
