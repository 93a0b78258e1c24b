"""Rooms say what a screen opens them with: the timeline, or the panes."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    """Change the tables (schema.py says what they mean). Rooms that are there follow their mode."""
    # A table that has rows takes no new column without a default.
    op.add_column("conversation", sa.Column("view", sa.Text, nullable=False, server_default="auto"))
