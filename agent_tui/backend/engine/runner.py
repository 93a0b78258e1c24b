"""Runs one conversation: reads its state, asks its ``plan`` for the next step, does it, and repeats."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from uuid import uuid4

from agent_tui.backend.engine import record
from agent_tui.backend.engine.answer.attempt import Attempt
from agent_tui.backend.engine.budget import used_up
from agent_tui.backend.engine.context.history import Brief, Chain, room_brief
from agent_tui.backend.engine.ending import TurnEnding, ending_after_crash
from agent_tui.backend.engine.kinds import kind_of
from agent_tui.backend.engine.plan import (
    CloseRound,
    CloseTurns,
    Complete,
    DueTurn,
    Fail,
    OpenRound,
    Pause,
    Rest,
    Say,
    Skip,
    Speak,
    StartRun,
    Step,
    Wait,
)
from agent_tui.backend.engine.resources import Resources
from agent_tui.backend.engine.words import failure
from agent_tui.backend.engine.written import ChangeSet
from agent_tui.backend.store import reads
from agent_tui.backend.store import steps as stored_steps
from agent_tui.backend.store.reads.turns import Contribution
from agent_tui.backend.store.rows import ConversationRow, ConversationSet, TurnRow


class Runner:
    """One run of a room, or one answer of a chat, in one task. It is never cancelled: ``cut`` asks it to end.

    ``row`` is the conversation after the newest step or change. ``run_seq`` is the seq of a room's
    ``room_started``; ``reason`` says why the run is to end, empty while it may continue.
    """

    def __init__(self, resources: Resources, row: ConversationRow) -> None:
        self.row = row
        self.kind = kind_of(row)
        self.run_seq = 0
        self.reason = ""
        self.task: asyncio.Task[None] | None = None
        self._resources = resources
        self._store = resources.store
        self._stepping = asyncio.Lock()  # held while a step is carried out
        self._ending = asyncio.Lock()  # held while an end with the conversation's state is written
        self._attempts: dict[str, Attempt] = {}  # by the ids of the speaking agents
        self._speaking: dict[str, asyncio.Task[None]] = {}
        self._news = asyncio.Event()  # a turn ended, or a person acted
        self._stepped = asyncio.Event()
        self._said: list[Contribution] = []  # the words of finished rounds
        self._round = 0  # the first round that is not among them

    @property
    def providers(self) -> frozenset[str]:
        """The providers of the models that speak here."""
        return frozenset(agent.provider_id for agent in self.row.agents)

    @asynccontextmanager
    async def hold(self) -> AsyncIterator[None]:
        """Hold the conversation between two steps: no turn starts, and the run does not end."""
        async with self._stepping, self._ending:
            yield

    def changed(self, row: ConversationRow) -> None:
        """Take the changed ``row``: removed agents stop, the budget counts at once."""
        self.row = row
        self.cut_turns("stop", self._attempts.keys() - {agent.id for agent in row.agents})
        self.look()

    def says(self, message_id: str) -> bool:
        """Return whether this message is being said."""
        return any(attempt.turn.message_id == message_id for attempt in self._attempts.values())

    def cut(self, reason: str) -> None:
        """Stop speaking, keep what was said, and pause, or end if nothing is left to say."""
        self.reason = self.reason or reason
        for attempt in self._attempts.values():
            attempt.cut(reason)
        self._news.set()

    def speaks(self, agent_id: str) -> bool:
        """Return whether the agent is speaking."""
        return agent_id in self._speaking and not self._speaking[agent_id].done()

    def cut_agent(self, agent_id: str, reason: str) -> None:
        """Interrupt this agent's turn, if it is speaking; the run continues."""
        if agent_id in self._attempts:
            self._attempts[agent_id].cut(reason)
        self._news.set()

    def cut_turns(self, reason: str, agent_ids: Iterable[str] | None = None) -> None:
        """Interrupt the turns of these agents (``None``: of all) that are speaking; the run continues."""
        for agent_id in list(self._attempts) if agent_ids is None else agent_ids:
            self.cut_agent(agent_id, reason)

    async def wait_until_quiet(self, agent_id: str) -> None:
        """Wait until the agent's interrupted turn is stored, if it was speaking."""
        if agent_id in self._speaking:
            await asyncio.wait({self._speaking[agent_id]})

    def look(self) -> None:
        """Check again what is stored."""
        self._news.set()

    async def wait_for_step(self) -> None:
        """Wait until the next step is done or the run has ended."""
        step = asyncio.create_task(self._stepped.wait())
        self._stepped.clear()
        self._news.set()
        waiting = {step} if self.task is None else {step, self.task}
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        step.cancel()

    async def begin(self) -> int:
        """Store ``room_started`` for a room that is not running; return its seq."""
        await self._step()
        return self.run_seq

    def attempt(self, turn: TurnRow, brief: Brief) -> Attempt:
        """Return a new attempt at this turn, not yet begun."""
        return Attempt(self._resources, self.row, turn, brief, self.kind.encode, self._check_budget)

    async def answer(self, attempt: Attempt, opening: ChangeSet) -> int:
        """Store a question of a chat and the beginning of its answer; return the first seq."""
        first = await self._resources.write(self.row.id, opening)
        self._begin(attempt)
        return first

    def start(self) -> asyncio.Task[None]:
        """Continue in a task of its own."""
        self.task = asyncio.create_task(self.go_on(), name=f"run-{self.row.id}")
        return self.task

    async def wait_until_ended(self) -> None:
        """Wait until the task is done, however it ends."""
        if self.task is not None:
            await asyncio.wait({self.task})

    async def go_on(self) -> None:
        """Do step after step until one of them ends the run. Raises only ``StoreError``."""
        try:
            while True:
                self._news.clear()
                step = await self._step()
                if isinstance(step, Complete | Pause | Fail | Rest):
                    return
                if isinstance(step, Wait):
                    await self._news.wait()
        finally:
            if self._speaking:  # nothing keeps running unseen
                self.cut("crash")
                await asyncio.wait(self._speaking.values())
                for task in self._speaking.values():
                    task.exception()  # the run ends with one; asyncio would log a traceback of the others

    async def _step(self) -> Step:
        async with self._stepping:
            await self._release_finished()
            self.row, turns = await self._store.read(reads.state, self.row.id)
            step = self.kind.plan(self.row, turns, self.reason, self._speaking.keys())
            await self._carry_out(self.row, step)
            self._stepped.set()
            return step

    def _check_budget(self) -> None:
        using = [attempt.using for attempt in self._attempts.values()]
        if used_up(self.row, sum(tokens for tokens, _ in using), sum(cost for _, cost in using)):
            self.cut("budget")

    async def _release_finished(self) -> None:
        """Release finished turns, after waiting for interrupted ones, which end soon. Raises their error."""
        cut = [task for agent_id, task in self._speaking.items() if self._attempts[agent_id].cut_for]
        if cut:
            await asyncio.wait(cut)
        for agent_id, task in list(self._speaking.items()):
            if task.done():
                del self._speaking[agent_id], self._attempts[agent_id]
                task.result()

    async def _carry_out(self, room: ConversationRow, step: Step) -> None:
        match step:
            case StartRun(resumed):
                now = self._resources.now()
                started = record.run_started(room, resumed=resumed, task_id=uuid4().hex, now=now)
                self.run_seq = await self._write(started)
            case CloseTurns(turns, reason):
                for turn in turns:
                    await self._close(room, turn, reason)
            case OpenRound(round_):
                await self._write(record.round_opened(room, round_))
            case Say(words):
                await self._write(record.people_said(room, words, self._resources.now()))
            case Skip(turn):
                await self._write(record.turn_skipped(self._turn_row(room, turn)))
            case Speak(turns):
                await self._speak(room, turns)
            case Wait():
                pass
            case CloseRound(round_):
                await self._write(record.round_closed(room, round_))
            case Complete():
                await self._write(record.run_completed(room))
            case Pause(reason, again):
                await self._write(record.run_paused(room, reason, again))
            case Fail(content):
                await self._write(record.run_failed(content))
            case Rest() if room.status == "running":  # the process died before an answer began
                await self._write(ChangeSet([], [ConversationSet({"status": "idle", "interrupted": ""})]))
            case Rest():
                pass

    async def _close(self, room: ConversationRow, turn: TurnRow, reason: str) -> None:
        """Close a turn that a process left open when it died; its calls are not run again."""
        steps = (await self._store.read(stored_steps.steps, room.id, [turn])).get(turn.message_id, ())
        encode = self.kind.encode(room, turn, False)
        ending = ending_after_crash(turn, steps, reason, self._resources.now(), encode)
        ending.rest.add(self.kind.ended(room, turn, ending, ()))
        await self._write(ending.rest)

    async def _speak(self, room: ConversationRow, due: Sequence[DueTurn]) -> None:
        contributions = await self._contributions(room.round_open)
        chains = {turn.agent_id: await self._chain(turn) for turn in due}
        turns = [self._turn_row(room, turn, chains[turn.agent_id]) for turn in due]
        if room.parallel:
            await self._write(record.turns_pending(turns))
        if self.reason:
            return
        briefs = [room_brief(room, turn, contributions, chains[turn.agent_id]) for turn in turns]
        attempts = [self.attempt(turn, brief) for turn, brief in zip(turns, briefs, strict=True)]
        self._attempts.update((attempt.turn.agent_id, attempt) for attempt in attempts)
        opened = await asyncio.gather(*map(self._open, attempts), return_exceptions=True)
        for attempt, outcome in zip(attempts, opened, strict=True):
            if outcome is True:
                self._begin(attempt)
            else:
                del self._attempts[attempt.turn.agent_id]
        for outcome in opened:
            if isinstance(outcome, BaseException):
                raise outcome

    async def _open(self, attempt: Attempt) -> bool:
        """Store the beginning of a room's turn; return whether it can be spoken."""
        if attempt.cut_for:
            return False
        if attempt.refused is not None:
            await self._write(record.turn_refused(attempt.turn, failure(attempt.refused)))
            return False
        await self._write(record.turn_started(attempt.row, attempt.turn))
        return True

    def _begin(self, attempt: Attempt) -> None:
        agent_id = attempt.turn.agent_id
        self._attempts[agent_id] = attempt
        self._speaking[agent_id] = asyncio.create_task(self._speak_turn(attempt), name=f"turn-{agent_id}")
        self._speaking[agent_id].add_done_callback(lambda _: self._news.set())

    async def _speak_turn(self, attempt: Attempt) -> None:
        """Run the attempt, and store its end."""
        try:
            ending = await attempt.speak()
            if self.kind.tells_info:
                async with self._ending:
                    await self._end(attempt, ending, await self._store.read(reads.conversation, self.row.id))
            else:
                await self._end(attempt, ending, attempt.row)
            attempt.using = (0, 0.0)  # from here on the stored row has it
        except BaseException:
            self.cut("crash")
            raise

    async def _end(self, attempt: Attempt, ending: TurnEnding, row: ConversationRow) -> None:
        ending.rest.add(self.kind.ended(row, attempt.turn, ending, attempt.brief.before))
        await self._write(ending.rest)

    async def _contributions(self, newest: int) -> list[Contribution]:
        """Return everything that was said; what is older than the round before the ``newest`` is read
        once.
        """
        news = await self._store.read(reads.contributions, self.row.id, self._round)
        contributions = self._said + news
        # A turn of an older round is never said again.
        self._said += [contribution for contribution in news if contribution.round < newest - 1]
        self._round = max(self._round, newest - 1)
        return contributions

    async def _chain(self, turn: DueTurn) -> Chain:
        """Return the attempts that the ``turn`` continues; no message was stored for thoughts alone."""
        if not turn.continues:
            return []
        parts = await self._store.read(reads.chain, self.row.id, turn.continues)
        return [
            (row, steps)
            for row, steps in parts
            if row.text or any(step.type == "tool_call" for step in steps)
        ]

    def _turn_row(self, room: ConversationRow, turn: DueTurn, chain: Chain = ()) -> TurnRow:
        agent = next(agent for agent in room.agents if agent.id == turn.agent_id)
        return TurnRow(
            turn.round,
            turn.agent_id,
            turn.attempt,
            uuid4().hex,
            created_at=self._resources.now(),
            sender_name=agent.name,
            sender_color=agent.color,
            supersedes="" if chain else turn.supersedes,
            continues=chain[-1][0].message_id if chain else "",
        )

    async def _write(self, written: ChangeSet) -> int:
        return await self._resources.write(self.row.id, written)
