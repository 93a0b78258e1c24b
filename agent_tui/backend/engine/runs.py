"""What happens in conversations: changes, one at a time for each conversation and always completed, and runs,
which succeed or fail. An answer of a chat is a run, too.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Coroutine
from contextlib import AbstractContextManager
from functools import wraps
from itertools import chain, repeat
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar
from weakref import WeakValueDictionary

from agent_tui.backend.engine import budget
from agent_tui.backend.engine.kinds import kind_of
from agent_tui.backend.engine.resources import Resources
from agent_tui.backend.engine.runner import Runner
from agent_tui.backend.engine.unwatched import OpenPrograms, PauseNotice, Stage, UnwatchedTimers, count_within
from agent_tui.backend.hub import Hub
from agent_tui.backend.models.prices import costs_money
from agent_tui.backend.store import reads
from agent_tui.backend.store.damage import damaged
from agent_tui.backend.store.rows import (
    KINDS,
    ConversationDropped,
    ConversationRow,
    ConversationSet,
    EventsDropped,
    Unsearchable,
)
from agent_tui.model.errors import NotFound, Refused, StoreError

MESSAGES_PER_DELETE = 100  # from the full text search, which takes time; other conversations wait meanwhile
EVENTS_PER_DELETE = 5_000  # other conversations wait while events are deleted, so never many at once

log = logging.getLogger(__name__)

T = TypeVar("T")
P = ParamSpec("P")
S = TypeVar("S", bound="HasRuns")


class HasRuns(Protocol):
    """A part of the engine that has runs."""

    @property
    def runs(self) -> Runs: ...


def shielded(
    act: Callable[Concatenate[S, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[S, P], Coroutine[Any, Any, T]]:
    """Return a method that is always completed, even if its caller is cancelled meanwhile."""

    @wraps(act)
    async def carried_out(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await asyncio.shield(self.runs.task(act(self, *args, **kwargs)))

    return carried_out


class Runs:
    """All runs of one store, in one event loop, by the ids of their conversations."""

    def __init__(
        self, resources: Resources, hub: Hub, unwatched_seconds: float | None, presence: OpenPrograms
    ) -> None:
        """``unwatched_seconds``: how long a run continues while no program is open and nobody reads a stream;
        ``None``: to its end, watched or not. ``presence`` knows the programs.
        """
        self._resources = resources
        self._store = resources.store
        self._timing = timing = resources.timing
        self._hub = hub
        self._presence = presence
        self._runs: dict[str, Runner] = {}
        self._stopping = False
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._repairs: set[asyncio.Task[None]] = set()
        self._waited_for: Counter[str] = Counter()
        unwatched: tuple[Stage, ...] = ()
        idle: tuple[Stage, ...] = ()
        if unwatched_seconds is not None:
            unwatched = ((unwatched_seconds, self._cut_unwatched),)
            idle = ((timing.idle, self._warn_of_pause), (timing.idle_warned, self._cut_idle))
        self._unwatched = UnwatchedTimers(unwatched, timing.sleep)
        self._idle = UnwatchedTimers(idle, timing.sleep)
        hub.on_watchers.append(self._look_at_all)
        presence.on_change.append(self._look_at_all)
        presence.on_key.append(self._idle.begin_again)

    @property
    def ids(self) -> frozenset[str]:
        """The ids of conversations with a run."""
        return frozenset(self._runs)

    def of(self, id_: str) -> Runner | None:
        """Return the conversation's run, if any."""
        return self._runs.get(id_)

    def conversation_saying(self, message_id: str, kinds: Collection[str]) -> str:
        """Return the conversation of these kinds in which this message is being said, or ""."""
        ids = (id_ for id_, run in self._runs.items() if run.row.kind in kinds and run.says(message_id))
        return next(ids, "")

    def number(self, kinds: Collection[str] = KINDS) -> int:
        """Return how many runs of conversations of these kinds there are."""
        return sum(run.row.kind in kinds for run in self._runs.values())

    async def stop_all(self, reason: str = "handover") -> None:
        """Stop all runs, at once, and wait until that is stored."""
        self._stopping = True
        for run in self._runs.values():
            run.cut(reason)
        for repair in self._repairs:
            repair.cancel()
        await self._unwatched.close()
        await self._idle.close()
        # First current changes of callers: they may still begin a run, or end one.
        if under_way := {*self._tasks, *self._repairs}:
            await asyncio.wait(under_way)
        late = list(self._runs.values())
        for run in late:
            run.cut(reason)
        for run in late:
            await run.wait_until_ended()

    def wait_for(self, id_: str) -> AbstractContextManager[None]:
        """Count a client that reads its own run to the end, so that it goes on without a key."""
        return count_within(self._waited_for, id_, self.look)

    # --- one at a time for each conversation -----------------------------------------------------------

    def task(self, change: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Begin ``change``; the engine waits for it before it stops."""
        task = asyncio.create_task(change)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def lock(self, id_: str) -> asyncio.Lock:
        """Return the lock for changing the conversation."""
        return self._locks.setdefault(id_, asyncio.Lock())

    async def settle(self, id_: str, kinds: Collection[str] = KINDS) -> ConversationRow:
        """Return the conversation when no run of it is ending or interrupted; the caller holds its lock.

        Raises ``NotFound`` for one of another kind.
        """
        run = self._runs.get(id_)
        if run is not None and run.reason:
            await run.wait_until_ended()
        row = await self._store.read(reads.conversation, id_, kinds, or_damaged=True)
        if run is not None and row.status != "running":  # its end is stored: the task ends by itself
            await run.wait_until_ended()
        if row.status == "running" and id_ not in self._runs:
            await self._close_broken_off(row)
            row = await self._store.read(reads.conversation, id_, kinds, or_damaged=True)
        if row.damaged:
            raise damaged("conversation", id_, row.damaged)
        return row

    def check_start(self, row: ConversationRow) -> None:
        """Raise ``Refused`` if nothing may be said: 409 in an archived conversation and in one that used up
        its budget, 503 while the backend stops.
        """
        kind = kind_of(row)
        if row.archived:
            title = f"The {kind.noun} is archived"
            raise Refused(title, "Take it out of the archive first.", status=409)
        budget.check(row)
        if self._stopping:
            raise Refused("The backend is stopping", kind.run_again, status=503)

    async def start(self, row: ConversationRow, begin: Callable[[Runner], Awaitable[int]]) -> int:
        """Run the conversation, from what ``begin`` stores; return what that returns."""
        run = self._runs[row.id] = Runner(self._resources, row)
        try:
            seq = await begin(run)
        except BaseException:
            del self._runs[row.id]
            raise
        run.start().add_done_callback(lambda task: self._on_ended(row.id, run, task))
        self.look(row.id)
        return seq

    async def interrupt(
        self, id_: str, reason: str, kinds: Collection[str] = KINDS, message_id: str = ""
    ) -> None:
        """Ask a run of a conversation of these kinds to end; returns when that is stored, the rest follows by
        itself. Only while this message is being said, if one is named.
        """
        async with self.lock(id_):
            run = self._runs.get(id_)
            if run is None or run.reason or run.row.kind not in kinds:
                return
            if message_id and not run.says(message_id):
                return
            # Stored first: a process that dies right after this was asked to stop, and did not crash.
            why = ConversationSet({**run.kind.interrupted, "interrupted": reason}, while_running=True)
            await self._store.append(id_, (), [why])
            run.cut(reason)

    async def delete(self, id_: str, kinds: Collection[str]) -> ConversationRow:
        """Stop the run, end the readers, delete the conversation; return its last state. The caller has its
        lock.
        """
        run = self._runs.get(id_)
        if run is not None and run.row.kind in kinds:
            run.cut("stop")
            await run.wait_until_ended()
        row = await self._store.read(reads.conversation, id_, kinds, or_damaged=True)
        await self._store.append(id_, (), [ConversationSet({"desired": "deleted"})])
        self._hub.end(id_)
        await self._drop(row)
        return row

    async def recover_all(self) -> None:
        """Delete what was being deleted; close what a dead process left open, the newest first."""
        for row in await self._store.read(reads.conversations, deleted=True):
            await self._drop(row)
        rows = await self._store.read(reads.conversations)
        for row in sorted(rows, key=lambda row: row.updated_at)[::-1]:
            if row.status == "running":
                await self.alone(row.id, self._close_broken_off(row))

    async def alone(self, id_: str, work: Coroutine[Any, Any, Any]) -> None:
        """Do this ``work`` for one conversation; an unreadable one does not affect the others."""
        try:
            await work
        except StoreError as error:
            log.error("%s is left as it is: %s", id_, error)

    async def _close_broken_off(self, row: ConversationRow) -> None:
        """Close what a run of a dead process left open."""
        run = Runner(self._resources, row)
        run.cut(row.interrupted or "crash")
        await run.go_on()

    async def _drop(self, row: ConversationRow) -> None:
        while await self._store.read(reads.is_searchable, row.id):
            await self._store.append(row.id, (), [Unsearchable(MESSAGES_PER_DELETE)])
        last = await self._store.read(reads.last_seq, row.id)
        for up_to in range(EVENTS_PER_DELETE, last + EVENTS_PER_DELETE, EVENTS_PER_DELETE):
            await self._store.append(row.id, (), [EventsDropped(up_to)])
        await self._store.append(row.id, (), [ConversationDropped()])

    # --- what happens by itself ------------------------------------------------------------------------

    def _on_ended(self, id_: str, run: Runner, task: asyncio.Task[None]) -> None:
        if self._runs.get(id_) is run:  # otherwise another caller has started it again
            del self._runs[id_]
        self.look(id_)
        error = None if task.cancelled() else task.exception()
        if error is None:
            return
        if isinstance(error, StoreError):
            log.error("the run of %s broke off: %s", id_, error)
        else:
            log.error("the run of %s broke off because of a bug", id_, exc_info=error)
        self._hub.end(id_, error if isinstance(error, StoreError) else StoreError("The run broke off"))
        if not self._stopping:
            repair = asyncio.create_task(self._repair(id_))
            self._repairs.add(repair)
            repair.add_done_callback(self._repairs.discard)

    async def _repair(self, id_: str) -> None:
        """Close what broke off, as soon as the store can be written again."""
        for delay in chain(self._timing.mend, repeat(self._timing.mend[-1])):
            await self._timing.sleep(delay)
            try:
                async with self.lock(id_):
                    await self.settle(id_)
            except NotFound:
                return
            except StoreError as error:
                log.info("the run of %s cannot be closed yet: %s", id_, error)
            else:
                return

    def look(self, id_: str) -> None:
        """Check whether someone is watching the runs."""
        run = self._runs.get(id_)
        needs_person = run is not None and not run.row.keep_running
        nobody_there = not (self._presence.programs or self._hub.watchers())
        self._unwatched.look(id_, alone=needs_person and nobody_there)
        self._idle.look(id_, alone=needs_person and id_ not in self._waited_for)

    def _look_at_all(self) -> None:
        for id_ in self._runs:
            self.look(id_)

    def _costs(self, id_: str) -> bool:
        run = self._runs.get(id_)
        return run is not None and any(
            costs_money(self._resources.models.terms(name)) for name in run.providers
        )

    def _warn_of_pause(self, id_: str) -> None:
        if self._costs(id_):
            self.task(self._warn(id_)).add_done_callback(_log_failure)

    async def _warn(self, id_: str) -> None:
        row = await self._store.read(reads.conversation, id_, or_damaged=True)
        self._presence.warn(PauseNotice(id_, row.name, self._timing.idle_warned))

    def _cut_unwatched(self, id_: str) -> None:
        self.task(self.interrupt(id_, "unwatched")).add_done_callback(_log_failure)

    def _cut_idle(self, id_: str) -> None:
        if self._costs(id_):
            self._cut_unwatched(id_)
        else:
            self.look(id_)  # start over: other agents may join


def _log_failure(task: asyncio.Task[Any]) -> None:
    """Log why a warning or an end of a run failed that should happen because nobody is there."""
    if not task.cancelled() and (error := task.exception()) is not None:
        log.error("nobody is there, and that could not be told or end a run: %s", error)
