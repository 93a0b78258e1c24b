"""What each step stores: the events as they are sent, and the rows that change with them.

The order of the events is that of protocols.md §1. Chunks have agent ids and ``progress``, and there are
message frames, only in parallel rooms, as in the original.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from agent_tui.backend.engine.ending import TurnEnding
from agent_tui.backend.engine.written import ChangeSet
from agent_tui.backend.store.messages import turn_message, user_message
from agent_tui.backend.store.rows import (
    AgentSkips,
    Change,
    ConversationRow,
    ConversationSet,
    ConversationUsed,
    InboxSet,
    NewEvent,
    RunOpened,
    Searchable,
    TurnAgain,
    TurnClosed,
    TurnOpened,
    TurnRow,
    UserSaid,
)
from agent_tui.model import events as ev
from agent_tui.model.chains import joined_steps, said_in
from agent_tui.model.events import QueuedMessage
from agent_tui.wire.rooms_encode import token_count

# protocols.md §1: the user says the task.
USER_NAME = "用户"
USER_COLOR = "#10b981"
LAST_WORDS_CHARACTERS = 120
# Reasons for which a room pauses by itself.
OWN_PAUSES = ("error", "budget")


def person_said(row: ConversationRow, speech: UserSaid, written: ChangeSet) -> None:
    """Add a person's words as a message that a search finds."""
    searchable = [Searchable(speech.id, "user", speech.text, speech.created_at)] if speech.text else []
    written.changes += [replace(speech, event=len(written.events)), *searchable]
    stored = ev.MessageStored(user_message(row.id, speech, kind=row.kind))
    written.events.append(NewEvent.of(stored, speech.id))


def run_started(room: ConversationRow, *, resumed: bool, task_id: str, now: str) -> ChangeSet:
    """Record that the run begins; the first time the task is said, under ``task_id``."""
    started = ChangeSet([NewEvent.of(ev.RunStarted(room.id, room.task, resumed))], [RunOpened()])
    if not resumed:
        person_said(room, UserSaid(task_id, 0, room.task, USER_NAME, USER_COLOR, now), started)
    return started


def round_opened(room: ConversationRow, round_: int) -> ChangeSet:
    """Record that a round begins, in the room's current mode, which it keeps."""
    events = [NewEvent.of(ev.RoundStarted(round_, room.max_rounds))]
    if room.execution_mode == "parallel":
        events.append(NewEvent.of(ev.ParallelStarted(round_, room.max_rounds, room.agents)))
    return ChangeSet(events, [ConversationSet({"round_open": round_, "round_mode": room.execution_mode})])


def round_closed(room: ConversationRow, round_: int) -> ChangeSet:
    """Record that all turns of the round are finished."""
    events = [NewEvent.of(ev.RoundEnded(round_))]
    if room.parallel:
        events.insert(0, NewEvent.of(ev.ParallelEnded(round_, len(room.agents))))
    return ChangeSet(events, [ConversationSet({"round_done": round_})])


def run_completed(room: ConversationRow) -> ChangeSet:
    """Record that the last round is over."""
    completed = ConversationSet({"status": "completed", "desired": "idle", "interrupted": ""})
    return ChangeSet([NewEvent.of(ev.RunCompleted(room.id, room.max_rounds))], [completed])


def run_paused(room: ConversationRow, reason: str, again: Sequence[str] = ()) -> ChangeSet:
    """Record that the room stopped. If it did so by itself, it waits until a person looks; otherwise it is
    not decided here whether it is to resume later (``desired``). ``again``: see ``plan.Pause``.
    """
    values: dict[str, str | int | float | bool | None] = {"status": "paused", "interrupted": reason}
    if reason in OWN_PAUSES:
        values["desired"] = "paused"
    changes: list[Change] = [ConversationSet(values)]
    changes += [TurnAgain(message_id, rest=room.on_resume == "continue") for message_id in again]
    return ChangeSet([NewEvent.of(ev.RunPaused(room.id, room.round_open or None, reason))], changes)


def run_failed(content: str) -> ChangeSet:
    """Record that the run as a whole cannot continue."""
    failed = ConversationSet({"status": "error", "desired": "idle", "interrupted": ""})
    return ChangeSet([NewEvent.of(ev.RunFailed(content))], [failed])


def people_said(room: ConversationRow, queue: Sequence[QueuedMessage], now: str) -> ChangeSet:
    """Record waiting messages as said, in their order."""
    written = ChangeSet([], [InboxSet(tuple(message.id for message in queue), {"state": "taken"})])
    for message in queue:
        name = message.sender_name or USER_NAME
        speech = UserSaid(message.id, room.round_open, message.content, name, USER_COLOR, now, message.to)
        person_said(room, speech, written)
    return written


