"""The program's own log: a rotating file in the data folder, never the terminal.

It contains no words of a conversation and no secrets. Of an exception it has the type and where it was
raised.
"""

from __future__ import annotations

import logging
from pathlib import Path

from agent_tui.config.file import data_path
from agent_tui.model.errors import ConfigError
from agent_tui.private_log import PrivateLog
from agent_tui.tracebacks import WordlessFormatter

LOG_FILE = "agent-tui.log"
OLD_LOGS = 2


def start_logging() -> None:
    """Write log records to the file from now on: our own modules from INFO, libraries from WARNING.

    Without this, Python would write the warnings of libraries to stderr: onto a screen, or after the one line
    of a command.
    """
    logging.getLogger().addHandler(_log_file())
    for ours in ("agent_tui", "tui", "widgets"):
        logging.getLogger(ours).setLevel(logging.INFO)


def log_crash() -> Path | None:
    """Write where the exception being handled was raised; return the file, ``None`` if it cannot be."""
    try:
        file = _log_file()
    except ConfigError:
        return None
    logger = logging.getLogger("agent_tui.crash")
    logger.propagate = False
    logger.addHandler(file)
    logger.exception("the program failed")
    logger.removeHandler(file)
    file.close()
    return None if file.failed else Path(file.baseFilename)


def _log_file() -> PrivateLog:
    file = PrivateLog(data_path() / LOG_FILE, old=OLD_LOGS)
    file.setFormatter(WordlessFormatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    return file
