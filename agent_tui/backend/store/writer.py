"""The one writer: a thread that commits everything that all rooms have queued, in one transaction.

It never waits for more: while one transaction is being committed, the next one gathers.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from queue import Empty, SimpleQueue

from sqlalchemy import Engine

from agent_tui.backend.store.rows import StoredFrame, Write
from agent_tui.backend.store.sqlite import DATABASE_ERRORS, is_passing, store_error
from agent_tui.backend.store.writes import apply
from agent_tui.model.errors import StoreError

log = logging.getLogger(__name__)

MAX_WRITES_PER_COMMIT = 1_000
MAX_CHARACTERS_PER_COMMIT = 8_000_000


@dataclass(frozen=True, slots=True)
class PendingWrite:
    """A write that waits for its commit; the future gets the seq of the first event (0: no events)."""

    write: Write
    done: asyncio.Future[int]

    @property
    def size(self) -> int:
        return sum(len(event.data) for event in self.write.events)


Outcome = list[StoredFrame] | StoreError


class Writer:
    """Commits writes in their order, and passes the results to the event loop.

    ``publish`` is called in the loop with the frames of each committed write, before those who wait for it
    continue. After a full disk or a lock held by another process it tries again, ``retry_seconds``
    apart, and all writes queue meanwhile; then the writes fail, and each later one at once until one is
    committed. One bad write never makes others fail.
    """

    def __init__(
        self,
        engine: Engine,
        file: Path,
        *,
        publish: Callable[[list[StoredFrame]], None],
        now: Callable[[], datetime],
        retry_seconds: Sequence[float],
    ) -> None:
        self._engine = engine
        self._file = file
        self._publish = publish
        self._now = now
        self._retry_seconds = retry_seconds
        self._delays = iter(retry_seconds)  # those left since the last commit
        self._queue: SimpleQueue[PendingWrite | None] = SimpleQueue()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="store-writer", daemon=True)
        self._thread.start()

    def put(self, write: Write) -> asyncio.Future[int]:
        """Queue ``write``; the future is resolved after its commit, or gets a ``StoreError``."""
        if self._closing.is_set() or not self._thread.is_alive():
            raise StoreError("The store is closed")
        done: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._queue.put(PendingWrite(write, done))
        return done

    def close(self) -> None:
        """Commit what is queued and end the thread; blocks."""
        self._closing.set()
        self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (group := self._gather()) is not None:
            outcomes: list[Outcome] = [StoreError("The store failed")] * len(group)
            try:
                outcomes = self._commit([pending.write for pending in group])
            except BaseException:
                log.critical("the store's writer died of a bug", exc_info=True)
                raise
            finally:  # in any case, nobody waits forever
                self._deliver(group, outcomes)

    def _gather(self) -> list[PendingWrite] | None:
        first = self._queue.get()
        if first is None:
            return None
        group, size = [first], first.size
        while len(group) < MAX_WRITES_PER_COMMIT and size < MAX_CHARACTERS_PER_COMMIT:
            try:
                pending = self._queue.get_nowait()
            except Empty:
                break
            if pending is None:
                self._queue.put(None)
                break
            group.append(pending)
            size += pending.size
        return group

    def _commit(self, writes: Sequence[Write]) -> list[Outcome]:
        """Commit ``writes`` as a whole; if one of them is bad, each on its own."""
        try:
            return list(self._persist(writes))
        except Exception as error:  # e.g. a number too large for SQLite: no other write may suffer for it
            if len(writes) == 1 or is_passing(error):
                failed = store_error(self._file, error)
                log.error("%s", failed, exc_info=not isinstance(error, DATABASE_ERRORS))
                return [failed] * len(writes)
        return [outcome for write in writes for outcome in self._commit([write])]

    def _persist(self, writes: Sequence[Write]) -> list[list[StoredFrame]]:
        """Commit, trying again as long as the obstacle may go away."""
        while True:
            try:
                stored = self._transaction(writes)
            except DATABASE_ERRORS as error:
                if not is_passing(error) or self._closing.is_set():
                    raise
                if (delay := next(self._delays, None)) is None:
                    raise
                log.warning("%s; trying again in %s s", store_error(self._file, error), delay)
                self._closing.wait(delay)
            else:
                self._delays = iter(self._retry_seconds)
                return stored

    def _transaction(self, writes: Sequence[Write]) -> list[list[StoredFrame]]:
        with self._engine.begin() as connection:
            return apply(connection, writes, self._now())

    def _deliver(self, group: Sequence[PendingWrite], outcomes: Sequence[Outcome]) -> None:
        loop = group[0].done.get_loop()
        if not loop.is_closed():  # otherwise the program ended without closing the store: nobody waits
            loop.call_soon_threadsafe(self._resolve, group, outcomes)

    def _resolve(self, group: Sequence[PendingWrite], outcomes: Sequence[Outcome]) -> None:
        # The waiters continue after this function, when everything is published.
        for pending, outcome in zip(group, outcomes, strict=True):
            if pending.done.done():
                continue  # the waiter was cancelled
            if isinstance(outcome, StoreError):
                pending.done.set_exception(outcome)
            else:
                pending.done.set_result(outcome[0].seq if outcome else 0)
        for outcome in outcomes:
            if isinstance(outcome, list) and outcome:
                self._publish(outcome)
