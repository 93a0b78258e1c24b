"""Runs one room: reads where it stands, asks ``plan`` what comes next, does it, again and again."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from uuid import uuid4

from agent_tui.backend.engine import record
from agent_tui.backend.engine.plan import (
    CloseRound,
    CloseTurns,
    Complete,
    Fail,
    OpenRound,
    Pause,
    Speak,
    StartRun,
    Step,
    Turn,
    plan,
)
from agent_tui.backend.engine.record import Record
from agent_tui.backend.engine.timing import Timing
from agent_tui.backend.engine.turn import Attempt, ModelSource
from agent_tui.backend.store import queries
from agent_tui.backend.store.queries import Said
from agent_tui.backend.store.rows import RoomRow, TurnRow
from agent_tui.backend.store.store import Store


class Runner:
    """One run of one room, in one task. It is never cancelled: ``cut`` asks it to end.

    ``run_seq`` is the seq of the run's ``room_started``; ``reason`` says why the run is to end, empty
    while it may go on; ``keep_running`` whether it goes on when nobody watches.
    """

    def __init__(self, store: Store, models: ModelSource, timing: Timing, room: RoomRow) -> None:
        self.room_id = room.id
        self.run_seq = 0
        self.reason = ""
        self.keep_running = room.keep_running
        self.task: asyncio.Task[None] | None = None
        self._store = store
        self._models = models
        self._timing = timing
        self._attempts: list[Attempt] = []
        self._said: list[Said] = []  # the words of the rounds before this one
        self._round = 0

    def cut(self, reason: str) -> None:
        """Stop speaking, keep what was said, and pause, or complete if nothing is left to say."""
        self.reason = self.reason or reason
        for attempt in self._attempts:
            attempt.cut(reason)

    async def begin(self) -> int:
        """Put ``room_started`` on record for a room that does not run; return its seq."""
        await self._step()
        return self.run_seq

    def start(self) -> asyncio.Task[None]:
        """Go on in a task of its own."""
        self.task = asyncio.create_task(self.go_on(), name=f"room-{self.room_id}")
        return self.task

    async def ended(self) -> None:
        """Wait until the task is done, however it ends."""
        if self.task is not None:
            await asyncio.wait({self.task})

    async def go_on(self) -> None:
        """Carry out step after step until the room is completed, paused or failed. Raises ``StoreError``."""
        while not isinstance(await self._step(), Complete | Pause | Fail):
            pass

    async def _step(self) -> Step:
        room, turns = await self._store.read(queries.state, self.room_id)
        step = plan(room, turns, self.reason)
        await self._carry_out(room, step)
        return step

    async def _carry_out(self, room: RoomRow, step: Step) -> None:
        match step:
            case StartRun(resumed):
                started = record.run_started(room, resumed=resumed, task_id=uuid4().hex, now=self._now())
                self.run_seq = await self._write(started)
            case CloseTurns(turns, reason):
                for turn in turns:
                    await self._write(record.turn_cut(room, turn, reason))
            case OpenRound(round_):
                await self._write(record.round_opened(room, round_))
            case Speak(turns):
                await self._speak(room, turns)
            case CloseRound(round_):
                await self._write(record.round_closed(room, round_))
            case Complete():
                await self._write(record.run_completed(room))
            case Pause(reason):
                await self._write(record.run_paused(room, reason))
            case Fail(content):
                await self._write(record.run_failed(content))

    async def _speak(self, room: RoomRow, turns: Sequence[Turn]) -> None:
        said = await self._words(turns[0].round)
        if room.parallel:
            await self._write(record.turns_pending(room, [turn.turn_order for turn in turns]))
        if self.reason:
            return
        self._attempts = [
            Attempt(self._store, self._models, self._timing, room, self._turn_row(turn)) for turn in turns
        ]
        # Each one to its end, also when another one fails: nothing is left running unseen.
        speaking = [self._one(attempt, said) for attempt in self._attempts]
        outcomes = await asyncio.gather(*speaking, return_exceptions=True)
        self._attempts = []
        for outcome in outcomes:
            if outcome is not None:
                raise outcome

    async def _one(self, attempt: Attempt, said: Sequence[Said]) -> None:
        try:
            await attempt.speak(said)
        except BaseException:
            self.cut("crash")
            raise

    async def _words(self, round_: int) -> list[Said]:
        """Return all that was said; the words of rounds that are over are read once."""
        news = await self._store.read(queries.said, self.room_id, self._round)
        said = self._said + news
        self._said += [words for words in news if words.round < round_]
        self._round = round_
        return said

    def _turn_row(self, turn: Turn) -> TurnRow:
        return TurnRow(turn.round, turn.turn_order, turn.attempt, uuid4().hex, created_at=self._now())

    def _now(self) -> str:
        return self._timing.now().isoformat()

    async def _write(self, written: Record) -> int:
        return await self._store.append(self.room_id, written.events, written.changes)
