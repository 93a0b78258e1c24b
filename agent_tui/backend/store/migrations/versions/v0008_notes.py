"""Turns keep what is noted of them and stays true."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Change the tables (schema.py says what they mean). Notes of earlier versions are in the log alone."""
    # A table that has rows takes no new column without a default.
    op.add_column("turn", sa.Column("notes", sa.Text, nullable=False, server_default=""))
