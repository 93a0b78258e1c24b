"""The tables. The event log is the record; everything else is derived from it.

The columns are explained in ``rows``, whose fields they are. One migration per change under
``migrations/versions``; a test compares them with this file. What only some databases have (full text search,
partial indexes) is in ``sqlite``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import fields
from types import NoneType
from typing import Any, get_args, get_type_hints

from sqlalchemy import (
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
)

from agent_tui import DATABASE_VERSION
from agent_tui.backend.models.model import AgentSession
from agent_tui.backend.store.rows import (
    ConversationRow,
    FileChanged,
    InboxPut,
    StoredRule,
    TurnRow,
    UserSaid,
)
from agent_tui.model.events import AgentInfo

HEAD = DATABASE_VERSION

metadata = MetaData()

# Alembic's own table. Its one row is the schema version, whether alembic or we made the tables.
version = Table(
    "alembic_version",
    MetaData(),
    Column("version_num", String(32), nullable=False),
    PrimaryKeyConstraint("version_num", name="alembic_version_pkc"),
)

_TYPES = {str: Text, int: Integer, float: Float, bool: Boolean}
# Fields of a conversation that are in other tables.
NOT_STORED = ("agents", "queue", "cut", "error", "damaged")


def _text(*names: str) -> Iterator[Column[str]]:
    return (Column(name, Text, nullable=False) for name in names)


def _columns_of(
    row_class: type, *keys: str, unique: str = "", without: Collection[str] = ()
) -> Iterator[Column[object]]:
    """Yield a column for each field of a row; values of other types than ``_TYPES`` are JSON text."""
    hints = get_type_hints(row_class)
    for field in fields(row_class):
        if field.name not in without:
            types = set(get_args(hints[field.name]) or (hints[field.name],))
            yield Column(
                field.name,
                next((column_type for plain, column_type in _TYPES.items() if plain in types), Text),
                primary_key=field.name in keys,
                nullable=NoneType in types,
                unique=field.name == unique or None,
            )


def _owner(*, is_key: bool = False) -> Column[str]:
    key = ForeignKey("conversation.id")
    return Column("conversation_id", Text, key, primary_key=is_key, nullable=False)


def _once(name: str, *columns: Column[Any], where: str = "") -> Index:
    """Return an index that refuses duplicates among the rows for which ``where`` is true."""
    return Index(name, *columns, unique=True, info={"where": where})


# ``number`` is the order in which they were made.
conversation = Table(
    "conversation",
    metadata,
    *_columns_of(ConversationRow, "id", without=NOT_STORED),
    Column("number", Integer, nullable=False, unique=True),
)

# Removed agents stay as rows, for the messages that they wrote.
agent = Table(
    "agent",
    metadata,
    _owner(is_key=True),
    Column("id", Text, primary_key=True, unique=True),
    *_columns_of(AgentInfo, without=("id", "status")),
    Column("removed", Boolean, nullable=False),
)

# What an agent on another server knows about us; agent_id is the agent whose conversation it is.
agent_session = Table(
    "agent_session",
    metadata,
    _owner(is_key=True),
    Column("agent_id", Text, primary_key=True),
    *_columns_of(AgentSession),
)

turn = Table(
    "turn",
    metadata,
    _owner(is_key=True),
    *_columns_of(TurnRow, "round", "agent_id", "attempt", unique="message_id"),
)
Index("turn_by_first_seq", turn.c.conversation_id, turn.c.first_seq)
_OF_TURN = turn.c.conversation_id
_once("turn_completed_once", _OF_TURN, turn.c.round, turn.c.agent_id, where="status = 'completed'")
_IS_CONTINUED = "continues != '' AND status IN ('streaming', 'completed')"
_once("turn_continued_once", _OF_TURN, turn.c.continues, where=_IS_CONTINUED)
_once("turn_client_key_once", _OF_TURN, turn.c.client_key, where="client_key != ''")

# Messages of people; in a room the first is the task.
user_message = Table(
    "user_message",
    metadata,
    *_columns_of(UserSaid, "id", without=("event",)),
    _owner(),
    Column("first_seq", Integer, nullable=False),
)
_once("user_message_by_first_seq", user_message.c.conversation_id, user_message.c.first_seq)

# Messages of people that no turn has taken yet (state queued), were taken (taken: its user_message has the
# same id), or removed (removed). number is their order.
inbox = Table(
    "inbox",
    metadata,
    *_columns_of(InboxPut, "id"),
    _owner(),
    Column("number", Integer, nullable=False),
    *_text("state"),
)
_once("inbox_by_number", inbox.c.conversation_id, inbox.c.number)
_once("inbox_client_key_once", inbox.c.conversation_id, inbox.c.client_key, where="client_key != ''")

# The steps of a turn (protocols.md §2), in the order of their place. A call is stored here before it runs:
# status is asks | running | done | failed | denied | unknown | cut | undone, ask what a person is asked, as
# JSON.
# Thinking and text are stored here once they are whole; until then only the log has them.
step = Table(
    "step",
    metadata,
    _owner(is_key=True),
    Column("message_id", Text, primary_key=True),
    Column("place", Integer, primary_key=True, autoincrement=False),
    *_text("id", "type", "name", "id_ref", "arguments", "content", "status", "started_at", "ask"),
    Column("success", Boolean, nullable=False),
    Column("seconds", Float),
)

# What calls did to files, so that it can be undone. Rows never change: the call's step says if it was.
file_change = Table(
    "file_change",
    metadata,
    _owner(is_key=True),
    *_columns_of(FileChanged, "message_id", "place"),
)

# Calls that run without asking. No foreign key: the rules of all conversations belong to none.
tool_rule = Table("tool_rule", metadata, *_columns_of(StoredRule, "id"))
_RULE = tool_rule.c
_once("tool_rule_once", _RULE.conversation_id, _RULE.pattern, _RULE.folder)

# Searchable words: stored under their ``number``; newer messages have greater ones.
searched = Table(
    "searched",
    metadata,
    Column("number", Integer, primary_key=True),
    _owner(),
    *_text("message_id", "role", "created_at"),
)
Index("searched_by_conversation", searched.c.conversation_id)

# The log: seq is dense from 1 in each conversation, name and data as ``wire.log`` writes them. Rows are
# never changed.
event = Table(
    "event",
    metadata,
    _owner(is_key=True),
    Column("seq", Integer, primary_key=True, autoincrement=False),
    *_text("name", "message_id", "data"),
    Column("ts", Float, nullable=False),
)
