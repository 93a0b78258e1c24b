"""What is read, each in one transaction: ``await store.read(queries.room, room_id)``."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields, replace
from types import MappingProxyType
from typing import Any

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Connection,
    Select,
    bindparam,
    func,
    literal_column,
    select,
)

from agent_tui.backend.store import schema
from agent_tui.backend.store.damage import damaged, damaged_field, damaged_place, intact, tools_of
from agent_tui.backend.store.messages import Page, that_fit, turn_message, user_message
from agent_tui.backend.store.rows import Frame, RoomRow, TurnRow, UserSaid
from agent_tui.backend.store.steps import has_called, steps
from agent_tui.model.errors import NotFound
from agent_tui.model.events import AgentInfo, QueuedMessage, Step, TextAdded
from agent_tui.wire.log import event_name

# What is stored of an agent, in the order of ``AgentInfo``; the rest of it is computed.
AGENT_COLUMNS = ("id", "name", "color", "model", "turn_order", "system_prompt", "provider_id", "skip_next")

_NO_STATUS: ColumnElement[str] = literal_column("''")

_IS_ROOM = schema.room.c.kind == "room"  # chats are rooms too: chat_queries.py
_ROOMS = select(*(column for column in schema.room.c if column.name != "number")).where(_IS_ROOM)
_AGENTS = (
    # In the order of ``AgentInfo``: a list of a thousand rooms has thousands of agents.
    select(
        *(schema.room_agent.c[name] for name in ("room_id", *AGENT_COLUMNS)),
        _NO_STATUS,
        schema.room_agent.c.tokens,
    )
    .where(~schema.room_agent.c.removed)
    .order_by(schema.room_agent.c.turn_order)
)
_QUEUE = (
    select(
        *(schema.inbox.c[name] for name in ("room_id", "id", "content")),
        schema.inbox.c.to_agent.label("to"),
        schema.inbox.c.when_.label("when"),
        *(schema.inbox.c[name] for name in ("sender_name", "created_at")),
    )
    .where(schema.inbox.c.state == "queued")
    .order_by(schema.inbox.c.number)
)
_TURNS = select(*(column for column in schema.turn.c if column.name != "room_id"))
# Where the turns of a round stand: closed texts may be long and do not matter for that.
_STANDS = select(*(column for column in schema.turn.c if column.name not in ("room_id", "text")))
_USER_MESSAGES = select(
    schema.user_message.c.first_seq,
    *(schema.user_message.c[field.name] for field in fields(UserSaid) if field.name != "event"),
)
# A turn that was cut for one of these is over: what it said stands.
FINAL_REASONS = ("stop", "skip", "length")
# What stands in a damaged room where nothing can be read.
_UNKNOWN: Mapping[str, Any] = {"name": "", "task": "", "execution_mode": "sequential", "max_rounds": 0}
FEW_ROOMS = 100  # of more than so many the agents are read with those of all others

_FRAMES = select(*(schema.event.c[name] for name in ("room_id", "seq", "name", "data", "message_id")))

# What is read at every step of a room is put together once: that takes longer than to read it.
_SOME: BindParameter[Any] = bindparam("ids", expanding=True)
_ROOM = _ROOMS.where(schema.room.c.id == bindparam("id"))
_THEIR_AGENTS = _AGENTS.where(schema.room_agent.c.room_id.in_(_SOME))
_THEIR_QUEUE = _QUEUE.where(schema.inbox.c.room_id.in_(_SOME))
_NEWEST_TURNS = _STANDS.where(
    schema.turn.c.room_id == bindparam("id"), schema.turn.c.round >= bindparam("round")
).order_by(schema.turn.c.first_seq)
_NEWEST = (
    select(schema.turn.c.agent_id, schema.turn.c.status)
    .join_from(
        schema.room,
        schema.turn,
        (schema.turn.c.room_id == schema.room.c.id) & (schema.turn.c.round == schema.room.c.round_open),
    )
    .where(_IS_ROOM)
    .order_by(schema.turn.c.attempt)
)
_THEIR_NEWEST = _NEWEST.where(schema.room.c.id.in_(_SOME))
_CHUNKS = (
    select(schema.event.c.message_id, schema.event.c.data)
    .where(
        schema.event.c.room_id == bindparam("id"),
        schema.event.c.seq > bindparam("after"),
        schema.event.c.name == event_name(TextAdded),
        schema.event.c.message_id.in_(bindparam("turns", expanding=True)),
    )
    .order_by(schema.event.c.seq)
)


@dataclass(frozen=True, slots=True)
class Said:
    """Words that are part of the conversation; ``agent_id`` is empty for a person's.

    ``place`` is the agent's in the turn order, ``seq`` says when they were begun, ``to`` who alone is told.
    A turn that was continued is one of these, in the place of its beginning.
    """

    id: str
    round: int
    seq: int
    agent_id: str
    place: int
    name: str
    text: str
    to: str = ""


def room(connection: Connection, room_id: str, *, or_damaged: bool = False) -> RoomRow:
    """Return the room; raises ``NotFound`` also while it is being deleted, and ``StoreError`` for a damaged
    one unless ``or_damaged``.
    """
    found = _rooms(connection, _ROOM, {"id": room_id})
    if not found or found[0].desired == "deleted":
        raise NotFound(f"There is no room {room_id[:100]}", status=404)
    if found[0].damaged and not or_damaged:
        raise damaged("room", room_id, found[0].damaged)
    return found[0]


def exists(connection: Connection, room_id: str) -> bool:
    """Return whether there is a room or chat of that id, and it is not being deleted."""
    query = select(schema.room.c.desired).where(schema.room.c.id == room_id)
    return connection.execute(query).scalar() not in (None, "deleted")


def rooms(
    connection: Connection, *, deleted: bool = False, ids: Collection[str] | None = None
) -> list[RoomRow]:
    """Return all rooms, or those of ``ids`` that there are, in the order they were made.

    With ``deleted`` those that are being deleted, and only them.
    """
    condition = schema.room.c.desired == "deleted"
    query = _ROOMS.where(condition if deleted else ~condition).order_by(schema.room.c.number)
    return _rooms(connection, query if ids is None else query.where(schema.room.c.id.in_(ids)))


def stands(connection: Connection, ids: Collection[str] | None = None) -> dict[str, str]:
    """Return agent id → the status of its newest attempt in its room's newest round, of all rooms or some."""
    found = (
        connection.execute(_NEWEST) if ids is None else connection.execute(_THEIR_NEWEST, {"ids": list(ids)})
    )
    return {row.agent_id: row.status for row in found}


