"""What the engines of rooms and of chats share: changes that are carried out to their end, one at a time for
each room, and runs, which end well or badly.

A chat is a room here, with one agent, and each of its answers is a run.
"""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Collection, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, repeat
from typing import Any, ClassVar, Generic, Protocol, TypeVar
from weakref import WeakValueDictionary

from agent_tui.backend.engine.timing import Timing
from agent_tui.backend.engine.turn import ModelSource
from agent_tui.backend.engine.unwatched import Notice, Presence, Stage, Unwatched
from agent_tui.backend.hub import Hub
from agent_tui.backend.models.prices import costs_money
from agent_tui.backend.store import reads
from agent_tui.backend.store.damage import damaged
from agent_tui.backend.store.rows import (
    ConversationDropped,
    ConversationRow,
    ConversationSet,
    EventsDropped,
    Unsearchable,
)
from agent_tui.backend.store.store import Store
from agent_tui.model.errors import NotFound, StoreError
from agent_tui.model.events import Message

MAX_PAGE_MESSAGES = 1_000
MESSAGES_PER_DELETE = 100  # from the full text search, which takes its time; others' words wait meanwhile
EVENTS_PER_DELETE = 5_000  # other rooms' words wait while events are deleted, so never many at once

log = logging.getLogger(__name__)


class Run(Protocol):
    """What goes on in one room until it ends by itself or is cut; ``reason`` is why it was cut."""

    reason: str

    @property
    def providers(self) -> Collection[str]:
        """The providers whose models speak in it."""
        ...

    def start(self) -> asyncio.Task[None]:
        """Begin; the task raises ``StoreError``, and only that."""
        ...

    def cut(self, reason: str) -> None:
        """Make the end come, with what was said so far."""
        ...

    async def ended(self) -> None:
        """Wait for the end, well or badly."""
        ...


@dataclass(frozen=True, slots=True)
class MessagesPage:
    """Messages in order; ``next`` is the page's last id if others follow, ``as_of`` the seq it is true of."""

    messages: list[Message]
    next: str | None
    as_of: int


T = TypeVar("T")
AnyRun = TypeVar("AnyRun", bound=Run)


