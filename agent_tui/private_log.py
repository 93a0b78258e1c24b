"""A log file of this user: of the program, and of the libraries that log in it."""

from __future__ import annotations

import io
import logging
import os
from logging.handlers import RotatingFileHandler
from pathlib import Path

MAX_LOG_BYTES = 1_000_000


class PrivateLog(RotatingFileHandler):
    """A log file, made with its first record, for its owner alone; what cannot be written is not logged."""

    def __init__(self, path: Path, *, old: int) -> None:
        """``old`` is how many earlier files are kept."""
        super().__init__(path, maxBytes=MAX_LOG_BYTES, backupCount=old, delay=True)
        self.failed = False

    def _open(self) -> io.TextIOWrapper:
        path = Path(self.baseFilename)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        return io.TextIOWrapper(io.FileIO(descriptor, "a"), encoding="utf-8", errors="backslashreplace")

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802  the library's name
        """Remember that a record could not be written; a full disk must not end the program."""
        self.failed = True
