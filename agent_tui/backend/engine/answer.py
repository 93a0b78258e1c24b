"""One answer: its model is asked, the tools that it calls are run, and again, until it calls none.

Knows nothing of chats: a turn of a room may be spoken so too. It puts steps on record as they come; that
the answer began, and how it ended, is for its caller to write.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from agent_tui.backend.engine.answer_history import cut_off, steps_told, without_unrun
from agent_tui.backend.engine.answer_steps import Encode, Steps
from agent_tui.backend.engine.answer_tools import Calls, Workshop
from agent_tui.backend.engine.call import Call
from agent_tui.backend.engine.resources import Resources
from agent_tui.backend.engine.trimming import room_for_history, trim
from agent_tui.backend.engine.words import failure
from agent_tui.backend.engine.written import Written
from agent_tui.backend.models.continuing import asked_to_go_on
from agent_tui.backend.models.model import (
    CallPiece,
    Model,
    ModelRequest,
    StepPiece,
    TextPiece,
    ThinkingPiece,
)
from agent_tui.backend.models.prices import Cost, Terms, cost_of, unknown_cost
from agent_tui.backend.store.messages import with_notes
from agent_tui.backend.store.rows import TurnRow
from agent_tui.backend.tools.calling import failed
from agent_tui.model.chains import joined_steps, said_in
from agent_tui.model.errors import ModelError
from agent_tui.model.events import Note, Step, Usage
from agent_tui.wire.rooms_encode import token_count

MAX_ROUNDS = 20  # protocols.md §2
TOO_MANY_ROUNDS = "Exceeded maximum tool call iterations"  # protocols.md §2
HEARD = (TextPiece, ThinkingPiece, CallPiece, StepPiece)
# (status, result) of a call that an agent ran itself and did not tell the result of.
NO_WORD = ("unknown", failed("the agent did not say what came of it").content)
BROKEN_OFF = ("cut", failed("unknown: the answer ended while the agent ran this").content)
UNKNOWN = failed("unknown: the program ended while this ran; it was not run again").content
NOT_RUN = failed("not run: the program ended before that").content
LENGTH = "length"  # the reason of a turn or answer that ran out of tokens (protocols.md §1, point 8)


@dataclass(frozen=True, slots=True)
class Ask:
    """What is to be answered: ``request`` holds the whole history, oldest first. Without a ``workshop`` only
    words are taken: nothing is called, and no step is stored. ``encode`` is that of ``Steps``; what fails is
    said after the words ``failed``. ``before`` are the steps of the answer that this one continues.
    """

    room_id: str
    message_id: str
    model: Model
    request: ModelRequest
    terms: Terms
    workshop: Workshop | None
    encode: Encode | None
    failed: str
    before: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class Ending:
    """What came of it: whole, or it failed (``error``) or was ``cut``. ``tokens`` are what it used, in part
    estimated where the model does not say; ``usage`` only what models said, added up. ``rest`` is to be
    written with the end: the last of its steps.
    """

    steps: tuple[Step, ...] = ()
    error: str = ""
    cut: str = ""
    tokens: int = 0
    cost: float | None = None
    usage: Usage | None = None
    first_token_seconds: float | None = None
    seconds: float | None = None
    trimmed: int = 0  # how many messages its model was not told
    notes: tuple[Note, ...] = ()
    rest: Written = field(default_factory=Written)

    def of(self, turn: TurnRow) -> TurnRow:
        """Return ``turn`` closed: what was said and used, and how it ended."""
        usage = self.usage or Usage()
        return replace(
            turn,
            status="interrupted" if self.cut else "failed" if self.error else "completed",
            reason=self.cut,
            error="" if self.cut else self.error,
            text=turn.text or said_in(self.steps),
            prompt_tokens=usage.prompt_tokens,
            completion_tokens=usage.completion_tokens,
            first_token_seconds=self.first_token_seconds,
            cost=self.cost,
            trimmed=max(turn.trimmed, self.trimmed),
            notes=with_notes(turn.notes, self.notes),
        )


@dataclass(slots=True)
class _Used:
    """What the calls of the model used that are over; ``said`` are characters whose tokens were not told."""

    prompt: int = 0
    completion: int = 0
    guessed: int = 0
    cost: float | None = None
    first_token_seconds: float | None = None
    told: bool = False

    @property
    def tokens(self) -> int:
        return self.prompt + self.completion + self.guessed

    def add(self, call: Call, request: ModelRequest, said: int, cost: Cost) -> None:
        if self.first_token_seconds is None:
            self.first_token_seconds = call.first_piece_seconds
        if call.usage is not None:
            self.told = True
            self.prompt += call.usage.prompt_tokens
            self.completion += call.usage.completion_tokens
            dollars = cost(call.usage.prompt_tokens, call.usage.completion_tokens)
        elif said:
            self.guessed += said // 4
            told = sum(len(message.content) for message in request.messages)
            dollars = cost(told // 4, said // 4)
        else:
            dollars = None
        if dollars is not None:
            self.cost = (self.cost or 0.0) + dollars


class Answer:
    """``run`` goes to the end of the answer, always; ``cut`` makes the end come.

    ``note_use`` is told (tokens, US dollars) used so far, and may cut it.
    """

    def __init__(self, resources: Resources, ask: Ask, note_use: Callable[[int, float], None]) -> None:
        self.cut_for = ""
        self.error = ""
        self.steps = Steps(
            ask.message_id,
            resources.now(),
            encode=ask.encode,
            before=ask.before,
            has_rows=ask.workshop is not None,
        )
        self._resources = resources
        self._timing = resources.timing
        self._ask = ask
        self._note_use = note_use
        self._call: Call | None = None
        self._calls = None
        if ask.workshop is not None:
            self._calls = Calls(ask.workshop, self.steps, self._write, self._timing)
        self._rest = Written()
        self._used = _Used()
        self._is_whole = False
        self._trimmed = 0

    def cut(self, reason: str) -> None:
        """End the answer with what was said so far, also inside a tool."""
        self.cut_for = self.cut_for or reason
        if self._call is not None:
            self._call.cancel()
        if self._calls is not None:
            self._calls.cut()

    async def run(self) -> Ending:
        """Carry the answer out. Raises ``StoreError``, and only that."""
        clock = asyncio.get_running_loop().time
        begun = clock()
        pricing = asyncio.create_task(cost_of(self._ask.terms, self._ask.request.model))
        for round_ in range(1, MAX_ROUNDS + 1):
            written = Written()
            calls = await self._speak(round_, pricing, written)
            if not calls or self._calls is None:
                break
            await self._calls.run(calls, written)
        else:
            self.error = "" if self.cut_for else TOO_MANY_ROUNDS
        await pricing
        used = self._used
        usage = None
        if used.told:
            usage = Usage(used.prompt, used.completion, used.first_token_seconds, used.cost)
        return Ending(
            steps=self.steps.in_order,
            error=self.error,
            cut="" if self._is_whole else self.cut_for,  # it may be whole before it can be cut
            tokens=used.tokens,
            cost=used.cost,
            usage=usage,
            first_token_seconds=used.first_token_seconds,
            seconds=round(clock() - begun, 3),
            trimmed=self._trimmed,
            notes=tuple(self.steps.notes),
            rest=self._rest,
        )

    async def _speak(self, round_: int, pricing: asyncio.Task[Cost], written: Written) -> list[Step]:
        """Ask the model once; return the calls that are to be run, and leave in ``written`` what goes with
        them. Returns none when the answer is over; then the rest is kept for the end.
        """
        self._note_use(self._used.tokens, self._used.cost or 0.0)
        if self.cut_for:
            return []
        request, before = self._request(round_), self.steps.characters
        self._call = call = Call(
            asked_to_go_on(self._ask.model, request),
            request,
            self._timing,
            keeps=(TextPiece,) if self._calls is None else HEARD,
            failed=self._ask.failed,
            silence_seconds=self._ask.terms.silence_seconds,
        )
        try:
            try:
                await self._listen(call, pricing, before)
                self._note(call, written)
                self.steps.hear(call.take(), written)
            except ModelError as error:  # it called more than we take
                self.error = f"{self._ask.failed}: {failure(error)}"
        finally:
            await call.gone()
        self._used.add(call, request, self.steps.characters - before, await pricing)
        self.steps.close_words(written)
        is_whole = not (self.error or call.error or call.cut)
        self.steps.close_acted(*(NO_WORD if is_whole else BROKEN_OFF), written)
        calls = self.steps.close_calls(written)
        self.error = self.error or call.error or stopped_short(call, self._ask.failed)
        if call.short == LENGTH and not self.error:
            self.cut_for = self.cut_for or LENGTH
        if calls and not (self.cut_for or self.error):
            return calls
        self._is_whole = not (call.cut or calls or self.error or call.short)
        self._give_up(calls, written)
        self._rest = written
        return []

    async def _listen(self, call: Call, pricing: asyncio.Task[Cost], before: int) -> None:
        """Write what is heard: what comes meanwhile is joined into the next."""
        while not call.over:
            await call.news()
            written = Written()
            self._note(call, written)
            if written:
                await self._write(written)
            if call.over:
                return
            if pieces := call.take():
                written = Written()
                self.steps.now = self._resources.now()
                self.steps.hear(pieces, written)
                if written:
                    await self._write(written)
                cost = pricing.result() if pricing.done() else unknown_cost
                self._look(call, self.steps.characters - before, cost)

    def _note(self, call: Call, written: Written) -> None:
        """Write what was told of what happens to the call; its end may come right behind that."""
        notes = call.take_notes()
        self.steps.note(notes, written)
        self._trimmed = max(self._trimmed, *(note.count for note in notes), 0)

    def _look(self, call: Call, said: int, cost: Cost) -> None:
        now = replace(self._used)
        now.add(call, self._ask.request, said, cost)
        self._note_use(now.tokens, now.cost or 0.0)

    def _give_up(self, calls: Sequence[Step], written: Written) -> None:
        """Calls that were not whole, or came too late, are not run: they say so."""
        status, why = ("cut", "the answer was stopped")
        if not self.cut_for:
            status, why = ("failed", "the answer broke off")
        elif self.cut_for == LENGTH:
            why = "the answer ran out of tokens"
        for call in calls:
            self.steps.put_call(call, status, None, written)
            content = failed(f"not run: {why} before that").content
            self.steps.put_result(call, content, success=False, written=written)

    def _request(self, round_: int) -> ModelRequest:
        request = self._ask.request
        images = {} if self._calls is None else self._calls.images
        mine = steps_told(joined_steps(without_unrun(self._ask.before), self.steps.in_order), images)
        messages, _ = trim((*request.messages, *mine), room_for_history(self._ask.terms, request.max_tokens))
        goes_on = bool(self._ask.before) and not self.steps.done
        # The round of a room is another thing: there are many turns in it.
        at = round_ if request.max_rounds == 1 and not request.speaker else request.round
        return replace(request, messages=messages, round=at, continues=cut_off(mine) if goes_on else "")

    async def _write(self, written: Written) -> None:
        await self._resources.write(self._ask.room_id, written)


def stopped_short(call: Call, failed: str) -> str:
    """Return why an answer failed that its model gave up before the end; empty for any other one, and for one
    that ran out of tokens: that is cut, and what was said stands.
    """
    if call.short in ("", LENGTH):
        return ""
    return f"{failed}: the model stopped before the end: {call.short[:100]}"


def left_open(turn: TurnRow, found: Sequence[Step], reason: str, now: str, encode: Encode | None) -> Ending:
    """Return the end of an answer whose process died with these steps. Nothing is run again."""
    steps, written = Steps(turn.message_id, now, found, encode), Written()
    for step in found:
        if step.type in ("text", "thinking"):
            steps.put(step, written)
    for call in steps.calls_without_result():
        if not call.status:  # the model was still writing it
            steps.put_call(steps.named(call), "cut", None, written)
            steps.put_result(call, NOT_RUN, success=False, written=written)
        elif call.status == "asks" and (call.ask is None or call.ask.form is None):
            steps.set_call(call, "cut", None, written)
            steps.put_result(call, NOT_RUN, success=False, written=written)
        else:
            steps.set_call(call, "unknown", None, written)
            steps.put_result(call, UNKNOWN, success=False, written=written)
    said = (step.content + step.arguments for step in steps.in_order if step.type != "tool_result")
    return Ending(steps.in_order, cut=reason, tokens=token_count("".join(said)), rest=written)
