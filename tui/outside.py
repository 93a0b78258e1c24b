"""Programs that have the terminal for themselves while the screen is away: an editor, the set-up of voice."""

from __future__ import annotations

import asyncio
import signal
import subprocess
from collections.abc import Sequence
from typing import Any

from textual.app import App

from tui.cli import output
from tui.screens.words import say


async def run_outside(app: App[Any], command: Sequence[str], *, waits_if_failed: bool = False) -> str:
    """Run a program on the terminal; return why it failed, "" if it did not. With ``waits_if_failed`` the
    person presses enter before the screen comes back, having read what the program said.

    Raises ``SuspendNotSupported`` where the screen has no terminal.
    """
    with app.batch_update(), app.suspend():  # nothing is drawn meanwhile
        before = signal.signal(signal.SIGINT, lambda *_: None)  # ctrl+c ends the program, not us
        try:
            return await asyncio.to_thread(_run, command, waits_if_failed)
        finally:
            signal.signal(signal.SIGINT, before)


def _run(command: Sequence[str], waits_if_failed: bool) -> str:
    """Never raises: an error inside Textual's ``suspend`` leaves the screen dark."""
    try:
        code = subprocess.run(command, check=False).returncode
        if code and waits_if_failed:
            output.typed_line(f"\n{say('outside.enter')} ")
    except OSError as error:
        return error.strerror or str(error)
    return say("outside.code", code=code) if code else ""
