"""Rooms and chats say whether models are told the AGENTS.md of the working folder."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    """Change the tables (schema.py says what they mean). Conversations that are there tell it as well."""
    # A table that has rows takes no new column without a default.
    op.add_column("conversation", sa.Column("guide", sa.Text, nullable=False, server_default="tell"))
