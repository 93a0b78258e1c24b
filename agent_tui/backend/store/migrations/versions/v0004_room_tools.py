"""Agents of rooms may use tools."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Change the tables (schema.py says what they mean). Rooms as they are use none."""
    for name in ("tools", "workspace"):
        # A table that has rows takes no new column without a default.
        op.add_column("room", sa.Column(name, sa.Text, nullable=False, server_default=""))
