"""Agents of rooms and chats may live on an agent service or agent socket."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    """Change the tables (schema.py says what they mean)."""
    op.create_table(
        "agent_session",
        sa.Column("room_id", sa.Text, sa.ForeignKey("room.id"), primary_key=True),
        sa.Column("agent_id", sa.Text, primary_key=True),
        sa.Column("backend", sa.Text, nullable=False),
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("told", sa.Integer, nullable=False),
        sa.Column("digest", sa.Text, nullable=False),
        sa.Column("round", sa.Integer, nullable=False),
        sa.Column("is_sure", sa.Boolean, nullable=False),
        sa.Column("task_id", sa.Text, nullable=False),
    )
