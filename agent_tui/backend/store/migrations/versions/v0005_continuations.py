"""An attempt may continue the one before it; a chat may leave it to its model whether it thinks."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Change the tables (schema.py says what they mean). No turn that is there continues another; and where
    a chat did not ask to think, its model was never told not to.
    """
    # A table that has rows takes no new column without a default.
    op.add_column("turn", sa.Column("continues", sa.Text, nullable=False, server_default=""))
    op.add_column("turn", sa.Column("to_continue", sa.Boolean, nullable=False, server_default=sa.false()))
    op.create_index(
        "turn_continued_once",
        "turn",
        ["room_id", "continues"],
        unique=True,
        sqlite_where=sa.text("continues != '' AND status IN ('streaming', 'completed')"),
    )
    with op.batch_alter_table("conversation") as chats:
        chats.alter_column("thinking", existing_type=sa.Boolean, nullable=True)
    op.execute("UPDATE conversation SET thinking = NULL WHERE NOT thinking")
