"""Carries out one transaction: gives events their seq, appends them and applies the changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from sqlalchemy import BindParameter, Connection, bindparam, delete, func, insert, select, update

from agent_tui.backend.store import sqlite
from agent_tui.backend.store.messages import with_notes
from agent_tui.backend.store.reads.conversations import AGENT_COLUMNS
from agent_tui.backend.store.reads.turns import chain, whole_text
from agent_tui.backend.store.rows import (
    AgentSessionPut,
    AgentSkips,
    AgentsSet,
    Change,
    ConversationCreated,
    ConversationDropped,
    ConversationRow,
    ConversationSet,
    ConversationUsed,
    EventsDropped,
    FileChanged,
    InboxPut,
    InboxSet,
    NewEvent,
    RuleChange,
    RuleDropped,
    RulePut,
    RunOpened,
    Searchable,
    SpokenSet,
    StepPut,
    StepStatus,
    StoredFrame,
    TurnAgain,
    TurnClosed,
    TurnNotePut,
    TurnOpened,
    TurnRow,
    Unsearchable,
    UserSaid,
    Write,
)
from agent_tui.backend.store.schema import (
    NOT_STORED,
    agent,
    agent_session,
    conversation,
    event,
    file_change,
    inbox,
    searched,
    step,
    tool_rule,
    turn,
    user_message,
)
from agent_tui.backend.store.steps import STORED
from agent_tui.backend.store.words import indexed
from agent_tui.model.errors import StoreError
from agent_tui.model.events import AgentInfo
from agent_tui.wire.content import dump
from agent_tui.wire.steps_encode import ask_fields

# The statements of a turn are built once: building them takes longer than running them. In an update,
# parameters with a column's name are set, so those that say which row is meant have other names.
_ID: BindParameter[Any] = bindparam("conversation")  # its id
_AGENT: BindParameter[Any] = bindparam("agent")
_MESSAGE: BindParameter[Any] = bindparam("message")
_LAST_SEQS = select(conversation.c.id, conversation.c.last_seq).where(
    conversation.c.id.in_(bindparam("ids", expanding=True))
)
_APPEND = insert(event)
_SET = update(conversation).where(conversation.c.id == _ID)
_SET_WHILE_RUNNING = _SET.where(conversation.c.status == "running")
_SET_LAST_SEQ = _SET.values(last_seq=bindparam("seq"), updated_at=bindparam("at"))
_USE = _SET.values(used_tokens=conversation.c.used_tokens + bindparam("more"))
_PAY = _USE.values(used_cost=func.coalesce(conversation.c.used_cost, 0.0) + bindparam("paid"))
_USE_OF_AGENT = (
    update(agent)
    .where((agent.c.conversation_id == _ID) & (agent.c.id == _AGENT))
    .values(tokens=agent.c.tokens + bindparam("more"))
)
_NEXT_NUMBER = select(func.coalesce(func.max(conversation.c.number), 0) + 1).scalar_subquery()
_CREATE, _ADD_AGENT = insert(conversation).values(number=_NEXT_NUMBER), insert(agent)
_SAY = insert(user_message)
_PUT_STEP = sqlite.put(step)
_SET_STEP = update(step).where(
    step.c.conversation_id == _ID, step.c.message_id == _MESSAGE, step.c.place == bindparam("at_place")
)
_CHANGE_FILE = insert(file_change)
_PUT_SESSION = sqlite.put(agent_session)
_NOTE_SEARCHED = insert(searched).returning(searched.c.number)
_OPEN = insert(turn)
_BY_AGENT = (turn.c.conversation_id == _ID, turn.c.round == bindparam("in_round"), turn.c.agent_id == _AGENT)
_FORGET_WISHES = (
    update(turn).where(*_BY_AGENT, turn.c.again | turn.c.to_continue).values(again=False, to_continue=False)
)
_SUPERSEDE = update(turn).where(*_BY_AGENT, turn.c.message_id == _MESSAGE).values(status="superseded")
_CLOSE = update(turn).where(turn.c.message_id == _MESSAGE, turn.c.status == "streaming")
_BY_MESSAGE = (turn.c.conversation_id == _ID, turn.c.message_id == _MESSAGE)
_SET_TURN = update(turn).where(*_BY_MESSAGE)
_CONTINUED, _NOTES = select(turn.c.continues).where(*_BY_MESSAGE), select(turn.c.notes).where(*_BY_MESSAGE)
# What is set when a turn is closed.
_CLOSING = (
    "status", "reason", "text", "error", "prompt_tokens", "completion_tokens", "first_token_seconds",
    "cost", "seconds", "trimmed", "context", "context_limit",
)  # fmt: skip


def apply(connection: Connection, writes: Sequence[Write], now: datetime) -> list[list[StoredFrame]]:
    """Apply ``writes`` in order; return for each the frames of its events.

    ``now`` is only stored: the order of things is the order of their seq.
    """
    frames = _append(connection, writes, now)
    for write, written in zip(writes, frames, strict=True):
        for change in write.changes:
            _change(connection, write.room_id, change, [frame.seq for frame in written], now)
    return frames


def _append(connection: Connection, writes: Sequence[Write], now: datetime) -> list[list[StoredFrame]]:
    ids = {write.room_id for write in writes if write.events}
    if not ids:
        return [[] for _ in writes]
    last_seqs = {row.id: row.last_seq for row in connection.execute(_LAST_SEQS, {"ids": sorted(ids)})}
    frames: list[list[StoredFrame]] = []
    for write in writes:
        # A deleted conversation has no last seq; the foreign key refuses its events.
        start = last_seqs.get(write.room_id, 0) + 1
        written = [_frame(write.room_id, seq, new) for seq, new in enumerate(write.events, start)]
        if written:
            last_seqs[write.room_id] = written[-1].seq
        frames.append(written)
    ts = now.timestamp()
    connection.execute(_APPEND, [_columns(frame, ts) for written in frames for frame in written])
    at = now.isoformat()
    news = [{"conversation": id_, "seq": seq, "at": at} for id_, seq in last_seqs.items()]
    connection.execute(_SET_LAST_SEQ, news)
    return frames


def _frame(id_: str, seq: int, new: NewEvent) -> StoredFrame:
    return StoredFrame(id_, seq, new.name, new.data, new.message_id, new.event)


def _columns(frame: StoredFrame, ts: float) -> dict[str, object]:
    return {
        "conversation_id": frame.room_id,
        "seq": frame.seq,
        "name": frame.name,
        "message_id": frame.message_id,
        "data": frame.data,
        "ts": ts,
    }


def _change(connection: Connection, id_: str, change: Change, seqs: Sequence[int], now: datetime) -> None:
    match change:
        case ConversationCreated(row):
            _create(connection, row)
        case ConversationSet(values, while_running):
            _set(connection, id_, values, now, while_running=while_running)
        case RunOpened():
            running = {"status": "running", "desired": "running", "interrupted": ""}
            _set(connection, id_, {**running, "run_seq": seqs[0]}, now)
        case ConversationUsed():
            _use(connection, id_, change)
        case ConversationDropped():
            _drop(connection, id_)
        case AgentsSet() | AgentSkips():
            _change_agents(connection, id_, change)
            _set(connection, id_, {}, now)
        case AgentSessionPut(agent_id, session):
            key = {"conversation_id": id_, "agent_id": agent_id}
            connection.execute(_PUT_SESSION, {**asdict(session), **key})
        case TurnOpened() | TurnClosed() | TurnAgain() | TurnNotePut() | SpokenSet():
            _change_turn(connection, id_, change, seqs)
        case StepPut() | StepStatus() | FileChanged():
            _change_step(connection, id_, change)
        case InboxPut() | InboxSet():
            _change_inbox(connection, id_, change)
        case UserSaid():
            message = {**asdict(change), "conversation_id": id_, "first_seq": seqs[change.event]}
            del message["event"]
            connection.execute(_SAY, message)
        case EventsDropped(up_to):
            connection.execute(delete(event).where(event.c.conversation_id == id_, event.c.seq <= up_to))
        case RulePut() | RuleDropped():
            _change_rules(connection, change)
        case Searchable():
            _index(connection, id_, change)
        case Unsearchable(most):
            _forget(connection, id_, most)


# --- the conversation and its agents ------------------------------------------------------------------


def _create(connection: Connection, row: ConversationRow) -> None:
    values = {name: value for name, value in asdict(row).items() if name not in NOT_STORED}
    connection.execute(_CREATE, _column_values(values))
    if row.agents:
        agents = [_agent_columns(row.id, place, info) for place, info in enumerate(row.agents)]
        connection.execute(_ADD_AGENT, [{**columns, "tokens": 0} for columns in agents])


def _column_values(values: Mapping[str, Any]) -> dict[str, Any]:
    stored = dict(values)
    if stored.get("tools") is not None:
        stored["tools"] = dump(list(stored["tools"]))
    return stored


def _set(
    connection: Connection, id_: str, values: Mapping[str, Any], now: datetime, *, while_running: bool = False
) -> None:
    columns = _column_values(values)
    if columns.keys() != {"view"}:  # only how it is shown: nothing happened
        columns["updated_at"] = now.isoformat()
    if unknown := columns.keys() - conversation.c.keys():
        raise StoreError(f"Nothing is stored as {', '.join(sorted(unknown))}")
    connection.execute(_SET_WHILE_RUNNING if while_running else _SET, {"conversation": id_, **columns})


def _use(connection: Connection, id_: str, used: ConversationUsed) -> None:
    more = {"conversation": id_, "more": used.tokens}
    if used.cost is None:
        connection.execute(_USE, more)
    else:
        connection.execute(_PAY, {**more, "paid": used.cost})
    if used.agent_id:
        connection.execute(_USE_OF_AGENT, {**more, "agent": used.agent_id})


def _change_agents(connection: Connection, id_: str, change: AgentsSet | AgentSkips) -> None:
    mine = agent.c.conversation_id == id_
    if isinstance(change, AgentSkips):
        skips = update(agent).where(mine & (agent.c.id == change.agent_id))
        connection.execute(skips.values(skip_next=change.skip_next))
        return
    stored_ids = set(connection.scalars(select(agent.c.id).where(mine)))
    connection.execute(update(agent).where(mine).values(removed=True))
    for place, info in enumerate(change.agents):
        values = _agent_columns(id_, place, info)
        if info.id in stored_ids:
            connection.execute(update(agent).where(mine & (agent.c.id == info.id)).values(values))
        else:
            connection.execute(_ADD_AGENT, {**values, "tokens": 0})


def _agent_columns(id_: str, place: int, info: AgentInfo) -> dict[str, object]:
    own = {name: getattr(info, name) for name in AGENT_COLUMNS}
    return {**own, "conversation_id": id_, "turn_order": place, "removed": False}


def _drop(connection: Connection, id_: str) -> None:
    _forget(connection, id_)
    for table in (file_change, step, tool_rule, turn, user_message, inbox, agent_session, agent):
        connection.execute(delete(table).where(table.c.conversation_id == id_))
    connection.execute(delete(conversation).where(conversation.c.id == id_))


# --- turns, steps, the inbox --------------------------------------------------------------------------


def _change_turn(
    connection: Connection,
    id_: str,
    change: TurnOpened | TurnClosed | TurnAgain | TurnNotePut | SpokenSet,
    seqs: Sequence[int],
) -> None:
    match change:
        case TurnOpened(opened, place):
            _open(connection, id_, opened, seqs[place])
        case TurnClosed(closed):
            values = {name: getattr(closed, name) for name in _CLOSING}
            if connection.execute(_CLOSE, {"message": closed.message_id, **values}).rowcount != 1:
                raise StoreError(f"The turn {closed.message_id} is not open", "It was already closed.")
        case TurnAgain(message_id, rest):
            wanted = "to_continue" if rest else "again"
            connection.execute(_SET_TURN, {"conversation": id_, "message": message_id, wanted: True})
        case TurnNotePut(message_id, note):
            mine = {"conversation": id_, "message": message_id}
            stored = connection.execute(_NOTES, mine).scalar() or ""
            connection.execute(_SET_TURN, {**mine, "notes": with_notes(stored, [note])})
        case SpokenSet(message_id, spoken):
            news = {"conversation": id_, "message": message_id, "spoken": spoken}
            by_id = (user_message.c.conversation_id == id_) & (user_message.c.id == message_id)
            messages = connection.execute(update(user_message).where(by_id).values(spoken=spoken))
            if connection.execute(_SET_TURN, news).rowcount + messages.rowcount != 1:
                raise StoreError(f"The message {message_id} is not on record", "It cannot have been spoken.")


def _open(connection: Connection, id_: str, opened: TurnRow, first_seq: int) -> None:
    place = {"conversation": id_, "in_round": opened.round, "agent": opened.agent_id}
    connection.execute(_FORGET_WISHES, place)
    superseded = opened.supersedes
    while superseded:
        key = {"conversation": id_, "message": superseded}
        connection.execute(_SUPERSEDE, {**place, **key})
        superseded = connection.execute(_CONTINUED, key).scalar() or ""
    connection.execute(_OPEN, {**asdict(opened), "conversation_id": id_, "first_seq": first_seq})


def _change_step(connection: Connection, id_: str, change: StepPut | StepStatus | FileChanged) -> None:
    match change:
        case FileChanged():
            connection.execute(_CHANGE_FILE, {**asdict(change), "conversation_id": id_})
        case StepPut(message_id, new, started_at):
            values = {name: getattr(new, name) for name in STORED}
            values |= {"conversation_id": id_, "message_id": message_id, "place": new.index}
            values |= {"started_at": started_at, "ask": dump(ask_fields(new.ask)) if new.ask else ""}
            connection.execute(_PUT_STEP, values)
        case StepStatus(message_id, place, status, seconds, success, ask):
            news: dict[str, object] = {"status": status, "seconds": seconds, "success": success}
            if ask is not None:
                news["ask"] = dump(ask_fields(ask))
            key = {"conversation": id_, "message": message_id, "at_place": place}
            if connection.execute(_SET_STEP, {**key, **news}).rowcount != 1:
                why = "It has no effect either way."
                raise StoreError(f"Step {place} of {message_id} is not on record", why)


def _change_inbox(connection: Connection, id_: str, change: InboxPut | InboxSet) -> None:
    mine = inbox.c.conversation_id == id_
    match change:
        case InboxPut():
            number = select(func.coalesce(func.max(inbox.c.number), 0) + 1).where(mine).scalar_subquery()
            values = {**asdict(change), "conversation_id": id_, "state": "queued", "number": number}
            connection.execute(insert(inbox).values(values))
        case InboxSet(ids, changes):
            waiting = mine & (inbox.c.state == "queued") & inbox.c.id.in_(ids)
            if connection.execute(update(inbox).where(waiting).values(**changes)).rowcount != len(ids):
                raise StoreError("These words are not in the queue", "They were already said or taken back.")


def _change_rules(connection: Connection, change: RuleChange) -> None:
    match change:
        case RulePut(rule):
            connection.execute(sqlite.put_once(tool_rule).values(**asdict(rule)))
        case RuleDropped(rule_id):
            connection.execute(delete(tool_rule).where(tool_rule.c.id == rule_id))


# --- searching ----------------------------------------------------------------------------------------


def _index(connection: Connection, id_: str, message: Searchable) -> None:
    """Make the words searchable. Those that continue others are found with them, as one message."""
    text, parts = message.text, []
    if message.role == "assistant":
        parts = chain(connection, id_, message.message_id)
    if len(parts) > 1:
        text, older = whole_text(parts), [row.message_id for row, _ in parts[:-1]]
        mine = (searched.c.conversation_id == id_) & searched.c.message_id.in_(older)
        sqlite.unindex(connection, list(connection.scalars(select(searched.c.number).where(mine))))
    words = indexed(text)
    if words.strip():
        row = {"conversation_id": id_, "message_id": message.message_id, "role": message.role}
        row["created_at"] = message.created_at
        sqlite.index(connection, connection.execute(_NOTE_SEARCHED, row).scalar_one(), words)


def _forget(connection: Connection, id_: str, most: int | None = None) -> None:
    mine = select(searched.c.number).where(searched.c.conversation_id == id_).limit(most)
    sqlite.unindex(connection, list(connection.scalars(mine)))
