"""Turns and answers: their state, their words, and their log."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from sqlalchemy import BindParameter, ColumnElement, Connection, Select, bindparam, func, select

from agent_tui.backend.store import schema
from agent_tui.backend.store.reads.conversations import conversation
from agent_tui.backend.store.rows import ConversationRow, StoredFrame, TurnRow
from agent_tui.backend.store.steps import steps
from agent_tui.model.chains import joined_steps, said_in
from agent_tui.model.errors import NotFound
from agent_tui.model.events import Step, TextAdded
from agent_tui.wire.log import event_name

# A turn that was interrupted for one of these reasons is over: its text is kept.
FINAL_REASONS = ("stop", "skip", "length")
KEPT_REASONS = ("stop", "length")  # models are not told what a person skipped

_TURN, _USER, _EVENT = schema.turn.c, schema.user_message.c, schema.event.c
_ID: BindParameter[Any] = bindparam("id")
TURNS = select(*(column for column in _TURN if column.name != "conversation_id"))
# The state of a round's turns: closed texts may be long and are not needed for it.
_NEWEST_TURNS = (
    select(*(column for column in _TURN if column.name not in ("conversation_id", "text")))
    .where(_TURN.conversation_id == _ID, _TURN.round >= bindparam("round"))
    .order_by(_TURN.first_seq)
)
_ONE_TURN = TURNS.where(_TURN.conversation_id == _ID, _TURN.message_id == bindparam("message"))
_SAID_BY_PEOPLE = select(
    _USER.id, _USER.round, _USER.first_seq, _USER.sender_name, _USER.text, _USER.to_agent
).where(_USER.conversation_id == _ID, _USER.round >= bindparam("round"))
_LATER = schema.turn.alias()
_STANDS = (_TURN.status == "completed") | ((_TURN.status == "interrupted") & _TURN.reason.in_(KEPT_REASONS))
_IS_CONTINUED = (
    select(_LATER.c.message_id)
    .where(_LATER.c.conversation_id == _TURN.conversation_id, _LATER.c.continues == _TURN.message_id)
    .exists()
)
_SAID_BY_AGENTS = (
    select(_TURN.continues, _STANDS, _TURN.message_id, _TURN.round, _TURN.first_seq, _TURN.agent_id)
    .add_columns(schema.agent.c.turn_order, _TURN.sender_name, _TURN.text)
    .join(
        schema.agent,
        (schema.agent.c.conversation_id == _TURN.conversation_id) & (schema.agent.c.id == _TURN.agent_id),
    )
    .where(_TURN.conversation_id == _ID, _TURN.round >= bindparam("round"), _TURN.status != "superseded")
    .where(_STANDS | _IS_CONTINUED)
    .order_by(_TURN.first_seq.desc())
)
_FRAMES = select(*(_EVENT[name] for name in ("conversation_id", "seq", "name", "data", "message_id")))
_CHUNKS = (
    select(_EVENT.message_id, _EVENT.data)
    .where(
        _EVENT.conversation_id == _ID,
        _EVENT.seq > bindparam("after"),
        _EVENT.name == event_name(TextAdded),
        _EVENT.message_id.in_(bindparam("turns", expanding=True)),
    )
    .order_by(_EVENT.seq)
)


@dataclass(frozen=True, slots=True)
class Contribution:
    """Words that are part of a room's conversation; ``agent_id`` is empty for a person's.

    ``place`` is the agent's in the turn order, ``seq`` their beginning, ``to`` the only reader. A continued
    turn is one of these, at the place of its beginning.
    """

    id: str
    round: int
    seq: int
    agent_id: str
    place: int
    name: str
    text: str
    to: str = ""


def state(connection: Connection, id_: str) -> tuple[ConversationRow, list[TurnRow]]:
    """Return the conversation and all attempts of its newest three rounds; only open ones with their text.

    A turn of the round before the newest may be said again, and a provider with one agent may have failed
    three times in a row.
    """
    row = conversation(connection, id_)
    return row, turns_of(connection, id_, _NEWEST_TURNS, {"id": id_, "round": row.round_open - 2})


def contributions(connection: Connection, id_: str, from_round: int = 0) -> list[Contribution]:
    """Return what was finally said from that round on: people's words and turns that will not be said again,
    but for those that a person skipped. In the order of their beginning.
    """
    rows = connection.execute(_SAID_BY_PEOPLE, {"id": id_, "round": from_round})
    spoken = [
        Contribution(row.id, row.round, row.first_seq, "", -1, row.sender_name, row.text, row.to_agent)
        for row in rows
    ]
    spoken += _said_by_agents(connection, id_, from_round)
    return sorted(spoken, key=lambda contribution: contribution.seq)


def _said_by_agents(connection: Connection, id_: str, from_round: int) -> list[Contribution]:
    whole_turns: dict[str, Contribution] = {}
    rests: dict[str, str] = {}  # id → the text after that message's own
    values = {"id": id_, "round": from_round}
    for continues, is_final, *fields in connection.execute(_SAID_BY_AGENTS, values):
        part = Contribution(*fields)
        if not (is_final or part.id in rests):
            continue
        text = part.text + rests.get(part.id, "")
        if continues:
            rests[continues] = text
        else:
            whole_turns[part.id] = replace(part, text=text)
    return list(whole_turns.values())


def chain(connection: Connection, id_: str, message_id: str) -> list[tuple[TurnRow, tuple[Step, ...]]]:
    """Return the attempts that the one with this id continues, oldest first, and then itself, each with its
    steps, if it has any besides its text. Those without words and calls are left out.
    """
    rows: list[TurnRow] = []
    while message_id:
        row = connection.execute(_ONE_TURN, {"id": id_, "message": message_id}).mappings().first()
        if row is None:
            break
        rows.insert(0, TurnRow(**row))
        message_id = rows[0].continues
    steps_by_turn = steps(connection, id_, rows)
    parts = [(row, steps_by_turn.get(row.message_id, ())) for row in rows]
    return [(row, own_steps) for row, own_steps in parts if row.text or own_steps]


def whole_text(parts: Sequence[tuple[TurnRow, tuple[Step, ...]]]) -> str:
    """Return the text of a ``chain``'s attempts as one message."""
    whole: tuple[Step, ...] = ()
    for row, own_steps in parts:
        whole = joined_steps(whole, own_steps or (Step("step-0", content=row.text),))
    return said_in(whole)


