"""``python -P -m agent_tui.voice_agent room | console --connect-addr HOST:PORT | worker [--name NAME]``.

One JSON object a line: states on standard output, the assignment on standard input (``assignment``).
"""

from __future__ import annotations

import argparse
import asyncio
import ctypes
import logging
import os
import signal
import sys
from typing import NoReturn, TextIO

# Its own turn detector would cost 243 MB, and is loaded only if it was chosen.
os.environ.setdefault("LIVEKIT_AGENTS_PRELOAD_LOCAL_INFERENCE", "0")

from agent_tui.model.errors import AgentTuiError, ConfigError, ConnectFailed
from agent_tui.model.inert import inert_line
from agent_tui.tracebacks import WordlessFormatter
from agent_tui.voice_agent.assignment import tell

OK, BUG, WRONG_USAGE, NO_SERVER = 0, 1, 2, 5
_MAX_LINE_CHARACTERS = 1000
_PDEATHSIG = 1

log = logging.getLogger(__name__)


class _Placed(logging.Filter):
    """Replaces a log line of LiveKit's by the place where it was written: it may contain people's words, or
    tokens.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Replace the message; exceptions lose theirs in the formatter."""
        if record.name.partition(".")[0] == "livekit":
            record.msg, record.args = f"{record.pathname.rpartition('/')[2]}:{record.lineno}", ()
        return True


def main(arguments: list[str]) -> int:
    """Run until told to end; return the exit code."""
    if sys.platform == "linux":  # ends with the backend, whatever kills that
        ctypes.CDLL(None).prctl(_PDEATHSIG, signal.SIGTERM)
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print must not come between our lines
    _log_to_stderr()
    options = _parsed(arguments)
    return asyncio.run(_run_to_end(options, out))


async def _run_to_end(options: argparse.Namespace, out: TextIO) -> int:
    """Run until told to end, and leave: the loop's own end would wait for threads that load models."""
    try:
        await _run(options, out)
    except ConfigError as error:
        code = _report_failure(out, error, WRONG_USAGE)
    except ConnectFailed as error:
        code = _report_failure(out, error, NO_SERVER)
    except AgentTuiError as error:
        code = _report_failure(out, error, BUG)
    except Exception as error:  # the command line's last line of defence
        log.exception("the agent failed")
        bug = AgentTuiError(f"internal error: {type(error).__name__}", "its log says where")
        code = _report_failure(out, bug, BUG)
    else:
        code = OK
    _leave(code)


def _parsed(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m agent_tui.voice_agent")
    ways = parser.add_subparsers(dest="way", required=True)
    ways.add_parser("room", help="join one room with the token on standard input")
    console = ways.add_parser("console", help="talk with the terminal that listens at an address")
    console.add_argument("--connect-addr", required=True, metavar="HOST:PORT")
    worker = ways.add_parser("worker", help="serve rooms that ask for an agent by its name")
    worker.add_argument("--name", default="")
    return parser.parse_args(arguments)


async def _run(options: argparse.Namespace, out: TextIO) -> None:
    try:
        # Two seconds of imports: errors of the command line are reported before.
        from agent_tui.voice_agent import run
    except ModuleNotFoundError as error:
        detail = (
            f"install the extra voice-agent: no {error.name}"
            if error.name
            else "install the extra voice-agent"
        )
        raise ConfigError("the libraries of the voice agent are missing", detail) from error
    if options.way == "room":
        await run.run_room(out)
    elif options.way == "console":
        await run.run_console(out, options.connect_addr)
    else:
        await run.run_worker(out, options.name)


def _log_to_stderr() -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(WordlessFormatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
    handler.addFilter(_Placed())
    logging.basicConfig(level=logging.WARNING, handlers=[handler])


def _report_failure(out: TextIO, error: AgentTuiError, code: int) -> int:
    line = inert_line(str(error), _MAX_LINE_CHARACTERS)
    tell(out, "failed", title=error.title, detail=line)
    log.error("%s", line)
    return code


def _leave(code: int) -> NoReturn:
    """End at once, without waiting for the models' threads."""
    logging.shutdown()
    os._exit(code)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