def turns_pending(turns: Sequence[TurnRow]) -> ChangeSet:
    """Record that these agents are about to speak at once."""
    return ChangeSet([_status(turn, "pending") for turn in turns], [])


def turn_skipped(turn: TurnRow) -> ChangeSet:
    """Record that the agent's turn is skipped; it speaks again in its next one."""
    skipped = replace(turn, status="skipped", reason="skip", supersedes="")
    return ChangeSet([_status(turn, "skipped")], [TurnOpened(skipped), AgentSkips(turn.agent_id, False)])


def turn_started(room: ConversationRow, turn: TurnRow) -> ChangeSet:
    """Record that the agent's model is asked; what this turn supersedes is superseded from now on."""
    started = ev.TurnStarted(
        turn.message_id,
        room.id,
        "assistant",
        turn.sender_name,
        turn.sender_color,
        turn.round,
        _speaker(room, turn),
        turn.attempt,
        turn.supersedes,
        turn.trimmed,
        continues=turn.continues,
    )
    events = [_status(turn, "streaming")] if room.parallel else []
    events.append(NewEvent.of(started, turn.message_id))
    return ChangeSet(events, [TurnOpened(turn, event=len(events) - 1)])


def turn_refused(turn: TurnRow, error: str) -> ChangeSet:
    """Record that the turn failed because there is no model to ask."""
    return ChangeSet([_error(turn, error)], [TurnOpened(replace(turn, status="failed", error=error))])


def turn_ended(
    room: ConversationRow, turn: TurnRow, ending: TurnEnding, before: Sequence[ev.Step] = ()
) -> ChangeSet:
    """Record that the turn is over, complete or not; if it is not, and has no words or calls, it stores no
    message. ``before`` are the steps of the turn that it continues.
    """
    closed = ending.of(turn)
    is_whole = closed.status == "completed"
    events = [_status(turn, "completed")] if is_whole and room.parallel else []
    events.append(_error(turn, closed.error) if closed.status == "failed" else _end(room, closed))
    if is_whole or closed.text or any(step.type == "tool_call" for step in ending.steps):
        stored = turn_message(room.id, closed, ending.steps, kind=room.kind)
        events.append(NewEvent.of(ev.MessageStored(stored), turn.message_id))
    used = closed.prompt_tokens + closed.completion_tokens or token_count(closed.text)
    return ChangeSet(events, turn_closed(closed, used, whole_words(closed, ending.steps, before)))


def _status(turn: TurnRow, status: str) -> NewEvent:
    return NewEvent.of(ev.AgentStatusChanged(turn.agent_id, turn.sender_name, status))


def _error(turn: TurnRow, error: str) -> NewEvent:
    return NewEvent.of(ev.TurnFailed(error, turn.agent_id, turn.sender_name), turn.message_id)


def _speaker(room: ConversationRow, turn: TurnRow) -> str:
    return turn.agent_id if room.parallel else ""


def _end(room: ConversationRow, turn: TurnRow) -> NewEvent:
    ended = ev.TurnEnded(
        turn.message_id, turn.text, token_count(turn.text), _speaker(room, turn), turn.reason, turn.usage
    )
    return NewEvent.of(ended, turn.message_id)


def whole_words(turn: TurnRow, steps: Sequence[ev.Step], before: Sequence[ev.Step]) -> str:
    """Return the turn's words together with those of the turn that it continues, whose steps are
    ``before``.
    """
    if not before:
        return turn.text
    return said_in(joined_steps(before, steps or (ev.Step("step-0", content=turn.text),)))


def turn_closed(turn: TurnRow, used: int, words: str) -> list[Change]:
    """Return what closing an attempt changes: its row, what is shown, and how many tokens were used.
    ``words`` are those of the whole message that it ends.
    """
    changes: list[Change] = [TurnClosed(turn)]
    if used or turn.cost is not None:
        changes.append(ConversationUsed(used, turn.cost, turn.agent_id))
    if turn.text:
        news = {"last_speaker": turn.sender_name, "last_words": last_words(words)}
        changes += [
            ConversationSet(news),
            Searchable(turn.message_id, "assistant", turn.text, turn.created_at),
        ]
    return changes


def last_words(text: str) -> str:
    """Return the end of ``text`` in one short line: whole sentences, else "…" and the last words."""
    # Text far from the end cannot be among the last words.
    line = " ".join(text[-8 * LAST_WORDS_CHARACTERS :].split())
    if len(line) <= LAST_WORDS_CHARACTERS:
        return line
    end = line[-LAST_WORDS_CHARACTERS:]
    for mark in (". ", "? ", "! ", "。", "？", "！"):
        _, _, rest = end.partition(mark)
        if rest:
            return rest
    return f"…{end.partition(' ')[2] or end}"
