"""Who reads which room: hands every committed frame to all of a room's readers, in memory.

A reader's queue is bounded. One that lags loses its queue, not a frame: it reads the log again from
where it was. So a client that never reads costs no memory, and the log is the only truth.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable

from agent_tui.backend.store import queries
from agent_tui.backend.store.rows import Frame
from agent_tui.backend.store.store import Store
from agent_tui.errors import NotFound, StoreError

__all__ = ["Frame", "Hub"]

PAGE_FRAMES = 500
MAX_QUEUED_FRAMES = 2_000
MAX_QUEUED_CHARACTERS = 4_000_000


class _Reader:
    """One open ``read``: what was published since it last looked. The frames are shared, not copied."""

    def __init__(self) -> None:
        self.ended = False
        self.error: StoreError | None = None
        self._news = asyncio.Event()
        self._lagging = False
        self._batches: deque[list[Frame]] = deque()
        self._frames = 0
        self._characters = 0

    @property
    def done(self) -> bool:
        """Whether nothing more will come from ``next``."""
        return self.ended and not self._news.is_set()

    def put(self, frames: list[Frame], characters: int) -> None:
        """Queue ``frames``; when that is too much, forget the queue instead, until ``next``."""
        self._news.set()
        full = (
            self._frames + len(frames) > MAX_QUEUED_FRAMES
            or self._characters + characters > MAX_QUEUED_CHARACTERS
        )
        if full and self._batches:
            self._clear()
            self._lagging = True
        if not self._lagging:
            self._batches.append(frames)
            self._frames += len(frames)
            self._characters += characters

    async def next(self, last: int) -> list[Frame] | None:
        """Wait for news; return the frames after ``last``, or None when the log must be read for them."""
        await self._news.wait()
        self._news.clear()
        frames = [frame for batch in self._batches for frame in batch if frame.seq > last]
        gap = bool(frames) and frames[0].seq != last + 1
        missed, self._lagging = self._lagging or gap, False
        self._clear()
        return None if missed else frames

    def end(self, error: StoreError | None = None) -> None:
        """Let the reader end after what is queued, with ``error`` if it is to raise that."""
        self.ended = True
        self.error = error
        self._news.set()

    def _clear(self) -> None:
        self._batches.clear()
        self._frames = self._characters = 0


class Hub:
    """All readers of all rooms. ``on_watchers`` is called with a room's id when its watchers change."""

    def __init__(self, store: Store) -> None:
        self.on_watchers: Callable[[str], None] = lambda room_id: None
        self._store = store
        self._rooms: dict[str, set[_Reader]] = {}
        self._closed = False
        store.subscribe(self.publish)

    def publish(self, frames: list[Frame]) -> None:
        """Hand on ``frames``: committed, of one room, in order."""
        readers = self._rooms.get(frames[0].room_id)
        if readers:
            characters = sum(len(frame.data) for frame in frames)
            for reader in readers:
                reader.put(frames, characters)

    async def read(self, room_id: str, after: int) -> AsyncGenerator[list[Frame], None]:
        """Yield the room's frames with a seq above ``after``: the stored ones, then live ones, without end.

        Each batch is in order and no frame is missing or doubled. Ends when the room is deleted, does not
        exist, or the hub closes. Raises ``StoreError`` when the log cannot be read or what the room says
        cannot be stored any more.
        """
        reader = _Reader()
        self._rooms.setdefault(room_id, set()).add(reader)
        self.on_watchers(room_id)
        try:
            if self._closed or not await self._exists(room_id):
                return
            last, in_log = after, True
            while in_log or not reader.done:
                if in_log:
                    frames = await self._store.read(queries.frames, room_id, last, PAGE_FRAMES)
                    in_log = len(frames) == PAGE_FRAMES
                else:
                    news = await reader.next(last)
                    in_log = news is None
                    frames = news or []
                if frames:
                    yield frames
                    last = frames[-1].seq
                    # A replay may never wait for anything: without a turn of the loop nobody else lives.
                    await asyncio.sleep(0)
            if reader.error is not None:
                raise reader.error
        finally:
            self._leave(room_id, reader)

    async def text_before(self, room_id: str, message_id: str, seq: int) -> str:
        """Return the text of that message's chunks with a smaller seq (for ``accumulated``)."""
        return await self._store.read(queries.text_before, room_id, message_id, seq)

    def watchers(self, room_id: str) -> int:
        """Return how many ``read`` of the room are open."""
        return len(self._rooms.get(room_id, ()))

    def readers(self) -> int:
        """Return how many ``read`` are open in all."""
        return sum(len(readers) for readers in self._rooms.values())

    def end(self, room_id: str, error: StoreError | None = None) -> None:
        """End the room's readers, with ``error`` if they are to raise it."""
        for reader in self._rooms.get(room_id, ()):
            reader.end(error)

    def close(self) -> None:
        """End all readers, now and later."""
        self._closed = True
        for room_id in self._rooms:
            self.end(room_id)

    async def _exists(self, room_id: str) -> bool:
        try:
            await self._store.read(queries.room, room_id)
        except NotFound:
            return False
        return True

    def _leave(self, room_id: str, reader: _Reader) -> None:
        readers = self._rooms[room_id]
        readers.discard(reader)
        if not readers:
            del self._rooms[room_id]
        self.on_watchers(room_id)
