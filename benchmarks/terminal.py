"""Plays a program's terminal: reads what it writes, counts frames, presses a key, waits for its echo."""

from __future__ import annotations

import fcntl
import json
import os
import re
import select
import struct
import subprocess
import sys
import tempfile
import termios
import time
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from statistics import quantiles
from typing import Final

from benchmarks.load import Load, Report

PROGRAM_SECONDS: Final = 60.0  # longer than its feed by so much, a program is ended, whatever it does
VISIT_SECONDS: Final = 1.5  # at most, for a room to open and close
KEY_SECONDS: Final = 0.13
READ_BYTES: Final = 65536
LEAST_BYTES: Final = 64  # that a slow terminal reads at once
MOST_SECONDS: Final = 0.05  # of its line that it may read at once
# Textual asks whether the terminal can hold back half-drawn frames, our driver whether it is there.
ANSWERS: Final = {b"\x1b[?2026$p": b"\x1b[?2026;2$y", b"\x1b[5n": b"\x1b[0n", b"\x1b[c": b"\x1b[?62;22c"}
QUESTION: Final = re.compile(b"|".join(map(re.escape, ANSWERS)))
FRAME_ENDS: Final = b"\x1b[?2026l"
ECHO: Final = re.compile(rb"<<(\d+)>>")
MARK: Final = re.compile(rb"(?:mark-|last_)\d\d")
ECHO_FRAME_BYTES: Final = 200  # a frame with an echo that is smaller shows nothing else


@dataclass(slots=True)
class Seen:
    """What came to the terminal, and what the program said of itself. Times as in ``Report``."""

    report: Report = field(default_factory=Report)
    reads: list[tuple[float, int]] = field(default_factory=list)  # when, bytes
    frames: list[float] = field(default_factory=list)  # those that show more than an echo
    presses: list[float] = field(default_factory=list)
    echoes: list[float] = field(default_factory=list)  # of the first so many presses
    marks: dict[bytes, float] = field(default_factory=dict)  # when each was last written
    rest: str = ""  # behind the last frame

    @property
    def fps(self) -> float:
        """Frames a second while the feed ran."""
        return sum(map(self._is_inside, self.frames)) / self._seconds

    @property
    def bytes(self) -> int:
        """Bytes while the feed ran."""
        return sum(size for at, size in self.reads if self._is_inside(at))

    @property
    def key_p95(self) -> float:
        """Seconds from key to screen that nineteen of twenty presses stay below."""
        waits = [
            (self.echoes[number] if number < len(self.echoes) else self.report.ended) - pressed
            for number, pressed in enumerate(self.presses)
            if self._is_inside(pressed)
        ]
        return quantiles(waits, n=20)[-1]

    def marked(self, kind: str, panes: int) -> float:
        """Return the seconds from the begin of the feed until the mark of every pane was on the screen,
        infinite where one never was. ``kind`` is ``mark`` or ``last``.
        """
        seen = [at for found, at in self.marks.items() if found.startswith(kind.encode())]
        return max(seen) - self.report.began if len(seen) == panes else inf

    @property
    def _seconds(self) -> float:
        return self.report.ended - self.report.began

    def _is_inside(self, at: float) -> bool:
        return self.report.began <= at <= self.report.ended


