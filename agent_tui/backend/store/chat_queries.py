"""What is read of chats, each in one transaction: ``await store.read(chat_queries.chat, room_id)``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from sqlalchemy import Connection, func, literal, literal_column, select, text, union_all

from agent_tui.backend.store import schema
from agent_tui.backend.store.chat_messages import answer_message, as_heard, question_message
from agent_tui.backend.store.chat_rows import ChatRow, Hit, Link, ToolRule
from agent_tui.backend.store.chat_words import excerpt, expression, marked
from agent_tui.backend.store.chat_writing import AGENT_COLUMNS, ROOM_COLUMNS
from agent_tui.backend.store.damage import damaged, damaged_field, intact, names_in
from agent_tui.backend.store.messages import Page, that_fit
from agent_tui.backend.store.rows import TurnRow, UserSaid
from agent_tui.backend.store.steps import IDS_PER_QUERY, steps
from agent_tui.model.errors import NotFound
from agent_tui.model.events import Message, Step

MESSAGES_PER_READ = 50  # with their files each may be as large as a page

_IS_CHAT = schema.room.c.kind.in_(("chat", "voice"))
_ONLY_CHATS = ("temperature", "thinking", "tools", "workspace", "head", "is_named")
_CHATS = (
    select(
        *(schema.room.c[name] for name in ROOM_COLUMNS),
        schema.room_agent.c.id.label("agent_id"),
        *(schema.room_agent.c[name] for name in AGENT_COLUMNS),
        *(schema.conversation.c[name] for name in _ONLY_CHATS),
        func.coalesce(schema.turn.c.reason, "").label("cut"),
        func.coalesce(schema.turn.c.error, "").label("error"),
    )
    .join_from(schema.room, schema.conversation)
    .outerjoin(schema.turn, schema.turn.c.message_id == schema.conversation.c.head)
    .join(schema.room_agent, schema.room_agent.c.room_id == schema.room.c.id)
    .where(_IS_CHAT)
)
# What stands in a damaged chat where nothing can be read.
_UNKNOWN: Mapping[str, Any] = dict.fromkeys(("name", "system_prompt", "model", "provider_id"), "")
_TURNS = select(*(column for column in schema.turn.c if column.name != "room_id"))
_QUESTIONS = select(
    *(schema.user_message.c[field.name] for field in fields(UserSaid) if field.name != "event")
)
_SEARCH = text(
    "SELECT searched.room_id, room.name, searched.message_id, searched.role, "
    "search_words.words, searched.created_at "
    "FROM search_words JOIN searched ON searched.number = search_words.rowid "
    "JOIN room ON room.id = searched.room_id "
    "WHERE search_words MATCH :words AND room.desired != 'deleted' "
    "ORDER BY search_words.rowid DESC LIMIT :most"
)
_TITLES = (
    select(schema.room.c.id, schema.room.c.name, schema.room.c.updated_at)
    .join_from(schema.room, schema.conversation)
    .where(schema.conversation.c.is_named, schema.room.c.desired != "deleted")
    .order_by(schema.room.c.updated_at.desc(), schema.room.c.number.desc())
)  # that a person gave: any other is the beginning of a question, which is found itself


def chat(connection: Connection, room_id: str, *, or_damaged: bool = False) -> ChatRow:
    """Return the chat; raises ``NotFound`` also while it is being deleted, and ``StoreError`` for a damaged
    one unless ``or_damaged``.
    """
    found = connection.execute(_CHATS.where(schema.room.c.id == room_id)).mappings().first()
    if found is None or found["desired"] == "deleted":
        raise NotFound(f"There is no conversation {room_id[:100]}", status=404)
    row = _chat(found)
    if row.damaged and not or_damaged:
        raise damaged("chat", room_id, row.damaged)
    return row


def chats(connection: Connection, *, deleted: bool = False) -> list[ChatRow]:
    """Return all chats, the one in which something happened last first."""
    condition = schema.room.c.desired == "deleted"
    query = _CHATS.where(condition if deleted else ~condition)
    newest = schema.room.c.updated_at.desc(), schema.room.c.number.desc()
    return [_chat(row) for row in connection.execute(query.order_by(*newest)).mappings()]


def links(connection: Connection, room_id: str) -> dict[str, Link]:
    """Return every message of the chat by its id, as it stands in the tree, in the order they were begun."""
    turn, user = schema.turn.c, schema.user_message.c
    people = select(user.id, user.parent, literal("user").label("role"), user.first_seq)
    answers = select(turn.message_id, turn.parent, literal("assistant"), turn.first_seq)
    both = union_all(people.where(user.room_id == room_id), answers.where(turn.room_id == room_id))
    found = connection.execute(both.order_by(literal_column("first_seq")))
    return {row.id: Link(*row) for row in found}


def branch(links: Mapping[str, Link], head: str) -> list[str]:
    """Return the ids of the messages from the first one to ``head``."""
    path: list[str] = []
    at = head
    while at in links:
        path.append(at)
        at = links[at].parent
    return path[::-1]


def leaf(links: Mapping[str, Link], message_id: str) -> str:
    """Return the last message of the newest branch that goes through ``message_id``."""
    newest = {link.parent: link.id for link in links.values()}  # in their order: the newest child stays
    while message_id in newest:
        message_id = newest[message_id]
    return message_id


def versions(links: Mapping[str, Link]) -> dict[str, tuple[str, ...]]:
    """Return of each message with siblings all of them, itself too, oldest first."""
    children: dict[tuple[str, str], list[str]] = {}
    for link in links.values():
        children.setdefault((link.parent, link.role), []).append(link.id)
    return {id_: tuple(ids) for ids in children.values() if len(ids) > 1 for id_ in ids}


def page(connection: Connection, room_id: str, after: str | None, limit: int) -> Page:
    """Return a page of the shown branch, shorter where its messages are large; raises ``NotFound`` for an
    unknown chat or ``after``.
    """
    row = chat(connection, room_id)
    tree = links(connection, room_id)
    path = branch(tree, row.head)
    start = 0
    if after is not None:
        if after not in path:
            raise NotFound(f"There is no message {after[:100]} in this branch", status=404)
        start = path.index(after) + 1
    wanted, siblings = path[start : start + limit], versions(tree)
    read: list[Message] = []
    found: list[Message] = []
    for at in range(0, len(wanted), MESSAGES_PER_READ):
        read += messages(connection, room_id, wanted[at : at + MESSAGES_PER_READ], siblings)
        found = that_fit(read)
        if len(found) < len(read):
            break
    return Page(found, len(path) > start + len(found), row.last_seq)


def told(connection: Connection, room_id: str, last: str) -> list[Message]:
    """Return the messages up to ``last``: what a model is told of the chat, answers as far as a person heard
    them.
    """
    said = messages(connection, room_id, branch(links(connection, room_id), last), {})
    return [as_heard(message) for message in said]


def messages(
    connection: Connection, room_id: str, ids: Sequence[str], versions: Mapping[str, tuple[str, ...]]
) -> list[Message]:
    """Return these messages in this order; an answer under way with its steps so far."""
    found: dict[str, Message] = {}
    turn, user = schema.turn.c, schema.user_message.c
    for at in range(0, len(ids), IDS_PER_QUERY):
        some = ids[at : at + IDS_PER_QUERY]
        for values in connection.execute(_QUESTIONS.where(user.room_id == room_id, user.id.in_(some))):
            said = UserSaid(*values)
            found[said.id] = question_message(room_id, said, versions.get(said.id, ()))
        answers = _TURNS.where(turn.room_id == room_id, turn.message_id.in_(some))
        rows = [TurnRow(**row) for row in connection.execute(answers).mappings()]
        taken = steps(connection, room_id, rows)
        for row in rows:
            others = versions.get(row.message_id, ())
            found[row.message_id] = answer_message(room_id, row, taken.get(row.message_id, ()), others)
    return [found[id_] for id_ in ids if id_ in found]


def open_answer(connection: Connection, room_id: str) -> tuple[TurnRow, tuple[Step, ...]] | None:
    """Return the answer that is under way, or was when its process ended, and its steps so far."""
    query = _TURNS.where(schema.turn.c.room_id == room_id, schema.turn.c.status == "streaming")
    found = connection.execute(query).mappings().first()
    if found is None:
        return None
    row = TurnRow(**found)
    return row, steps(connection, room_id, [row]).get(row.message_id, ())


def answer_start(connection: Connection, room_id: str, seq: int) -> int:
    """Return the first seq of the newest answer that had begun by ``seq``; 0 where none had."""
    turn = schema.turn.c
    query = select(func.max(turn.first_seq)).where(turn.room_id == room_id, turn.first_seq <= seq)
    return connection.execute(query).scalar() or 0


def first_event(connection: Connection, room_id: str, message_id: str) -> int | None:
    """Return the seq of the event with which this answer began, None where there is no such answer."""
    turn = schema.turn.c
    query = select(turn.first_seq).where(turn.room_id == room_id, turn.message_id == message_id)
    found: int | None = connection.execute(query).scalar()
    return found


def asked(connection: Connection, room_id: str, client_key: str) -> tuple[str, int] | None:
    """Return (id of its answer, seq before its first event) of the question that was called so before."""
    turn, user = schema.turn.c, schema.user_message.c
    mine = (turn.room_id == room_id) & (turn.client_key == client_key)
    query = select(turn.message_id, turn.first_seq, user.first_seq).select_from(schema.turn)
    query = query.outerjoin(schema.user_message, user.id == turn.parent).where(mine)
    found = connection.execute(query).first() if client_key else None
    if found is None:
        return None
    # A question is put on record just before its first answer begins.
    return found[0], found[1] - (2 if found[2] == found[1] - 1 else 1)


def rules(connection: Connection) -> list[ToolRule]:
    """Return all rules, those of single conversations too, the oldest first."""
    rule = schema.tool_rule.c
    query = select(rule.id, rule.tool, rule.pattern, rule.created_at, rule.room_id, rule.folder, rule.scope)
    return [ToolRule(*row) for row in connection.execute(query.order_by(rule.created_at, rule.id))]


def is_searchable(connection: Connection, room_id: str) -> bool:
    """Return whether a search may find messages of this chat."""
    mine = schema.searched.c.room_id == room_id
    return connection.execute(select(schema.searched.c.number).where(mine).limit(1)).first() is not None


def search(connection: Connection, words: str, limit: int) -> list[Hit]:
    """Return the chats whose titles hold all of ``words``, then the messages that do, the newest first of
    both. ``words`` may have any characters in them.
    """
    wanted = expression(words)
    if not wanted:
        return []
    titles = [
        Hit(id_, name, "", "", snippet, at)
        for id_, name, at in connection.execute(_TITLES)
        if (snippet := marked(name, words))
    ][:limit]
    found = connection.execute(_SEARCH, {"words": wanted, "most": limit - len(titles)})
    said = [
        Hit(id_, name, message, role, excerpt(text_, words), at)
        for id_, name, message, role, text_, at in found
    ]
    return titles + said


def _chat(row: Mapping[Any, Any]) -> ChatRow:
    values = dict(row)
    stored = values.pop("tools")
    wrong = damaged_field(ChatRow, values)
    tools: tuple[str, ...] | None = None
    try:
        tools = None if stored is None else names_in(stored)
    except (TypeError, ValueError):
        wrong = wrong or "tools"
    if not wrong:
        return ChatRow(**values, tools=tools)
    known = {**_UNKNOWN, **intact(ChatRow, values), "status": "idle", "error": f"damaged: {wrong}"}
    return ChatRow(**known, damaged=wrong)
