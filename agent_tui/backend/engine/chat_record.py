"""What is put on record of a chat's answers besides their steps: events in the full form, and rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from agent_tui.backend.engine.answer import Ending
from agent_tui.backend.engine.answer_steps import Encode, Steps
from agent_tui.backend.engine.chat_fields import conversation_info
from agent_tui.backend.engine.record import last_words, searchable_words, turn_closed, whole_words
from agent_tui.backend.engine.written import Written
from agent_tui.backend.store.messages import spoken_text, user_message
from agent_tui.backend.store.rows import (
    ConversationRow,
    ConversationSet,
    NewEvent,
    SpokenSet,
    StepPut,
    TurnOpened,
    TurnRow,
    UserSaid,
    Value,
)
from agent_tui.backend.tools.calling import failed
from agent_tui.model import events as ev
from agent_tui.model.events import Step
from agent_tui.wire.rooms_encode import token_count

# What ``error`` says of an answer that was cut, by the reason.
CUTS = {
    "stop": "Stopped",
    "budget": "The budget of the conversation is used up",
    "length": "The model ran out of tokens; the answer can be continued",
}
UNKNOWN = failed("unknown: the program ended while this ran; it was not run again").content
NOT_RUN = failed("not run: the program ended before that").content


def answer_begun(row: ConversationRow, said: UserSaid | None, turn: TurnRow) -> Written:
    """A question is asked (``said`` None: one from before), and its answer begins. ``row`` is the chat as it
    is from now on.
    """
    written = Written()
    if said is not None:
        written.events.append(
            NewEvent.of(ev.MessageStored(user_message(row.id, said, kind=row.kind)), said.id)
        )
        written.changes += [said, *searchable_words(said)]
    started = ev.TurnStarted(
        turn.message_id,
        row.id,
        "assistant",
        turn.model,
        "",
        turn.round,
        attempt=turn.attempt,
        parent_id=turn.parent,
        continues=turn.continues,
    )
    first = len(written.events)
    written.events.append(NewEvent.of(started, turn.message_id))
    if turn.trimmed:
        written.events.append(
            NewEvent.of(ev.TurnNoted(turn.message_id, "trimmed", turn.trimmed), turn.message_id)
        )
    running: dict[str, Value] = {
        "status": "running",
        "interrupted": "",
        "round_open": turn.round,
        "name": row.name,
        "head": turn.message_id,
    }
    written.changes += [TurnOpened(turn, event=first), ConversationSet(running)]
    written.events.append(conversation_changed(row, running=True))
    return written


def message_spoken(message_id: str, spoken: ev.Spoken) -> Written:
    """A message on record was spoken so."""
    written = Written()
    written.events.append(NewEvent.of(ev.MessageSpoken(message_id, spoken), message_id))
    written.changes.append(SpokenSet(message_id, spoken_text(spoken)))
    return written


def person_recorded(row: ConversationRow, said: UserSaid) -> Written:
    """Words that no model of ours answers; ``row`` is the chat as it is from now on."""
    written = Written()
    written.events.append(NewEvent.of(ev.MessageStored(user_message(row.id, said, kind=row.kind)), said.id))
    written.changes += [
        said,
        *searchable_words(said),
        ConversationSet({"name": row.name, "head": said.id}),
    ]
    written.events.append(conversation_changed(row, running=False))
    return written


def answer_recorded(row: ConversationRow, turn: TurnRow, text: str, cut: str) -> Written:
    """What an agent said that is no model of ours; ``row`` is the chat as it is from now on."""
    written = answer_begun(row, None, turn)
    step = Step("step-0", content=text)
    written.events.append(NewEvent.of(ev.StepSet(turn.message_id, step), turn.message_id))
    written.changes.append(StepPut(turn.message_id, step, turn.created_at))
    ended = answer_ended(row, turn, Ending((step,), "", cut, 0, None, None, None, None))
    return Written(written.events + ended.events, written.changes + ended.changes)


def answer_ended(row: ConversationRow, turn: TurnRow, ending: Ending, before: Sequence[Step] = ()) -> Written:
    """The answer is over, whole or not; ``row`` is the chat as stored, ``before`` are the steps of the answer
    that it continues.
    """
    written = Written()
    said = 0 if ending.usage is None else ending.usage.completion_tokens
    status = "interrupted" if ending.cut else "failed" if ending.error else "completed"
    error = "" if ending.cut else ending.error
    closed = replace(ending.of(turn), status=status, reason=ending.cut, error=error, seconds=ending.seconds)
    text, tokens = closed.text, ending.tokens or token_count(closed.text)
    words = whole_words(closed, ending.steps, before)
    ended = ev.TurnEnded(
        turn.message_id,
        text,
        said,
        interrupted=ending.cut,
        usage=ending.usage,
        error=error,
        seconds=ending.seconds,
    )
    written.events.append(NewEvent.of(ended, turn.message_id))
    row = replace(
        row,
        used_tokens=row.used_tokens + tokens,
        used_cost=row.used_cost if ending.cost is None else (row.used_cost or 0.0) + ending.cost,
        last_words=last_words(words) if text else row.last_words,
        cut=ending.cut,
        error=error,
    )
    written.events.append(conversation_changed(row, running=False))
    if status == "completed":
        done = ev.TurnDone(turn.message_id, turn.message_id, said, ending.usage)
        written.events.append(NewEvent.of(done, turn.message_id))
    else:
        why = CUTS.get(ending.cut, f"Interrupted: {ending.cut}") if ending.cut else error
        written.events.append(NewEvent.of(ev.RunFailed(why), turn.message_id))
    idle = ConversationSet({"status": "idle", "interrupted": "", "round_done": turn.round})
    written.changes += [*turn_closed(closed, tokens, words), idle]
    return written


def left_open(
    turn: TurnRow, found: Sequence[Step], now: str, encode: Encode | None = None
) -> tuple[Steps, Written]:
    """Return the steps of an answer whose process died, and what closes them. Nothing is run again.

    ``encode`` is that of ``Steps``.
    """
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
    return steps, written


def conversation_changed(row: ConversationRow, *, running: bool) -> NewEvent:
    """Return the event that says what the chat is now."""
    return NewEvent.of(ev.ConversationChanged(conversation_info(row, running=running)))
