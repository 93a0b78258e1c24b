"""The engine: makes, runs, pauses, resumes and deletes rooms. What it acknowledges is on record."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from types import MappingProxyType

from agent_tui.backend.engine import budget
from agent_tui.backend.engine.acts import Acts, Scene
from agent_tui.backend.engine.changes import Changes
from agent_tui.backend.engine.changing import changed, removed
from agent_tui.backend.engine.chat_asks import Word
from agent_tui.backend.engine.room_tools import RoomTools
from agent_tui.backend.engine.rooms import RoomNews, room_info, room_row
from agent_tui.backend.engine.runner import Runner
from agent_tui.backend.engine.runs import say_failed
from agent_tui.backend.engine.timing import Timing
from agent_tui.backend.engine.turn import ModelSource
from agent_tui.backend.engine.unwatched import Presence
from agent_tui.backend.hub import Hub
from agent_tui.backend.store import reads
from agent_tui.backend.store.rows import ROOM, ConversationCreated, ConversationRow, ConversationSet
from agent_tui.backend.store.store import Store
from agent_tui.model.errors import NotFound, Refused
from agent_tui.model.events import RoomInfo
from agent_tui.model.settings import Values


class Engine(Acts):
    """All rooms of one store, in one event loop.

    Whatever changes a room is done to its end even when its caller goes away, and one at a time for each
    room. Raises ``NotFound`` for a room that does not exist, ``StoreError`` when the database fails.
    """

    kinds = ROOM

    def __init__(
        self,
        store: Store,
        hub: Hub,
        models: ModelSource,
        *,
        unwatched_seconds: float | None,
        timing: Timing | None = None,
        tools: RoomTools | None = None,
        presence: Presence | None = None,
    ) -> None:
        """``unwatched_seconds`` and ``presence``: see ``Runs``. ``tools``: what agents may use in rooms that
        say so; without it nothing.
        """
        super().__init__(store, hub, models, timing or Timing(), unwatched_seconds, presence)
        self._tools = tools
        self._changes = Changes()
        store.subscribe(self._changes.publish)

    # --- the whole engine ------------------------------------------------------------------------------

    async def start(self, *, resume: bool) -> None:
        """Close what a dead process left open; ``resume``: let the rooms go on that ran then.

        Without it they stay paused, also at later starts, until somebody runs them.
        """
        await self._start_over(await self._store.read(reads.conversations, ROOM))
        for row in await self._store.read(reads.conversations, ROOM):
            if row.damaged:
                continue
            if row.desired == "running" and resume and not (row.archived or budget.used_up(row)):
                await self._alone(row.id, self.resume(row.id))
            elif row.desired == "running":
                await self._store.append(row.id, (), [ConversationSet({"desired": "paused"})])

    async def stop_all(self, reason: str = "handover") -> None:
        """Cut all rooms and wait until that is on record. They stay wanted: a later start may resume them."""
        self._changes.close()
        await super().stop_all(reason)

    # --- rooms -----------------------------------------------------------------------------------------

    async def create_room(self, new: Values) -> RoomInfo:
        """Make a room with these settings of ``RoomInfo``, and ``agents`` and their ``provider_id`` as
        ``rooms.room_row`` takes them; raises ``Refused`` (422) for what is out of bounds.
        """
        row = room_row(new, self._models, self._timing.now().isoformat())
        await self._whole(self._store.append(row.id, (), [ConversationCreated(row)]))
        self._changes.note(row.id)
        return await self.room(row.id)

    async def rooms(self, *, archived: bool = False) -> list[RoomInfo]:
        """Return all rooms in the order they were made, with ``archived`` those too that were put away."""
        return (await self.rooms_now(archived=archived)).rooms

    async def rooms_now(self, *, archived: bool = False) -> RoomNews:
        """Return ``rooms``, and the cursor to ask ``changes`` with for what comes after."""
        cursor = self._changes.cursor  # before they are read: what changes meanwhile is told again
        rooms = await self._read_rooms(None)
        return RoomNews([room for room in rooms if archived or not room.archived], (), cursor, is_all=True)

    async def changes(self, cursor: str, seconds: float) -> RoomNews:
        """Return the rooms that changed since ``cursor``, waiting for it at most so long.

        Everything at once, archived rooms too, for a cursor that this process did not give out.
        """
        news = await self._changes.wait(cursor, seconds)
        rooms = await self._read_rooms(None if news.is_all else news.changed)
        return RoomNews(rooms, news.removed, news.cursor, news.is_all)

    async def room(self, room_id: str) -> RoomInfo:
        """Return one room."""
        ran = set(self._runs)
        row, stands = await self._store.read(reads.room_and_stands, room_id)
        return self._info(row, stands, ran)

    async def change_room(self, room_id: str, change: Values) -> RoomInfo:
        """Change a room, also while it runs: agents count from the next turn, the mode from the next round.

        Raises ``Refused``: 422 for what is out of bounds, 409 to archive a room that runs.
        """
        return await self._whole(self._change(room_id, change))

    async def delete_room(self, room_id: str) -> RoomInfo:
        """Stop the room, end its readers, delete it; return it as it was last."""
        return await self._whole(self._delete(room_id))

    # --- runs ------------------------------------------------------------------------------------------

    async def run(self, room_id: str) -> int:
        """Start or resume the room, or attach to it while it runs; return the seq of its ``room_started``.

        Of a room that is completed, the seq of its ``room_completed``: nothing is stored then.
        """
        return await self._whole(self._run(room_id))

    async def pause(self, room_id: str, reason: str = "pause") -> RoomInfo:
        """Ask a room that runs to pause; returns once that is on record, the rest follows by itself."""
        return await self._whole(self._pause(room_id, reason))

    async def resume(self, room_id: str) -> RoomInfo:
        """Let a room go on; raises ``Refused`` (409) for one that is completed or was never started."""
        return await self._whole(self._resume(room_id))

    # --- tools -----------------------------------------------------------------------------------------

    def attend(self, room_id: str) -> AbstractContextManager[None]:
        """Somebody reads the room who can answer what tools ask, as long as the context is open."""
        return nullcontext() if self._tools is None else self._tools.attend(room_id)

    async def answer(self, room_id: str, message_id: str, step_id: str, word: Word) -> None:
        """Give a person's word on a call that asks (``RoomTools.answer``)."""
        if self._tools is None:
            raise NotFound(f"There is no call {step_id[:100]} in this room", status=404)
        await self._whole(self._tools.answer((room_id, message_id, step_id), word))

    # --- one at a time for each room -------------------------------------------------------------------

    async def _change(self, room_id: str, change: Values) -> RoomInfo:
        async with self._lock(room_id):
            runner = self._runs.get(room_id)
            async with runner.turnstile if runner is not None else nullcontext():
                row = await self._store.read(reads.conversation, room_id, ROOM)
                written = changed(row, change, self._models, self._timing.now().isoformat())
                if written.changes:
                    await self._store.append(room_id, written.events, written.changes)
            if runner is not None:
                runner.cut_turns("stop", removed(row, change))
                runner.look()
                if "keep_running" in change:
                    runner.keep_running = change["keep_running"]
                    self._look(room_id)
            self._changes.note(room_id)
            return await self.room(room_id)

    async def _delete(self, room_id: str) -> RoomInfo:
        async with self._lock(room_id):
            row = await self._deleted(room_id)
            self._changes.remove(room_id)
            if self._tools is not None:
                self._tools.forget(room_id)
            return self._info(row)

    async def _run(self, room_id: str) -> int:
        async with self._lock(room_id):
            scene = await self._wanted(room_id)
            if scene.runner is not None:
                return scene.runner.run_seq
            if scene.room.status == "completed":
                return scene.room.last_seq
            return await self._start(scene.room)

    async def _resume(self, room_id: str) -> RoomInfo:
        async with self._lock(room_id):
            scene = await self._wanted(room_id)
            if scene.room.status == "completed":
                raise Refused("The room is completed", "There is nothing left to say.", status=409)
            if not scene.room.run_seq:
                raise Refused("The room was never started", "Run it first.", status=409)
            if scene.runner is None:
                await self._start(scene.room)
            return await self.room(room_id)

    async def _wanted(self, room_id: str) -> Scene:
        """Return the room as it stands; if it runs, it goes on even where it was to wait for somebody."""
        async with self._scene(room_id) as scene:
            if scene.runner is not None and scene.room.desired == "paused":
                await self._write(room_id, ConversationSet({"desired": "running"}))
        return scene

    async def _pause(self, room_id: str, reason: str) -> RoomInfo:
        async with self._lock(room_id):
            runner = self._runs.get(room_id)
            if runner is not None and not runner.reason:
                paused = ConversationSet({"desired": "paused", "interrupted": reason}, while_running=True)
                await self._store.append(room_id, (), [paused])
                runner.cut(reason)
            return await self.room(room_id)

    def _check_start(self, row: ConversationRow) -> None:
        if row.archived:
            raise Refused("The room is archived", "Take it out of the archive first.", status=409)
        budget.check(row)
        if self._stopping:
            raise Refused("The backend is stopping", "Run the room again when it is back.", status=503)

    async def _start(self, row: ConversationRow) -> int:
        self._check_start(row)
        runner = self._runs[row.id] = Runner(self._store, self._models, self._timing, row, self._tools)
        try:
            seq = await runner.begin()
        except BaseException:
            del self._runs[row.id]
            raise
        self._go(row.id, runner)
        return seq

    # --- what happens by itself ------------------------------------------------------------------------

    async def _recover(self, row: ConversationRow) -> None:
        """Close the turns and the run that ended without saying so. Speaks no word."""
        runner = Runner(self._store, self._models, self._timing, row)
        runner.cut((row.interrupted if row.desired == "paused" else "") or "crash")
        await runner.go_on()

    def _needs_watching(self, run: Runner) -> bool:
        return not run.keep_running

    def _cut_unwatched(self, room_id: str) -> None:
        self._task(self._pause(room_id, "unwatched")).add_done_callback(say_failed)

    async def _read_rooms(self, ids: Collection[str] | None) -> list[RoomInfo]:
        ran = set(self._runs)
        rows, stands = await self._store.read(reads.rooms_and_stands, ids)
        return [self._info(row, stands, ran) for row in rows]

    def _info(
        self,
        row: ConversationRow,
        stands: Mapping[str, str] = MappingProxyType({}),
        ran: Collection[str] = (),
    ) -> RoomInfo:
        """``ran``: the rooms that ran before ``row`` was read; their run may have ended well since."""
        if row.status == "running" and row.id not in self._runs and row.id not in ran:
            # Its run broke off and could not be closed yet: nothing speaks, whatever the record says.
            row = replace(row, status="paused", interrupted="crash")
        asks = row.status == "running" and self._tools is not None and self._tools.asks_in(row.id)
        return replace(room_info(row, stands), asks=asks)
