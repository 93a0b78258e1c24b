"""What calls of tools did to files is kept, so that people can undo it."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    """Change the tables (schema.py says what they mean). What was changed before cannot be undone."""
    op.create_table(
        "file_change",
        sa.Column("conversation_id", sa.Text, sa.ForeignKey("conversation.id"), primary_key=True),
        sa.Column("message_id", sa.Text, primary_key=True),
        sa.Column("place", sa.Integer, primary_key=True),
        *(sa.Column(name, sa.Text, nullable=False) for name in ("folder", "path")),
        sa.Column("before", sa.Text),
        *(sa.Column(name, sa.Text, nullable=False) for name in ("after", "diff")),
        *(sa.Column(name, sa.Integer, nullable=False) for name in ("added", "removed")),
        sa.Column("created_at", sa.Text, nullable=False),
    )
