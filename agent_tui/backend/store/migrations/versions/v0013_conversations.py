"""One table of conversations, rooms and chats alike; a search finds words of rooms, too.

Before it is committed every conversation is proven: what was stored of it is what is stored of it now.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import sha256
from heapq import merge
from itertools import accumulate
from typing import Any

import sqlalchemy as sa
from alembic import op

from agent_tui.backend.store.words import indexed
from agent_tui.model.errors import StoreError

revision = "0013"
down_revision = "0012"

NAME_CHARACTERS = 60  # of a room that nobody named: the beginning of its task

# Table → in which order its rows are compared.
_OWNED = {
    "event": "seq",
    "turn": "message_id",
    "user_message": "id",
    "inbox": "id",
    "step": "message_id, place",
    "tool_rule": "id",
    "room_agent": "id",
    "agent_session": "agent_id",
}
_TABLES = """
ALTER TABLE conversation RENAME TO chat;
ALTER TABLE room RENAME TO conversation;
ALTER TABLE conversation RENAME COLUMN tools TO room_tools;
ALTER TABLE conversation ADD COLUMN tools TEXT;
ALTER TABLE conversation ADD COLUMN temperature FLOAT;
ALTER TABLE conversation ADD COLUMN thinking BOOLEAN;
ALTER TABLE conversation ADD COLUMN head TEXT NOT NULL DEFAULT '';
ALTER TABLE conversation ADD COLUMN is_named BOOLEAN NOT NULL DEFAULT 0;
UPDATE conversation SET tools = CASE room_tools WHEN '' THEN '[]' ELSE room_tools END;
UPDATE conversation SET
  (temperature, thinking, tools, workspace, head, is_named) =
  (SELECT temperature, thinking, tools, workspace, head, is_named FROM chat WHERE room_id = conversation.id),
  round_done = round_open -
  EXISTS (SELECT 1 FROM turn WHERE room_id = conversation.id AND status = 'streaming')
  WHERE id IN (SELECT room_id FROM chat);
ALTER TABLE conversation DROP COLUMN room_tools;
DROP TABLE chat;
ALTER TABLE turn DROP COLUMN token_count;
DROP INDEX searched_by_room;
ALTER TABLE searched RENAME COLUMN room_id TO conversation_id;
CREATE INDEX searched_by_conversation ON searched (conversation_id);
ALTER TABLE room_agent RENAME TO agent
"""
_OF_CHATS = ("temperature", "thinking", "tools", "workspace", "head", "is_named")
# What rooms said, in the order of its time: (time, room, id, who said it).
_IN_ROOMS = """
SELECT created_at, conversation_id, message_id, 'assistant' FROM turn
  WHERE text != '' AND status != 'streaming'
  AND conversation_id IN (SELECT id FROM conversation WHERE kind = 'room')
UNION ALL
SELECT created_at, conversation_id, id, 'user' FROM user_message
  WHERE text != '' AND conversation_id IN (SELECT id FROM conversation WHERE kind = 'room')
