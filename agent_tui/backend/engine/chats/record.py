"""What is stored about a chat's answers besides their steps: events in the full form, and rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from agent_tui.backend.engine.chats.fields import changed_row, changes_to, conversation_info
from agent_tui.backend.engine.ending import TurnEnding
from agent_tui.backend.engine.record import last_words, person_said, turn_closed, whole_words
from agent_tui.backend.engine.resources import ModelSource
from agent_tui.backend.engine.written import ChangeSet
from agent_tui.backend.store.messages import spoken_text
from agent_tui.backend.store.rows import (
    ConversationRow,
    ConversationSet,
    NewEvent,
    SpokenSet,
    TurnOpened,
    TurnRow,
    UserSaid,
    Value,
)
from agent_tui.model import events as ev
from agent_tui.model.events import Step
from agent_tui.model.settings import Values
from agent_tui.wire.rooms_encode import token_count

# The ``error`` of an interrupted answer, by the reason.
CUTS = {
    "stop": "Stopped",
    "budget": "The budget is used up",
    "length": "The model ran out of tokens; the answer can be continued",
}


def answer_begun(row: ConversationRow, question: UserSaid | None, turn: TurnRow) -> ChangeSet:
    """Record that a question is asked (``None``: an earlier one) and its answer begins. ``row`` is the chat
    from now on.
    """
    written = ChangeSet()
    if question is not None:
        person_said(row, question, written)
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


def message_spoken(message_id: str, spoken: ev.SpeechRecord) -> ChangeSet:
    """Record how a stored message was spoken."""
    event = NewEvent.of(ev.MessageSpoken(message_id, spoken), message_id)
    return ChangeSet([event], [SpokenSet(message_id, spoken_text(spoken))])


def answer_ended(
    row: ConversationRow, turn: TurnRow, ending: TurnEnding, before: Sequence[Step] = ()
) -> ChangeSet:
    """Record that the answer is over, complete or not; ``row`` is the chat as stored, ``before`` are the
    steps of the answer that it continues.
    """
    used, usage = ending.used, ending.used.usage
    tokens_reported = 0 if usage is None else usage.completion_tokens
    closed = replace(ending.of(turn), seconds=ending.seconds)
    text, tokens = closed.text, used.tokens or token_count(closed.text)
    words = whole_words(closed, ending.steps, before)
    ended = ev.TurnEnded(
        turn.message_id,
        text,
        tokens_reported,
        interrupted=closed.reason,
        usage=usage,
        error=closed.error,
        seconds=ending.seconds,
    )
    row = replace(
        row,
        used_tokens=row.used_tokens + tokens,
        used_cost=row.used_cost if used.cost is None else (row.used_cost or 0.0) + used.cost,
        last_words=last_words(words) if text else row.last_words,
        cut=closed.reason,
        error=closed.error,
    )
    if closed.status == "completed":
        last: ev.Event = ev.TurnDone(turn.message_id, turn.message_id, tokens_reported, usage)
    elif closed.status == "interrupted":
        last = ev.RunFailed(CUTS.get(closed.reason, f"Interrupted: {closed.reason}"))
    else:
        last = ev.RunFailed(closed.error)
    events = [
        NewEvent.of(ended, turn.message_id),
        conversation_changed(row, running=False),
        NewEvent.of(last, turn.message_id),
    ]
    idle = ConversationSet({"status": "idle", "interrupted": "", "round_done": turn.round})
    return ChangeSet(events, [*turn_closed(closed, tokens, words), idle])


def changed_chat(row: ConversationRow, change: Values, models: ModelSource, now: str) -> ChangeSet:
    """Return what ``change`` writes, nothing if it changes nothing; raises ``Refused`` (422)."""
    changed = changed_row(row, change, models)
    if changed == row:
        return ChangeSet()
    changed = replace(changed, updated_at=now)
    return ChangeSet([conversation_changed(changed, running=row.status == "running")], changes_to(changed))


def conversation_changed(row: ConversationRow, *, running: bool) -> NewEvent:
    """Return the event with the current settings of the conversation."""
    return NewEvent.of(ev.ConversationChanged(conversation_info(row, running=running)))
