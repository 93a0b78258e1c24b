"""Agents that come and go, turns said again, words that wait, budgets, what a turn used."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Change the tables (schema.py says what they mean). All rows come over."""
    _turns()  # before the agents: whose they are is said by the agents' places
    _agents()
    _inbox()
    op.add_column("user_message", _text("to_agent"))
    for column in (
        _text("round_mode"),
        _number("max_tokens"),
        sa.Column("max_cost", sa.Float, nullable=False, server_default="0"),
        _text("on_error", "continue"),
        sa.Column("archived", sa.Boolean, nullable=False, server_default="0"),
        _number("used_tokens"),
        sa.Column("used_cost", sa.Float),
        _text("last_speaker"),
        _text("last_words"),
    ):
        op.add_column("room", column)
    op.execute("UPDATE room SET round_mode = execution_mode")
    _sum_up()


def _text(name: str, default: str = "") -> sa.Column[str]:
    # A table that has rows takes no new column without a default.
    return sa.Column(name, sa.Text, nullable=False, server_default=default)


def _number(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.Integer, nullable=False, server_default="0")


def _turns() -> None:
    op.drop_index("turn_completed_once")
    op.drop_index("turn_by_first_seq")
    op.rename_table("turn", "turn_0001")
    op.create_table(
        "turn",
        sa.Column("room_id", sa.Text, sa.ForeignKey("room.id"), primary_key=True),
        sa.Column("round", sa.Integer, primary_key=True),
        sa.Column("agent_id", sa.Text, primary_key=True),
        sa.Column("attempt", sa.Integer, primary_key=True),
        sa.Column("message_id", sa.Text, nullable=False, unique=True),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("error", sa.Text, nullable=False),
        sa.Column("first_seq", sa.Integer, nullable=False),
        sa.Column("token_count", sa.Integer, nullable=False),
        sa.Column("created_at", sa.Text, nullable=False),
        sa.Column("sender_name", sa.Text, nullable=False),
        sa.Column("sender_color", sa.Text, nullable=False),
        sa.Column("prompt_tokens", sa.Integer, nullable=False),
        sa.Column("completion_tokens", sa.Integer, nullable=False),
        sa.Column("first_token_seconds", sa.Float),
        sa.Column("cost", sa.Float),
        sa.Column("trimmed", sa.Integer, nullable=False),
        sa.Column("supersedes", sa.Text, nullable=False),
        sa.Column("again", sa.Boolean, nullable=False),
    )
    op.execute(
        "INSERT INTO turn SELECT old.room_id, old.round, agent.id, old.attempt, old.message_id, old.status, "
        "old.reason, old.text, old.error, old.first_seq, old.token_count, old.created_at, agent.name, "
        "agent.color, 0, 0, NULL, NULL, 0, '', 0 FROM turn_0001 AS old JOIN room_agent AS agent "
        "ON agent.room_id = old.room_id AND agent.turn_order = old.turn_order"
    )
    op.drop_table("turn_0001")
    completed = sa.text("status = 'completed'")
    keys = ["room_id", "round", "agent_id"]
    op.create_index("turn_completed_once", "turn", keys, unique=True, sqlite_where=completed)
    op.create_index("turn_by_first_seq", "turn", ["room_id", "first_seq"])


def _agents() -> None:
    op.rename_table("room_agent", "room_agent_0001")
    op.create_table(
        "room_agent",
        sa.Column("room_id", sa.Text, sa.ForeignKey("room.id"), primary_key=True),
        sa.Column("id", sa.Text, primary_key=True, unique=True),
        sa.Column("turn_order", sa.Integer, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("color", sa.Text, nullable=False),
        sa.Column("system_prompt", sa.Text, nullable=False),
        sa.Column("model", sa.Text, nullable=False),
        sa.Column("provider_id", sa.Text, nullable=False),
        sa.Column("removed", sa.Boolean, nullable=False),
        sa.Column("skip_next", sa.Boolean, nullable=False),
        sa.Column("tokens", sa.Integer, nullable=False),
    )
    op.execute(
        "INSERT INTO room_agent SELECT room_id, id, turn_order, name, color, system_prompt, model, "
        "provider_id, 0, 0, (SELECT COALESCE(SUM(token_count), 0) FROM turn WHERE turn.room_id = "
        "room_agent_0001.room_id AND turn.agent_id = room_agent_0001.id) FROM room_agent_0001"
    )
    op.drop_table("room_agent_0001")


def _inbox() -> None:
    op.create_table(
        "inbox",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("room_id", sa.Text, sa.ForeignKey("room.id"), nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("content", sa.Text, nullable=False),
        sa.Column("to_agent", sa.Text, nullable=False),
        sa.Column("when_", sa.Text, nullable=False),
        sa.Column("sender_name", sa.Text, nullable=False),
        sa.Column("client_key", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("created_at", sa.Text, nullable=False),
    )
    op.create_index("inbox_by_number", "inbox", ["room_id", "number"], unique=True)
    named = sa.text("client_key != ''")
    op.create_index(
        "inbox_client_key_once", "inbox", ["room_id", "client_key"], unique=True, sqlite_where=named
    )


def _sum_up() -> None:
    """Say of each room what it used, as far as that was counted, and who spoke last."""
    op.execute(
        "UPDATE room SET used_tokens = "
        "(SELECT COALESCE(SUM(token_count), 0) FROM turn WHERE turn.room_id = room.id)"
    )
    newest = "FROM turn WHERE turn.room_id = room.id AND text != '' ORDER BY first_seq DESC LIMIT 1"
    op.execute(
        f"UPDATE room SET last_speaker = COALESCE((SELECT sender_name {newest}), ''), "  # noqa: S608
        f"last_words = COALESCE((SELECT TRIM(REPLACE(SUBSTR(text, -120), char(10), ' ')) {newest}), '')"
    )
