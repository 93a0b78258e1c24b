"""Chats: what only they have, steps of answers, rules of tools, full text search."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Change the tables (schema.py says what they mean). What is there are rooms, and stays as it is."""
    op.add_column("room", _text("kind", "room"))
    for column in (
        _text("parent"),
        _text("model"),
        sa.Column("seconds", sa.Float),
        _text("client_key"),
    ):
        op.add_column("turn", column)
    op.add_column("user_message", _text("parent"))
    op.add_column("user_message", _text("attachments"))
    named = sa.text("client_key != ''")
    op.create_index(
        "turn_client_key_once", "turn", ["room_id", "client_key"], unique=True, sqlite_where=named
    )
    op.create_table(
        "conversation",
        sa.Column("room_id", sa.Text, sa.ForeignKey("room.id"), primary_key=True),
        sa.Column("temperature", sa.Float),
        sa.Column("thinking", sa.Boolean, nullable=False),
        sa.Column("tools", sa.Text),
        sa.Column("workspace", sa.Text, nullable=False),
        sa.Column("head", sa.Text, nullable=False),
        sa.Column("is_named", sa.Boolean, nullable=False),
    )
    _tools()
    _search()


def _text(name: str, default: str = "") -> sa.Column[str]:
    # A table that has rows takes no new column without a default.
    return sa.Column(name, sa.Text, nullable=False, server_default=default)


def _tools() -> None:
    op.create_table(
        "step",
        sa.Column("room_id", sa.Text, sa.ForeignKey("room.id"), primary_key=True),
        sa.Column("message_id", sa.Text, primary_key=True),
        sa.Column("place", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("type", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("id_ref", sa.Text, nullable=False),
        sa.Column("arguments", sa.Text, nullable=False),
        sa.Column("content", sa.Text, nullable=False),
        sa.Column("success", sa.Boolean, nullable=False),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("started_at", sa.Text, nullable=False),
        sa.Column("seconds", sa.Float),
        sa.Column("ask", sa.Text, nullable=False),
    )
    op.create_table(
        "tool_rule",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("room_id", sa.Text, nullable=False),
        sa.Column("tool", sa.Text, nullable=False),
        sa.Column("pattern", sa.Text, nullable=False),
        sa.Column("created_at", sa.Text, nullable=False),
    )
    op.create_index("tool_rule_once", "tool_rule", ["room_id", "pattern"], unique=True)


def _search() -> None:
    op.create_table(
        "searched",
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("room_id", sa.Text, sa.ForeignKey("room.id"), nullable=False),
        sa.Column("message_id", sa.Text, nullable=False),
        sa.Column("role", sa.Text, nullable=False),
        sa.Column("created_at", sa.Text, nullable=False),
    )
    op.create_index("searched_by_room", "searched", ["room_id"])
    op.execute(
        "CREATE VIRTUAL TABLE search_words USING fts5("
        "words, tokenize = 'unicode61 remove_diacritics 2', prefix = '1 2 3')"
    )
