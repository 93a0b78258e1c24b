"""Changes that tool calls made to files, and the rules for calls."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import fields

from sqlalchemy import Connection, select

from agent_tui.backend.store import schema
from agent_tui.backend.store.reads.conversations import conversation
from agent_tui.backend.store.rows import KINDS, FileChanged, StoredRule
from agent_tui.model.events import Step

_TURN = schema.turn.c


def file_changes(
    connection: Connection, id_: str, kinds: Collection[str] = KINDS
) -> list[tuple[FileChanged, Step]]:
    """Return the changes to files, each with its call, in their order. Raises ``NotFound``."""
    conversation(connection, id_, kinds)
    changes, calls = schema.file_change.c, schema.step.c
    same_turn = (calls.conversation_id == changes.conversation_id) & (calls.message_id == changes.message_id)
    query = (
        select(
            *(changes[field.name] for field in fields(FileChanged)),
            *(calls[name].label(f"call_{name}") for name in ("id", "status", "seconds", "success")),
        )
        .join_from(schema.file_change, schema.step, same_turn & (calls.place == changes.place))
        .join(schema.turn, _TURN.message_id == changes.message_id)
        .where(changes.conversation_id == id_)
        .order_by(_TURN.first_seq, changes.place)
    )
    changed = []
    for *values, call_id, status, seconds, success in connection.execute(query):
        change = FileChanged(*values)
        call = Step(call_id, change.place, "tool_call", status=status, seconds=seconds, success=success)
        changed.append((change, call))
    return changed


def rules(connection: Connection) -> list[StoredRule]:
    """Return all rules, including those of single conversations, the oldest first."""
    rule = schema.tool_rule.c
    query = select(*(rule[field.name] for field in fields(StoredRule))).order_by(rule.created_at, rule.id)
    return [StoredRule(*row) for row in connection.execute(query)]
