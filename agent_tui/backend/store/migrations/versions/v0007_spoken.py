"""Conversations may be spoken: messages say how."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Change the tables (schema.py says what they mean). Nothing was spoken before."""
    for table in ("turn", "user_message"):
        # A table that has rows takes no new column without a default.
        op.add_column(table, sa.Column("spoken", sa.Text, nullable=False, server_default=""))
