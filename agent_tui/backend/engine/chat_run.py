"""One answer of a chat, from its question on record to its end on record."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from agent_tui.backend.engine import budget
from agent_tui.backend.engine.answer import FAILED, Answer, Ask, Ending
from agent_tui.backend.engine.answer_history import branch_told, steps_told
from agent_tui.backend.engine.answer_tools import Gate, ToolSource, Workshop, offered
from agent_tui.backend.engine.chat_begin import VOICE
from agent_tui.backend.engine.chat_record import answer_ended
from agent_tui.backend.engine.record import turn_noted
from agent_tui.backend.engine.timing import Timing
from agent_tui.backend.engine.trimming import room_for_history, trim
from agent_tui.backend.engine.turn import ModelSource
from agent_tui.backend.engine.words import failure
from agent_tui.backend.models.model import Member, Model, ModelRequest, NotePiece, ToolSpec
from agent_tui.backend.store import reads
from agent_tui.backend.store.rows import CHATS, ConversationRow, TurnRow
from agent_tui.backend.store.store import Store
from agent_tui.backend.tools.rooms import ROOM_TOOLS
from agent_tui.backend.tools.tool import ToolPlace
from agent_tui.model.events import Message, Step


@dataclass(frozen=True, slots=True)
class Given:
    """What an answer is made from: the chat, the branch up to the question, and how it was asked. ``before``
    are the steps of the answer that this one continues.

    ``tools`` None: those that could be allowed. ``opened`` is the model and how many tokens it may say,
    or why there is none.
    """

    row: ConversationRow
    turn: TurnRow
    history: Sequence[Message]
    thinking: bool | None
    tools: tuple[str, ...] | None
    opened: tuple[Model, int] | Exception
    before: tuple[Step, ...] = ()


def opened_model(models: ModelSource, row: ConversationRow) -> tuple[Model, int] | Exception:
    """Return the chat's model and how many tokens it may say, or why there is none."""
    try:
        model, most = models.open(row.agent.provider_id, row.agent.model)
    except Exception as error:  # noqa: BLE001 - a model may raise anything (architecture.md §10)
        return error
    return model, row.answer_tokens or most


def left_out(
    models: ModelSource,
    row: ConversationRow,
    history: Sequence[Message],
    opened: tuple[Model, int] | Exception,
    before: Sequence[Step] = (),
) -> int:
    """Return how many messages of the branch the model cannot be told, for lack of room."""
    if isinstance(opened, Exception):
        return 0
    tokens = room_for_history(models.terms(row.agent.provider_id, row.agent.model), opened[1])
    return trim((*branch_told(row.agent.system_prompt, history), *steps_told(before)), tokens)[1]


class ChatRun:
    """``start`` begins it, ``cut`` makes its end come, ``ended`` waits for that. What changes the chat
    meanwhile holds ``turnstile``.
    """

    def __init__(
        self,
        store: Store,
        models: ModelSource,
        tools: ToolSource,
        gate: Gate,
        timing: Timing,
        given: Given,
    ) -> None:
        self.reason = ""
        self.message_id = given.turn.message_id
        self.turnstile = asyncio.Lock()
        self._store = store
        self._models = models
        self._tools = tools
        self._gate = gate
        self._timing = timing
        self._given = given
        self._row = given.row
        self._cut = asyncio.Event()
        self._answer: Answer | None = None
        self._task: asyncio.Task[None] | None = None

    @property
    def providers(self) -> tuple[str]:
        """The provider whose model answers."""
        return (self._given.row.agent.provider_id,)

    def start(self) -> asyncio.Task[None]:
        """Begin to answer; the task raises ``StoreError``, and only that."""
        self._task = asyncio.create_task(self._go(), name="answer")
        return self._task

    def cut(self, reason: str) -> None:
        """End the answer with what was said so far."""
        self.reason = self.reason or reason
        self._cut.set()
        if self._answer is not None:
            self._answer.cut(self.reason)

    def changed(self, row: ConversationRow) -> None:
        """The chat is ``row`` now: its budget counts at once, all else from the next question on."""
        self._row = row

    async def ended(self) -> None:
        """Wait for the end, well or badly."""
        if self._task is not None:
            await asyncio.wait({self._task})

    async def _go(self) -> None:
        ending = await self._end()
        async with self.turnstile:
            row = await self._store.read(reads.conversation, self._row.id, CHATS)
            ending.rest.add(answer_ended(row, self._given.turn, ending, self._given.before))
            await self._store.append(row.id, ending.rest.events, ending.rest.changes)

    async def _end(self) -> Ending:
        given = self._given
        if isinstance(given.opened, Exception):
            return _nothing(f"{FAILED}: {failure(given.opened)}", "")
        terms = self._models.terms(given.row.agent.provider_id, given.row.agent.model)
        specs: tuple[ToolSpec, ...] = ()
        if not terms.acts:
            specs = await offered(
                self._tools, given.tools, self._is_offered, self._cut, self._timing, self._note
            )
        if self.reason:
            return _nothing("", self.reason)
        model, max_tokens = given.opened
        ask = Ask(
            room_id=given.row.id,
            message_id=given.turn.message_id,
            model=model,
            request=self._request(specs, max_tokens),
            terms=terms,
            workshop=Workshop(
                self._tools,
                self._gate,
                ToolPlace(Path(given.row.workspace) if given.row.workspace else None),
                frozenset(spec.name for spec in specs),
            ),
            before=given.before,
        )
        self._answer = Answer(self._store, self._timing, ask, self._is_used_up)
        return await self._answer.run()

    async def _note(self, note: NotePiece) -> None:
        _, noted = turn_noted(self._given.turn, note)
        await self._store.append(self._row.id, noted.events, noted.changes)

    def _is_offered(self, name: str) -> bool:
        if self._given.tools is not None:
            return name in self._given.tools
        if name in ROOM_TOOLS and self._given.row.kind != VOICE:
            return False  # unless somebody names it
        tool = self._tools.tool(name)
        return tool is not None and (tool.permission == "read" or self._gate.could_allow(name))

    def _request(self, specs: tuple[ToolSpec, ...], max_tokens: int) -> ModelRequest:
        row, history = self._given.row, self._given.history
        return ModelRequest(
            messages=tuple(branch_told(row.agent.system_prompt, history)),
            model=row.agent.model,
            speaker="",
            task=history[-1].text,
            round=1,
            max_rounds=1,
            temperature=row.temperature,
            max_tokens=max_tokens,
            tools=specs,
            thinking=self._given.thinking,
            member=Member(row.id, row.id, row.workspace),
        )

    def _is_used_up(self, tokens: int, cost: float) -> bool:
        return budget.used_up(self._row, tokens, cost)


def _nothing(error: str, cut: str) -> Ending:
    return Ending((), error, cut, 0, None, None, None, 0.0)
