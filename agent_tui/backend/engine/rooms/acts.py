"""What people do with a room: run it, speak into it, stop, skip, retry, continue agents.

Everything is stored before it is acknowledged, so that a process that dies right after resumes from it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass
from uuid import uuid4

from agent_tui.backend.engine.changes import Changes
from agent_tui.backend.engine.resources import Resources
from agent_tui.backend.engine.retry import turn_to_continue, turn_to_retry
from agent_tui.backend.engine.rooms import inbox
from agent_tui.backend.engine.rooms.inbox import Queue
from agent_tui.backend.engine.runner import Runner
from agent_tui.backend.engine.runs import Runs, shielded
from agent_tui.backend.engine.words import checked_key
from agent_tui.backend.store import reads
from agent_tui.backend.store.rows import (
    ROOM,
    AgentSkips,
    Change,
    ConversationRow,
    ConversationSet,
    NewEvent,
    TurnAgain,
    TurnRow,
)
from agent_tui.model.errors import NotFound, Refused
from agent_tui.model.events import AgentInfo, QueueChanged, RoomInfo


@dataclass(frozen=True, slots=True)
class Scene:
    """A room between two steps: its rows, and its run, if any."""

    room: ConversationRow
    turns: list[TurnRow]
    runner: Runner | None

    def agent(self, agent_id: str) -> AgentInfo:
        """Return the agent; raises ``NotFound``."""
        for agent in self.room.agents:
            if agent.id == agent_id:
                return agent
        raise NotFound(f"There is no agent {agent_id[:100]} in this room", status=404)

    def speaks(self, agent_id: str) -> bool:
        """Return whether the agent is speaking."""
        return self.runner is not None and self.runner.speaks(agent_id)

    async def cut(self, agent_id: str, reason: str) -> None:
        """End the agent's turn, and wait until that is stored."""
        if self.runner is not None:
            self.runner.cut_agent(agent_id, reason)
            await self.runner.wait_until_quiet(agent_id)


