"""The program's own log: a rotating file in the data folder, never the terminal."""

from __future__ import annotations

import logging
import logging.handlers
import os
from pathlib import Path

from agent_tui.config import data_path

LOG_FILE = "agent-tui.log"
MAX_LOG_BYTES = 1_000_000
KEPT_LOGS = 2


def log_path() -> Path:
    """Return where the log is."""
    return data_path() / LOG_FILE


def start_logging() -> None:
    """Send everything that is logged to the file; where it cannot be written, nothing is logged."""
    root = logging.getLogger()
    root.setLevel(logging.INFO)
    root.addHandler(_handler())


def log_crash() -> Path | None:
    """Write the traceback of the exception being handled; return the file, ``None`` if it cannot be."""
    handler = _handler()
    logger = logging.getLogger("agent_tui.crash")
    logger.propagate = False
    logger.addHandler(handler)
    logger.exception("the program failed")
    handler.close()
    logger.removeHandler(handler)
    return log_path() if isinstance(handler, logging.FileHandler) else None


def _handler() -> logging.Handler:
    path = log_path()
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600))
        handler = logging.handlers.RotatingFileHandler(
            path, maxBytes=MAX_LOG_BYTES, backupCount=KEPT_LOGS, encoding="utf-8", errors="backslashreplace"
        )
    except OSError:
        return logging.NullHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    return handler
