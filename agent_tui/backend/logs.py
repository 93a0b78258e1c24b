"""The backend's log: a rotating file; `serve` also writes warnings to stderr, in one line each."""

from __future__ import annotations

import logging
import sys
from logging.handlers import RotatingFileHandler
from pathlib import Path

from agent_tui.model.errors import not_written
from agent_tui.model.inert import inert_line
from agent_tui.tracebacks import WordlessFormatter

MAX_LOG_BYTES = 1024 * 1024
OLD_LOGS = 3
OURS = "agent_tui"
MAX_LINE_CHARACTERS = 500


class _OneLine(logging.Formatter):
    """The message alone, safe for a terminal; tracebacks are only in the file."""

    def format(self, record: logging.LogRecord) -> str:
        return f"agent-tui: {inert_line(record.getMessage(), MAX_LINE_CHARACTERS)}"


def _for_people(record: logging.LogRecord) -> bool:
    # Libraries warn about every broken request; those lines are for the file.
    return record.name.startswith(OURS) or record.levelno >= logging.ERROR


def start_logging(path: Path, *, stderr: bool) -> None:
    """Log to ``path``, and warnings to stderr if asked; raises ``ConfigError`` if it cannot be written."""
    try:
        file = RotatingFileHandler(path, maxBytes=MAX_LOG_BYTES, backupCount=OLD_LOGS, encoding="utf-8")
    except OSError as error:
        raise not_written(f"{path} cannot be written", error) from error
    file.setFormatter(WordlessFormatter("%(asctime)s %(process)d %(levelname)s %(name)s: %(message)s"))
    root = logging.getLogger()
    root.setLevel(logging.WARNING)
    logging.getLogger(OURS).setLevel(logging.INFO)
    root.addHandler(file)
    if stderr:
        lines = logging.StreamHandler(sys.stderr)
        lines.setLevel(logging.WARNING)
        lines.setFormatter(_OneLine())
        lines.addFilter(_for_people)
        root.addHandler(lines)
    logging.captureWarnings(True)
    logging.raiseExceptions = False  # a full disk or a closed stderr must not end the rooms