class RoomActs:
    """The part of the engine that only rooms have. Raises ``NotFound`` and ``StoreError`` as it does."""

    def __init__(
        self,
        resources: Resources,
        runs: Runs,
        changes: Changes,
        tell: Callable[[str], None],
        show: Callable[[str], Awaitable[RoomInfo]],
    ) -> None:
        """``tell``: see ``Hub``."""
        self._resources = resources
        self._store = resources.store
        self.runs = runs
        self._changes = changes
        self._tell = tell
        self._show = show

    # --- runs ------------------------------------------------------------------------------------------

    @shielded
    async def run(self, room_id: str) -> int:
        """Start or resume the room, unless it is running; return the seq of its ``room_started``, for a
        completed room that of its ``room_completed``: nothing is stored then.
        """
        async with self.runs.lock(room_id):
            scene = await self._keep_running(room_id)
            if scene.runner is not None:
                return scene.runner.run_seq
            if scene.room.status == "completed":
                return scene.room.last_seq
            return await self._start(scene.room)

    @shielded
    async def resume(self, room_id: str) -> RoomInfo:
        """Resume a room; raise ``Refused`` (409) if it is completed or was never started."""
        async with self.runs.lock(room_id):
            scene = await self._keep_running(room_id)
            if scene.room.status == "completed":
                raise Refused("The room is completed", "There is nothing left to say.", status=409)
            if not scene.room.run_seq:
                raise Refused("The room was never started", "Run it first.", status=409)
            if scene.runner is None:
                await self._start(scene.room)
            return await self._show(room_id)

    # --- words -----------------------------------------------------------------------------------------

    @shielded
    async def say(
        self, room_id: str, content: str, *, when: str = "next", to: str = "", client_key: str = ""
    ) -> tuple[str, str, Queue]:
        """Say something in the room; return (id of the message, "queued" or "said", the waiting messages).

        ``when`` "next": before the next turn; "now": current turns are interrupted and said again with that
        knowledge. ``to``: the only agent that gets it. The same ``client_key`` again is the same message.
        Raises ``Refused``: 409 in a completed or archived room, 422 for an unknown agent or invalid words.
        """
        words = inbox.InboxMessage(content, when, to, checked_key(client_key))
        async with self.runs.lock(room_id):
            message_id = await self._message_with_key(room_id, client_key)
            if not message_id:
                async with self._scene(room_id) as scene:
                    queued = inbox.put(scene.room, words, uuid4().hex, self._resources.now())
                    message_id = queued.id
                    await self._write(room_id, queued, QueueChanged(room_id))
                    if when == "now" and scene.runner is not None:
                        scene.runner.cut_turns("interject", [to] if to else None)
                if when == "now" and scene.runner is not None:
                    await scene.runner.wait_for_step()
            waiting = await self.queue(room_id)
            return (
                message_id,
                "queued" if any(message.id == message_id for message in waiting) else "said",
                waiting,
            )

    async def queue(self, room_id: str) -> Queue:
        """Return the waiting messages, in their order."""
        return (await self._store.read(reads.conversation, room_id, ROOM)).queue

    @shielded
    async def change_queued(
        self, room_id: str, message_id: str, content: str | None, to: str | None
    ) -> Queue:
        """Change a waiting message; return all waiting ones. Raises ``Refused`` (409) if it was said
        already.
        """
        async with self._acting(room_id) as scene:
            await self._check_queued(room_id, message_id)
            change = inbox.change(scene.room, message_id, content, to)
            await self._write(room_id, change, QueueChanged(room_id))
        return await self.queue(room_id)

    @shielded
    async def drop_queued(self, room_id: str, message_id: str) -> Queue:
        """Remove a waiting message; return all waiting ones. Raises ``Refused`` (409) if it was said
        already.
        """
        async with self._acting(room_id):
            await self._check_queued(room_id, message_id)
            await self._write(room_id, inbox.drop(message_id), QueueChanged(room_id))
        return await self.queue(room_id)

    # --- agents ----------------------------------------------------------------------------------------

    @shielded
    async def stop_agent(self, room_id: str, agent_id: str) -> RoomInfo:
        """Stop the agent's current turn, if any; its words are kept and the round continues."""
        async with self._acting(room_id) as scene:
            scene.agent(agent_id)
            await scene.cut(agent_id, "stop")
        return await self._show(room_id)

    @shielded
    async def skip_agent(self, room_id: str, agent_id: str) -> RoomInfo:
        """Stop the agent's current turn; if there is none, skip its next one (a second call undoes that)."""
        async with self._acting(room_id) as scene:
            agent = scene.agent(agent_id)
            if scene.speaks(agent_id):
                await scene.cut(agent_id, "skip")
            else:
                await self._write(room_id, AgentSkips(agent_id, not agent.skip_next))
                self._tell(room_id)
        return await self._show(room_id)

    @shielded
    async def retry_agent(self, room_id: str, agent_id: str) -> RoomInfo:
        """Retry the agent's newest turn; a room that is not running resumes with it.

        Raises ``Refused`` (409) if it has none or others spoke after it.
        """
        async with self._acting(room_id, run=True) as scene:
            turn = turn_to_retry(scene.room, scene.turns, scene.agent(agent_id))
            self._check_run(scene)
            await self._write(room_id, TurnAgain(turn.message_id))
            await scene.cut(agent_id, "stop")
        return await self._show(room_id)

    @shielded
    async def continue_agent(self, room_id: str, agent_id: str) -> RoomInfo:
        """Have the agent continue its newest turn, which was interrupted; a paused room resumes with it. What
        was said stays, and whatever others said since.

        Raises ``Refused`` (409) if it is complete, said nothing, or is older than the round before the
        newest.
        """
        async with self._acting(room_id, run=True) as scene:
            agent = scene.agent(agent_id)
            turn = turn_to_continue(scene.room, scene.turns, agent)
            if not await self._store.read(reads.chain, room_id, turn.message_id):
                raise Refused(f"{agent.name} said nothing yet", "Retry the turn.", status=409)
            self._check_run(scene)
            await self._write(room_id, TurnAgain(turn.message_id, rest=True))
        return await self._show(room_id)

    # --- how it is done --------------------------------------------------------------------------------

    async def _keep_running(self, room_id: str) -> Scene:
        """Return the room in its current state; if it is running, a pending pause is cancelled."""
        async with self._scene(room_id) as scene:
            if scene.runner is not None and scene.room.desired == "paused":
                await self._write(room_id, ConversationSet({"desired": "running"}))
        return scene

    async def _start(self, room: ConversationRow) -> int:
        self.runs.check_start(room)
        return await self.runs.start(room, Runner.begin)

    def _check_run(self, scene: Scene) -> None:
        if scene.runner is None:
            self.runs.check_start(scene.room)

    @asynccontextmanager
    async def _acting(self, room_id: str, *, run: bool = False) -> AsyncIterator[Scene]:
        """Hold the room's lock, and the room between two steps; with ``run`` the room resumes afterwards."""
        async with self.runs.lock(room_id):
            async with self._scene(room_id) as scene:
                yield scene
            if run and scene.runner is None:
                await self._start(scene.room)

    @asynccontextmanager
    async def _scene(self, room_id: str) -> AsyncIterator[Scene]:
        """Hold the room between two steps; the caller holds its lock. Its run checks again afterwards."""
        await self.runs.settle(room_id, ROOM)
        runner = self.runs.of(room_id)
        async with runner.hold() if runner is not None else nullcontext():
            room, turns = await self._store.read(reads.state, room_id)
            # A run is over after its last step, even if its task has not ended yet.
            alive = runner if room.status == "running" else None
            yield Scene(room, turns, alive)
        if runner is not None:
            if alive is None:
                await runner.wait_until_ended()
            runner.look()

    async def _write(self, room_id: str, change: Change, *events: QueueChanged) -> None:
        await self._store.append(room_id, [NewEvent.of(event) for event in events], [change])
        self._changes.note(room_id)

    async def _check_queued(self, room_id: str, message_id: str) -> None:
        _, state = await self._store.read(reads.inbox, room_id, message_id)
        inbox.check_waits(message_id, state)

    async def _message_with_key(self, room_id: str, client_key: str) -> str:
        """Return the id of the message that came before with this key; empty if there is none."""
        if not client_key:
            return ""
        try:
            return (await self._store.read(reads.inbox, room_id, client_key=client_key))[0]
        except NotFound:
            return ""
