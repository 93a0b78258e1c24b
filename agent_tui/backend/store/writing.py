"""What one transaction does: gives events their seq, appends them, applies the changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime

from sqlalchemy import Connection, bindparam, delete, func, insert, select, update

from agent_tui.backend.store.rows import (
    Change,
    EventsDropped,
    Frame,
    NewEvent,
    RoomCreated,
    RoomDropped,
    RoomRow,
    RoomSet,
    RunOpened,
    TurnClosed,
    TurnOpened,
    UserSaid,
    Write,
)
from agent_tui.backend.store.schema import event, room, room_agent, turn, user_message
from agent_tui.errors import StoreError

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
    return Frame(room_id, seq, new.name, new.data, new.message_id)


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
            running: dict[str, str | int | bool] = {
                "status": "running",
                "desired": "running",
                "interrupted": "",
            }
            _set(connection, room_id, {**running, "run_seq": seqs[0]}, now)
        case TurnOpened():
            values = {**asdict(change.turn), "room_id": room_id, "first_seq": seqs[change.event]}
            connection.execute(insert(turn).values(values))
        case TurnClosed():
            _close(connection, change)
        case UserSaid():
            values = {**asdict(change), "room_id": room_id, "first_seq": seqs[change.event]}
            del values["event"]
            connection.execute(insert(user_message).values(values))
        case EventsDropped():
            condition = (event.c.room_id == room_id) & (event.c.seq <= change.up_to)
            connection.execute(delete(event).where(condition))
        case RoomDropped():
            for table in (turn, user_message, room_agent):
                connection.execute(delete(table).where(table.c.room_id == room_id))
            connection.execute(delete(room).where(room.c.id == room_id))


def _create(connection: Connection, row: RoomRow) -> None:
    values = asdict(row)
    agents = values.pop("agents")
    connection.execute(insert(room).values({**values, "number": _NEXT_NUMBER}))
    if agents:
        connection.execute(insert(room_agent), [{**agent, "room_id": row.id} for agent in agents])


def _set(
    connection: Connection,
    room_id: str,
    values: Mapping[str, str | int | bool],
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
    open_turn = (turn.c.message_id == message_id) & (turn.c.status == "streaming")
    if connection.execute(update(turn).where(open_turn).values(values)).rowcount != 1:
        raise StoreError(f"The turn {message_id} is not open", "It was closed before.")
