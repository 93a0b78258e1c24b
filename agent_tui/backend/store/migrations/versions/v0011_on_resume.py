"""Rooms and chats say what becomes of a turn that was cut when they are resumed."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    """Change the tables (schema.py says what they mean). Conversations that are there continue as well."""
    # A table that has rows takes no new column without a default.
    op.add_column("room", sa.Column("on_resume", sa.Text, nullable=False, server_default="continue"))
