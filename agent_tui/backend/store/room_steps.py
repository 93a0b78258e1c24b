"""Steps of the turns of rooms: those on record, and of turns under way what only the log says so far.

Where a turn has steps its words say to which one they belong (protocols.md §1, ours).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sqlalchemy import Connection, exists, select

from agent_tui.backend.store import schema
from agent_tui.backend.store.chat_queries import IDS_PER_QUERY
from agent_tui.backend.store.damage import names_in
from agent_tui.backend.store.rows import TurnRow
from agent_tui.backend.store.steps import logged_steps, step_of
from agent_tui.model.events import Step
from agent_tui.wire.content import dump

has_called = exists().where(
    schema.step.c.room_id == schema.turn.c.room_id,
    schema.step.c.message_id == schema.turn.c.message_id,
    schema.step.c.type == "tool_call",
)
"""Whether a turn called a tool: a condition on the table of turns."""

_STEPS = select(schema.step).order_by(schema.step.c.message_id, schema.step.c.place)
_ATTEMPTS = select(schema.turn.c.message_id).order_by(schema.turn.c.attempt)


def tools_text(tools: Sequence[str]) -> str:
    """Return the names of tools as they are stored; empty for none."""
    return dump(list(tools)) if tools else ""


def tools_of(stored: str) -> tuple[str, ...]:
    """Return what ``tools_text`` stored; raises ``ValueError`` for anything else."""
    return names_in(stored) if stored else ()


def steps(connection: Connection, room_id: str, rows: Sequence[TurnRow]) -> dict[str, tuple[Step, ...]]:
    """Return the steps of those of these turns that have any, by message; those under way as far as the
    log says.
    """
    taken = _on_record(connection, room_id, [row.message_id for row in rows])
    for turn in rows:
        if turn.status == "streaming" and (logged := logged_steps(connection, room_id, turn)):
            taken[turn.message_id] = {**logged, **taken.get(turn.message_id, {})}
    return {id_: tuple(sorted(of.values(), key=lambda one: one.index)) for id_, of in taken.items()}


def steps_before(
    connection: Connection, room_id: str, turn: TurnRow, without: Collection[str] = ()
) -> list[tuple[Step, ...]]:
    """Return the steps of each attempt at this turn that was cut before, oldest first, but for the messages
    ``without``.
    """
    cut = schema.turn.c.status == "interrupted"
    mine = (schema.turn.c.room_id == room_id) & (schema.turn.c.round == turn.round)
    mine &= (schema.turn.c.agent_id == turn.agent_id) & (schema.turn.c.attempt < turn.attempt)
    ids = [id_ for id_ in connection.scalars(_ATTEMPTS.where(mine & cut)) if id_ not in without]
    taken = _on_record(connection, room_id, ids)
    return [tuple(taken[id_].values()) for id_ in ids if id_ in taken]


def calls(connection: Connection, room_id: str, message_id: str) -> set[str]:
    """Return the ids of the calls of that turn."""
    mine = (schema.step.c.room_id == room_id) & (schema.step.c.message_id == message_id)
    return set(connection.scalars(select(schema.step.c.id).where(mine & (schema.step.c.type == "tool_call"))))


def _on_record(connection: Connection, room_id: str, ids: Sequence[str]) -> dict[str, dict[str, Step]]:
    taken: dict[str, dict[str, Step]] = {}
    mine = schema.step.c.room_id == room_id
    if not ids or connection.scalar(select(schema.step.c.place).where(mine).limit(1)) is None:
        return taken  # most rooms
    for at in range(0, len(ids), IDS_PER_QUERY):
        some = schema.step.c.message_id.in_(ids[at : at + IDS_PER_QUERY])
        for row in connection.execute(_STEPS.where(mine & some)):
            taken.setdefault(row.message_id, {})[row.id] = step_of(row)
    return taken
