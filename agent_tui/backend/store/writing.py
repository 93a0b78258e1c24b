"""What one transaction does: gives events their seq, appends them, applies the changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime

from sqlalchemy import Connection, bindparam, delete, func, insert, select, update

from agent_tui.backend.store import chat_writing
from agent_tui.backend.store.chat_rows import (
    ChatCreated,
    ChatSet,
    RuleConfirmed,
    RuleDropped,
    RulePut,
    Searchable,
    SpokenSet,
    StepPut,
    StepStands,
    Unsearchable,
)
from agent_tui.backend.store.damage import tools_text
from agent_tui.backend.store.messages import with_notes
from agent_tui.backend.store.queries import AGENT_COLUMNS
from agent_tui.backend.store.rows import (
    AgentSessionPut,
    AgentSkips,
    AgentsSet,
    Change,
    EventsDropped,
    Frame,
    InboxPut,
    InboxSet,
    InboxTaken,
    NewEvent,
    RoomCreated,
    RoomDropped,
    RoomRow,
    RoomSet,
    RoomUsed,
    RunOpened,
    TurnAgain,
    TurnClosed,
    TurnNotePut,
    TurnOpened,
    UserSaid,
    Write,
)
from agent_tui.backend.store.schema import agent_session, event, inbox, room, room_agent, turn, user_message
from agent_tui.model.errors import StoreError
from agent_tui.model.events import AgentInfo

_LAST_SEQS = select(room.c.id, room.c.last_seq).where(room.c.id.in_(bindparam("ids", expanding=True)))
_APPEND = insert(event)
_SET_LAST_SEQ = (
    update(room)
    .where(room.c.id == bindparam("of"))
    .values(last_seq=bindparam("seq"), updated_at=bindparam("at"))
)
_NEXT_NUMBER = select(func.coalesce(func.max(room.c.number), 0) + 1).scalar_subquery()


def apply(connection: Connection, writes: Sequence[Write], now: datetime) -> list[list[Frame]]:
    """Carry out ``writes`` in order; return for each the frames that its events became.

    ``now`` is only noted: the order of things is the order of their seq.
    """
    frames = _append(connection, writes, now)
    for write, written in zip(writes, frames, strict=True):
        for change in write.changes:
            _change(connection, write.room_id, change, [frame.seq for frame in written], now)
    return frames


def _append(connection: Connection, writes: Sequence[Write], now: datetime) -> list[list[Frame]]:
    ids = {write.room_id for write in writes if write.events}
    if not ids:
        return [[] for _ in writes]
    last = {row.id: row.last_seq for row in connection.execute(_LAST_SEQS, {"ids": sorted(ids)})}
    frames: list[list[Frame]] = []
    for write in writes:
        # A room that is gone has no last seq; its events are refused by the foreign key.
        start = last.get(write.room_id, 0) + 1
        written = [_frame(write.room_id, seq, new) for seq, new in enumerate(write.events, start)]
        if written:
            last[write.room_id] = written[-1].seq
        frames.append(written)
    ts = now.timestamp()
    rows = [{**_columns(frame), "ts": ts} for written in frames for frame in written]
    connection.execute(_APPEND, rows)
    at = now.isoformat()
    connection.execute(_SET_LAST_SEQ, [{"of": id_, "seq": last[id_], "at": at} for id_ in sorted(ids)])
    return frames


def _frame(room_id: str, seq: int, new: NewEvent) -> Frame:
    return Frame(room_id, seq, new.name, new.data, new.message_id, new.event)


def _columns(frame: Frame) -> dict[str, object]:
    return {
        "room_id": frame.room_id,
        "seq": frame.seq,
        "name": frame.name,
        "message_id": frame.message_id,
        "data": frame.data,
    }


def _change(connection: Connection, room_id: str, change: Change, seqs: Sequence[int], now: datetime) -> None:
    match change:
        case RoomCreated():
            _create(connection, change.room)
        case RoomSet():
            _set(connection, room_id, change.values, now, while_running=change.while_running)
        case RunOpened():
            running = {"status": "running", "desired": "running", "interrupted": ""}
            _set(connection, room_id, {**running, "run_seq": seqs[0]}, now)
        case RoomUsed():
            _use(connection, room_id, change)
        case AgentsSet():
            _set_agents(connection, room_id, change.agents)
            _set(connection, room_id, {}, now)
        case AgentSkips():
            condition = (room_agent.c.room_id == room_id) & (room_agent.c.id == change.agent_id)
            connection.execute(update(room_agent).where(condition).values(skip_next=change.skip_next))
        case AgentSessionPut(agent_id, session):
            theirs = (agent_session.c.room_id == room_id) & (agent_session.c.agent_id == agent_id)
            connection.execute(delete(agent_session).where(theirs))
            values = {**asdict(session), "room_id": room_id, "agent_id": agent_id}
            connection.execute(insert(agent_session).values(values))
        case TurnOpened() | TurnClosed() | TurnAgain() | TurnNotePut():
            _change_turn(connection, room_id, change, seqs)
        case InboxPut() | InboxSet() | InboxTaken():
            _change_inbox(connection, room_id, change)
        case UserSaid():
            values = {**asdict(change), "room_id": room_id, "first_seq": seqs[change.event]}
            del values["event"]
            connection.execute(insert(user_message).values(values))
        case EventsDropped():
            condition = (event.c.room_id == room_id) & (event.c.seq <= change.up_to)
            connection.execute(delete(event).where(condition))
        case RoomDropped():
            chat_writing.drop(connection, room_id)
            for table in (turn, user_message, inbox, agent_session, room_agent):
                connection.execute(delete(table).where(table.c.room_id == room_id))
            connection.execute(delete(room).where(room.c.id == room_id))
        case ChatCreated() | ChatSet() | StepPut() | StepStands() | SpokenSet():
            chat_writing.change(connection, room_id, change)
        case RulePut() | RuleConfirmed() | RuleDropped() | Searchable() | Unsearchable():
            chat_writing.change(connection, room_id, change)


def _change_turn(
    connection: Connection,
    room_id: str,
    change: TurnOpened | TurnClosed | TurnAgain | TurnNotePut,
    seqs: Sequence[int],
) -> None:
    match change:
        case TurnOpened(opened, place):
            whose = (turn.c.room_id == room_id) & (turn.c.round == opened.round)
            whose &= turn.c.agent_id == opened.agent_id
            asked = whose & (turn.c.again | turn.c.to_continue)
            connection.execute(update(turn).where(asked).values(again=False, to_continue=False))
            superseded = opened.supersedes
            while superseded:
                old = whose & (turn.c.message_id == superseded)
                connection.execute(update(turn).where(old).values(status="superseded"))
                superseded = connection.execute(select(turn.c.continues).where(old)).scalar() or ""
            values = {**asdict(opened), "room_id": room_id, "first_seq": seqs[place]}
            connection.execute(insert(turn).values(values))
        case TurnClosed():
            _close(connection, change)
        case TurnAgain(message_id, rest):
            condition = (turn.c.room_id == room_id) & (turn.c.message_id == message_id)
            wanted = {"to_continue": True} if rest else {"again": True}
            connection.execute(update(turn).where(condition).values(wanted))
        case TurnNotePut(message_id, note):
            condition = (turn.c.room_id == room_id) & (turn.c.message_id == message_id)
            stored = connection.execute(select(turn.c.notes).where(condition)).scalar() or ""
            connection.execute(update(turn).where(condition).values(notes=with_notes(stored, [note])))


def _change_inbox(connection: Connection, room_id: str, change: InboxPut | InboxSet | InboxTaken) -> None:
    waits = (inbox.c.room_id == room_id) & (inbox.c.state == "queued")
    match change:
        case InboxPut():
            number = select(func.coalesce(func.max(inbox.c.number), 0) + 1).where(inbox.c.room_id == room_id)
            values = {**asdict(change), "room_id": room_id, "state": "queued"}
            connection.execute(insert(inbox).values({**values, "number": number.scalar_subquery()}))
        case InboxSet(id_, news):
            changed = connection.execute(update(inbox).where(waits & (inbox.c.id == id_)).values(**news))
            if changed.rowcount != 1:
                raise StoreError(f"The words {id_} do not wait", "They were said or taken back before.")
        case InboxTaken(ids):
            taken = connection.execute(update(inbox).where(waits & inbox.c.id.in_(ids)).values(state="taken"))
            if taken.rowcount != len(ids):
                raise StoreError("These words do not wait", "They were said or taken back before.")


def _use(connection: Connection, room_id: str, used: RoomUsed) -> None:
    values: dict[str, object] = {"used_tokens": room.c.used_tokens + used.tokens}
    if used.cost is not None:
        values["used_cost"] = func.coalesce(room.c.used_cost, 0.0) + used.cost
    connection.execute(update(room).where(room.c.id == room_id).values(values))
    if used.agent_id:
        condition = (room_agent.c.room_id == room_id) & (room_agent.c.id == used.agent_id)
        tokens = room_agent.c.tokens + used.tokens
        connection.execute(update(room_agent).where(condition).values(tokens=tokens))


def _set_agents(connection: Connection, room_id: str, agents: Sequence[AgentInfo]) -> None:
    mine = room_agent.c.room_id == room_id
    known = set(connection.scalars(select(room_agent.c.id).where(mine)))
    connection.execute(update(room_agent).where(mine).values(removed=True))
    for place, agent in enumerate(agents):
        values = {**_agent_columns(agent), "turn_order": place, "removed": False}
        if agent.id in known:
            connection.execute(update(room_agent).where(mine & (room_agent.c.id == agent.id)).values(values))
        else:
            connection.execute(insert(room_agent).values({**values, "room_id": room_id, "tokens": 0}))


def _agent_columns(agent: AgentInfo) -> dict[str, object]:
    return {name: getattr(agent, name) for name in AGENT_COLUMNS}


def _create(connection: Connection, row: RoomRow) -> None:
    values = asdict(row)
    del values["agents"], values["queue"], values["damaged"]
    values["tools"] = tools_text(row.tools)
    connection.execute(insert(room).values({**values, "number": _NEXT_NUMBER}))
    if row.agents:
        fresh = {"room_id": row.id, "removed": False, "tokens": 0}
        agents = [{**_agent_columns(agent), **fresh} for agent in row.agents]
        connection.execute(insert(room_agent), agents)


def _set(
    connection: Connection,
    room_id: str,
    values: Mapping[str, str | int | float | bool | None],
    now: datetime,
    *,
    while_running: bool = False,
) -> None:
    condition = room.c.id == room_id
    if while_running:
        condition &= room.c.status == "running"
    connection.execute(update(room).where(condition).values({**values, "updated_at": now.isoformat()}))


def _close(connection: Connection, change: TurnClosed) -> None:
    values = asdict(change)
    message_id = values.pop("message_id")
    if not change.trimmed:  # then it is what it was when the turn was opened
        del values["trimmed"]
    open_turn = (turn.c.message_id == message_id) & (turn.c.status == "streaming")
    if connection.execute(update(turn).where(open_turn).values(values)).rowcount != 1:
        raise StoreError(f"The turn {message_id} is not open", "It was closed before.")
