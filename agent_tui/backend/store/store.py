"""The store: append events and change rows (durable when awaited), read, and subscribe to what was
committed.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from sqlalchemy import Connection
from sqlalchemy.exc import OperationalError

from agent_tui.backend.store.rows import Change, NewEvent, StoredFrame, Write
from agent_tui.backend.store.sqlite import (
    DAMAGE,
    clear_errors,
    database_file,
    is_undecodable,
    open_engines,
    with_replacements,
)
from agent_tui.backend.store.writer import Writer
from agent_tui.model.errors import StoreError

log = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")

READERS = 2
BUSY_SECONDS = 5.0  # how long SQLite itself waits for another process's lock
RETRY_SECONDS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)  # a full disk has about 16 s to change


def utc_now() -> datetime:
    """Return the current time for stored things; nothing is ordered by it."""
    return datetime.now(UTC)


class Store(Protocol):
    """What the engine needs from a store. Everything raises ``StoreError``."""

    def subscribe(self, subscriber: Callable[[list[StoredFrame]], None]) -> None:
        """Call ``subscriber`` in the event loop with the frames of each write, after its commit, in order."""
        ...

    async def append(
        self, room_id: str, events: Sequence[NewEvent] = (), changes: Sequence[Change] = ()
    ) -> int:
        """Commit ``events`` and ``changes`` as a whole; return the first event's seq (0 without events).

        When it returns they are durable and the subscribers have the frames. Cancelling the caller does not
        undo its write. Raises ``StoreError``; then nothing of this write is stored.
        """
        ...

    async def read(
        self, query: Callable[Concatenate[Connection, P], T], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Return ``query(connection, …)`` (reads.py), in one transaction."""
        ...

    async def close(self) -> None:
        """Commit what is queued, and release the database."""
        ...


class FileStore:
    """One SQLite file, one thread that writes, ``READERS`` threads that read. For one event loop."""

    def __init__(
        self,
        database: str | Path,
        *,
        busy_seconds: float = BUSY_SECONDS,
        retry_seconds: Sequence[float] = RETRY_SECONDS,
        now: Callable[[], datetime] = utc_now,
        upgrading: Callable[[], AbstractContextManager[object]] = nullcontext,
    ) -> None:
        """Open ``database`` (a file or ``sqlite:///…``), making or migrating its tables; blocks.

        ``upgrading`` is entered while an older version is upgraded, which may take minutes. Raises
        ``StoreError`` whose title says in one line why it cannot be used.
        """
        self.file = database_file(database)
        self._subscribers: list[Callable[[list[StoredFrame]], None]] = []
        self._closed = False
        self._writing, self._reading = open_engines(
            self.file, busy_seconds=busy_seconds, readers=READERS, upgrading=upgrading
        )
        self._threads = ThreadPoolExecutor(READERS, thread_name_prefix="store-reader")
        self._writer = Writer(
            self._writing, self.file, publish=self._publish, now=now, retry_seconds=retry_seconds
        )

    def subscribe(self, subscriber: Callable[[list[StoredFrame]], None]) -> None:
        """As ``Store``."""
        self._subscribers.append(subscriber)

    async def append(
        self, room_id: str, events: Sequence[NewEvent] = (), changes: Sequence[Change] = ()
    ) -> int:
        """As ``Store``; durable means on disk."""
        return await asyncio.shield(self._writer.put(Write(room_id, tuple(events), tuple(changes))))

    async def read(
        self, query: Callable[Concatenate[Connection, P], T], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """As ``Store``: in one read transaction, in a reader thread."""
        if self._closed:
            raise StoreError("The store is closed")
        return await asyncio.get_running_loop().run_in_executor(
            self._threads, lambda: self._read(query, *args, **kwargs)
        )

    async def close(self) -> None:
        """Commit what is queued, end the threads, release the file."""
        self._closed = True
        # In a thread of its own: the shared ones may all be busy with something endless.
        closer = ThreadPoolExecutor(1, thread_name_prefix="store-closer")
        await asyncio.get_running_loop().run_in_executor(closer, self._close)
        closer.shutdown()

    def _read(self, query: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        with clear_errors(self.file):
            try:
                try:
                    with self._reading.begin() as connection:
                        return query(connection, *args, **kwargs)
                except OperationalError as error:
                    if not is_undecodable(error):
                        raise
                with self._reading.begin() as connection, with_replacements(connection):
                    return query(connection, *args, **kwargs)
            except DAMAGE as error:
                log.warning("something in %s could not be read", self.file, exc_info=True)
                detail = f"{type(error).__name__}: the log says where."
                raise StoreError("What is stored cannot be read", detail) from error

    def _publish(self, frames: list[StoredFrame]) -> None:
        for subscriber in self._subscribers:
            subscriber(frames)

    def _close(self) -> None:
        self._writer.close()
        self._threads.shutdown()
        self._writing.pool.dispose()
        self._reading.pool.dispose()
