"""Drafts, and what was sent: kept in the data folder, for its owner alone. What cannot be read is empty."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Final

from agent_tui.config.file import data_path
from agent_tui.model.errors import ConfigError
from agent_tui.whole_file import write_whole
from tui.screens.words import say

if TYPE_CHECKING:
    from textual.timer import Timer
    from textual.widget import Widget

DRAFTS: Final = "drafts"
HISTORY: Final = "history.json"
DRAFT_SECONDS: Final = 0.3  # after the first letter that was not written yet
MAX_PAST: Final = 200
MAX_PAST_CHARACTERS: Final = 200_000  # of all together
MAX_FILE_BYTES: Final = 64_000_000


def past_texts() -> list[str]:
    """Return what was sent from this machine, the newest last."""
    found = read_json(data_path() / HISTORY)
    return [text for text in found if isinstance(text, str)] if isinstance(found, list) else []


def add_past_text(text: str) -> list[str]:
    """Add to what was sent, each text once; return what is kept now."""
    past = capped([*(other for other in past_texts() if other != text), text])
    write_kept(data_path() / HISTORY, json.dumps(past, ensure_ascii=False))
    return past


class LineDraft:
    """The draft of one line, written a moment after a change; without one, another window's draft stays."""

    def __init__(self, owner: Widget, kept_as: str, text: Callable[[], str]) -> None:
        """``kept_as`` is the id of the room or chat; ``text`` returns what is written now."""
        self._owner = owner
        self._path = draft_path(kept_as)
        self._text = text
        self._known = ""  # on disk
        self._timer: Timer | None = None

    def load(self) -> str:
        """Return what was being written."""
        self._known = read_kept(self._path)
        return self._known

    def belongs_to(self, kept_as: str) -> None:
        """Keep it under another id."""
        write_kept(self._path, "")
        self._path, self._known = draft_path(kept_as), ""
        self.keep()

    def keep_soon(self) -> None:
        if self._timer is None:
            self._timer = self._owner.set_timer(DRAFT_SECONDS, self.keep)

    def keep(self) -> None:
        """Write it now; tell the person if that is impossible."""
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        text = self._text()
        if text == self._known:
            return
        if write_kept(self._path, text):
            self._known = text
        elif self._owner.is_mounted:
            self._owner.notify(say("composer.not_kept"), severity="warning", markup=False)


def draft_path(id_: str, ending: str = "") -> Path:
    """Return the file of a room or chat; its id is whatever its server says."""
    name = sha256(id_.encode("utf-8", "backslashreplace")).hexdigest()[:32]
    return data_path() / DRAFTS / f"{name}{ending}"


def capped(past: Sequence[str]) -> list[str]:
    """Return the newest of ``past`` that fit."""
    kept: list[str] = []
    room = MAX_PAST_CHARACTERS
    for text in reversed(past[-MAX_PAST:]):
        room -= len(text)
        if room < 0:
            break
        kept.append(text)
    return kept[::-1]


def read_kept(path: Path) -> str:
    """Return the text of a file; "" if it is too large or cannot be read."""
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            return ""
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def read_json(path: Path) -> object:
    """Return what a file of JSON holds; ``None`` if it cannot be read."""
    try:
        return json.loads(read_kept(path))
    except (ValueError, RecursionError):
        return None


def write_kept(path: Path, text: str) -> bool:
    """Write a file in one step, or take it away for an empty text; return whether that was possible."""
    try:
        if text:
            write_whole(path, text.encode(errors="replace"), is_private=True, is_durable=False)
        else:
            path.unlink(missing_ok=True)
    except (OSError, ConfigError):
        return False
    return True
