"""The readers of each room: passes every committed frame to all of them, in memory.

A reader's queue is limited. A slow reader loses its queue, not a frame: it reads the log again from where it
was. So a client that never reads costs no memory, and the log is the only truth. A crowd of readers gets what
comes within a moment as one batch, encoded once for all of them: a send costs far more than a frame. Only
words are delayed like that; whatever begins or ends something is sent at once.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import aclosing

from agent_tui.backend.store import reads
from agent_tui.backend.store.rows import StoredFrame
from agent_tui.backend.store.store import Store
from agent_tui.model.errors import StoreError
from agent_tui.model.events import Event, QueueChanged, StepAdded, TextAdded
from agent_tui.wire.log import event_name
from agent_tui.wire.rooms_encode import frame_bytes

__all__ = ["Batch", "Dialect", "Hub", "StoredFrame", "in_dialect", "translated"]

PAGE_FRAMES = 500
MAX_QUEUED_FRAMES = 2_000
MAX_QUEUED_CHARACTERS = 4_000_000
CROWD_READERS = 8  # with fewer, each gets every frame at once
SECONDS_PER_READER = 0.001  # between two batches for a crowd, up to …
MAX_HOLD_SECONDS = 0.1
# Events that only add to current words.
WORDS = frozenset(map(event_name, (TextAdded, StepAdded)))
MAX_HELD_FRAMES = 64  # this many are worth a send of their own


# How an event is sent: its name and data as JSON, ``None`` if it is not sent.
Dialect = Callable[[Event], tuple[str, str] | None]


class Batch(list[StoredFrame]):
    """Frames of one room in order, shared by all its readers."""

    __slots__ = ("_by_dialect", "_encoded")

    def in_dialect(self, dialect: Dialect) -> Batch:
        """Return the frames in this dialect. Computed once."""
        try:
            return self._by_dialect[dialect]
        except AttributeError:
            self._by_dialect: dict[Dialect, Batch] = {}
        except KeyError:
            pass
        self._by_dialect[dialect] = frames = Batch(translated(self, dialect))
        return frames

    def encoded(self) -> bytes:
        """Return the frames as they are sent without ``accumulated``. Computed once."""
        try:
            return self._encoded
        except AttributeError:
            self._encoded: bytes = b"".join(frame_bytes(frame.seq, frame.name, frame.data) for frame in self)
            return self._encoded


async def in_dialect(
    batches: AsyncGenerator[list[StoredFrame], None], dialect: Dialect
) -> AsyncGenerator[list[StoredFrame], None]:
    """Yield the frames of ``batches`` in this dialect, without those that it does not have."""
    async with aclosing(batches):
        async for batch in batches:
            frames = batch.in_dialect(dialect) if isinstance(batch, Batch) else translated(batch, dialect)
            if frames:
                yield frames


def translated(batch: Iterable[StoredFrame], dialect: Dialect) -> list[StoredFrame]:
    """Return frames of the log in this dialect, without those that it does not have."""
    return [
        StoredFrame(frame.room_id, frame.seq, *sent, frame.message_id)
        for frame in batch
        if (sent := frame.as_sent or dialect(frame.event)) is not None
    ]


class _Reader:
    """One open ``read``: what was published since its last look. The frames are shared, not copied."""

    def __init__(self, *, counts: bool) -> None:
        self.counts = counts
        self.ended = False
        self.error: StoreError | None = None
        self.is_changed = False  # that the room changed, which no event says
        self._news = asyncio.Event()
        self._lagging = False
        self._batches: deque[Batch] = deque()
        self._frames = 0
        self._characters = 0

    @property
    def done(self) -> bool:
        """Whether nothing more will come from ``next``."""
        return self.ended and not self._news.is_set()

    def put(self, frames: Batch, characters: int) -> None:
        """Queue ``frames``; if there are too many, drop the queue instead, until ``next``."""
        self._news.set()
        is_long = self._frames + len(frames) > MAX_QUEUED_FRAMES
        is_large = self._characters + characters > MAX_QUEUED_CHARACTERS
        if self._batches and (is_long or is_large):
            self._clear()
            self._lagging = True
        if not self._lagging:
            self._batches.append(frames)
            self._frames += len(frames)
            self._characters += characters

    async def next(self, last: int) -> list[StoredFrame] | None:
        """Wait for news; return the frames after ``last``, or ``None`` if the log must be read for them."""
        await self._news.wait()
        self._news.clear()
        if len(self._batches) == 1 and self._batches[0][0].seq == last + 1 and not self._lagging:
            batch = self._batches[0]
            self._clear()
            return batch
        frames = [frame for batch in self._batches for frame in batch if frame.seq > last]
        has_gap = bool(frames) and frames[0].seq != last + 1
        has_missed, self._lagging = self._lagging or has_gap, False
        self._clear()
        return None if has_missed else frames

    def tell(self) -> None:
        self.is_changed = True
        self._news.set()

    def end(self, error: StoreError | None = None) -> None:
        """End the reader after what is queued, with ``error`` if it is to raise that."""
        self.ended = True
        self.error = error
        self._news.set()

    def _clear(self) -> None:
        self._batches.clear()
        self._frames = self._characters = 0


class _Room:
    """The readers of one room, and what is delayed for a moment."""

    def __init__(self) -> None:
        self.readers: set[_Reader] = set()
        self._held = Batch()
        self._next_at = 0.0  # when the next batch may be sent
        self._timer: asyncio.TimerHandle | None = None

    def publish(self, frames: list[StoredFrame]) -> None:
        """Pass on ``frames``, at once or with what comes until the next batch is due."""
        self._held += frames
        readers = len(self.readers)
        may_wait = readers >= CROWD_READERS and all(frame.name in WORDS for frame in frames)
        if not may_wait or len(self._held) >= MAX_HELD_FRAMES:
            self.flush()
            return
        if self._timer is not None:
            return
        loop = asyncio.get_running_loop()
        now = loop.time()
        if now >= self._next_at:
            self._next_at = now + min(MAX_HOLD_SECONDS, readers * SECONDS_PER_READER)
            self.flush()
        else:
            self._timer = loop.call_at(self._next_at, self._send_held)

    def flush(self) -> None:
        """Pass on what is delayed."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._held:
            batch, self._held = self._held, Batch()
            characters = sum(len(frame.data) for frame in batch)
            for reader in self.readers:
                reader.put(batch, characters)

    def _send_held(self) -> None:
        self._next_at += min(MAX_HOLD_SECONDS, len(self.readers) * SECONDS_PER_READER)
        self.flush()