class Runs(ABC, Generic[AnyRun]):
    """All runs of the rooms of one store, in one event loop, by the rooms' ids."""

    def __init__(
        self,
        store: Store,
        hub: Hub,
        models: ModelSource,
        timing: Timing,
        unwatched_seconds: float | None,
        presence: Presence | None,
    ) -> None:
        """``unwatched_seconds``: how long a run goes on while no program is open and nobody reads a stream;
        None: to its end, whoever is there. ``presence`` knows the programs.
        """
        self._store = store
        self._models = models
        self._hub = hub
        self._timing = timing
        self._runs: dict[str, AnyRun] = {}
        self._stopping = False
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._menders: set[asyncio.Task[None]] = set()
        self._presence = presence or Presence()
        self._waited_for: Counter[str] = Counter()
        left: tuple[Stage, ...] = ()
        idle: tuple[Stage, ...] = ()
        if unwatched_seconds is not None:
            left = ((unwatched_seconds, self._cut_unwatched),)
            idle = ((timing.idle, self._warn_of_pause), (timing.idle_warned, self._cut_idle))
        self._unwatched = Unwatched(left, timing.sleep)
        self._idle = Unwatched(idle, timing.sleep)
        hub.on_watchers.append(self._look_at_all)
        self._presence.on_change.append(self._look_at_all)
        self._presence.on_key.append(self._idle.begin_again)

    async def stop_all(self, reason: str = "handover") -> None:
        """Cut all runs, at once, and wait until that is on record."""
        self._stopping = True
        for run in self._runs.values():
            run.cut(reason)
        for mender in self._menders:
            mender.cancel()
        await self._unwatched.close()
        await self._idle.close()
        # First what is being done for callers: it may still begin a run, or end one.
        if under_way := {*self._tasks, *self._menders}:
            await asyncio.wait(under_way)
        late = list(self._runs.values())
        for run in late:
            run.cut(reason)
        for run in late:
            await run.ended()

    @contextmanager
    def wait_for(self, room_id: str) -> Iterator[None]:
        """Who asked for a run reads its stream to the end, as long as this is open: no key is needed."""
        self._waited_for[room_id] += 1
        self._look(room_id)
        try:
            yield
        finally:
            self._waited_for[room_id] -= 1
            if not self._waited_for[room_id]:
                del self._waited_for[room_id]
            self._look(room_id)

    def running(self) -> int:
        """Return how many runs are under way."""
        return len(self._runs)

    async def messages(self, room_id: str, after: str | None, limit: int | None) -> MessagesPage:
        """Return at most ``limit`` messages (and never more than 1,000) that follow the one called ``after``;
        of a chat those of the shown branch.

        What is under way is among them, as far as it has come. Raises ``NotFound`` for an unknown ``after``.
        """
        limit = max(1, min(limit or MAX_PAGE_MESSAGES, MAX_PAGE_MESSAGES))
        page = await self._store.read(reads.page, room_id, self.kinds, after, limit)
        return MessagesPage(page.messages, page.messages[-1].id if page.more else None, page.as_of)

    # --- what differs ----------------------------------------------------------------------------------

    kinds: ClassVar[Collection[str]]  # of the conversations that these are

    @abstractmethod
    async def _recover(self, row: ConversationRow) -> None:
        """Close what a run left open that ended without saying so. Speaks no word."""

    @abstractmethod
    def _cut_unwatched(self, room_id: str) -> None:
        """Nobody has watched the room for too long."""

    def _needs_watching(self, run: AnyRun) -> bool:
        """Return whether the run ends when nobody watches."""
        return True

    # --- one at a time for each room -------------------------------------------------------------------

    async def _whole(self, change: Coroutine[Any, Any, T]) -> T:
        """Carry ``change`` out to its end, also when the caller is cancelled meanwhile."""
        return await asyncio.shield(self._task(change))

    def _task(self, change: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        task = asyncio.create_task(change)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def _lock(self, room_id: str) -> asyncio.Lock:
        return self._locks.setdefault(room_id, asyncio.Lock())

    async def _start_over(self, rows: Sequence[ConversationRow]) -> None:
        """Delete what was being deleted; close what a dead process left open in ``rows``, in their order."""
        for row in await self._store.read(reads.conversations, self.kinds, deleted=True):
            await self._drop(row)
        for row in rows:
            if row.status == "running":
                await self._alone(row.id, self._recover(row))

    async def _row(self, room_id: str) -> ConversationRow:
        """Return what is stored; raises ``NotFound``."""
        return await self._store.read(reads.conversation, room_id, self.kinds, or_damaged=True)

    async def _settled(self, room_id: str) -> ConversationRow:
        """Return the room once no run of it is ending or broken off; whoever calls this has its lock."""
        run = self._runs.get(room_id)
        if run is not None and run.reason:
            await run.ended()
        row = await self._row(room_id)
        if row.status == "running" and room_id not in self._runs:
            await self._recover(row)
            row = await self._row(room_id)
        if row.damaged:
            raise damaged("conversation", room_id, row.damaged)
        return row

    async def _alone(self, room_id: str, work: Coroutine[Any, Any, Any]) -> None:
        """Do this for one room; what cannot be read of it is no matter of the others."""
        try:
            await work
        except StoreError as error:
            log.error("%s is left as it is: %s", room_id, error)

    async def _deleted(self, room_id: str) -> ConversationRow:
        """Stop the run, end the readers, delete the room; return it as it was last."""
        if room_id in self._runs:
            self._runs[room_id].cut("stop")
            await self._runs[room_id].ended()
        row = await self._row(room_id)
        await self._store.append(room_id, (), [ConversationSet({"desired": "deleted"})])
        self._hub.end(room_id)
        await self._drop(row)
        return row

    async def _drop(self, row: ConversationRow) -> None:
        while await self._store.read(reads.is_searchable, row.id):
            await self._store.append(row.id, (), [Unsearchable(MESSAGES_PER_DELETE)])
        last = await self._store.read(reads.last_seq, row.id)
        for up_to in range(EVENTS_PER_DELETE, last + EVENTS_PER_DELETE, EVENTS_PER_DELETE):
            await self._store.append(row.id, (), [EventsDropped(up_to)])
        await self._store.append(row.id, (), [ConversationDropped()])

    # --- what happens by itself ------------------------------------------------------------------------

    def _go(self, room_id: str, run: AnyRun) -> None:
        """Let the run begin, and see to its end."""
        self._runs[room_id] = run
        run.start().add_done_callback(lambda task: self._ended(room_id, run, task))
        self._look(room_id)

    def _ended(self, room_id: str, run: AnyRun, task: asyncio.Task[None]) -> None:
        if self._runs.get(room_id) is run:  # else somebody was faster and runs it again
            del self._runs[room_id]
        self._look(room_id)
        error = None if task.cancelled() else task.exception()
        if error is None:
            return
        if isinstance(error, StoreError):
            log.error("the run of %s broke off: %s", room_id, error)
        else:
            log.error("the run of %s broke off because of a bug", room_id, exc_info=error)
        self._hub.end(room_id, error if isinstance(error, StoreError) else StoreError("The run broke off"))
        if not self._stopping:
            mender = asyncio.create_task(self._mend(room_id))
            self._menders.add(mender)
            mender.add_done_callback(self._menders.discard)

    async def _mend(self, room_id: str) -> None:
        """Close what broke off, as soon as the store can be written again."""
        for delay in chain(self._timing.mend, repeat(self._timing.mend[-1])):
            await self._timing.sleep(delay)
            try:
                async with self._lock(room_id):
                    await self._settled(room_id)
            except NotFound:
                return
            except StoreError as error:
                log.info("the run of %s cannot be closed yet: %s", room_id, error)
            else:
                return

    def _look(self, room_id: str) -> None:
        """See whether somebody is there for what runs."""
        run = self._runs.get(room_id)
        needs = run is not None and self._needs_watching(run)
        is_left = not (self._presence.programs or self._hub.watchers())
        self._unwatched.look(room_id, alone=needs and is_left)
        self._idle.look(room_id, alone=needs and room_id not in self._waited_for)

    def _look_at_all(self) -> None:
        for room_id in self._runs:
            self._look(room_id)

    def _costs(self, room_id: str) -> bool:
        run = self._runs.get(room_id)
        return run is not None and any(costs_money(self._models.terms(name)) for name in run.providers)

    def _warn_of_pause(self, room_id: str) -> None:
        if self._costs(room_id):
            self._task(self._warn(room_id)).add_done_callback(say_failed)

    async def _warn(self, room_id: str) -> None:
        row = await self._row(room_id)
        self._presence.warn(Notice(room_id, row.name, self._timing.idle_warned))

    def _cut_idle(self, room_id: str) -> None:
        if self._costs(room_id):
            self._cut_unwatched(room_id)
        else:
            self._look(room_id)  # from the beginning: other agents may come


def say_failed(task: asyncio.Task[Any]) -> None:
    """Log why something failed that was to happen because nobody is there."""
    if not task.cancelled() and (error := task.exception()) is not None:
        log.error("nobody is there, and that could not be told or end a run: %s", error)
