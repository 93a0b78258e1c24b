"""Deletions from a list that can be taken back for a while."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final, Protocol

from textual.screen import Screen
from textual.timer import Timer

from tui.lists.texts import Mark

UNDO_SECONDS: Final = 10.0


class Deletes(Protocol):
    """Asks for deletions; ``marks`` says what the screen knows of each, by its id."""

    marks: dict[str, Mark]

    async def delete(self, item_id: str) -> None: ...


class Deletions:
    """What is to be deleted and when; the server is told only then."""

    def __init__(self, screen: Screen[None], acts: Deletes, delete: Callable[[str], None]) -> None:
        """``delete`` has one deleted when its time has come."""
        self._screen = screen
        self._acts = acts
        self._delete = delete
        self._timers: dict[str, Timer] = {}  # newest last

    def __len__(self) -> int:
        """How many can be taken back."""
        return len(self._timers)

    def __contains__(self, item_id: str) -> bool:
        """Whether one is to be deleted."""
        return item_id in self._timers

    def add(self, item_id: str, undo: str) -> None:
        """Delete one in ten seconds; ``undo`` is the key that takes that back."""
        self._acts.marks[item_id] = Mark(is_deleted=True, undo=undo)
        self._timers[item_id] = self._screen.set_timer(UNDO_SECONDS, partial(self._due, item_id))

    def undo(self) -> str:
        """Take the newest back; return which one that was, "" if there was none."""
        if not self._timers:
            return ""
        item_id, timer = self._timers.popitem()
        timer.stop()
        self._acts.marks.pop(item_id, None)
        return item_id

    async def settle(self) -> None:
        """Delete everything now: the list is left."""
        pending = list(self._timers)
        for item_id in pending:
            self._timers.pop(item_id).stop()
        for item_id in pending:
            await self._acts.delete(item_id)

    def _due(self, item_id: str) -> None:
        if self._timers.pop(item_id, None) is not None:
            self._delete(item_id)
