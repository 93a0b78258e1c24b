"""Rules of tools are exact, all of them: the wider ones of before are deleted."""

from __future__ import annotations

from alembic import op

revision = "0020"
down_revision = "0019"


def upgrade() -> None:
    """Change the tables (schema.py says what they mean)."""
    op.execute("DELETE FROM tool_rule WHERE scope != 'exact'")
    op.drop_index("tool_rule_once", "tool_rule")
    op.drop_column("tool_rule", "scope")
    op.create_index("tool_rule_once", "tool_rule", ["conversation_id", "pattern", "folder"], unique=True)
