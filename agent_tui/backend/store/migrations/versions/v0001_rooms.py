"""Rooms, their agents, turns, messages of people, and the event log."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make the tables (schema.py says what they mean)."""
    op.create_table(
        "room",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("number", sa.Integer, nullable=False, unique=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("task", sa.Text, nullable=False),
        sa.Column("execution_mode", sa.Text, nullable=False),
        sa.Column("max_rounds", sa.Integer, nullable=False),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("desired", sa.Text, nullable=False),
        sa.Column("interrupted", sa.Text, nullable=False),
        sa.Column("keep_running", sa.Boolean, nullable=False),
        sa.Column("round_open", sa.Integer, nullable=False),
        sa.Column("round_done", sa.Integer, nullable=False),
        sa.Column("run_seq", sa.Integer, nullable=False),
        sa.Column("last_seq", sa.Integer, nullable=False),
        sa.Column("created_at", sa.Text, nullable=False),
        sa.Column("updated_at", sa.Text, nullable=False),
    )
    op.create_table(
        "room_agent",
        sa.Column("room_id", sa.Text, sa.ForeignKey("room.id"), primary_key=True),
        sa.Column("turn_order", sa.Integer, primary_key=True),
        sa.Column("id", sa.Text, nullable=False, unique=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("color", sa.Text, nullable=False),
        sa.Column("system_prompt", sa.Text, nullable=False),
        sa.Column("model", sa.Text, nullable=False),
        sa.Column("provider_id", sa.Text, nullable=False),
    )
    _said()
    op.create_table(
        "event",
        sa.Column("room_id", sa.Text, sa.ForeignKey("room.id"), primary_key=True),
        sa.Column("seq", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("message_id", sa.Text, nullable=False),
        sa.Column("data", sa.Text, nullable=False),
        sa.Column("ts", sa.Float, nullable=False),
        sqlite_with_rowid=False,
    )


def _said() -> None:
    op.create_table(
        "turn",
        sa.Column("room_id", sa.Text, sa.ForeignKey("room.id"), primary_key=True),
        sa.Column("round", sa.Integer, primary_key=True),
        sa.Column("turn_order", sa.Integer, primary_key=True),
        sa.Column("attempt", sa.Integer, primary_key=True),
        sa.Column("message_id", sa.Text, nullable=False, unique=True),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("error", sa.Text, nullable=False),
        sa.Column("first_seq", sa.Integer, nullable=False),
        sa.Column("token_count", sa.Integer, nullable=False),
        sa.Column("created_at", sa.Text, nullable=False),
    )
    completed = sa.text("status = 'completed'")
    op.create_index(
        "turn_completed_once",
        "turn",
        ["room_id", "round", "turn_order"],
        unique=True,
        sqlite_where=completed,
        postgresql_where=completed,
    )
    op.create_index("turn_by_first_seq", "turn", ["room_id", "first_seq"])
    op.create_table(
        "user_message",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("room_id", sa.Text, sa.ForeignKey("room.id"), nullable=False),
        sa.Column("round", sa.Integer, nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("sender_name", sa.Text, nullable=False),
        sa.Column("sender_color", sa.Text, nullable=False),
        sa.Column("first_seq", sa.Integer, nullable=False),
        sa.Column("created_at", sa.Text, nullable=False),
    )
    op.create_index("user_message_by_first_seq", "user_message", ["room_id", "first_seq"], unique=True)
