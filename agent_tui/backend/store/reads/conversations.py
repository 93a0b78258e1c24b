"""Conversations in their current state, each with its agents and its queue."""

from __future__ import annotations

from collections.abc import Collection, Mapping
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
from agent_tui.backend.store.damage import damaged, damaged_field, damaged_place, intact, names_in
from agent_tui.backend.store.rows import KINDS, ROOM, ConversationRow
from agent_tui.model.errors import NotFound
from agent_tui.model.events import AgentInfo, QueuedMessage

# The stored fields of an agent, in the order of ``AgentInfo``; the rest is computed.
AGENT_COLUMNS = ("id", "name", "color", "model", "turn_order", "system_prompt", "provider_id", "skip_next")
NOTHING: Mapping[str, object] = MappingProxyType({})
FEW = 100  # for more conversations than this, the agents of all are read at once

_ROW, _TURN = schema.conversation.c, schema.turn.c
_ID: BindParameter[Any] = bindparam("id")
_SOME: BindParameter[Any] = bindparam("ids", expanding=True)
_NO_STATUS: ColumnElement[str] = literal_column("''")
# Statements of every step are built once: building them takes longer than reading.
_ROWS = select(
    *(column for column in _ROW if column.name != "number"),
    func.coalesce(_TURN.reason, "").label("cut"),
    func.coalesce(_TURN.error, "").label("error"),
).outerjoin_from(schema.conversation, schema.turn, _TURN.message_id == _ROW.head)
_ONE = _ROWS.where(_ROW.id == _ID)
_ALL = _ROWS.where(
    (_ROW.desired == "deleted") == bindparam("deleted"), _ROW.kind.in_(bindparam("kinds", expanding=True))
).order_by(_ROW.number)
_SOME_ROWS = _ALL.where(_ROW.id.in_(_SOME))
_AGENTS = (
    # In the order of ``AgentInfo``: a list of a thousand rooms has thousands of agents.
    select(
        *(schema.agent.c[name] for name in ("conversation_id", *AGENT_COLUMNS)),
        _NO_STATUS,
        schema.agent.c.tokens,
    )
    .where(~schema.agent.c.removed)
    .order_by(schema.agent.c.turn_order)
)
_SOME_AGENTS = _AGENTS.where(schema.agent.c.conversation_id.in_(_SOME))
_AGENTS_OF_ONE = _AGENTS.where(schema.agent.c.conversation_id == _ID)
_QUEUE = (
    select(
        *(schema.inbox.c[name] for name in ("conversation_id", "id", "content")),
        schema.inbox.c.to_agent.label("to"),
        schema.inbox.c.when_.label("when"),
        *(schema.inbox.c[name] for name in ("sender_name", "created_at")),
    )
    .where(schema.inbox.c.state == "queued")
    .order_by(schema.inbox.c.number)
)
_SOME_QUEUES = _QUEUE.where(schema.inbox.c.conversation_id.in_(_SOME))
_QUEUE_OF_ONE = _QUEUE.where(schema.inbox.c.conversation_id == _ID)
_NEWEST = (
    select(_TURN.agent_id, _TURN.status)
    .join_from(
        schema.conversation,
        schema.turn,
        (_TURN.conversation_id == _ROW.id) & (_TURN.round == _ROW.round_open),
    )
    .where(_ROW.kind.in_(ROOM))
    .order_by(_TURN.attempt)
)
_SOME_NEWEST = _NEWEST.where(_ROW.id.in_(_SOME))


def conversation(
    connection: Connection, id_: str, kinds: Collection[str] = KINDS, *, or_damaged: bool = False
) -> ConversationRow:
    """Return the conversation if it is of one of these kinds; raises ``NotFound`` also while it is being
    deleted, and ``StoreError`` for a damaged one unless ``or_damaged``.
    """
    rows = _conversations(connection, _ONE, {"id": id_})
    if not rows or rows[0].desired == "deleted" or rows[0].kind not in kinds:
        word = "room" if kinds == ROOM else "conversation"
        raise NotFound(f"There is no {word} {id_[:100]}", status=404)
    if rows[0].damaged and not or_damaged:
        raise damaged(rows[0].kind, id_, rows[0].damaged)
    return rows[0]


def exists(connection: Connection, id_: str) -> bool:
    """Return whether there is a conversation with that id that is not being deleted."""
    return connection.execute(select(_ROW.desired).where(_ROW.id == id_)).scalar() not in (None, "deleted")


