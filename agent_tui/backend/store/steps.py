"""Steps of turns: the stored ones, and for current turns those in the log."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, Row, bindparam, exists, select

from agent_tui.backend.store import schema
from agent_tui.backend.store.rows import TurnRow
from agent_tui.model.events import Step, StepAdded, StepSet, TextAdded, ToolAsk
from agent_tui.wire import log
from agent_tui.wire.content import BETWEEN_STEPS

IDS_PER_QUERY = 500
# The fields of a step that are stored unchanged.
STORED = ("id", "type", "name", "id_ref", "arguments", "content", "success", "status", "seconds")

has_called = exists().where(
    schema.step.c.conversation_id == schema.turn.c.conversation_id,
    schema.step.c.message_id == schema.turn.c.message_id,
    schema.step.c.type == "tool_call",
)
"""Whether a turn called a tool: a condition on the table of turns."""

_MINE = schema.step.c.conversation_id == bindparam("of")
_ANY_STEP = select(schema.step.c.place).where(_MINE).limit(1)
_STEPS = (
    select(schema.step)
    .where(_MINE, schema.step.c.message_id.in_(bindparam("ids", expanding=True)))
    .order_by(schema.step.c.message_id, schema.step.c.place)
)
_ATTEMPTS = select(schema.turn.c.message_id).order_by(schema.turn.c.attempt)
_OF_STEPS = tuple(map(log.event_name, (StepSet, StepAdded, TextAdded)))


def steps(connection: Connection, id_: str, rows: Sequence[TurnRow]) -> dict[str, tuple[Step, ...]]:
    """Return the steps of these turns, by message, if they have any; of current ones from the log."""
    stored = _stored_steps(connection, id_, [row.message_id for row in rows])
    for turn in rows:
        if turn.status == "streaming" and (logged := _steps_in_log(connection, id_, turn)):
            stored[turn.message_id] = {**logged, **stored.get(turn.message_id, {})}
    return {turn: tuple(sorted(own.values(), key=lambda step: step.index)) for turn, own in stored.items()}


def steps_before(
    connection: Connection, id_: str, turn: TurnRow, without: Collection[str] = ()
) -> list[tuple[Step, ...]]:
    """Return the steps of each interrupted attempt at this turn, oldest first, except those of the messages
    ``without``.
    """
    column = schema.turn.c
    is_earlier = (column.conversation_id == id_) & (column.round == turn.round)
    is_earlier &= (column.agent_id == turn.agent_id) & (column.attempt < turn.attempt)
    query = _ATTEMPTS.where(is_earlier, column.status == "interrupted")
    ids = [message_id for message_id in connection.scalars(query) if message_id not in without]
    stored = _stored_steps(connection, id_, ids)
    return [tuple(stored[message_id].values()) for message_id in ids if message_id in stored]


def calls(connection: Connection, id_: str, message_id: str) -> set[str]:
    """Return the ids of the calls of that turn."""
    column = schema.step.c
    query = select(column.id).where(column.conversation_id == id_, column.message_id == message_id)
    return set(connection.scalars(query.where(column.type == "tool_call")))


def _stored_steps(connection: Connection, id_: str, ids: Sequence[str]) -> dict[str, dict[str, Step]]:
    stored: dict[str, dict[str, Step]] = {}
    if not ids or connection.scalar(_ANY_STEP, {"of": id_}) is None:
        return stored  # as in most rooms
    for start in range(0, len(ids), IDS_PER_QUERY):
        for row in connection.execute(_STEPS, {"of": id_, "ids": ids[start : start + IDS_PER_QUERY]}):
            stored.setdefault(row.message_id, {})[row.id] = _step(row)
    return stored


def _step(row: Row[Any]) -> Step:
    values = {name: getattr(row, name) for name in STORED}
    # What a call asks is from ``steps_encode.ask_fields``; read without pydantic, to start quickly.
    ask = log.read_record(ToolAsk, json.loads(row.ask)) if row.status == "asks" else None
    return Step(index=row.place, **values, ask=ask)


def _steps_in_log(connection: Connection, id_: str, turn: TurnRow) -> dict[str, Step]:
    """Return the steps of a turn from the log, by their ids, with their pieces joined.

    A text with a step's id has a blank line before the first words of each text step but the first, which
    does not belong to the step.
    """
    event = schema.event.c
    of_turn = (
        (event.conversation_id == id_) & (event.seq > turn.first_seq) & (event.message_id == turn.message_id)
    )
    query = select(event.name, event.data).where(of_turn & event.name.in_(_OF_STEPS)).order_by(event.seq)
    found: dict[str, Step] = {}
    pieces: dict[str, tuple[list[str], list[str]]] = {}  # the pieces of content and of arguments
    has_words = False
    for name, data in connection.execute(query):
        match log.decode(name, data):
            case StepSet(_, step):
                found[step.id] = step
                pieces[step.id] = [step.content], [step.arguments]
            case StepAdded(_, step_id, content, arguments) if step_id in pieces:
                pieces[step_id][0].append(content)
                pieces[step_id][1].append(arguments)
            case TextAdded(step_id=""):  # before any other step: stored when that began
                has_words = True
            case TextAdded(text=text, step_id=step_id):
                if step_id not in found:
                    found[step_id] = Step(step_id, int(step_id.rpartition("-")[2]))
                    pieces[step_id] = [], []
                    text = text.removeprefix(BETWEEN_STEPS) if has_words else text
                pieces[step_id][0].append(text)
                has_words = True
            case _:
                pass
    return {
        step_id: replace(step, content="".join(pieces[step_id][0]), arguments="".join(pieces[step_id][1]))
        for step_id, step in found.items()
    }
