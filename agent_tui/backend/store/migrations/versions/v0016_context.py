"""Turns keep how full the context of their model was."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    """Change the tables (schema.py says what they mean). Of earlier turns it is not known."""
    # A table that has rows takes no new column without a default.
    for name in ("context", "context_limit"):
        op.add_column("turn", sa.Column(name, sa.Integer, nullable=False, server_default="0"))
