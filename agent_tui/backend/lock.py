"""The lock beside a database: one process uses it."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Self

from agent_tui.model.errors import AgentBusy, not_written

STOPPING = "stopping"
UPGRADING = "upgrading"  # programs that wait for the backend read this word: tui/runtime.py
STOPPING_SECONDS = 5.0  # how long a newcomer waits for a process that is stopping
NAME_SECONDS = 1.0  # and for one that has just taken the lock to write its name
POLL_SECONDS = 0.05
LINE_CHARACTERS = 50  # always as many, so that a full disk cannot keep a later word out


class DatabaseLock:
    """``flock`` on a file beside the database: one process per database, released by the kernel at its end.

    The file says who holds it: pid, mode, "upgrading" while that process upgrades an older database, and
    "stopping" when it has begun to stop.
    """

    def __init__(self, path: Path, mode: str) -> None:
        self._path = path
        self._mode = mode
        self._file = -1

    def __enter__(self) -> Self:
        """Take the lock; raises ``AgentBusy`` if another process holds it and is not stopping."""
        try:
            self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise not_written(f"{self._path} cannot be written", error) from error
        started_at = time.monotonic()
        while not self._try():
            holder = os.pread(self._file, 100, 0).decode("utf-8", "replace").split()
            patience = STOPPING_SECONDS if STOPPING in holder else 0.0 if holder else NAME_SECONDS
            if time.monotonic() - started_at > patience:
                os.close(self._file)
                pid, mode = [*holder, "", ""][:2]
                raise AgentBusy(
                    "Another backend uses this database",
                    f"process {pid} ({mode}) holds {self._path}" if pid else f"{self._path} is held",
                )
            time.sleep(POLL_SECONDS)
        try:
            self._write("")
        except OSError as error:
            os.close(self._file)
            raise not_written(f"{self._path} cannot be written", error) from error
        return self

    def say_stopping(self) -> None:
        """Make newcomers wait for a moment."""
        self._write(STOPPING)

    @contextlib.contextmanager
    def upgrading(self) -> Iterator[None]:
        """Make newcomers wait as long as the context is open."""
        self._write(UPGRADING)
        try:
            yield
        finally:
            self._write("")

    def __exit__(self, *_: object) -> None:
        """Release the lock; the file stays, because removing it would let two processes hold two files."""
        os.close(self._file)

    def _try(self) -> bool:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _write(self, word: str) -> None:
        line = f"{os.getpid()} {self._mode} {word}".ljust(LINE_CHARACTERS)
        os.pwrite(self._file, f"{line}\n".encode(), 0)
