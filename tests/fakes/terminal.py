"""A real terminal for a real program: a pty, what it was sent, and what a person would see on it."""

from __future__ import annotations

import codecs
import contextlib
import fcntl
import os
import re
import select
import signal
import struct
import termios
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pyte

PATIENCE_SECONDS = 60.0
QUIET_SECONDS = 0.2  # without anything written, after which a program counts as done with a key, at first
ASKS_SYNC = b"\x1b[?2026$p"  # Textual asks whether the terminal can hold back half-drawn frames
KNOWS_SYNC = b"\x1b[?2026;2$y"
ASKS_STATUS = b"\x1b[5n"  # what every terminal answers, too; asked behind frames
IS_WELL = b"\x1b[0n"
ASKS_IDENTITY = b"\x1b[c"  # what every terminal answers; ours asks for its background before it
IS_VT220 = b"\x1b[?62;22c"
ANSWERS = {ASKS_SYNC: KNOWS_SYNC, ASKS_STATUS: IS_WELL, ASKS_IDENTITY: IS_VT220}
LEAVES_SCREEN = b"\x1b[?1049l"
ENTERS_SCREEN = b"\x1b[?1049h"


class Terminal:
    """Runs ``command`` in a pty of ``columns`` × ``rows`` cells and plays the terminal.

    Nothing is read behind the test's back: every wait reads until its condition holds or patience ends.
    """

    def __init__(
        self, command: Sequence[str], environ: Mapping[str, str], columns: int, rows: int, folder: Path
    ) -> None:
        self.raw = bytearray()
        self._ended = False
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._screen = pyte.Screen(columns, rows)
        self._stream = pyte.Stream(self._screen)
        self._terminal, inner = os.openpty()
        self.resize(columns, rows)  # before the program can ask
        self.modes = termios.tcgetattr(inner)
        self.pid = os.fork()
        if self.pid == 0:  # the child of a fork has no other way on
            os.login_tty(inner)
            os.chdir(folder)
            kept = {key: value for key, value in environ.items() if key not in ("COLUMNS", "LINES")}
            os.execvpe(command[0], list(command), kept)  # noqa: S606
        os.close(inner)

    # --- seeing ---

    @property
    def text(self) -> str:
        """What stands on the terminal now."""
        # Not its ``display``: that fails while only the first cell of a wide letter is written over.
        rows, columns = range(self._screen.lines), range(self._screen.columns)
        return "\n".join("".join(self._screen.buffer[row][column].data for column in columns) for row in rows)

    def grounds(self, row: int) -> list[str]:
        """Return the background of each cell of a row, and whether it is reversed, as a name."""
        cells = [self._screen.buffer[row][column] for column in range(self._screen.columns)]
        return [f"{cell.bg} {cell.reverse}" for cell in cells]

    def wait_for(self, condition: str | Callable[[str], bool], seconds: float = PATIENCE_SECONDS) -> float:
        """Read until ``condition`` (words on the screen, or a question to its text) holds.

        Returns the seconds it took; raises ``AssertionError`` with the screen when it never does.
        """
        holds = condition if callable(condition) else lambda text: condition in text
        start = time.monotonic()
        while not holds(self.text):
            is_late = time.monotonic() - start > seconds
            assert not is_late, f"{condition!r} never came:\n{self.text}"
            assert not self._ended, f"{condition!r} never came, the program ended:\n{self.text}"
            self._read(0.5)
        return time.monotonic() - start

    def wait_for_bytes(self, wanted: bytes, after: int = 0) -> None:
        """Read until ``wanted`` was written behind the first ``after`` bytes."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while wanted not in self.raw[after:]:
            assert time.monotonic() < deadline, f"{wanted!r} never came:\n{self.text}"
            self._read(0.2)

    # --- doing ---

    def send(self, keys: str) -> None:
        """Type ``keys``."""
        os.write(self._terminal, keys.encode())

    def press_until(self, keys: str, condition: str, seconds: float = PATIENCE_SECONDS) -> None:
        """Type ``keys`` again and again until the words ``condition`` are on the screen.

        Never while the program still draws what the last ones did: they would pile up before a slow one.
        """
        deadline, quiet = time.monotonic() + seconds, QUIET_SECONDS
        while condition not in self.text:
            assert time.monotonic() < deadline, f"{condition!r} never came:\n{self.text}"
            assert not self._ended, f"{condition!r} never came, the program ended:\n{self.text}"
            self.send(keys)
            if not self._read(quiet):
                quiet *= 2  # the program is slow, or the keys did nothing
            while condition not in self.text and time.monotonic() < deadline and self._read(quiet):
                pass

    def resize(self, columns: int, rows: int) -> None:
        """Change the size, as a person does by dragging."""
        fcntl.ioctl(self._terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self._screen.resize(rows, columns)

    def kill(self, number: signal.Signals) -> None:
        """Send the program a signal."""
        os.kill(self.pid, number)

    def wait_for_stop(self) -> None:
        """Wait until the program is suspended."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not (state := os.waitpid(self.pid, os.WUNTRACED | os.WNOHANG))[0]:
            assert time.monotonic() < deadline, "the program was never suspended"
            self._read(0.1)
        assert os.WIFSTOPPED(state[1])

    def wait_for_end(self) -> int:
        """Wait until the program ends; return its exit code, negative for a signal."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not (state := os.waitpid(self.pid, os.WNOHANG))[0]:
            assert time.monotonic() < deadline, f"the program never ended:\n{self.text}"
            self._read(0.1)
        while self._read(0.0):
            pass
        self.pid = 0
        return os.waitstatus_to_exitcode(state[1])

    def close(self) -> None:
        """End the program if it still runs, and the terminal."""
        if self.pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self._terminal)

    def is_as_before(self) -> bool:
        """Whether the terminal's modes are those from before the program."""
        return termios.tcgetattr(self._terminal)[:4] == self.modes[:4]

    def answer(self, data: bytes) -> None:
        """Answer the questions in ``data``, which the program just wrote, in their order."""
        for question in re.findall(b"|".join(map(re.escape, ANSWERS)), data):
            os.write(self._terminal, ANSWERS[question])

    def _read(self, seconds: float) -> bool:
        """Read what is there, waiting at most ``seconds`` for it; false when there is nothing."""
        ready, _, _ = select.select([self._terminal], [], [], seconds)
        if not ready:
            return False
        try:
            data = os.read(self._terminal, 65536)
        except OSError:  # how a pty says that the other side is closed
            data = b""
        self._ended = not data
        self.raw += data
        self.answer(data)
        self._stream.feed(self._decoder.decode(data))
        return bool(data)


@contextlib.contextmanager
def terminal(
    command: Sequence[str], environ: Mapping[str, str], folder: Path, *, columns: int = 120, rows: int = 30
) -> Iterator[Terminal]:
    """Run ``command`` in a terminal and tidy up."""
    opened = Terminal(command, environ, columns, rows, folder)
    try:
        yield opened
    finally:
        opened.close()