def room_and_stands(connection: Connection, room_id: str) -> tuple[RoomRow, dict[str, str]]:
    """Return ``room``, also a damaged one, and its ``stands`` of one moment."""
    return room(connection, room_id, or_damaged=True), stands(connection, [room_id])


def rooms_and_stands(
    connection: Connection, ids: Collection[str] | None
) -> tuple[list[RoomRow], dict[str, str]]:
    """Return ``rooms`` and ``stands`` of one moment."""
    return rooms(connection, ids=ids), stands(connection, ids)


def state(connection: Connection, room_id: str) -> tuple[RoomRow, list[TurnRow]]:
    """Return the room and all attempts of its newest three rounds; only open ones with their text (so far).

    A turn of the round before the newest may be said again, and a provider with one agent may have failed
    three times in a row.
    """
    row = room(connection, room_id)
    return row, _turns(connection, room_id, _NEWEST_TURNS, {"id": room_id, "round": row.round_open - 2})


def said(connection: Connection, room_id: str, from_round: int = 0) -> list[Said]:
    """Return what was said for good from that round on: people's words and turns that nobody says again.

    In the order it was begun in.
    """
    user = schema.user_message.c
    people = select(user.id, user.round, user.first_seq, user.sender_name, user.text, user.to_agent).where(
        user.room_id == room_id, user.round >= from_round
    )
    words = [
        Said(id_, round_, seq, "", -1, name, text, to)
        for id_, round_, seq, name, text, to in connection.execute(people)
    ]
    words += _said_by_agents(connection, room_id, from_round)
    return sorted(words, key=lambda word: word.seq)


def _said_by_agents(connection: Connection, room_id: str, from_round: int) -> list[Said]:
    turn, agent, later = schema.turn.c, schema.room_agent.c, schema.turn.alias()
    stands = (turn.status == "completed") | ((turn.status == "interrupted") & turn.reason.in_(FINAL_REASONS))
    is_continued = (
        select(later.c.message_id)
        .where(later.c.room_id == turn.room_id, later.c.continues == turn.message_id)
        .exists()
    )
    columns = (turn.message_id, turn.round, turn.first_seq, turn.agent_id, agent.turn_order, turn.sender_name)
    query = (
        select(turn.continues, stands, *columns, turn.text)
        .join(schema.room_agent, (agent.room_id == turn.room_id) & (agent.id == turn.agent_id))
        .where(turn.room_id == room_id, turn.round >= from_round, turn.status != "superseded")
        .where(stands | is_continued)
        .order_by(turn.first_seq.desc())
    )
    found: dict[str, Said] = {}
    rests: dict[str, str] = {}  # id → the words that stand behind that message's own
    for continues, is_final, *values in connection.execute(query):
        said = Said(*values)
        if not (is_final or said.id in rests):
            continue
        whole = said.text + rests.get(said.id, "")
        if continues:
            rests[continues] = whole
        else:
            found[said.id] = replace(said, text=whole)
    return list(found.values())