def continuable(
    connection: Connection, id_: str, message_id: str
) -> tuple[list[tuple[TurnRow, tuple[Step, ...]]], bool]:
    """Return the ``chain`` of a finished turn or answer, and whether it may be continued: it is incomplete,
    and was not continued yet. Raises ``NotFound``.
    """
    status = connection.execute(select(_TURN.status).where(is_turn(id_, message_id))).scalar()
    if status is None:
        raise NotFound(f"There is no answer {message_id[:100]}", status=404)
    parts = chain(connection, id_, message_id)
    last = parts[-1][0].message_id if parts else message_id
    continuation = (_TURN.continues == last) & _TURN.status.in_(("streaming", "completed"))
    rest = connection.execute(
        select(_TURN.message_id).where((_TURN.conversation_id == id_) & continuation)
    ).first()
    return parts, rest is None and status in ("interrupted", "failed")


def first_event(connection: Connection, id_: str, message_id: str) -> int | None:
    """Return the seq of this turn's first event, ``None`` if there is no such turn."""
    seq: int | None = connection.execute(select(_TURN.first_seq).where(is_turn(id_, message_id))).scalar()
    return seq


def answer_start(connection: Connection, id_: str, seq: int) -> int:
    """Return the first seq of the newest turn that had begun by ``seq``; 0 if there is none."""
    query = select(func.max(_TURN.first_seq)).where(_TURN.conversation_id == id_, _TURN.first_seq <= seq)
    return connection.execute(query).scalar() or 0


def earlier_question(connection: Connection, id_: str, client_key: str) -> tuple[str, int] | None:
    """Return (id of its answer, seq before its first event) of the earlier question with this key."""
    query = select(_TURN.message_id, _TURN.first_seq, _USER.first_seq).select_from(schema.turn)
    query = query.outerjoin(schema.user_message, _USER.id == _TURN.parent)
    query = query.where(_TURN.conversation_id == id_, _TURN.client_key == client_key)
    answer = connection.execute(query).first() if client_key else None
    if answer is None:
        return None
    # A question is stored just before its first answer begins.
    return answer[0], answer[1] - (2 if answer[2] == answer[1] - 1 else 1)


def inbox(connection: Connection, id_: str, message_id: str = "", client_key: str = "") -> tuple[str, str]:
    """Return (id, state) of a message in the inbox; raises ``NotFound``."""
    column, value = (schema.inbox.c.id, message_id) if message_id else (schema.inbox.c.client_key, client_key)
    query = select(schema.inbox.c.id, schema.inbox.c.state).where(schema.inbox.c.conversation_id == id_)
    message = connection.execute(query.where(column == value)).first() if value else None
    if message is None:
        raise NotFound(f"There is no message {message_id[:100]} in the queue", status=404)
    return message.id, message.state


def is_turn(id_: str, message_id: str) -> ColumnElement[bool]:
    return (_TURN.conversation_id == id_) & (_TURN.message_id == message_id)


def turns_of(
    connection: Connection, id_: str, query: Select[Any], values: Mapping[str, object] = MappingProxyType({})
) -> list[TurnRow]:
    rows = [TurnRow(**row) for row in connection.execute(query, values).mappings()]
    open_turns = {row.message_id: row.first_seq for row in rows if row.status == "streaming"}
    texts = _texts(connection, id_, open_turns)
    return [replace(row, text=texts[row.message_id]) if row.message_id in texts else row for row in rows]


def _texts(
    connection: Connection, id_: str, turns: dict[str, int], before: int | None = None
) -> dict[str, str]:
    """Return the joined stored chunks of each of ``turns`` (message id → first seq)."""
    if not turns:
        return {}
    query = _CHUNKS if before is None else _CHUNKS.where(_EVENT.seq < before)
    values = {"id": id_, "after": min(turns.values()), "turns": list(turns)}
    pieces: dict[str, list[str]] = {message_id: [] for message_id in turns}
    for message_id, data in connection.execute(query, values):
        pieces[message_id].append(json.loads(data)["text"])
    return {message_id: "".join(texts) for message_id, texts in pieces.items()}


# --- the log --------------------------------------------------------------------------------------


def frames(connection: Connection, id_: str, after: int, limit: int) -> list[StoredFrame]:
    """Return at most ``limit`` stored events after this seq, in order."""
    query = _FRAMES.where(_EVENT.conversation_id == id_, _EVENT.seq > after).order_by(_EVENT.seq)
    return [StoredFrame(*row) for row in connection.execute(query.limit(limit))]


def last_seq(connection: Connection, id_: str) -> int:
    """Return the seq of the newest stored event; 0 if there is none."""
    return connection.execute(select(func.max(_EVENT.seq)).where(_EVENT.conversation_id == id_)).scalar() or 0


def text_before(connection: Connection, id_: str, message_id: str, seq: int) -> str:
    """Return the joined chunks of that message before this seq; empty if there is no such message."""
    first_seq = first_event(connection, id_, message_id)
    return _texts(connection, id_, {message_id: first_seq}, seq)[message_id] if first_seq else ""
