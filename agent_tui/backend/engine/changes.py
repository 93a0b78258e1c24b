"""Which rooms changed since a cursor: a list of rooms waits for this instead of asking again and again.

All of it is in memory. A cursor contains the id of its process, so after a restart everything counts as
changed.
"""

from __future__ import annotations

import asyncio
import re
import secrets
from dataclasses import dataclass

from agent_tui.backend.store.rows import StoredFrame
from agent_tui.model.events import (
    ConversationChanged,
    MessageSpoken,
    RunCompleted,
    RunFailed,
    RunPaused,
    RunStarted,
)
from agent_tui.wire.log import event_name

STREAM_SECONDS = 1.0  # a streaming room counts as changed at most this often
MAX_REMOVED = 1_000  # deleted rooms that are remembered; older cursors get everything
# What a list shows at once; all other events are streaming.
_AT_ONCE = frozenset(map(event_name, (RunStarted, RunPaused, RunCompleted, RunFailed)))
# The first events of a chat, which no list of rooms shows.
_OF_CHATS = frozenset(map(event_name, (ConversationChanged, MessageSpoken)))
_CURSOR = re.compile(r"([0-9a-f]{16})-([0-9]{1,18})")


@dataclass(frozen=True, slots=True)
class News:
    """Ids of the rooms that changed and of those that were deleted; ``is_all``: forget all earlier news."""

    changed: tuple[str, ...]
    removed: tuple[str, ...]
    cursor: str
    is_all: bool = False


class Changes:
    """Counts the changes of all rooms; for use in one event loop."""

    def __init__(self, stream_seconds: float = STREAM_SECONDS) -> None:
        self._stream_seconds = stream_seconds
        self._epoch = secrets.token_hex(8)
        self._count = 0
        self._changed: dict[str, int] = {}  # in the order of their changes, newest last
        self._removed: dict[str, int] = {}
        self._forgotten = 0  # the newest change that is no longer in either
        self._quiet_timers: dict[str, asyncio.TimerHandle] = {}  # of rooms that were reported a moment ago
        self._streamed: set[str] = set()  # those of them that streamed since
        self._chats: set[str] = set()
        self._news = asyncio.Event()
        self._closed = False

    @property
    def cursor(self) -> str:
        """A snapshot of everything that happened so far."""
        return f"{self._epoch}-{self._count}"

    def publish(self, frames: list[StoredFrame]) -> None:
        """Note frames of one room: at once if they begin or end a run, else now and then."""
        room_id = frames[0].room_id
        if any(frame.name in _OF_CHATS for frame in frames):
            self._chats.add(room_id)
        if room_id in self._chats:
            return
        if any(frame.name in _AT_ONCE for frame in frames):
            self.note(room_id)
        elif room_id in self._quiet_timers:
            self._streamed.add(room_id)
        elif not self._closed:
            self._start_timer(room_id)
            self.note(room_id)

    def note(self, room_id: str) -> None:
        """Note that the room was made or changed."""
        self._streamed.discard(room_id)
        self._count += 1
        self._changed.pop(room_id, None)
        self._changed[room_id] = self._count
        self._tell()

    def remove(self, room_id: str) -> None:
        """Note that the room was deleted."""
        self._count += 1
        self._changed.pop(room_id, None)
        self._streamed.discard(room_id)
        self._removed[room_id] = self._count
        if len(self._removed) > MAX_REMOVED:
            oldest = next(iter(self._removed))
            self._forgotten = self._removed.pop(oldest)
        self._tell()

    async def wait(self, cursor: str, seconds: float) -> News:
        """Return what happened since ``cursor``, waiting for it at most this long; without it, everything."""
        seen = self._count_in(cursor)
        if seen is None:
            return News((), (), self.cursor, is_all=True)
        try:
            async with asyncio.timeout(seconds):
                while self._count == seen and not self._closed:
                    await self._news.wait()
        except TimeoutError:
            pass
        return News(_since(self._changed, seen), _since(self._removed, seen), self.cursor)

    def close(self) -> None:
        """End all waiting, now and in future."""
        self._closed = True
        for timer in self._quiet_timers.values():
            timer.cancel()
        self._quiet_timers.clear()
        self._tell()

    def _count_in(self, cursor: str) -> int | None:
        match = _CURSOR.fullmatch(cursor)
        if match is None or match[1] != self._epoch:
            return None
        seen = int(match[2])
        return seen if self._forgotten <= seen <= self._count else None

    def _start_timer(self, room_id: str) -> None:
        loop = asyncio.get_running_loop()
        self._quiet_timers[room_id] = loop.call_later(self._stream_seconds, self._note_late, room_id)

    def _note_late(self, room_id: str) -> None:
        del self._quiet_timers[room_id]
        if room_id in self._streamed:
            self._start_timer(room_id)
            self.note(room_id)

    def _tell(self) -> None:
        # Current waiters hold this event; later ones wait for the next change.
        self._news.set()
        self._news = asyncio.Event()


def _since(places: dict[str, int], seen: int) -> tuple[str, ...]:
    """Return the ids after change number ``seen``, oldest first; costs no more than their number."""
    ids = []
    for room_id in reversed(places):
        if places[room_id] <= seen:
            break
        ids.append(room_id)
    return tuple(reversed(ids))
