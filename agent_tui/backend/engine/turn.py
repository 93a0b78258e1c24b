"""One attempt at a turn: asks the agent's model and puts on record what it says, as it says it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from agent_tui.backend.engine import record
from agent_tui.backend.engine.call import Call
from agent_tui.backend.engine.history import model_messages
from agent_tui.backend.engine.record import Record
from agent_tui.backend.engine.timing import Timing
from agent_tui.backend.engine.words import failure
from agent_tui.backend.models.model import Model, ModelRequest
from agent_tui.backend.store.queries import Said
from agent_tui.backend.store.rows import NewEvent, RoomRow, TurnRow
from agent_tui.backend.store.store import Store


class ModelSource(Protocol):
    """Where models come from (models/providers.py)."""

    def default_provider(self) -> str: ...

    def default_model(self, provider_id: str) -> str: ...

    def open(self, provider_id: str, model: str) -> tuple[Model, int]:
        """Return (model, max_tokens); raises ``ModelError`` when there is none."""
        ...


class Attempt:
    """``open`` puts the attempt on record, ``speak`` runs to its end, always: what is being written is never
    torn. ``cut`` makes the end come.
    """

    def __init__(
        self, store: Store, models: ModelSource, timing: Timing, room: RoomRow, turn: TurnRow
    ) -> None:
        self.cut_for = ""
        self._store = store
        self._models = models
        self._timing = timing
        self._room = room
        self._turn = turn
        self._agent = next(agent for agent in room.agents if agent.id == turn.agent_id)
        self._said: list[str] = []
        self._characters = 0
        self._asked: tuple[Model, ModelRequest] | None = None
        self._call: Call | None = None

    def cut(self, reason: str) -> None:
        """End the turn with what was said so far; one whose model has finished is completed instead."""
        self.cut_for = self.cut_for or reason
        if self._call is not None:
            self._call.cancel()

    async def open(self, said: Sequence[Said]) -> bool:
        """Begin the turn; return whether it can be spoken. Raises ``StoreError``, and only that."""
        if self.cut_for:
            return False
        try:
            model, max_tokens = self._models.open(self._agent.provider_id, self._agent.model)
        except Exception as error:  # noqa: BLE001 - a model may raise anything (architecture.md §10)
            await self._write(record.turn_refused(self._turn, failure(error)))
            return False
        self._asked = model, self._request(max_tokens, said)
        await self._write(record.turn_started(self._room, self._turn))
        return True

    async def speak(self) -> None:
        """Carry the turn out that was opened. Raises ``StoreError``, and only that."""
        if self.cut_for or self._asked is None:
            await self._write(record.turn_cut(self._room, self._turn, self.cut_for))
            return
        self._call = Call(*self._asked, self._timing)
        try:
            await self._listen(self._call)
        finally:
            await self._call.gone()

    async def _listen(self, call: Call) -> None:
        """Write what is heard, one chunk at a time: what comes meanwhile is joined into the next."""
        while not call.over:
            await call.news()
            if call.over:
                break
            if text := call.take():
                await self._store.append(self._room.id, self._add(text))
        rest = self._add(call.take())
        turn = self._used(call, replace(self._turn, text="".join(self._said)))
        if call.cut:
            end = record.turn_cut(self._room, turn, self.cut_for)
        elif call.error:
            end = record.turn_failed(self._room, turn, call.error)
        else:
            end = record.turn_completed(self._room, turn)
        await self._write(Record([*rest, *end.events], end.changes))

    def _add(self, text: str) -> list[NewEvent]:
        before = self._characters
        self._said.append(text)
        self._characters += len(text)
        return record.chunks(self._room, self._turn, text, before)

    async def _write(self, written: Record) -> None:
        await self._store.append(self._room.id, written.events, written.changes)

    def _used(self, call: Call, turn: TurnRow) -> TurnRow:
        """Return ``turn`` with what it used, as far as the model said so."""
        turn = replace(turn, first_token_seconds=call.first_piece_seconds)
        if call.usage is None:
            return turn
        prompt, completion = call.usage.prompt_tokens, call.usage.completion_tokens
        return replace(turn, prompt_tokens=prompt, completion_tokens=completion)

    def _request(self, max_tokens: int, said: Sequence[Said]) -> ModelRequest:
        room, turn = self._room, self._turn
        return ModelRequest(
            messages=model_messages(room, self._agent, turn, said),
            model=self._agent.model,
            speaker=self._agent.name,
            task=room.task,
            round=turn.round,
            max_rounds=room.max_rounds,
            max_tokens=max_tokens,
        )