class Hub:
    """All readers of all rooms. ``on_watchers`` are called when a reader comes or leaves."""

    def __init__(self, store: Store) -> None:
        self.on_watchers: list[Callable[[], None]] = []
        self._store = store
        self._rooms: dict[str, _Room] = {}
        self._closed = asyncio.Event()
        store.subscribe(self.publish)

    def publish(self, frames: list[StoredFrame]) -> None:
        """Pass on ``frames``: committed, of one room, in order."""
        room = self._rooms.get(frames[0].room_id)
        if room is not None:
            room.publish(frames)

    async def read(
        self, room_id: str, after: int, *, counts: bool = True
    ) -> AsyncGenerator[list[StoredFrame], None]:
        """Yield the room's frames with a seq above ``after``: the stored ones, then live ones, without end.

        ``counts``: a person reads, not a program that we started ourselves. Each batch is in order and no
        frame is missing or doubled; ``tell`` adds a ``QueueChanged`` with seq 0. Ends when the room is
        deleted, does not exist, or the hub closes. Raises ``StoreError`` when the log cannot be read or new
        events cannot be stored anymore.
        """
        reader = _Reader(counts=counts)
        self._rooms.setdefault(room_id, _Room()).readers.add(reader)
        self._tell()
        try:
            if self._closed.is_set() or not await self._store.read(reads.exists, room_id):
                return
            last, in_log = after, True
            while in_log or not reader.done:
                if in_log:
                    frames = await self._store.read(reads.frames, room_id, last, PAGE_FRAMES)
                    in_log = len(frames) == PAGE_FRAMES
                else:
                    news = await reader.next(last)
                    in_log = news is None
                    frames = news or []
                if frames:
                    yield frames
                    last = frames[-1].seq
                    # A replay may never wait for anything: without this, no other task would run.
                    await asyncio.sleep(0)
                if reader.is_changed:
                    reader.is_changed = False
                    changed = QueueChanged(room_id)
                    yield Batch([StoredFrame(room_id, 0, event_name(QueueChanged), "", "", changed)])
            if reader.error is not None:
                raise reader.error
        finally:
            self._leave(room_id, reader)

    async def text_before(self, room_id: str, message_id: str, seq: int) -> str:
        """Return the text of that message's chunks with a smaller seq (for ``accumulated``)."""
        return await self._store.read(reads.text_before, room_id, message_id, seq)

    async def answer_start(self, room_id: str, seq: int) -> int:
        """Return the seq of the beginning of the chat's answer that contains the event ``seq``, or that it
        follows (for whole snapshots); 0 before the first.
        """
        return await self._store.read(reads.answer_start, room_id, seq)

    def readers(self) -> int:
        """Return how many ``read`` are open in total."""
        return sum(len(room.readers) for room in self._rooms.values())

    def watchers(self) -> int:
        """Return how many readers are persons: see ``read``."""
        return sum(reader.counts for room in self._rooms.values() for reader in room.readers)

    def tell(self, room_id: str) -> None:
        """Have the room's readers read the room again, since no event says what changed. It is not stored."""
        if room_id in self._rooms:
            for reader in self._rooms[room_id].readers:
                reader.tell()

    def end(self, room_id: str, error: StoreError | None = None) -> None:
        """End the room's readers; they raise ``error`` if there is one."""
        room = self._rooms.get(room_id)
        if room is not None:
            room.flush()
            for reader in room.readers:
                reader.end(error)

    async def wait_closed(self) -> None:
        """Wait until nothing more will be sent: the backend stops."""
        await self._closed.wait()

    def close(self) -> None:
        """Close all readers, now and in future."""
        self._closed.set()
        for room_id in self._rooms:
            self.end(room_id)

    def _tell(self) -> None:
        for callback in self.on_watchers:
            callback()

    def _leave(self, room_id: str, reader: _Reader) -> None:
        room = self._rooms[room_id]
        room.readers.discard(reader)
        if not room.readers:
            room.flush()  # and with it the timer
            del self._rooms[room_id]
        self._tell()
