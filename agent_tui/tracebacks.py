"""Tracebacks without the texts of exceptions: those may contain words of a conversation, which no log may
have.
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # the command line logs, too, and does not need it
    import asyncio

MAX_ERRORS = 20  # of a chain, or of a group

log = logging.getLogger(__name__)


class WordlessFormatter(logging.Formatter):
    """Logs the type of an exception and where it was raised."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record's line and, below it, its exception.

        Only the first line of asyncio's own messages: the others show tasks with what they raised.
        """
        if record.name == "asyncio" and not record.args:
            record = logging.makeLogRecord({**record.__dict__, "msg": str(record.msg).partition("\n")[0]})
        record.exc_text = None  # another formatter may have left its own version there
        return super().format(record)

    def formatException(self, ei: Any) -> str:  # noqa: N802 - the library's name
        """Return the classes and places of the exception and its causes."""
        return "\n".join(place for error in _chain(ei[1]) for place in _places(error))


def log_unhandled(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Log an event loop's message about an exception that was never retrieved (``set_exception_handler``)."""
    log.error("%s", context.get("message", "an exception"), exc_info=context.get("exception"))


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    waiting, seen = [error], set[int]()
    while waiting and len(seen) < MAX_ERRORS:
        error = waiting.pop(0)
        if error is None or id(error) in seen:
            continue
        seen.add(id(error))
        yield error
        waiting.append(error.__cause__ or (None if error.__suppress_context__ else error.__context__))
        if isinstance(error, BaseExceptionGroup):
            waiting += error.exceptions


def _places(error: BaseException) -> Iterator[str]:
    yield f"{type(error).__module__}.{type(error).__qualname__}"
    for frame, line in traceback.walk_tb(error.__traceback__):
        yield f"  {frame.f_code.co_filename}:{line} in {frame.f_code.co_qualname}"
