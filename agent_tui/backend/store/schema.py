"""The tables. The event log is the record; everything else says where a room stands in it.

A chat is a room with one agent: its row has the kind chat, what only a chat has stands in conversation.
One migration per change under ``migrations/versions``; a test holds the first one against this file.
"""

from __future__ import annotations

from sqlalchemy import (
    Boolean,
    Column,
    Connection,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
    column,
    table,
    text,
)
from sqlalchemy import event as sqlalchemy_event

HEAD = "0012"  # the newest migration; revisions are compared as text, so they keep their zeros

metadata = MetaData()

# Alembic's own table. Its one row is the schema version, whether alembic or we made the tables.
version = Table(
    "alembic_version",
    MetaData(),
    Column("version_num", String(32), nullable=False),
    PrimaryKeyConstraint("version_num", name="alembic_version_pkc"),
)

# status: what is (idle | running | paused | completed | error). desired: what is wanted, on record before
# it is done (idle | running | paused | deleted). interrupted: why it is paused or about to be.
# run_seq: the seq of the newest room_started, 0 before the first run. round_open is the newest round that
# began, round_done the newest that ended; they differ while a round is under way; round_mode is how the
# newest one is spoken, whatever execution_mode is by now. number orders the rooms. max_tokens, max_cost: the
# budget (0: none). used_tokens, used_cost: what all turns used (cost null: no price is known). kind: room |
# chat | voice (a chat that is spoken); of a chat, round_open is the number of its newest answer. tools: names
# of what its agents may use, as JSON, empty for none; workspace: the folder of these, empty for none (a chat
# has both elsewhere). answer_tokens: the most that one answer may have, 0 for what the provider says.
# on_resume: whether a turn that was cut is continued when the conversation is resumed, or said again
# (continue | again).
room = Table(
    "room",
    metadata,
    Column("id", Text, primary_key=True),
    Column("number", Integer, nullable=False, unique=True),
    Column("name", Text, nullable=False),
    Column("task", Text, nullable=False),
    Column("execution_mode", Text, nullable=False),
    Column("max_rounds", Integer, nullable=False),
    Column("status", Text, nullable=False),
    Column("desired", Text, nullable=False),
    Column("interrupted", Text, nullable=False),
    Column("keep_running", Boolean, nullable=False),
    Column("round_open", Integer, nullable=False),
    Column("round_done", Integer, nullable=False),
    Column("run_seq", Integer, nullable=False),
    Column("last_seq", Integer, nullable=False),
    Column("created_at", Text, nullable=False),
    Column("updated_at", Text, nullable=False),
    Column("round_mode", Text, nullable=False),
    Column("max_tokens", Integer, nullable=False),
    Column("max_cost", Float, nullable=False),
    Column("on_error", Text, nullable=False),
    Column("archived", Boolean, nullable=False),
    Column("used_tokens", Integer, nullable=False),
    Column("used_cost", Float),
    Column("last_speaker", Text, nullable=False),
    Column("last_words", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("tools", Text, nullable=False),
    Column("workspace", Text, nullable=False),
    Column("answer_tokens", Integer, nullable=False),
    Column("on_resume", Text, nullable=False),
)

# What only a chat has. temperature, thinking: null for the model's own. tools: the names that may be used, as
# JSON, null for those that need not be allowed. workspace: the folder of its tools, empty for none. head: the
# last message of the branch that is shown. is_named: a person gave it its name (room.name); until then that
# is the beginning of the first question.
conversation = Table(
    "conversation",
    metadata,
    Column("room_id", Text, ForeignKey("room.id"), primary_key=True),
    Column("temperature", Float),
    Column("thinking", Boolean),
    Column("tools", Text),
    Column("workspace", Text, nullable=False),
    Column("head", Text, nullable=False),
    Column("is_named", Boolean, nullable=False),
)

# Removed agents stay as rows: what they said is theirs. skip_next: its next turn is skipped.
# tokens: what its turns used.
room_agent = Table(
    "room_agent",
    metadata,
    Column("room_id", Text, ForeignKey("room.id"), primary_key=True),
    Column("id", Text, primary_key=True, unique=True),
    Column("turn_order", Integer, nullable=False),
    Column("name", Text, nullable=False),
    Column("color", Text, nullable=False),
    Column("system_prompt", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("provider_id", Text, nullable=False),
    Column("removed", Boolean, nullable=False),
    Column("skip_next", Boolean, nullable=False),
    Column("tokens", Integer, nullable=False),
)

# What an agent of somebody else knows of us (models/model.py): id is that of its session or chat. It
# was told the first ``told`` messages, whose digest this is, in that round; not is_sure: it is being told.
# task_id: what it does now. agent_id: that of a chat is the chat's own.
agent_session = Table(
    "agent_session",
    metadata,
    Column("room_id", Text, ForeignKey("room.id"), primary_key=True),
    Column("agent_id", Text, primary_key=True),
    Column("backend", Text, nullable=False),
    Column("id", Text, nullable=False),
    Column("told", Integer, nullable=False),
    Column("digest", Text, nullable=False),
    Column("round", Integer, nullable=False),
    Column("is_sure", Boolean, nullable=False),
    Column("task_id", Text, nullable=False),
)

# One row per attempt. status: streaming | completed | interrupted | failed | skipped | superseded (said
# again since, by the attempt whose supersedes names it). reason: why it was cut. again: somebody asked for
# it to be said again; to_continue: for its rest. continues: the message_id of the attempt before it, whose
# words stand before its own; empty for an attempt that begins anew. spoken: how it was spoken, as JSON, empty
# for what was not. notes: what stays true of how its model was asked, a JSON list, empty for nothing.
# sender_name, sender_color: the agent's as they were then.
# text: all of it, once the attempt is closed; until then its chunks are the record. first_seq: where its
# first event stands in the log, and so its place among the messages. In a chat each answer is a round of its
# own, and attempt counts the answers to one question; parent: that question's id; model: whose words they
# are; seconds: how long it took; client_key: what the asker called the question, empty for none; text: that
# of all its text steps.
turn = Table(
    "turn",
    metadata,
    Column("room_id", Text, ForeignKey("room.id"), primary_key=True),
    Column("round", Integer, primary_key=True),
    Column("agent_id", Text, primary_key=True),
    Column("attempt", Integer, primary_key=True),
    Column("message_id", Text, nullable=False, unique=True),
    Column("status", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("error", Text, nullable=False),
    Column("first_seq", Integer, nullable=False),
    Column("token_count", Integer, nullable=False),
    Column("created_at", Text, nullable=False),
    Column("sender_name", Text, nullable=False),
    Column("sender_color", Text, nullable=False),
    Column("prompt_tokens", Integer, nullable=False),
    Column("completion_tokens", Integer, nullable=False),
    Column("first_token_seconds", Float),
    Column("cost", Float),
    Column("trimmed", Integer, nullable=False),
    Column("supersedes", Text, nullable=False),
    Column("again", Boolean, nullable=False),
    Column("parent", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("seconds", Float),
    Column("client_key", Text, nullable=False),
    Column("continues", Text, nullable=False),
    Column("to_continue", Boolean, nullable=False),
    Column("spoken", Text, nullable=False),
    Column("notes", Text, nullable=False),
)

# The database itself refuses to have a turn completed twice.
Index(
    "turn_completed_once",
    turn.c.room_id,
    turn.c.round,
    turn.c.agent_id,
    unique=True,
    sqlite_where=text("status = 'completed'"),
)
Index("turn_by_first_seq", turn.c.room_id, turn.c.first_seq)
# Nor may one attempt be continued twice.
Index(
    "turn_continued_once",
    turn.c.room_id,
    turn.c.continues,
    unique=True,
    sqlite_where=text("continues != '' AND status IN ('streaming', 'completed')"),
)
# Nor may the same question be answered twice.
Index(
    "turn_client_key_once",
    turn.c.room_id,
    turn.c.client_key,
    unique=True,
    sqlite_where=text("client_key != ''"),
)

# What people said to the room; its first row is the task. to_agent: the one agent that is told, or empty.
# In a chat: parent is the answer that it follows (empty: it begins the conversation), attachments are JSON,
# and so is spoken, as of a turn.
user_message = Table(
    "user_message",
    metadata,
    Column("id", Text, primary_key=True),
    Column("room_id", Text, ForeignKey("room.id"), nullable=False),
    Column("round", Integer, nullable=False),
    Column("text", Text, nullable=False),
    Column("sender_name", Text, nullable=False),
    Column("sender_color", Text, nullable=False),
    Column("first_seq", Integer, nullable=False),
    Column("created_at", Text, nullable=False),
    Column("to_agent", Text, nullable=False),
    Column("parent", Text, nullable=False),
    Column("attachments", Text, nullable=False),
    Column("spoken", Text, nullable=False),
)
Index("user_message_by_first_seq", user_message.c.room_id, user_message.c.first_seq, unique=True)

# What people said and no turn has taken yet (state queued), was taken with (taken: its user_message has the
# same id), or took back (removed). number orders them. client_key: what the sender called it, empty for none.
inbox = Table(
    "inbox",
    metadata,
    Column("id", Text, primary_key=True),
    Column("room_id", Text, ForeignKey("room.id"), nullable=False),
    Column("number", Integer, nullable=False),
    Column("content", Text, nullable=False),
    Column("to_agent", Text, nullable=False),
    Column("when_", Text, nullable=False),
    Column("sender_name", Text, nullable=False),
    Column("client_key", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("created_at", Text, nullable=False),
)
Index("inbox_by_number", inbox.c.room_id, inbox.c.number, unique=True)
# The database itself refuses to take the same words twice.
Index(
    "inbox_client_key_once",
    inbox.c.room_id,
    inbox.c.client_key,
    unique=True,
    sqlite_where=text("client_key != ''"),
)

# The steps of a turn (protocols.md §2), in the order of their place. A call stands here before it runs:
# status is asks | running | done | failed | denied | unknown | cut, ask what a person is asked, as JSON.
# Thinking and text stand here once they are whole; until then what the log says of them is the record.
step = Table(
    "step",
    metadata,
    Column("room_id", Text, ForeignKey("room.id"), primary_key=True),
    Column("message_id", Text, primary_key=True),
    Column("place", Integer, primary_key=True, autoincrement=False),
    Column("id", Text, nullable=False),
    Column("type", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("id_ref", Text, nullable=False),
    Column("arguments", Text, nullable=False),
    Column("content", Text, nullable=False),
    Column("success", Boolean, nullable=False),
    Column("status", Text, nullable=False),
    Column("started_at", Text, nullable=False),
    Column("seconds", Float),
    Column("ask", Text, nullable=False),
)

# Which calls run without being asked for: everywhere, or in one conversation (room_id). scope is exact (that
# call, in that folder), wide (a glob that a person confirmed) or suspended (a glob that holds no more).
tool_rule = Table(
    "tool_rule",
    metadata,
    Column("id", Text, primary_key=True),
    Column("room_id", Text, nullable=False),
    Column("tool", Text, nullable=False),
    Column("pattern", Text, nullable=False),
    Column("created_at", Text, nullable=False),
    Column("folder", Text, nullable=False),
    Column("scope", Text, nullable=False),
)
_RULE = tool_rule.c
Index("tool_rule_once", _RULE.room_id, _RULE.pattern, _RULE.folder, _RULE.scope, unique=True)

# What is found by its words; number is the rowid of its words in search_words. Newer ones have greater ones.
searched = Table(
    "searched",
    metadata,
    Column("number", Integer, primary_key=True),
    Column("room_id", Text, ForeignKey("room.id"), nullable=False),
    Column("message_id", Text, nullable=False),
    Column("role", Text, nullable=False),
    Column("created_at", Text, nullable=False),
)
Index("searched_by_room", searched.c.room_id)

# SQLite's full text search (FTS5). SQLAlchemy knows no such tables: it makes this one by its own words.
MAKE_SEARCH_WORDS = (
    "CREATE VIRTUAL TABLE search_words USING fts5("
    "words, tokenize = 'unicode61 remove_diacritics 2', prefix = '1 2 3')"
)
SEARCH_WORDS = "search_words"
search_words = table(SEARCH_WORDS, column("rowid", Integer), column("words", Text))


@sqlalchemy_event.listens_for(metadata, "after_create")
def _make_search_words(_: MetaData, connection: Connection, **_options: object) -> None:
    connection.exec_driver_sql(MAKE_SEARCH_WORDS)


# The log: seq is dense from 1 in each room, name and data as ``wire.log`` writes them. Rows are
# never changed.
event = Table(
    "event",
    metadata,
    Column("room_id", Text, ForeignKey("room.id"), primary_key=True),
    Column("seq", Integer, primary_key=True, autoincrement=False),
    Column("name", Text, nullable=False),
    Column("message_id", Text, nullable=False),
    Column("data", Text, nullable=False),
    Column("ts", Float, nullable=False),
    sqlite_with_rowid=False,
)
