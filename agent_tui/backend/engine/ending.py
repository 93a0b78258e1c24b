"""How an attempt at a turn or an answer ended: its steps, its usage, why it is not complete."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from agent_tui.backend.engine.answer.call import Call
from agent_tui.backend.engine.answer.steps import Encode, StepLog
from agent_tui.backend.engine.written import ChangeSet
from agent_tui.backend.models.model import ModelRequest
from agent_tui.backend.models.prices import Cost
from agent_tui.backend.store.rows import TurnRow
from agent_tui.backend.tools.calling import failed_output
from agent_tui.model.chains import said_in
from agent_tui.model.events import WAITS, Step, Usage
from agent_tui.wire.rooms_encode import token_count

UNKNOWN = failed_output("unknown: the program ended while this ran; it was not run again").content
NOT_RUN = failed_output("not run: the program ended before that").content


@dataclass(slots=True)
class TokenUse:
    """The usage of finished calls of the model; ``guessed`` are tokens that a model did not report."""

    prompt: int = 0
    completion: int = 0
    guessed: int = 0
    cost: float | None = None
    first_token_seconds: float | None = None
    is_reported: bool = False
    context: int = 0  # tokens of the newest call and its answer, if the model reported them
    context_limit: int = 0

    @property
    def tokens(self) -> int:
        """All of them, partly estimated."""
        return self.prompt + self.completion + self.guessed

    @property
    def usage(self) -> Usage | None:
        """The models' reports, added up; ``None`` if there was none."""
        if not self.is_reported:
            return None
        return Usage(
            self.prompt,
            self.completion,
            self.first_token_seconds,
            self.cost,
            self.context,
            self.context_limit,
        )

    def add(self, call: Call, request: ModelRequest, characters: int, cost: Cost) -> None:
        """Add a call that answered ``request`` with this many ``characters``."""
        if self.first_token_seconds is None:
            self.first_token_seconds = call.first_piece_seconds
        if call.usage is not None:
            self.is_reported = True
            self.context = call.usage.prompt_tokens + call.usage.completion_tokens
            self.prompt += call.usage.prompt_tokens
            self.completion += call.usage.completion_tokens
            dollars = cost(call.usage.prompt_tokens, call.usage.completion_tokens)
        elif characters:
            self.guessed += characters // 4
            prompt = sum(len(message.content) for message in request.messages)
            dollars = cost(prompt // 4, characters // 4)
        else:
            dollars = None
        if dollars is not None:
            self.cost = (self.cost or 0.0) + dollars


@dataclass(frozen=True, slots=True)
class TurnEnding:
    """The result: complete, failed (``error``) or ``cut``. ``rest``, the last of its steps, is written with
    the end.
    """

    steps: tuple[Step, ...] = ()
    error: str = ""
    cut: str = ""
    used: TokenUse = field(default_factory=TokenUse)
    seconds: float | None = None
    rest: ChangeSet = field(default_factory=ChangeSet)

    def of(self, turn: TurnRow) -> TurnRow:
        """Return ``turn`` closed, with its text, its usage and how it ended."""
        usage = self.used.usage or Usage()
        return replace(
            turn,
            status="interrupted" if self.cut else "failed" if self.error else "completed",
            reason=self.cut,
            error="" if self.cut else self.error,
            text=turn.text or said_in(self.steps),
            prompt_tokens=usage.prompt_tokens,
            completion_tokens=usage.completion_tokens,
            first_token_seconds=self.used.first_token_seconds,
            cost=self.used.cost,
            context=usage.context,
            context_limit=usage.context_limit,
        )


def ending_after_crash(
    turn: TurnRow, stored: Sequence[Step], reason: str, now: str, encode: Encode | None
) -> TurnEnding:
    """Return the ending of an attempt whose process died after these steps. Nothing is run again."""
    steps, written = StepLog(turn.message_id, now, stored, encode), ChangeSet()
    for step in stored:
        if step.type in ("text", "thinking"):
            steps.put(step, written)
    for call in steps.calls_without_result():
        if not call.status:  # the model was still writing the call
            steps.put_call(steps.with_call_id(call), "cut", None, written)
            steps.put_result(call, NOT_RUN, success=False, written=written)
        elif call.status == WAITS or (call.status == "asks" and (call.ask is None or call.ask.form is None)):
            steps.set_call(call, "cut", None, written)
            steps.put_result(call, NOT_RUN, success=False, written=written)
        else:
            steps.set_call(call, "unknown", None, written)
            steps.put_result(call, UNKNOWN, success=False, written=written)
    texts = (step.content + step.arguments for step in steps.in_order if step.type != "tool_result")
    used = TokenUse(guessed=token_count("".join(texts)))
    return TurnEnding(steps.in_order, cut=reason, used=used, rest=written)