def chain(connection: Connection, room_id: str, message_id: str) -> list[tuple[TurnRow, tuple[Step, ...]]]:
    """Return the attempts that one with this id continues, oldest first, and at last itself, each with its
    steps, if it has any besides its text. Those that said and called nothing are left out.
    """
    rows: list[TurnRow] = []
    while message_id:
        turn = schema.turn.c
        mine = (turn.room_id == room_id) & (turn.message_id == message_id)
        row = connection.execute(_TURNS.where(mine)).mappings().first()
        if row is None:
            break
        rows.insert(0, TurnRow(**row))
        message_id = rows[0].continues
    taken = steps(connection, room_id, rows)
    parts = [(row, taken.get(row.message_id, ())) for row in rows]
    return [(row, of) for row, of in parts if row.text or of]


def inbox(
    connection: Connection, room_id: str, message_id: str = "", client_key: str = ""
) -> tuple[str, str]:
    """Return (id, state) of words that were put into the room's inbox; raises ``NotFound``."""
    column, value = (schema.inbox.c.id, message_id) if message_id else (schema.inbox.c.client_key, client_key)
    query = select(schema.inbox.c.id, schema.inbox.c.state).where(schema.inbox.c.room_id == room_id)
    found = connection.execute(query.where(column == value)).first() if value else None
    if found is None:
        raise NotFound(f"There is no message {message_id[:100]} in the queue", status=404)
    return found.id, found.state


def frames(connection: Connection, room_id: str, after: int, limit: int) -> list[Frame]:
    """Return at most ``limit`` stored events with a greater seq, in order."""
    event = schema.event.c
    query = _FRAMES.where(event.room_id == room_id, event.seq > after).order_by(event.seq).limit(limit)
    return [Frame(*row) for row in connection.execute(query)]


def last_seq(connection: Connection, room_id: str) -> int:
    """Return the seq of the newest stored event of a room or chat; 0 where there is none."""
    query = select(func.max(schema.event.c.seq)).where(schema.event.c.room_id == room_id)
    return connection.execute(query).scalar() or 0


def text_before(connection: Connection, room_id: str, message_id: str, seq: int) -> str:
    """Return the joined chunks of that message with a smaller seq; empty if there is no such message."""
    turn = schema.turn.c
    query = select(turn.first_seq).where(turn.message_id == message_id, turn.room_id == room_id)
    first_seq = connection.execute(query).scalar()
    return _texts(connection, room_id, {message_id: first_seq}, seq)[message_id] if first_seq else ""


def messages(connection: Connection, room_id: str, after: str | None, limit: int) -> Page:
    """Return a page of the stored messages and the turns under way, by the seq of their first event.

    An attempt that ended without words and called no tool is no message, except a completed one. A page is
    shorter where its messages are large.
    Raises ``NotFound`` for an unknown room or ``after``.
    """
    as_of = room(connection, room_id).last_seq
    turn, user = schema.turn.c, schema.user_message.c
    start = _place(connection, room_id, after) if after is not None else 0
    people = _USER_MESSAGES.where(user.room_id == room_id, user.first_seq > start)
    whole = (
        turn.status.in_(["streaming", "completed", "superseded"]) & (turn.reason == "") & (turn.error == "")
    )
    listed = whole | (turn.text != "") | has_called
    agents = _TURNS.where(turn.room_id == room_id, turn.first_seq > start, listed)
    placed = [
        (first_seq, user_message(room_id, UserSaid(*values)))
        for first_seq, *values in connection.execute(people.order_by(user.first_seq).limit(limit + 1))
    ]
    rows = _turns(connection, room_id, agents.order_by(turn.first_seq).limit(limit + 1))
    taken = steps(connection, room_id, rows)
    placed += [(row.first_seq, turn_message(room_id, row, taken.get(row.message_id, ()))) for row in rows]
    placed.sort(key=lambda pair: pair[0])
    found = that_fit([message for _, message in placed[:limit]])
    return Page(found, len(placed) > len(found), as_of)