class Player:
    """Plays one program's terminal until that program ends."""

    def __init__(self, terminal: int, load: Load) -> None:
        self.seen = Seen()
        self._terminal = terminal
        self._load = load
        self._frame = b""  # the beginning of a frame whose end is still to come
        self._taken = 0  # bytes since the terminal became slow
        self._slow_since: float | None = None

    def play(self) -> Seen:
        """Read, press keys and answer until the program ends or its time is up."""
        load = self._load
        visits = load.words * VISIT_SECONDS if load.feed == "visits" else 0.0
        deadline = time.monotonic() + PROGRAM_SECONDS + load.seconds + visits
        while time.monotonic() < deadline:
            self._press()
            size, wait = self._may_read()
            ready, _, _ = select.select([self._terminal] if size else [], [], [], wait)
            if ready:
                try:
                    data = os.read(self._terminal, size)
                except OSError:  # how a pty says that the other side is closed
                    data = b""
                if not data:
                    break
                self._read(data)
        self.seen.rest = self._frame.decode(errors="replace")
        return self.seen

    def _press(self) -> None:
        """Press the key when it is time, once the echo stands on the screen."""
        presses = self.seen.presses
        if self._load.is_watched and self._slow_since is not None:
            last = presses[-1] if presses else self._slow_since
            if time.monotonic() >= last + KEY_SECONDS:
                presses.append(time.monotonic())
                os.write(self._terminal, b"x")

    def _may_read(self) -> tuple[int, float]:
        """Return how many bytes may be read now, and how long to wait for them or for more leave."""
        rate = self._load.read_rate
        if not rate or self._slow_since is None:
            return READ_BYTES, KEY_SECONDS / 10
        leave = int(rate * (time.monotonic() - self._slow_since)) - self._taken
        if leave > MOST_SECONDS * rate:  # a line does not save up what it did not carry
            self._taken += leave - int(MOST_SECONDS * rate)
            leave = int(MOST_SECONDS * rate)
        if leave < LEAST_BYTES:
            return 0, LEAST_BYTES / rate
        return min(leave, READ_BYTES), KEY_SECONDS / 10

    def _read(self, data: bytes) -> None:
        now = time.monotonic()
        self._taken += len(data)
        self.seen.reads.append((now, len(data)))
        for question in QUESTION.findall(data):
            os.write(self._terminal, ANSWERS[question])
        *frames, self._frame = (self._frame + data).split(FRAME_ENDS)
        for frame in frames:
            self._look(frame, now)

    def _look(self, frame: bytes, now: float) -> None:
        """Take one whole frame."""
        echo = ECHO.search(frame)
        if echo:
            answered = int(echo[1])
            self.seen.echoes += [now] * (answered - len(self.seen.echoes))
            if self._slow_since is None:
                self._slow_since, self._taken = now, 0
        if not echo or len(frame) > ECHO_FRAME_BYTES:
            self.seen.frames.append(now)
        for found in MARK.findall(frame):
            self.seen.marks[found] = now


def played(load: Load) -> Seen:
    """Run the program of ``load`` in a pty; raise ``SystemExit`` when it does not report."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        terminal, inside = os.openpty()
        fcntl.ioctl(inside, termios.TIOCSWINSZ, struct.pack("HHHH", load.rows, load.columns, 0, 0))
        program = subprocess.Popen(
            [sys.executable, "-P", "-m", "benchmarks.programs", load.as_argument(), str(report)],
            stdin=inside,
            stdout=inside,
            stderr=inside,
            start_new_session=True,
            env=_environ(Path(folder)),
        )
        os.close(inside)
        try:
            seen = Player(terminal, load).play()
        finally:
            os.close(terminal)
            program.kill()  # it has ended, or its time is up
            program.wait()
        if not report.exists():
            raise SystemExit(f"{load.program} did not report; the last that it wrote:\n{seen.rest}")
        seen.report = Report(**json.loads(report.read_text(encoding="utf-8")))
        if seen.report.failure:
            raise SystemExit(seen.report.failure)
        return seen


def _environ(home: Path) -> dict[str, str]:
    """Return the environment of somebody who has set nothing up."""
    kept = {key: os.environ[key] for key in ("PATH", "VIRTUAL_ENV") if key in os.environ}
    here = str(Path(__file__).parent.parent)
    known = {"TERM": "xterm-256color", "COLORTERM": "truecolor", "LANG": "C.UTF-8", "TEXTUAL_FPS": "240"}
    return kept | known | {"HOME": str(home), "PYTHONPATH": here}
