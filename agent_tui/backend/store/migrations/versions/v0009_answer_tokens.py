"""Rooms and chats may say how long an answer may be."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Change the tables (schema.py says what they mean). 0: what the provider's setting says."""
    # A table that has rows takes no new column without a default.
    op.add_column("room", sa.Column("answer_tokens", sa.Integer, nullable=False, server_default="0"))
