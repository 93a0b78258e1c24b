"""Steps of turns: a row as a step, and of a turn under way what only the log says so far."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, Row, select

from agent_tui.backend.store import schema
from agent_tui.backend.store.rows import TurnRow
from agent_tui.model.events import Step, StepAdded, StepSet, TextAdded, ToolAsk
from agent_tui.model.tool_forms import stored_form
from agent_tui.wire import log
from agent_tui.wire.content import BETWEEN_STEPS

_OF_STEPS = tuple(map(log.event_name, (StepSet, StepAdded, TextAdded)))


def step_of(row: Row[Any]) -> Step:
    """Return a step as it is on record."""
    return Step(
        id=row.id,
        index=row.place,
        type=row.type,
        content=row.content,
        name=row.name,
        arguments=row.arguments,
        id_ref=row.id_ref,
        success=row.success,
        status=row.status,
        seconds=row.seconds,
        ask=_stored_ask(row.ask) if row.status == "asks" else None,
    )


def _stored_ask(stored: str) -> ToolAsk:
    """Return what a call asks, as ``steps_encode.ask_fields`` wrote it. (Without pydantic: this process is to
    start quickly.)
    """
    fields = json.loads(stored)
    form = fields.pop("form", None)
    return ToolAsk(**fields, form=None if form is None else stored_form(form))


def logged_steps(connection: Connection, room_id: str, turn: TurnRow) -> dict[str, Step]:
    """Return the steps of a turn as the log has them, by their ids: what was added to a step joined.

    A text that says which step it belongs to has a blank line before the first words of each text step but
    the first: those are not the step's.
    """
    event = schema.event.c
    mine = (event.room_id == room_id) & (event.seq > turn.first_seq) & (event.message_id == turn.message_id)
    query = select(event.name, event.data).where(mine & event.name.in_(_OF_STEPS)).order_by(event.seq)
    begun: dict[str, Step] = {}
    pieces: dict[str, tuple[list[str], list[str]]] = {}  # of content, of arguments
    said = False
    for name, data in connection.execute(query):
        match log.decode(name, data):
            case StepSet(_, step):
                begun[step.id] = step
                pieces[step.id] = [step.content], [step.arguments]
            case StepAdded(_, step_id, content, arguments) if step_id in pieces:
                pieces[step_id][0].append(content)
                pieces[step_id][1].append(arguments)
            case TextAdded(text=text, step_id=step_id) if step_id:
                if step_id not in begun:
                    begun[step_id] = Step(step_id, int(step_id.rpartition("-")[2]))
                    pieces[step_id] = [], []
                    text = text.removeprefix(BETWEEN_STEPS) if said else text
                pieces[step_id][0].append(text)
                said = True
            case _:
                pass
    return {
        id_: replace(step, content="".join(pieces[id_][0]), arguments="".join(pieces[id_][1]))
        for id_, step in begun.items()
    }
