"""One attempt at a turn: asks the agent's model and puts on record what it says, as it says it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol

from agent_tui.backend.engine import record
from agent_tui.backend.engine.answer import Answer, Ask
from agent_tui.backend.engine.answer_history import cut_off, steps_told
from agent_tui.backend.engine.history import model_messages
from agent_tui.backend.engine.room_tools import RoomTools
from agent_tui.backend.engine.timing import Timing
from agent_tui.backend.engine.trimming import room_for_history, trim
from agent_tui.backend.engine.turn_chunks import TurnChunks
from agent_tui.backend.engine.words import failure
from agent_tui.backend.engine.written import Written
from agent_tui.backend.models.model import ChatMessage, Member, Model, ModelRequest, NotePiece
from agent_tui.backend.models.prices import Terms
from agent_tui.backend.store.reads import Said
from agent_tui.backend.store.rows import ConversationRow, TurnRow
from agent_tui.backend.store.store import Store
from agent_tui.model.chains import joined_steps
from agent_tui.model.events import Step

FAILED = "LLM stream failed"  # protocols.md §1

# What an attempt continues: the attempts before it, oldest first, each with its steps, if it has any.
Chain = Sequence[tuple[TurnRow, tuple[Step, ...]]]


class ModelSource(Protocol):
    """Where models come from (models/providers.py)."""

    def default_provider(self) -> str:
        """Return the provider of agents that name none; raises ``ModelError`` while that is unknown."""
        ...

    def default_model(self, provider_id: str) -> str: ...

    def check(self, provider_id: str) -> None:
        """Raise ``ModelError`` for a provider that is known not to be there."""
        ...

    def open(self, provider_id: str, model: str) -> tuple[Model, int]:
        """Return (model, max_tokens of an answer, 0: what the provider allows); raises ``ModelError`` when
        there is none.
        """
        ...

    def terms(self, provider_id: str, model: str = "") -> Terms:
        """Return how much the provider's model can be told and what it costs. Never raises."""
        ...


class Attempt:
    """``open`` puts the attempt on record, ``speak`` runs to its end, always: what is being written is never
    torn. ``cut`` makes the end come. ``on_use`` is called whenever ``using`` has changed.
    """

    def __init__(
        self,
        store: Store,
        models: ModelSource,
        timing: Timing,
        room: ConversationRow,
        turn: TurnRow,
        on_use: Callable[[], None] = lambda: None,
        tools: RoomTools | None = None,
        chain: Chain = (),
    ) -> None:
        self.cut_for = ""
        # (tokens, US dollars) used so far by what is under way: estimated until the model says it.
        self.using: tuple[int, float] = (0, 0.0)
        self._on_use = on_use
        self._store = store
        self._models = models
        self._timing = timing
        self._room = room
        self._turn = turn
        self._agent = next(agent for agent in room.agents if agent.id == turn.agent_id)
        self._asked: tuple[Model, ModelRequest] | None = None
        self._history: Sequence[ChatMessage] = ()
        self._tools = tools if room.tools else None
        self._chain = chain
        self._answer: Answer | None = None
        self._cut = asyncio.Event()

    def cut(self, reason: str) -> None:
        """End the turn with what was said so far; one whose model has finished is completed instead."""
        self.cut_for = self.cut_for or reason
        self._cut.set()
        if self._answer is not None:
            self._answer.cut(self.cut_for)

    async def open(self, said: Sequence[Said]) -> bool:
        """Begin the turn; return whether it can be spoken. Raises ``StoreError``, and only that."""
        if self.cut_for:
            return False
        try:
            model, max_tokens = self._models.open(self._agent.provider_id, self._agent.model)
        except Exception as error:  # noqa: BLE001 - a model may raise anything (architecture.md §10)
            await self._write(record.turn_refused(self._turn, failure(error)))
            return False
        self._asked = model, self._request(self._room.answer_tokens or max_tokens, said)
        await self._write(record.turn_started(self._room, self._turn))
        return True

    async def speak(self) -> None:
        """Carry the turn out that was opened. Raises ``StoreError``, and only that."""
        if self.cut_for or self._asked is None:
            await self._write(record.turn_cut(self._room, self._turn, self.cut_for))
            return
        ask = await self._ask(*self._asked)
        self._answer = Answer(self._store, self._timing, ask, self._note_use)
        if self.cut_for:
            self._answer.cut(self.cut_for)
        ending = await self._answer.run()
        turn = ending.of(self._turn)
        steps = ending.steps if ask.keeps_steps else ()
        if ending.cut:
            end = record.turn_cut(self._room, turn, ending.cut, steps, self._before)
        elif ending.error:
            end = record.turn_failed(self._room, turn, ending.error, steps, self._before)
        else:
            end = record.turn_completed(self._room, turn, steps, self._before)
        ending.rest.add(end)
        await self._write(ending.rest)
        self.using = (0, 0.0)  # from here on the room's row says it

    async def _ask(self, model: Model, request: ModelRequest) -> Ask:
        """Return what is to be answered; with tools the agent may use them until nothing more is to do."""
        room, tools, workshop = self._room, self._tools, None
        before: Sequence[ChatMessage] = ()
        terms = self._models.terms(self._agent.provider_id, self._agent.model)
        if tools is not None and not terms.acts:
            specs = await tools.offered(room, self._cut, self._timing, self._note)
            before = await tools.called_before(room, self._turn, {row.message_id for row, _ in self._chain})
            workshop = tools.workshop(room, self._turn.message_id)
            request = replace(request, tools=specs)
        return Ask(
            room_id=room.id,
            message_id=self._turn.message_id,
            model=model,
            request=replace(request, messages=(*self._history, *before)),
            terms=terms,
            workshop=workshop,
            encode=TurnChunks(room, self._turn, words_only=workshop is None and not terms.acts),
            failed=FAILED,
            before=self._before,
        )

    async def _note(self, note: NotePiece) -> None:
        self._turn, written = record.turn_noted(self._turn, note)
        await self._write(written)

    def _note_use(self, tokens: int, cost: float) -> bool:
        """Say what is used by now; whether that is too much the room says, which cuts us then."""
        self.using = tokens, cost
        self._on_use()
        return False

    async def _write(self, written: Written) -> None:
        await self._store.append(self._room.id, written.events, written.changes)

    @property
    def _before(self) -> tuple[Step, ...]:
        """The steps of what this attempt continues, as one message has them."""
        before: tuple[Step, ...] = ()
        for row, steps in self._chain:
            before = joined_steps(before, steps or (Step("step-0", content=row.text),))
        return before

    def _request(self, max_tokens: int, said: Sequence[Said]) -> ModelRequest:
        room, turn = self._room, self._turn
        began = self._chain[0][0].first_seq if self._chain else None
        self._history = model_messages(room, self._agent, turn, said, began)
        mine = steps_told(self._before)
        tokens = room_for_history(self._models.terms(self._agent.provider_id, self._agent.model), max_tokens)
        messages, left_out = trim((*self._history, *mine), tokens)
        self._turn = replace(turn, trimmed=left_out)
        return ModelRequest(
            messages=messages,
            model=self._agent.model,
            speaker=self._agent.name,
            task=room.task,
            round=turn.round,
            max_rounds=room.max_rounds,
            max_tokens=max_tokens,
            continues=cut_off(mine),
            member=Member(room.id, self._agent.id, room.workspace),
        )
