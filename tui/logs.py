"""The program's own log: a rotating file in the data folder, never the terminal.

It contains no words of a conversation and no secrets. Of an exception it has the type and where it was
raised.
"""

from __future__ import annotations

import io
import logging
import os
from logging.handlers import RotatingFileHandler
from pathlib import Path

from agent_tui.config.file import data_path
from agent_tui.tracebacks import WordlessFormatter

LOG_FILE = "agent-tui.log"
MAX_LOG_BYTES = 1_000_000
KEPT_LOGS = 2


def start_logging() -> None:
    """Write log records to the file from now on: our own modules from INFO, libraries from WARNING.

    Without this, Python would write the warnings of libraries to stderr: onto a screen, or after the one line
    of a command.
    """
    logging.getLogger().addHandler(_LogFile())
    for ours in ("agent_tui", "tui", "widgets"):
        logging.getLogger(ours).setLevel(logging.INFO)


def log_crash() -> Path | None:
    """Write where the exception being handled was raised; return the file, ``None`` if it cannot be."""
    file = _LogFile()
    logger = logging.getLogger("agent_tui.crash")
    logger.propagate = False
    logger.addHandler(file)
    logger.exception("the program failed")
    logger.removeHandler(file)
    file.close()
    return None if file.failed else Path(file.baseFilename)


class _LogFile(RotatingFileHandler):
    """A log file, made with its first record, for its owner alone; what cannot be written is not logged."""

    def __init__(self) -> None:
        super().__init__(data_path() / LOG_FILE, maxBytes=MAX_LOG_BYTES, backupCount=KEPT_LOGS, delay=True)
        self.failed = False
        self.setFormatter(WordlessFormatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))

    def _open(self) -> io.TextIOWrapper:
        path = Path(self.baseFilename)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        return io.TextIOWrapper(io.FileIO(descriptor, "a"), encoding="utf-8", errors="backslashreplace")

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802  the library's name
        self.failed = True