ORDER BY 1
"""
_TEXT = {
    "assistant": sa.text("SELECT CAST(text AS BLOB) FROM turn WHERE message_id = :id"),
    "user": sa.text("SELECT CAST(text AS BLOB) FROM user_message WHERE id = :id"),
}
_OLD = sa.text(
    "SELECT conversation_id, message_id, role, created_at, words FROM found WHERE number = :number"
)
_NOTE = sa.text(
    "INSERT INTO searched (number, conversation_id, message_id, role, created_at) "
    "VALUES (:number, :conversation_id, :message_id, :role, :created_at)"
)
_WORDS = sa.text("INSERT INTO search_words (rowid, words) VALUES (:number, :words)")
_MAKE_SEARCH_WORDS = (
    "CREATE VIRTUAL TABLE search_words USING fts5("
    "words, tokenize = 'unicode61 remove_diacritics 2', prefix = '1 2 3')"
)


def upgrade() -> None:
    """Change the tables (rows.py says what the columns mean); raises ``StoreError`` where something of a
    conversation would be lost.
    """
    connection = op.get_bind()
    columns = {table: _columns(connection, table) for table in ("room", *_OWNED)}
    kinds = {row.id: row.kind for row in connection.execute(sa.text("SELECT id, kind FROM room"))}
    before = {id_: _digest(connection, id_, _before(columns, kind)) for id_, kind in kinds.items()}
    for statement in _TABLES.split(";"):
        op.execute(statement)
    for table in _OWNED:
        op.execute(f"ALTER TABLE {_new(table)} RENAME COLUMN room_id TO conversation_id")
    _name_rooms(connection)
    _index(connection)
    for id_, kind in kinds.items():
        if _digest(connection, id_, _after(columns, kind)) != before[id_]:
            detail = "It was left as it was. The copy beside it is the same; please report this."
            raise StoreError(f"The conversation {id_[:100]} cannot be brought up to date", detail)


def _new(table: str) -> str:
    return "agent" if table == "room_agent" else table


def _columns(connection: sa.Connection, table: str) -> list[str]:
    """Return the columns that stay as they are."""
    changed = {"room_id", "token_count", "round_done"} | (
        {"tools", "workspace"} if table == "room" else set()
    )
    return [one["name"] for one in sa.inspect(connection).get_columns(table) if one["name"] not in changed]


def _before(columns: dict[str, list[str]], kind: str) -> Iterator[str]:
    yield _select(columns["room"], "room WHERE id = :id")
    if kind == "room":
        yield _select(["CASE tools WHEN '' THEN '[]' ELSE tools END", "workspace"], "room WHERE id = :id")
    else:
        yield _select(_OF_CHATS, "conversation WHERE room_id = :id")
        yield _searched("room_id")
    for table, order in _OWNED.items():
        yield _select(columns[table], f"{table} WHERE room_id = :id ORDER BY {order}")


def _after(columns: dict[str, list[str]], kind: str) -> Iterator[str]:
    yield _select(columns["room"], "conversation WHERE id = :id")
    if kind == "room":
        yield _select(["tools", "workspace"], "conversation WHERE id = :id")
    else:
        yield _select(_OF_CHATS, "conversation WHERE id = :id")
        yield _searched("conversation_id")
    for table, order in _OWNED.items():
        yield _select(columns[table], f"{_new(table)} WHERE conversation_id = :id ORDER BY {order}")


def _searched(owner: str) -> str:
    joined = f"searched JOIN search_words ON search_words.rowid = searched.number WHERE {owner} = :id"
    return _select(["message_id", "role", "created_at", "words"], f"{joined} ORDER BY number")


def _select(columns: Sequence[str], rest: str) -> str:
    # As bytes: not all of it needs to be UTF-8.
    return f"SELECT {', '.join(f'CAST({column} AS BLOB)' for column in columns)} FROM {rest}"  # noqa: S608


def _digest(connection: sa.Connection, id_: str, queries: Iterator[str]) -> bytes:
    digest = sha256()
    for query in queries:
        for row in connection.execute(sa.text(query), {"id": id_}):
            digest.update(repr(tuple(row)).encode())
        digest.update(b"\n")
    return digest.digest()


def _name_rooms(connection: sa.Connection) -> None:
    rooms = "SELECT id, CAST(name AS BLOB), CAST(task AS BLOB) FROM conversation WHERE kind = 'room'"
    for id_, *texts in connection.execute(sa.text(rooms)).all():
        name, task = (text.decode("utf-8", "replace") for text in texts)
        is_named = name != (task.strip().splitlines() or [""])[0][:NAME_CHARACTERS].strip()
        named = sa.text("UPDATE conversation SET is_named = :named WHERE id = :id")
        connection.execute(named, {"named": is_named, "id": id_})


def _index(connection: sa.Connection) -> None:
    """Put the words of rooms into the index, by their time among those of chats, whose order stays."""
    op.execute(
        "CREATE TABLE found AS SELECT searched.*, words FROM searched "
        "JOIN search_words ON search_words.rowid = searched.number"
    )
    op.execute("DELETE FROM searched")
    op.execute("DROP TABLE search_words")
    op.execute(_MAKE_SEARCH_WORDS)
    chats = connection.execute(sa.text("SELECT created_at, number FROM found ORDER BY number")).all()
    rooms = connection.execute(sa.text(_IN_ROOMS)).all()
    times = accumulate((time for time, _ in chats), max)
    both = merge(
        ((time, 0, number) for time, (_, number) in zip(times, chats, strict=True)),
        ((time, 1, place) for place, (time, *_) in enumerate(rooms)),
    )
    number = 0
    for _, is_room, place in both:
        row = _in_room(connection, *rooms[place]) if is_room else _in_chat(connection, place)
        if row["words"].strip():
            number += 1
            connection.execute(_NOTE, {**row, "number": number})
            connection.execute(_WORDS, {"words": row["words"], "number": number})
    op.execute("DROP TABLE found")


def _in_chat(connection: sa.Connection, number: int) -> dict[str, Any]:
    return dict(connection.execute(_OLD, {"number": number}).mappings().one())


def _in_room(connection: sa.Connection, time: str, owner: str, message_id: str, role: str) -> dict[str, Any]:
    words = connection.execute(_TEXT[role], {"id": message_id}).scalar_one().decode("utf-8", "replace")
    said = {"conversation_id": owner, "message_id": message_id, "role": role, "created_at": time}
    return {**said, "words": indexed(words)}
