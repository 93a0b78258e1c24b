"""A recording of what was played, or of both directions: a WAV file that can be read at any moment."""

from __future__ import annotations

import struct
from pathlib import Path
from threading import Lock
from typing import Final

import numpy as np

from agent_tui.audio.sound import SAMPLE_RATE
from agent_tui.model.errors import not_written

FLUSH_BYTES: Final = SAMPLE_RATE  # half a second of one direction: the most that a killed program loses
MAX_BYTES: Final = 2**32 - 2**20  # sizes in a WAV file have 32 bits
HEADER: Final = struct.Struct("<4sI4s4sIHHIIHH4sI")


class Recording:
    """A WAV file, 48 kHz, 16 bit: mono with what was played from its first sound on, or, ``with_microphone``,
    stereo from the beginning: left what was heard, right what was played.

    Raises ``ConfigError`` if ``path`` cannot be written. Later failures end the recording: ``problem``.
    """

    def __init__(self, path: Path, *, with_microphone: bool = False) -> None:
        self.path = path
        self.problem = ""
        self._channels = 2 if with_microphone else 1
        self._waiting = bytearray()
        self._lock = Lock()
        self._size = 0
        try:
            self._file = path.open("w+b", buffering=0)
        except OSError as error:
            raise not_written(f"{path} cannot be written", error) from error
        try:
            self._file.write(self._header())
        except OSError as error:
            self._file.close()
            raise not_written(f"{path} cannot be written", error) from error

    @property
    def has_microphone(self) -> bool:
        """Whether both directions are recorded."""
        return self._channels == 2

    @property
    def seconds(self) -> float:
        """Its length so far, in seconds."""
        return (self._size + len(self._waiting)) / (2 * self._channels * SAMPLE_RATE)

    def add(self, heard: bytes, played: bytes) -> None:
        """Add a block of both directions, of the same length. Called from any thread; nothing is written
        yet.
        """
        if self._file.closed:
            return
        if self.has_microphone:
            both = np.empty((len(played) // 2, 2), np.int16)
            both[:, 0] = np.frombuffer(heard, np.int16)
            both[:, 1] = np.frombuffer(played, np.int16)
            block = both.tobytes()
        elif self._size or self._waiting or any(played):
            block = played
        else:
            return
        with self._lock:
            self._waiting += block

    def flush(self, *, all_of_it: bool = False) -> None:
        """Write what is waiting if there is enough of it, and then the length of the file."""
        if self._file.closed or (len(self._waiting) < FLUSH_BYTES * self._channels and not all_of_it):
            return
        with self._lock:
            block, self._waiting = bytes(self._waiting), bytearray()
        try:
            self._file.seek(HEADER.size + self._size)
            rest = memoryview(block)
            while rest:
                rest = rest[self._file.write(rest) :]
            self._size += len(block)
            self._file.seek(0)
            self._file.write(self._header())
        except OSError as error:
            self._end(f"The recording ended: {error.strerror or error}")
        if self._size > MAX_BYTES:
            self._end("The recording ended: the file is as large as a WAV file can be")

    def close(self) -> None:
        """Write the rest."""
        self.flush(all_of_it=True)
        self._file.close()

    def _end(self, problem: str) -> None:
        self.problem = problem
        self._file.close()

    def _header(self) -> bytes:
        frame = 2 * self._channels
        size = self._size
        return HEADER.pack(
            *(b"RIFF", 36 + size, b"WAVE"),
            *(b"fmt ", 16, 1, self._channels, SAMPLE_RATE, SAMPLE_RATE * frame, frame, 16),
            *(b"data", size),
        )
