"""The log of ``livekit.rtc``: written to a file, without tokens, never onto the screen.

Its native part logs through the logger ``livekit``, its Python part partly through the root logger's own
functions, which would write to stderr without a handler; both contain tokens.
"""

from __future__ import annotations

import logging
from pathlib import Path

from agent_tui.private_log import PrivateLog
from agent_tui.tracebacks import WordlessFormatter
from agent_tui.wire.voice import redact

LOGGER = "livekit"
OLD_LOGS = 1
MAX_LINE_CHARACTERS = 2_000


class _Redacted(WordlessFormatter):
    def format(self, record: logging.LogRecord) -> str:
        """Return the record's line without tokens."""
        return redact(super().format(record))[:MAX_LINE_CHARACTERS]


class _NoTokens(logging.Filter):
    """Removes tokens from what is logged with the root logger itself."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = redact(record.getMessage())[:MAX_LINE_CHARACTERS], ()
        return True


_ROOT_FILTER = _NoTokens()


def keep_native_log(path: Path | None) -> None:
    """Write the log of ``livekit.rtc`` to the file at ``path``, or nowhere if it is ``None``."""
    logger = logging.getLogger(LOGGER)
    handler: logging.Handler = logging.NullHandler() if path is None else PrivateLog(path, old=OLD_LOGS)
    handler.setFormatter(_Redacted("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    for old in logger.handlers[:]:
        logger.removeHandler(old)
        old.close()
    logger.addHandler(handler)
    logger.propagate = False
    root = logging.getLogger()
    root.addFilter(_ROOT_FILTER)
    if not root.handlers:
        root.addHandler(logging.NullHandler())
