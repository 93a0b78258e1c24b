"""What each step puts on record: the events as they go out, and the rows that change with them.

The order of the events is that of protocols.md §1. Ids of agents and ``progress`` stand in chunks and
message frames of parallel rooms only, as in the original.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from agent_tui import events as ev
from agent_tui.backend.store.messages import turn_message, user_message
from agent_tui.backend.store.rows import (
    Change,
    NewEvent,
    RoomRow,
    RoomSet,
    RunOpened,
    TurnClosed,
    TurnOpened,
    TurnRow,
    UserSaid,
)
from agent_tui.wire.content import dump
from agent_tui.wire.rooms_encode import encode, progress, token_count

# protocols.md §1: the task is said by the user.
USER_NAME = "用户"
USER_COLOR = "#10b981"
# Long texts become several chunks, so that a page of the log stays small.
MAX_CHUNK_CHARACTERS = 16_384


class Record(NamedTuple):
    """One write to the store."""

    events: Sequence[NewEvent]
    changes: Sequence[Change]


def run_started(room: RoomRow, *, resumed: bool, task_id: str, now: str) -> Record:
    """The run begins; the first time the task is said, under ``task_id``."""
    events = [_event(ev.RunStarted(room.id, room.task, resumed))]
    if resumed:
        return Record(events, [RunOpened()])
    task = UserSaid(task_id, 0, room.task, USER_NAME, USER_COLOR, now, event=1)
    events.append(_event(ev.MessageStored(user_message(room.id, task)), task_id))
    return Record(events, [RunOpened(), task])


def round_opened(room: RoomRow, round_: int) -> Record:
    """A round begins."""
    events = [_event(ev.RoundStarted(round_, room.max_rounds))]
    if room.parallel:
        events.append(_event(ev.ParallelStarted(round_, room.max_rounds, room.agents)))
    return Record(events, [RoomSet({"round_open": round_})])


def round_closed(room: RoomRow, round_: int) -> Record:
    """All turns of the round are finished."""
    events = [_event(ev.RoundEnded(round_))]
    if room.parallel:
        events.insert(0, _event(ev.ParallelEnded(round_, len(room.agents))))
    return Record(events, [RoomSet({"round_done": round_})])


def run_completed(room: RoomRow) -> Record:
    """The last round is over."""
    ended = RoomSet({"status": "completed", "desired": "idle", "interrupted": ""})
    return Record([_event(ev.RunCompleted(room.id, room.max_rounds))], [ended])


def run_paused(room: RoomRow, reason: str) -> Record:
    """The room stopped; whether it is wanted to go on later (``desired``) is not decided here."""
    paused = ev.RunPaused(room.id, room.round_open or None, reason)
    return Record([_event(paused)], [RoomSet({"status": "paused", "interrupted": reason})])


def run_failed(content: str) -> Record:
    """The run as a whole cannot go on."""
    failed = RoomSet({"status": "error", "desired": "idle", "interrupted": ""})
    return Record([_event(ev.RunFailed(content))], [failed])


def turns_pending(room: RoomRow, turns: Sequence[int]) -> Record:
    """These agents, by turn order, are about to speak at once."""
    return Record([_status(room, place, "pending") for place in turns], [])


def turn_started(room: RoomRow, turn: TurnRow) -> Record:
    """The agent's model is being asked."""
    agent = room.agents[turn.turn_order]
    speaker = agent.id if room.parallel else ""
    started = ev.TurnStarted(
        turn.message_id, room.id, "assistant", agent.name, agent.color, turn.round, speaker, turn.attempt
    )
    events = [_status(room, turn.turn_order, "streaming")] if room.parallel else []
    events.append(_event(started, turn.message_id))
    return Record(events, [TurnOpened(turn, event=len(events) - 1)])


def turn_refused(room: RoomRow, turn: TurnRow, error: str) -> Record:
    """There is no model to ask."""
    return Record([_error(room, turn, error)], [TurnOpened(replace(turn, status="failed", error=error))])


def chunks(room: RoomRow, turn: TurnRow, text: str, before: int) -> list[NewEvent]:
    """The agent said ``text`` after ``before`` characters."""
    speaker = room.agents[turn.turn_order].id if room.parallel else ""
    events = []
    for start in range(0, len(text), MAX_CHUNK_CHARACTERS):
        piece = text[start : start + MAX_CHUNK_CHARACTERS]
        so_far = progress(before + start + len(piece)) if room.parallel else None
        added = ev.TextAdded(turn.message_id, piece, agent_id=speaker, progress=so_far)
        events.append(_event(added, turn.message_id))
    return events


def turn_completed(room: RoomRow, turn: TurnRow) -> Record:
    """The agent is done; ``turn`` holds its whole text."""
    closed = replace(turn, status="completed")
    events = [_status(room, turn.turn_order, "completed")] if room.parallel else []
    return Record([*events, _end(room, closed), _stored(room, closed)], [_closed(closed)])


def turn_cut(room: RoomRow, turn: TurnRow, reason: str) -> Record:
    """The turn was cut; ``turn`` holds the text so far. Without words nothing is stored."""
    closed = replace(turn, status="interrupted", reason=reason)
    events = [_end(room, closed)]
    if closed.text:
        events.append(_stored(room, closed))
    return Record(events, [_closed(closed)])


def turn_failed(room: RoomRow, turn: TurnRow, error: str) -> Record:
    """The model failed; ``turn`` holds the text so far. Words that were said are kept."""
    closed = replace(turn, status="failed", error=error)
    events = [_error(room, turn, error)]
    if closed.text:
        events.append(_stored(room, closed))
    return Record(events, [_closed(closed)])


def _event(event: ev.Event, message_id: str = "") -> NewEvent:
    name, data = encode(event)
    return NewEvent(name, dump(data), message_id)


def _status(room: RoomRow, place: int, status: str) -> NewEvent:
    agent = room.agents[place]
    return _event(ev.AgentStatusChanged(agent.id, agent.name, status))


def _error(room: RoomRow, turn: TurnRow, error: str) -> NewEvent:
    agent = room.agents[turn.turn_order]
    return _event(ev.TurnFailed(error, agent.id, agent.name), turn.message_id)


def _end(room: RoomRow, turn: TurnRow) -> NewEvent:
    speaker = room.agents[turn.turn_order].id if room.parallel else ""
    ended = ev.TurnEnded(turn.message_id, turn.text, token_count(turn.text), speaker, turn.reason)
    return _event(ended, turn.message_id)


def _stored(room: RoomRow, turn: TurnRow) -> NewEvent:
    return _event(ev.MessageStored(turn_message(room, turn)), turn.message_id)


def _closed(turn: TurnRow) -> TurnClosed:
    tokens = token_count(turn.text)
    return TurnClosed(turn.message_id, turn.status, turn.text, tokens, turn.reason, turn.error)