def conversations(
    connection: Connection,
    kinds: Collection[str] = KINDS,
    *,
    deleted: bool = False,
    ids: Collection[str] | None = None,
) -> list[ConversationRow]:
    """Return all of these kinds, or the existing ones of ``ids``, in the order of their making.

    With ``deleted`` only those that are being deleted.
    """
    values: dict[str, object] = {"deleted": deleted, "kinds": list(kinds)}
    if ids is None:
        return _conversations(connection, _ALL, values)
    return _conversations(connection, _SOME_ROWS, {**values, "ids": list(ids)})


def turn_states(connection: Connection, ids: Collection[str] | None = None) -> dict[str, str]:
    """Return agent id → status of its newest attempt in its room's newest round, for all rooms or some."""
    query, values = (_NEWEST, {}) if ids is None else (_SOME_NEWEST, {"ids": list(ids)})
    rows = connection.execute(query, values)
    return {row.agent_id: row.status for row in rows}


def conversation_with_states(
    connection: Connection, id_: str, kinds: Collection[str]
) -> tuple[ConversationRow, dict[str, str]]:
    """Return the conversation, also a damaged one, and for a room its ``turn_states`` of the same moment."""
    row = conversation(connection, id_, kinds, or_damaged=True)
    return row, turn_states(connection, [id_]) if row.kind in ROOM else {}


def conversations_with_states(
    connection: Connection, kinds: Collection[str], ids: Collection[str] | None
) -> tuple[list[ConversationRow], dict[str, str]]:
    """Return conversations of these kinds, all or some, and the rooms' ``turn_states`` of the same moment."""
    states = turn_states(connection, ids) if kinds == ROOM else {}
    return conversations(connection, kinds, ids=ids), states


def _conversations(
    connection: Connection, query: Select[Any], values: Mapping[str, object] = NOTHING
) -> list[ConversationRow]:
    rows = connection.execute(query, values).mappings().all()
    agents: dict[str, list[AgentInfo]] = {row["id"]: [] for row in rows}
    wrong: dict[str, str] = {}  # id → what cannot be read of its other rows
    all_agents, all_waiting, some = _AGENTS, _QUEUE, NOTHING
    if query is _ONE:
        all_agents, all_waiting, some = _AGENTS_OF_ONE, _QUEUE_OF_ONE, values
    elif len(agents) <= FEW:
        all_agents, all_waiting, some = _SOME_AGENTS, _SOME_QUEUES, {"ids": list(agents)}
    for id_, *values_of_agent in connection.execute(all_agents, some) if rows else ():
        if field := damaged_place(AgentInfo, values_of_agent):
            wrong[id_] = f"{field} of an agent"
        elif id_ in agents:
            agents[id_].append(AgentInfo(*values_of_agent))
    queues: dict[str, list[QueuedMessage]] = {row["id"]: [] for row in rows}
    for row in connection.execute(all_waiting, some).mappings() if rows else ():
        fields = dict(row)
        id_ = fields.pop("conversation_id")
        if field := damaged_field(QueuedMessage, fields):
            wrong[id_] = f"{field} of a queued message"
        elif id_ in queues:
            queues[id_].append(QueuedMessage(**fields))
    return [
        _conversation(row, wrong.get(row["id"], ""), tuple(agents[row["id"]]), tuple(queues[row["id"]]))
        for row in rows
    ]


def _conversation(
    row: Mapping[Any, Any], wrong: str, agents: tuple[AgentInfo, ...], queue: tuple[QueuedMessage, ...]
) -> ConversationRow:
    values = dict(row)
    tools: tuple[str, ...] | None = None
    try:
        stored = values.pop("tools")
        tools = None if stored is None else names_in(stored)
    except (TypeError, ValueError):
        wrong = wrong or "tools"
    wrong = damaged_field(ConversationRow, values) or wrong
    if not (wrong or agents or row["kind"] in ROOM):
        wrong = "agent"
    if not wrong:
        return ConversationRow(**values, tools=tools, agents=agents, queue=queue)
    line = f"damaged: {wrong}"
    values = {"name": "", **intact(ConversationRow, values), "status": "error", "error": line}
    return ConversationRow(**{**values, "last_speaker": "", "last_words": line}, agents=agents, damaged=wrong)
