"""Rooms say whether their last round ends with a synthesis."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    """Change the table (schema.py says what it means). Rooms that are there end as they did."""
    # A table that has rows takes no new column without a default.
    op.add_column("conversation", sa.Column("synthesis", sa.Boolean, nullable=False, server_default="0"))
