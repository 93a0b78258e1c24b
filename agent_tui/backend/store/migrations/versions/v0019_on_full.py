"""Chats say what becomes of older messages that their model cannot be told as they are."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"


def upgrade() -> None:
    """Change the tables (schema.py says what they mean). Chats that are there are summarised as well."""
    # A table that has rows takes no new column without a default.
    op.add_column("conversation", sa.Column("on_full", sa.Text, nullable=False, server_default="summarise"))
