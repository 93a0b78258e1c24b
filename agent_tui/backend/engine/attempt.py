"""One attempt at a turn or an answer: its model is asked, and what it says is put on record as it comes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from agent_tui.backend.engine.answer import Answer, Ask, Ending
from agent_tui.backend.engine.answer_history import steps_told
from agent_tui.backend.engine.answer_steps import Encode
from agent_tui.backend.engine.answer_tools import Gate, Workshop, offered
from agent_tui.backend.engine.record import turn_noted
from agent_tui.backend.engine.resources import Resources
from agent_tui.backend.engine.trimming import room_for_history, trim
from agent_tui.backend.engine.words import failure
from agent_tui.backend.models.model import ChatMessage, Model, ModelRequest, NotePiece, ToolSpec
from agent_tui.backend.store import steps as stored_steps
from agent_tui.backend.store.rows import VOICE, ConversationRow, TurnRow
from agent_tui.backend.tools.rooms import ROOM_TOOLS
from agent_tui.backend.tools.tool import ToolPlace
from agent_tui.model.events import Step


@dataclass(frozen=True, slots=True)
class Brief:
    """What an attempt is made from. ``request`` holds the whole history; its tools, and how long the answer
    may be, are not said yet.

    ``before`` are the steps of what it continues, as one message has them, ``continued`` the messages that
    they are of. ``tools`` may be used; None: those that look only, and what could be allowed. Without
    ``keeps_steps`` an agent says words only. With ``is_alone`` nobody is asked what a tool may do. ``failed``
    begins what is said of a failure.
    """

    request: ModelRequest
    failed: str
    before: tuple[Step, ...] = ()
    continued: Collection[str] = ()
    tools: tuple[str, ...] | None = ()
    keeps_steps: bool = True
    is_alone: bool = False


class Attempt:
    """``speak`` runs to the end of the attempt, always: what is being written is never torn. ``cut`` makes
    the end come. That it began, and how it ended, is for the caller to write.

    ``on_use`` is called whenever ``using`` has changed: (tokens, US dollars) used so far by what is under
    way, estimated until the model says it. ``refused`` is why there is no model to ask, ``turn`` says how
    many messages the model cannot be told.
    """

    def __init__(
        self,
        resources: Resources,
        row: ConversationRow,
        turn: TurnRow,
        brief: Brief,
        encode: Callable[[ConversationRow, TurnRow, bool], Encode | None],
        on_use: Callable[[], None],
    ) -> None:
        """``encode`` returns how steps go into the log (of words only, if the flag says so)."""
        self.row = row
        self.brief = brief
        self.cut_for = ""
        self.using: tuple[int, float] = (0, 0.0)
        self.refused: Exception | None = None
        self._resources = resources
        self._encode = encode
        self._on_use = on_use
        self._agent = next(agent for agent in row.agents if agent.id == turn.agent_id)
        self._terms = resources.models.terms(self._agent.provider_id, self._agent.model)
        self._answer: Answer | None = None
        self._cut = asyncio.Event()
        self._model: Model | None = None
        self._max_tokens = 0
        try:
            self._model, most = resources.models.open(self._agent.provider_id, self._agent.model)
        except Exception as error:  # noqa: BLE001 - a model may raise anything (architecture.md §10)
            self.refused = error
            self.turn = turn
        else:
            self._max_tokens = row.answer_tokens or most
            told = (*brief.request.messages, *steps_told(brief.before))
            _, left_out = trim(told, room_for_history(self._terms, self._max_tokens))
            self.turn = replace(turn, trimmed=left_out)

    def cut(self, reason: str) -> None:
        """End it with what was said so far; one whose model has finished is whole instead."""
        self.cut_for = self.cut_for or reason
        self._cut.set()
        if self._answer is not None:
            self._answer.cut(self.cut_for)

    async def speak(self) -> Ending:
        """Carry it out; return what came of it. Raises ``StoreError``, and only that."""
        if self._model is None:
            why = "" if self.refused is None else failure(self.refused)
            return Ending(error=f"{self.brief.failed}: {why}")
        ask = await self._ask(self._model)
        if self.cut_for:
            return Ending(cut=self.cut_for)
        self._answer = Answer(self._resources, ask, self._note_use)
        return await self._answer.run()

    async def _ask(self, model: Model) -> Ask:
        """Return what is to be answered; with tools they may be used until nothing more is to do."""
        brief, row = self.brief, self.row
        gate = self._resources.asks.gate(row.id, self.turn.message_id, is_alone=brief.is_alone)
        specs: tuple[ToolSpec, ...] = ()
        before: Sequence[ChatMessage] = ()
        if brief.keeps_steps and not (self._terms.acts or self.cut_for):
            specs = await self._offered(gate)
            before = await self._called_before()
        workshop = None
        if brief.keeps_steps or self._terms.acts:
            place = ToolPlace(Path(row.workspace) if row.workspace else None)
            enabled = frozenset(spec.name for spec in specs)
            workshop = Workshop(self._resources.tools, gate, place, enabled)
        request = replace(
            brief.request,
            messages=(*brief.request.messages, *before),
            max_tokens=self._max_tokens,
            tools=specs,
        )
        return Ask(
            room_id=row.id,
            message_id=self.turn.message_id,
            model=model,
            request=request,
            terms=self._terms,
            workshop=workshop,
            encode=self._encode(row, self.turn, workshop is None),
            failed=brief.failed,
            before=brief.before,
        )

    async def _offered(self, gate: Gate) -> tuple[ToolSpec, ...]:
        """Return the tools that may be called; none once it is cut."""
        resources, names = self._resources, self.brief.tools
        return await offered(
            resources.tools,
            names,
            lambda name: self._is_open(name, gate) if names is None else name in names,
            self._cut,
            resources.timing,
            self._note,
        )

    def _is_open(self, name: str, gate: Gate) -> bool:
        """Return whether a tool may be called that nobody named."""
        if name in ROOM_TOOLS and self.row.kind != VOICE:
            return False
        tool = self._resources.tools.tool(name)
        return tool is not None and (tool.permission == "read" or gate.could_allow(name))

    async def _called_before(self) -> list[ChatMessage]:
        """Return what attempts at this turn that were cut called, and what came of it: who says it again has
        to know what was done. Their words it says anew.
        """
        told: list[ChatMessage] = []
        query = stored_steps.steps_before
        for steps in await self._resources.store.read(query, self.row.id, self.turn, self.brief.continued):
            told += steps_told([step for step in steps if step.type in ("tool_call", "tool_result")])
        return told

    async def _note(self, note: NotePiece) -> None:
        self.turn, written = turn_noted(self.turn, note)
        await self._resources.write(self.row.id, written)

    def _note_use(self, tokens: int, cost: float) -> None:
        self.using = tokens, cost
        self._on_use()
