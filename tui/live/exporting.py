"""``/export``: writes what was said to a file, from rooms, chats and voice rooms alike."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from agent_tui.model.errors import AgentTuiError
from agent_tui.model.inert import inert_line
from tui.live.commands import NotDone
from tui.live.composer import Writing
from tui.screens.localised import localised
from tui.screens.words import say

if TYPE_CHECKING:
    from tui.cli.export.document import Exported

    Read = Callable[[], Awaitable[Exported]]

MOST_WORDS: Final = 6  # of a title, in the name of a file
MOST_FILES: Final = 100  # of one title in a folder
MAX_NAME_CHARACTERS: Final = 60
FORMS: Final[Mapping[str, Literal["md", "html", "srt"]]] = {".html": "html", ".htm": "html", ".srt": "srt"}
ENDINGS: Final = ("", ".md", ".markdown", ".txt", ".json", *FORMS)
MAX_TOLD_CHARACTERS: Final = 300


def export(name: str, title: str, read: Read, composer: Writing) -> Coroutine[Any, Any, None]:
    """Return the writing of what ``read`` returns to a new file: ``name``, else one named by the title. It
    says so in the end. Both raise ``NotDone``.
    """
    path = path_for_export(name, title)
    if path.suffix.lower() not in ENDINGS:
        raise NotDone(say("command.export.ending", ending=inert_line(path.suffix, MAX_NAME_CHARACTERS)))
    if os.path.lexists(path):
        raise NotDone(say("command.exists", file=inert_line(str(path), MAX_TOLD_CHARACTERS)))
    return _write(path, read, composer)


async def _write(path: Path, read: Read, composer: Writing) -> None:
    try:
        exported = await read()
        await asyncio.to_thread(_write_document, path, exported)  # thousands of messages take seconds
    except AgentTuiError as error:
        raise NotDone(localised(error)) from error
    composer.tell(say("command.exported", file=inert_line(str(path), MAX_TOLD_CHARACTERS)))


def _write_document(path: Path, exported: Exported) -> None:
    # Lazy: loaded only for an export.
    from tui.cli.export.document import check_spoken, rendered, write_file
    from tui.cli.output import json_line

    ending = path.suffix.lower()
    document, fields = exported
    if ending == ".srt":
        check_spoken(exported)
    text = json_line(fields) + "\n" if ending == ".json" else rendered(document, FORMS.get(ending, "md"))
    write_file(path, text)


def path_for_export(name: str, title: str) -> Path:
    """Return the file to write to: the one that was named, else a new one named by the title."""
    if name:
        return written_path(name)
    words = re.findall(r"\w+", title)[:MOST_WORDS]
    stem = "-".join(words)[:MAX_NAME_CHARACTERS].strip("-") or "export"
    names = (f"{stem}{number}.md" for number in ("", *(f"-{place}" for place in range(2, MOST_FILES))))
    return next((path for path in map(Path, names) if not os.path.lexists(path)), Path(f"{stem}.md"))


def written_path(written: str) -> Path:
    """Return the path that was written; an unknown "~user" is kept as it is."""
    try:
        return Path(written).expanduser()
    except RuntimeError:
        return Path(written)
