"""Rules of tools hold for exact calls in one folder; the wider ones of before are suspended."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Change the tables (schema.py says what they mean). No old rule knows which folder it was made in."""
    # A table that has rows takes no new column without a default.
    op.add_column("tool_rule", sa.Column("folder", sa.Text, nullable=False, server_default=""))
    op.add_column("tool_rule", sa.Column("scope", sa.Text, nullable=False, server_default="suspended"))
    op.drop_index("tool_rule_once", "tool_rule")
    op.create_index("tool_rule_once", "tool_rule", ["room_id", "pattern", "folder", "scope"], unique=True)