def continuable(
    connection: Connection, room_id: str, message_id: str
) -> tuple[list[tuple[TurnRow, tuple[Step, ...]]], bool]:
    """Return ``chain`` of a turn or answer that is over, and whether it may be continued: it is not whole,
    and nobody has gone on with it. Raises ``NotFound``.
    """
    turn = schema.turn.c
    mine = (turn.room_id == room_id) & (turn.message_id == message_id)
    status = connection.execute(select(turn.status).where(mine)).scalar()
    if status is None:
        raise NotFound(f"There is no answer {message_id[:100]}", status=404)
    parts = chain(connection, room_id, message_id)
    last = parts[-1][0].message_id if parts else message_id
    going_on = (turn.continues == last) & turn.status.in_(("streaming", "completed"))
    rest = connection.execute(select(turn.message_id).where((turn.room_id == room_id) & going_on)).first()
    return parts, rest is None and status in ("interrupted", "failed")


def _rooms(
    connection: Connection, query: Select[Any], values_of: Mapping[str, object] = MappingProxyType({})
) -> list[RoomRow]:
    found = connection.execute(query, values_of).mappings().all()
    agents: dict[str, list[AgentInfo]] = {row["id"]: [] for row in found}
    wrong: dict[str, str] = {}  # room → what cannot be read of what belongs to it
    all_agents, all_waiting, some = _AGENTS, _QUEUE, {}
    if len(agents) <= FEW_ROOMS:
        all_agents, all_waiting, some = _THEIR_AGENTS, _THEIR_QUEUE, {"ids": list(agents)}
    for room_id, *values in connection.execute(all_agents, some) if found else ():
        if field := damaged_place(AgentInfo, values):
            wrong[room_id] = f"{field} of an agent"
        elif room_id in agents:
            agents[room_id].append(AgentInfo(*values))
    queues: dict[str, list[QueuedMessage]] = {row["id"]: [] for row in found}
    for row in connection.execute(all_waiting, some).mappings() if found else ():
        words = dict(row)
        room_id = words.pop("room_id")
        if field := damaged_field(QueuedMessage, words):
            wrong[room_id] = f"{field} of a queued message"
        elif room_id in queues:
            queues[room_id].append(QueuedMessage(**words))
    return [
        _room(row, wrong.get(row["id"], ""), tuple(agents[row["id"]]), tuple(queues[row["id"]]))
        for row in found
    ]


def _room(
    row: Mapping[Any, Any], wrong: str, agents: tuple[AgentInfo, ...], queue: tuple[QueuedMessage, ...]
) -> RoomRow:
    values = dict(row)
    tools: tuple[str, ...] = ()
    try:
        tools = tools_of(values.pop("tools"))
    except (TypeError, ValueError):
        wrong = wrong or "tools"
    wrong = damaged_field(RoomRow, values) or wrong
    if not wrong:
        return RoomRow(**values, tools=tools, agents=agents, queue=queue)
    told = {"status": "error", "last_speaker": "", "last_words": f"damaged: {wrong}"}
    return RoomRow(**{**_UNKNOWN, **intact(RoomRow, values), **told}, agents=agents, damaged=wrong)


def _turns(
    connection: Connection,
    room_id: str,
    query: Select[Any],
    values: Mapping[str, object] = MappingProxyType({}),
) -> list[TurnRow]:
    rows = [TurnRow(**row) for row in connection.execute(query, values).mappings()]
    open_turns = {row.message_id: row.first_seq for row in rows if row.status == "streaming"}
    texts = _texts(connection, room_id, open_turns)
    return [replace(row, text=texts[row.message_id]) if row.message_id in texts else row for row in rows]


def _texts(
    connection: Connection, room_id: str, turns: dict[str, int], before: int | None = None
) -> dict[str, str]:
    """Return the joined committed chunks of each of ``turns`` (message id → first seq)."""
    if not turns:
        return {}
    query = _CHUNKS if before is None else _CHUNKS.where(schema.event.c.seq < before)
    values = {"id": room_id, "after": min(turns.values()), "turns": list(turns)}
    pieces: dict[str, list[str]] = {message_id: [] for message_id in turns}
    for message_id, data in connection.execute(query, values):
        pieces[message_id].append(json.loads(data)["text"])
    return {message_id: "".join(texts) for message_id, texts in pieces.items()}


def _place(connection: Connection, room_id: str, message_id: str) -> int:
    for table, key in (
        (schema.turn, schema.turn.c.message_id),
        (schema.user_message, schema.user_message.c.id),
    ):
        query = select(table.c.first_seq).where(key == message_id, table.c.room_id == room_id)
        first_seq: int | None = connection.execute(query).scalar()
        if first_seq is not None:
            return first_seq
    raise NotFound(f"There is no message {message_id[:100]} in this room", status=404)
