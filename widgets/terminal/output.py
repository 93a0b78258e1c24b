"""Output to the terminal: an unlimited queue, and the thread that empties it."""

from __future__ import annotations

import os
import select
from collections import deque
from collections.abc import Callable
from threading import Condition, Thread
from typing import Final

PIECE_CHARACTERS: Final = 4096  # written at once: small, so that the progress of a slow terminal is known
GONE_SECONDS: Final = 10.0  # a terminal that takes nothing for this long at the end will take nothing more
LOOK_SECONDS: Final = 0.1  # between two checks whether writing was given up


class Output(Thread):
    """Writes to a terminal without making the writer wait; nothing is lost or reordered. ``took(size)`` is
    called from this thread. It writes to a copy of the descriptor: a thread blocked in Python's ``stderr``
    would abort the interpreter, and PortAudio's binding redirects descriptor 2 for a moment.
    """

    def __init__(self, descriptor: int, encoding: str, took: Callable[[int], None]) -> None:
        super().__init__(daemon=True, name="terminal-output")
        self._descriptor = os.dup(descriptor)
        self._encoding = encoding
        self._took = took
        self._waiting: deque[str] = deque()
        self._changed = Condition()
        self._progress = 0  # pieces written
        self._is_ending = False
        self.is_given_up = False  # by ``stop``: the rest will not be written

    @property
    def is_open(self) -> bool:
        """Whether new data will be written: after ``stop`` it is not."""
        return not self._is_ending

    def write(self, text: str) -> None:
        with self._changed:
            if self._is_ending:
                return
            self._waiting.append(text)
            self._changed.notify()

    def stop(self, gone_seconds: float = GONE_SECONDS) -> None:
        """Wait until everything is written, as long as the terminal takes some of it."""
        with self._changed:
            self._is_ending = True
            self._changed.notify()
        progress = -1
        while self.is_alive() and progress != self._progress:
            progress = self._progress
            self.join(gone_seconds)
        self.is_given_up = True

    def run(self) -> None:
        try:
            while piece := self._next_piece():
                self._write_all(piece.encode(self._encoding, "backslashreplace"))
                if self.is_given_up:
                    return
                self._progress += 1
                self._took(len(piece))
        finally:
            os.close(self._descriptor)

    def _next_piece(self) -> str:
        """Return what to write next, "" at the end. Small writes are joined, large ones are split."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._is_ending)
            parts: list[str] = []
            room = PIECE_CHARACTERS
            while self._waiting and room:
                text = self._waiting.popleft()
                if len(text) > room:
                    self._waiting.appendleft(text[room:])
                parts.append(text[:room])
                room -= len(parts[-1])
            return "".join(parts)

    def _write_all(self, data: bytes) -> None:
        """Write ``data``; if the terminal is gone, it is dropped."""
        while data and not self.is_given_up:
            try:
                if select.select([], [self._descriptor], [], LOOK_SECONDS)[1]:
                    data = data[os.write(self._descriptor, data) :]
            except BlockingIOError:  # another program left the descriptor so, and was faster
                continue
            except (OSError, ValueError):
                return
