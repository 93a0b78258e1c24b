"""``python -P -m agent_tui.backend embedded|serve …``; for exit codes see cli.md."""

from __future__ import annotations

import contextlib
import gc
import logging
import os
import sys
from typing import NoReturn

gc.disable()  # what is imported stays: looking for cycles in it would take a sixth of the start

from agent_tui.backend.options import parse  # noqa: E402
from agent_tui.backend.process import run  # noqa: E402
from agent_tui.model.errors import AgentBusy, AgentTuiError, DiskFull, StoreFull  # noqa: E402
from agent_tui.model.inert import inert_line  # noqa: E402

gc.freeze()
gc.enable()

OK = 0
BUG = 1
WRONG_USAGE = 2
INTERRUPTED = 3
FULL = 4
BUSY = 6
MAX_LINE_CHARACTERS = 1000

log = logging.getLogger(__name__)


def main(arguments: list[str]) -> int:
    """Run the backend; return its exit code. Whatever goes wrong is one line on stderr."""
    logging.getLogger().addHandler(logging.NullHandler())  # else tracebacks go to stderr without a log file
    try:
        run(parse(arguments))
    except AgentBusy as error:
        return _say(error, BUSY)
    except (DiskFull, StoreFull) as error:
        return _say(error, FULL)
    except AgentTuiError as error:
        return _say(error, WRONG_USAGE)
    except KeyboardInterrupt:  # before the process handles signals
        return INTERRUPTED
    except Exception as error:  # catches whatever nothing else caught
        log.exception("the backend failed")
        return _say(error, BUG)
    return OK


def _say(error: Exception, code: int) -> int:
    # The text of other errors may contain words of a conversation; the log has where they were raised.
    line = str(error) if isinstance(error, AgentTuiError) else f"internal error: {type(error).__name__}"
    with contextlib.suppress(OSError):  # a full disk: the code says it, too
        sys.stderr.write(f"agent-tui: {inert_line(line, MAX_LINE_CHARACTERS)}\n")
    return code


def _leave(code: int) -> NoReturn:
    """End the process at once: everything of ours is closed, and unloading the models' SDKs would take a
    second in which no other process could use the database.
    """
    logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError):  # its reader may have gone
            stream.flush()
    os._exit(code)


if __name__ == "__main__":
    _leave(main(sys.argv[1:]))
