"""Runs the command line, and handles what nothing else caught.

A command line that asks for a screen, a help page or the version is answered without loading the other
commands (architecture.md §3): heavy imports are inside the functions that need them.
"""

from __future__ import annotations

import atexit
import gc
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import NoReturn

import agent_tui
from agent_tui.model.errors import AgentTuiError
from tui.cli import exits, output
from tui.cli.arguments import (
    COMPLETION_VARIABLE,
    Connection,
    help_page,
    hide_token,
    screen_arguments,
    take_connection,
)
from tui.entry import SIGNALS, on_signals, write_end
from tui.language import speak, wanted_language, written_language


def program() -> NoReturn:
    """Run the program with ``sys.argv`` and end the process with its exit code.

    The process ends at once. Everything of ours is closed by then, and unloading every imported module would
    take longer than many commands do.
    """
    gc.disable()  # what is imported stays: looking for cycles in it would take a sixth of the start
    on_signals(signal.default_int_handler)
    code = main()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):  # its reader may have gone
            stream.flush()
    os._exit(code)


def main() -> int:
    """Run the program with ``sys.argv``; return its exit code. No traceback ever reaches the terminal."""
    try:
        return _run_and_report()
    except KeyboardInterrupt:  # perhaps while an error is told
        for number in SIGNALS:  # a key held down does not change the exit code
            signal.signal(number, signal.SIG_IGN)
        if not output.has_begun:
            write_end()
        output.drop()  # nobody reads it, perhaps: the last flush must not wait
        output.complain("interrupted")
        return exits.PAUSED


def _run_and_report() -> int:
    """Run the program; return its exit code, after telling what it raised."""
    try:
        output.prepare_streams()
        return _run(sys.argv[1:])
    except AgentTuiError as error:
        output.complain(error)
        return exits.exit_code(error)
    except BrokenPipeError:
        output.drop()
        return exits.PAUSED
    except Exception as error:  # noqa: BLE001  the last line of defence (architecture.md §10)
        return _report_crash(error)


def _run(arguments: Sequence[str]) -> int:
    speak(wanted_language(written_language(os.environ), os.environ))
    if COMPLETION_VARIABLE in os.environ:
        from tui.cli.tree import complete

        return complete()
    connection, rest = take_connection(arguments)
    if connection.token:
        hide_token(connection.token)
    done = _shortcut(connection, rest)
    if done is not None:
        return done
    from tui.cli.tree import run

    if not gc.isenabled():  # see ``program``
        gc.freeze()
        gc.enable()
    return run(connection, rest)


def _shortcut(connection: Connection, rest: Sequence[str]) -> int | None:
    """Run a command line that needs no other code; return ``None`` for every other one."""
    page = help_page(rest)
    if page is not None:
        from tui.cli.pages import help_page as page_of

        output.write(page_of(page))
        return exits.DONE
    if rest == ["--version"]:
        output.write(f"{output.PROGRAM} {agent_tui.__version__}\n")
        return exits.DONE
    screen = screen_arguments(rest)
    if screen is not None:
        from tui.startup import open_screen

        return open_screen(connection, screen)
    if rest[:1] == ["serve"]:
        from tui.startup import serve

        serve(connection, rest[1:])
    return None


def _report_crash(error: Exception) -> int:
    from tui.logs import log_crash

    path = log_crash()
    where = f"the log says where: {path}" if path else "the log cannot be written"
    output.complain(f"internal error, {type(error).__name__}: {where}")
    return exits.BUG


if __name__ == "__main__":
    program()
