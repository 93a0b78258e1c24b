"""Texts for a chat's line from elsewhere: earlier questions, and the person's own editor."""

from __future__ import annotations

import os
import shlex
import tempfile
from pathlib import Path
from typing import Final

from textual.app import SuspendNotSupported

from agent_tui.model.inert import inert, inert_line
from tui.chat.composer import ChatComposer
from tui.live.host import Host
from tui.outside import run_outside
from tui.screens.choose import Candidate, ChooseScreen
from tui.screens.words import say

MAX_WORDS: Final = 300


def search_past(composer: ChatComposer, host: Host) -> None:
    """Search earlier questions, and write one again."""

    def chosen(text: str | None) -> None:
        if text is not None:
            composer.line.put(text)
            composer.open()

    past = [Candidate(text, inert_line(text, MAX_WORDS)) for text in reversed(composer.line.past)]
    host.open(ChooseScreen(say("chat.history"), past, ""), chosen)


async def edit_elsewhere(composer: ChatComposer) -> None:
    """Write the question in the person's own editor."""
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or ""
    try:
        command = shlex.split(editor)
    except ValueError:
        command = []
    if not command:
        composer.tell(say("chat.editor.none"))
        return
    failure = ""
    try:
        with tempfile.TemporaryDirectory(prefix="agent-tui-") as folder:
            path = Path(folder) / "question.md"
            path.write_text(composer.line.text, encoding="utf-8")
            failure = await run_outside(composer.app, [*command, str(path)])
            if not failure:
                text = path.read_text(encoding="utf-8", errors="replace")
                composer.line.put(inert(text).rstrip("\n"))
    except SuspendNotSupported:
        composer.tell(say("outside.here"))
    except OSError as error:  # the file cannot be written, or what was written cannot be read
        failure = error.strerror or str(error)
    composer.open()
    if failure:
        named = inert_line(Path(command[0]).name, 60)
        composer.tell(say("chat.editor.failed", editor=named, reason=inert_line(failure, MAX_WORDS)))
