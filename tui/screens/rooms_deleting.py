"""Deletions of rooms that can be taken back for a while."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from textual.screen import Screen
from textual.timer import Timer

from tui.screens.rooms_acts import RoomActs
from tui.screens.rooms_texts import Mark

UNDO_SECONDS: Final = 10.0


class Deletions:
    """What is to be deleted and when; the server is told only then."""

    def __init__(self, screen: Screen[None], acts: RoomActs, delete: Callable[[str], None]) -> None:
        """``delete`` has a room deleted when its time has come."""
        self._screen = screen
        self._acts = acts
        self._delete = delete
        self._timers: dict[str, Timer] = {}  # newest last

    def __len__(self) -> int:
        """How many can be taken back."""
        return len(self._timers)

    def __contains__(self, room_id: str) -> bool:
        """Whether a room is to be deleted."""
        return room_id in self._timers

    def add(self, room_id: str) -> None:
        """Delete a room in ten seconds."""
        self._acts.marks[room_id] = Mark(is_deleted=True)
        self._timers[room_id] = self._screen.set_timer(UNDO_SECONDS, partial(self._due, room_id))

    def undo(self) -> str:
        """Take the newest back; return which room that was, "" if there was none."""
        if not self._timers:
            return ""
        room_id, timer = self._timers.popitem()
        timer.stop()
        self._acts.marks.pop(room_id, None)
        return room_id

    async def settle(self) -> None:
        """Delete everything now: the list is left."""
        pending = list(self._timers)
        for room_id in pending:
            self._timers.pop(room_id).stop()
        for room_id in pending:
            await self._acts.delete(room_id)

    def _due(self, room_id: str) -> None:
        if self._timers.pop(room_id, None) is not None:
            self._delete(room_id)
