"""One attempt at a turn or an answer: the model is asked and the tools that it calls are run, again and again
until it calls none. Its words are stored as they come, its beginning and its end by the caller.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from agent_tui.backend.engine.agents import is_synthesis
from agent_tui.backend.engine.answer.call import Call
from agent_tui.backend.engine.answer.steps import Encode, StepLog
from agent_tui.backend.engine.answer.tools import ToolCalls, Workshop, tools_for_model
from agent_tui.backend.engine.context.compacting import (
    SUMMARISING,
    can_summarise,
    summary_request,
    with_summary,
)
from agent_tui.backend.engine.context.guide import Guide, guide_of, with_guide
from agent_tui.backend.engine.context.history import Brief, last_words_of, step_messages, without_unrun
from agent_tui.backend.engine.context.trimming import (
    SHORT_TOKENS,
    Fitting,
    fitted,
    prompt_tokens,
    room_for_history,
    trim,
)
from agent_tui.backend.engine.ending import TokenUse, TurnEnding
from agent_tui.backend.engine.resources import Resources
from agent_tui.backend.engine.words import failure
from agent_tui.backend.engine.written import ChangeSet
from agent_tui.backend.models.continuing import continuing_model
from agent_tui.backend.models.model import (
    CallPiece,
    ChatMessage,
    Model,
    ModelRequest,
    NotePiece,
    StepPiece,
    TextPiece,
    ThinkingPiece,
    ToolSpec,
)
from agent_tui.backend.models.model import context_of as context_of_model
from agent_tui.backend.models.prices import UNLIMITED_TOKENS, Cost, context_of, cost_of, unknown_cost
from agent_tui.backend.store import steps as stored_steps
from agent_tui.backend.store.messages import notes_of, with_notes
from agent_tui.backend.store.rows import VOICE, ConversationRow, TurnRow
from agent_tui.backend.tools.calling import failed_output
from agent_tui.backend.tools.rooms import ROOM_TOOLS
from agent_tui.backend.tools.tool import ToolPlace
from agent_tui.config.file import DEMO_PROVIDER
from agent_tui.model.chains import joined_steps
from agent_tui.model.errors import MAX_TOOL_ROUNDS, TOO_MANY_ROUNDS, ModelError
from agent_tui.model.events import SHORTENED, Step

WORDS = (TextPiece, ThinkingPiece)
WORDS_AND_STEPS = (*WORDS, CallPiece, StepPiece)
# (status, result) of a call that an agent ran itself without reporting the result.
UNREPORTED = ("unknown", failed_output("the agent did not say what came of it").content)
BROKEN_OFF = ("cut", failed_output("unknown: the answer ended while the agent ran this").content)
LENGTH = "length"  # the reason of a turn or answer that reached the token limit (protocols.md §1, point 8)


class Attempt:
    """``speak`` always runs to the end of the attempt: what is being written is never torn. ``cut`` makes it
    end.

    ``using`` is (tokens, US dollars) used so far, estimated until the model reports them; ``on_use`` is
    called whenever it has changed, and may cut the attempt. ``refused`` is why there is no model to ask,
    ``turn`` says how many messages do not fit the model's context.
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
        """``encode`` returns how steps are written to the log (only words, if the flag says so)."""
        self.row = row
        self.turn = turn
        self.brief = brief
        self.cut_for = ""
        self.using: tuple[int, float] = (0, 0.0)
        self.refused: Exception | None = None
        self._resources = resources
        self._on_use = on_use
        agent = next(agent for agent in row.agents if agent.id == turn.agent_id)
        self._is_demo = agent.provider_id == DEMO_PROVIDER
        self._agent = agent
        self._terms = resources.models.terms(agent.provider_id, agent.model)
        self._has_steps = brief.keeps_steps or self._terms.acts
        self._steps = StepLog(
            turn.message_id,
            resources.now(),
            encode=encode(row, turn, not self._has_steps),
            before=brief.before,
            has_rows=self._has_steps,
        )
        self._model: Model | None = None
        self._request = brief.request
        self._gate = resources.asks.gate(row.id, turn.message_id, is_alone=brief.is_alone)
        self._calls: ToolCalls | None = None
        self._call: Call | None = None
        self._cut = asyncio.Event()
        self._used = TokenUse()  # by the model calls that have ended
        self._error = ""
        self._is_whole = False
        self._rest = ChangeSet()
        try:
            self._model, most = resources.models.open(agent.provider_id, agent.model)
        except Exception as error:  # noqa: BLE001 - a model may raise anything (architecture.md §10)
            self.refused = error
            return
        self._request = replace(brief.request, max_tokens=row.answer_tokens or most)
        if "images" in self._terms.refuses:  # images that nobody sees take no room
            self._request = self._request.without_images()
        if not self._may_summarise:
            self.turn = replace(turn, trimmed=self._fitting(step_messages(brief.before)).left_out)

    def cut(self, reason: str) -> None:
        """End it with what was said so far, also inside a tool; if its model has finished, it is complete."""
        self.cut_for = self.cut_for or reason
        self._cut.set()
        if self._call is not None:
            self._call.cancel()
        if self._calls is not None:
            self._calls.cut()

    async def speak(self) -> TurnEnding:
        """Run the attempt; return how it ended. Raises only ``StoreError``."""
        ending = await self._speak()
        self.turn = replace(self.turn, notes=with_notes(self.turn.notes, self._steps.notes))
        return ending

    async def _speak(self) -> TurnEnding:
        if self._model is None:
            why = "" if self.refused is None else failure(self.refused)
            return TurnEnding(error=f"{self.brief.failed}: {why}", seconds=0.0)
        await self._prepare()
        if self.cut_for:
            return TurnEnding(cut=self.cut_for, seconds=0.0)
        clock = asyncio.get_running_loop().time
        started_at = clock()
        self._steps.now = self._resources.now()
        pricing = asyncio.create_task(cost_of(self._terms, self._request.model))
        if self._may_summarise:
            await self._summarise(self._model, pricing)
        if not self.brief.compacts:
            await self._answer(self._model, pricing)
        await pricing
        await self._measure()
        return TurnEnding(
            steps=self._steps.in_order,
            error=self._error,
            cut="" if self._is_whole else self.cut_for,  # it may be complete before it can be cut
            used=self._used,
            seconds=round(clock() - started_at, 3),
            rest=self._rest,
        )

    async def _answer(self, model: Model, pricing: asyncio.Task[Cost]) -> None:
        """Ask the model, run what it calls, and ask again."""
        for round_ in range(1, MAX_TOOL_ROUNDS + 1):
            written = ChangeSet()
            calls = await self._ask(model, round_, pricing, written)
            if not calls or self._calls is None:
                return
            await self._calls.run(calls, written)
        self._error = "" if self.cut_for else TOO_MANY_ROUNDS

    async def _measure(self) -> None:
        """Note the size of its model's context; agents of others keep their own history."""
        used, request = self._used, self.brief.request
        if self._is_demo or self._terms.acts:
            used.context = 0
        elif used.context:
            terms = self._resources.models.terms(self._agent.provider_id, self._agent.model)  # known by now
            used.context_limit = await context_of(terms, request.model)

    # --- what its model gets ---------------------------------------------------------------------------

    async def _prepare(self) -> None:
        """Read the working folder's guide, the tools that may be called, and what was called before."""
        brief, row, specs = self.brief, self.row, tuple[ToolSpec, ...]()
        if brief.compacts:
            return
        if is_synthesis(row, self.turn.round, self._agent.id) and not self._is_noted("synthesis"):
            await self._put_notes(NotePiece("synthesis"))
        await self._add_guide()
        is_blind = self._is_demo or self._terms.acts or "images" in self._terms.refuses
        if is_blind and any(message.images for message in brief.request.messages):
            await self._put_notes(NotePiece("no_images"))
        if brief.keeps_steps and not (self._terms.acts or self.cut_for):
            specs = await self._tools_to_offer()
            messages = (*self._request.messages, *await self._earlier_calls())
            self._request = replace(self._request, messages=messages, tools=specs)
        if self._has_steps:
            place = ToolPlace(Path(row.workspace) if row.workspace else None)
            enabled = frozenset(spec.name for spec in specs)
            workshop = Workshop(self._resources.tools, self._gate, place, enabled)
            self._calls = ToolCalls(workshop, self._steps, self._write, self._resources.timing)

    def _is_noted(self, name: str) -> bool:
        return any(note.note == name for note in notes_of(self.turn.notes))

    async def _add_guide(self) -> None:
        """Give the model the working folder's guide, and note that for people."""
        if guide := await self._guide():
            self._request = replace(self._request, messages=with_guide(self._request.messages, guide))
            await self._put_notes(guide.note, *([] if self._may_summarise else self._left_out()))

    async def _guide(self) -> Guide | None:
        row, heeds = self.row, not (self._is_demo or self._terms.acts)
        if not (row.workspace and row.guide == "tell" and heeds) or self.cut_for:
            return None
        tokens = room_for_history(self._terms, self._request.max_tokens)
        return await asyncio.to_thread(guide_of, Path(row.workspace), tokens)

    def _left_out(self) -> list[NotePiece]:
        return self._fitting(step_messages(self.brief.before)).notes

    async def _tools_to_offer(self) -> tuple[ToolSpec, ...]:
        tools, timing = self._resources.tools, self._resources.timing
        return await tools_for_model(
            tools, self.brief.tools, self._is_offered, self._cut, timing, self._put_notes
        )

    def _is_offered(self, name: str) -> bool:
        """Return whether the model may call this tool."""
        if self.brief.tools is not None:
            return name in self.brief.tools
        if name in ROOM_TOOLS and self.row.kind != VOICE:
            return False
        tool = self._resources.tools.tool(name)
        return tool is not None and (tool.permission == "read" or self._gate.could_allow(name))

    async def _earlier_calls(self) -> list[ChatMessage]:
        """Return the calls, with results, of interrupted attempts at this turn: a model that tries again has
        to know what was done. Their words are left out: it says them again.
        """
        messages: list[ChatMessage] = []
        query = stored_steps.steps_before
        for steps in await self._resources.store.read(query, self.row.id, self.turn, self.brief.continued):
            messages += step_messages([step for step in steps if step.type in ("tool_call", "tool_result")])
        return messages

    def _fitting(self, own: Sequence[ChatMessage]) -> Fitting:
        """Return what fits of the history and of the attempt's ``own`` messages."""
        request = self._request
        return trim((*request.messages, *own), room_for_history(self._terms, request.max_tokens))

    # --- a summary of what is older --------------------------------------------------------------------

    @property
    def _may_summarise(self) -> bool:
        """Whether older messages are summarised: if they do not fit, or in any case."""
        if self.brief.past is None or self._is_demo or not can_summarise(self._terms):
            return False
        return self.brief.compacts or (self.row.on_full == "summarise" and self.row.kind != VOICE)

    async def _summarise(self, model: Model, pricing: asyncio.Task[Cost]) -> None:
        """Summarise older messages, if that was asked for or they do not fit; from then on the model gets the
        summary instead. If that fails, an answer does without what does not fit.
        """
        past = self.brief.past
        assert past is not None
        context = await self._context(model)
        if not self.brief.compacts and not (past.is_enough and self._is_too_long(context)):
            await self._put_notes(*self._left_out())
            return
        await self._put_notes(NotePiece(SUMMARISING, past.count))
        request = summary_request(self._request, past, context)
        text, error = await self._summary(model, request, pricing)
        if text and not self.cut_for:
            written = ChangeSet()
            self._steps.put_summary(text, past.count, written)
            await self._write(written)
            messages = with_summary(self._request.messages, past, text)
            if self.brief.compacts and (guide := await self._guide()):  # the next question has it, too
                messages = with_guide(messages, guide)
            self._request = replace(self._request, messages=messages)
            if self.brief.compacts and "tools" not in self._terms.refuses:
                # Its context is measured with the tools, which the next question offers again.
                self._request = replace(self._request, tools=await self._tools_to_offer())
            self._used.context = prompt_tokens(self._request)
            self._is_whole = self.brief.compacts
        elif self.brief.compacts and not self.cut_for:
            self._error = error or f"{self.brief.failed}: the model said nothing"
        await self._put_notes(*self._left_out())

    async def _summary(
        self, model: Model, request: ModelRequest, pricing: asyncio.Task[Cost]
    ) -> tuple[str, str]:
        """Return (the model's answer to this request, why it failed)."""
        self._note_use(self._used)
        if self.cut_for:
            return "", ""
        failing, silence = self.brief.failed, self._terms.silence_seconds
        timing = self._resources.timing
        self._call = call = Call(model, request, timing, failed=failing, silence_seconds=silence)
        words: list[str] = []
        try:
            while not call.over:
                await call.wait_for_news()
                await self._put_notes(*(note for note in call.take_notes() if note.note == "rate_limit"))
                words += (piece.text for piece in call.take() if isinstance(piece, TextPiece))
            words += (piece.text for piece in call.take() if isinstance(piece, TextPiece))
        finally:
            await call.wait_until_gone()
        text = "".join(words).strip()
        self._used.add(call, request, len(text), await pricing)
        self._note_use(self._used)
        return ("", call.error) if call.error or call.cut else (text, "")

    def _is_too_long(self, context: int) -> bool:
        own = step_messages(self.brief.before)
        request = replace(self._request, messages=(*self._request.messages, *own))
        return fitted(request, context, limits_answer=False)[1].left_out > 0

    async def _context(self, model: Model) -> int:
        """Return the size of the model's context in tokens, as its server tells it now if the history does
        not fit into what was known; a short history fits any model.
        """
        known_size = self._terms.context_tokens
        is_enough = known_size < UNLIMITED_TOKENS and not self._is_too_long(known_size)
        if is_enough or prompt_tokens(self._request) < SHORT_TOKENS:
            return known_size
        try:
            tokens = await context_of_model(model, self._request) or known_size
        except ModelError:  # the call will say why
            return known_size
        self._terms = self._resources.models.terms(self._agent.provider_id, self._agent.model)
        return tokens

    # --- one call of its model -------------------------------------------------------------------------

    async def _ask(
        self, model: Model, round_: int, pricing: asyncio.Task[Cost], written: ChangeSet
    ) -> list[Step]:
        """Ask the model once; return the calls to run, and leave in ``written`` what is stored with them.
        Returns none when the attempt is over; then the rest is kept for the end.
        """
        self._note_use(self._used)
        if self.cut_for:
            return []
        request, fitting = self._request_of_round(round_)
        await self._put_notes(*fitting.notes)
        before, failing = self._steps.characters, self.brief.failed
        self._call = call = Call(
            continuing_model(model, request),
            request,
            self._resources.timing,
            keeps=WORDS_AND_STEPS if self._has_steps else WORDS,
            failed=failing,
            silence_seconds=self._terms.silence_seconds,
        )
        try:
            try:
                await self._listen(call, pricing, before)
                self._note(call.take_notes(), written)
                self._steps.hear(call.take(), written)
            except ModelError as error:  # it made more calls, or took more steps, than we take
                self._error = f"{failing}: {failure(error)}"
        finally:
            await call.wait_until_gone()
        self._used.add(call, request, self._steps.characters - before, await pricing)
        self._steps.close_words(written)
        is_whole = not (self._error or call.error or call.cut)
        self._steps.close_agent_steps(*(UNREPORTED if is_whole else BROKEN_OFF), written)
        calls = self._steps.close_calls(written)
        self._error = self._error or call.error or why_stopped(call, failing)
        if call.stop_reason == LENGTH and not self._error:
            self.cut_for = self.cut_for or LENGTH
        if calls and not (self.cut_for or self._error):
            return calls
        self._is_whole = not (call.cut or calls or self._error or call.stop_reason)
        self._give_up(calls, written)
        self._rest = written
        return []

    def _request_of_round(self, round_: int) -> tuple[ModelRequest, Fitting]:
        request, before = self._request, self.brief.before
        images = {} if self._calls is None else self._calls.images
        own = step_messages(joined_steps(without_unrun(before), self._steps.in_order), images)
        goes_on = bool(before) and not self._steps.done
        # In a chat the model's calls are numbered; an agent of a room gets the round of the room.
        number = round_ if request.max_rounds == 1 and not request.speaker else request.round
        fitting, continues = self._fitting(own), last_words_of(own) if goes_on else ""
        return replace(request, messages=fitting.messages, round=number, continues=continues), fitting

    async def _listen(self, call: Call, pricing: asyncio.Task[Cost], before: int) -> None:
        """Write what the model says; what arrives during a write is joined into the next one."""
        while not call.over:
            await call.wait_for_news()
            if notes := call.take_notes():
                await self._put_notes(*notes)  # its end may follow at once
            if call.over:
                return
            if pieces := call.take():
                written = ChangeSet()
                self._steps.now = self._resources.now()
                self._steps.hear(pieces, written)
                await self._write(written)
                used = replace(self._used)
                cost = pricing.result() if pricing.done() else unknown_cost
                used.add(call, self._request, self._steps.characters - before, cost)
                self._note_use(used)

    def _give_up(self, calls: Sequence[Step], written: ChangeSet) -> None:
        """Store calls that were incomplete, or came too late, as not run."""
        status, why = ("cut", "the answer was stopped")
        if not self.cut_for:
            status, why = ("failed", "the answer broke off")
        elif self.cut_for == LENGTH:
            why = "the answer ran out of tokens"
        for call in calls:
            self._steps.put_call(call, status, None, written)
            content = failed_output(f"not run: {why} before that").content
            self._steps.put_result(call, content, success=False, written=written)

    # --- what is written of it -------------------------------------------------------------------------

    def _note(self, notes: Sequence[NotePiece], written: ChangeSet) -> None:
        """Note what happens to the turn besides words; what does not fit only if it is more than before."""
        noted = {"trimmed": self.turn.trimmed, SHORTENED: self._steps.shortened}
        notes = [note for note in notes if note.count > noted.get(note.note, -1)]
        self._steps.note(notes, written)
        trimmed = max(self.turn.trimmed, *(note.count for note in notes if note.note == "trimmed"), 0)
        self.turn = replace(self.turn, trimmed=trimmed)

    async def _put_notes(self, *notes: NotePiece) -> None:
        written = ChangeSet()
        self._note(notes, written)
        await self._write(written)

    def _note_use(self, used: TokenUse) -> None:
        self.using = used.tokens, used.cost or 0.0
        self._on_use()

    async def _write(self, written: ChangeSet) -> None:
        if written:
            await self._resources.write(self.row.id, written)


def why_stopped(call: Call, failed: str) -> str:
    """Return why an answer failed if its model stopped before the end; "" otherwise, also for an answer that
    reached the token limit: that one is cut off, and its text is kept.
    """
    if call.stop_reason in ("", LENGTH):
        return ""
    return f"{failed}: the model stopped before the end: {call.stop_reason[:100]}"
