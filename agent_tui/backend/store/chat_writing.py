"""What a transaction does to chats: their rows, the steps of their answers, rules, what is found by words."""

from __future__ import annotations

from dataclasses import asdict, fields

from sqlalchemy import Connection, delete, func, insert, select, update
from sqlalchemy.dialects.sqlite import insert as sqlite_insert

from agent_tui.backend.store.chat_rows import (
    ChatChange,
    ChatCreated,
    ChatRow,
    ChatSet,
    RuleConfirmed,
    RuleDropped,
    RulePut,
    Searchable,
    SpokenSet,
    StepPut,
    StepStands,
    StoredStep,
    Unsearchable,
)
from agent_tui.backend.store.chat_words import indexed
from agent_tui.backend.store.schema import (
    conversation,
    room,
    room_agent,
    search_words,
    searched,
    step,
    tool_rule,
    turn,
    user_message,
)
from agent_tui.model.errors import StoreError
from agent_tui.wire.content import dump
from agent_tui.wire.steps_encode import ask_fields

_NEXT_NUMBER = select(func.coalesce(func.max(room.c.number), 0) + 1).scalar_subquery()
# Put together once: that takes longer than to carry them out.
_NOTE = insert(searched).returning(searched.c.number)
_INDEX = insert(search_words)
_NEW_STEP = sqlite_insert(step)
_PUT_STEP = _NEW_STEP.on_conflict_do_update(
    index_elements=["room_id", "message_id", "place"],
    set_={column.name: _NEW_STEP.excluded[column.name] for column in step.c if not column.primary_key},
)
# What the rows of a chat share with it, by name.
ROOM_COLUMNS = tuple(
    field.name for field in fields(ChatRow) if field.name in room.c and field.name not in conversation.c
)
NUMBERS_PER_DELETE = 500
AGENT_COLUMNS = ("system_prompt", "model", "provider_id")


def change(connection: Connection, room_id: str, change: ChatChange) -> None:
    """Carry out one change of the chat ``room_id``."""
    match change:
        case ChatCreated(row):
            _create(connection, row)
        case ChatSet(values, agent):
            if values:
                mine = conversation.c.room_id == room_id
                connection.execute(update(conversation).where(mine).values(**values))
            if agent:
                connection.execute(update(room_agent).where(room_agent.c.room_id == room_id).values(**agent))
        case StepPut(stored):
            _put_step(connection, room_id, stored)
        case StepStands(message_id, place, status, seconds, success, ask):
            one = (step.c.room_id == room_id) & (step.c.message_id == message_id) & (step.c.place == place)
            values = {"status": status, "seconds": seconds, "success": success}
            values |= {"ask": dump(ask_fields(ask))} if ask is not None else {}
            if connection.execute(update(step).where(one).values(**values)).rowcount != 1:
                raise StoreError(f"Step {place} of {message_id} is not on record", "It cannot stand anyhow.")
        case SpokenSet(message_id, spoken):
            mine = (turn.c.room_id == room_id) & (turn.c.message_id == message_id)
            ours = (user_message.c.room_id == room_id) & (user_message.c.id == message_id)
            answers = connection.execute(update(turn).where(mine).values(spoken=spoken))
            people = connection.execute(update(user_message).where(ours).values(spoken=spoken))
            if answers.rowcount + people.rowcount != 1:
                raise StoreError(f"The message {message_id} is not on record", "It cannot have been spoken.")
        case RulePut(rule):
            connection.execute(sqlite_insert(tool_rule).values(**asdict(rule)).on_conflict_do_nothing())
        case RuleConfirmed(rule_id):
            suspended = (tool_rule.c.id == rule_id) & (tool_rule.c.scope == "suspended")
            connection.execute(update(tool_rule).where(suspended).values(scope="wide"))
        case RuleDropped(rule_id):
            connection.execute(delete(tool_rule).where(tool_rule.c.id == rule_id))
        case Searchable():
            _index(connection, room_id, change)
        case Unsearchable(most):
            _forget(connection, room_id, most)


def drop(connection: Connection, room_id: str) -> None:
    """Delete what only chats have."""
    _forget(connection, room_id)
    for table in (step, conversation, tool_rule):
        connection.execute(delete(table).where(table.c.room_id == room_id))


def _forget(connection: Connection, room_id: str, most: int | None = None) -> None:
    mine = select(searched.c.number).where(searched.c.room_id == room_id).limit(most)
    numbers = list(connection.scalars(mine))
    for table, number in ((search_words, search_words.c.rowid), (searched, searched.c.number)):
        for at in range(0, len(numbers), NUMBERS_PER_DELETE):
            some = numbers[at : at + NUMBERS_PER_DELETE]
            connection.execute(delete(table).where(number.in_(some)))


def _create(connection: Connection, row: ChatRow) -> None:
    values = {name: getattr(row, name) for name in ROOM_COLUMNS}
    fresh = {
        "task": "",
        "execution_mode": "sequential",
        "max_rounds": 0,
        "keep_running": False,
        "round_done": 0,
        "run_seq": 0,
        "round_mode": "",
        "on_error": "continue",
        "last_speaker": "",
        "tools": "",
        "workspace": "",
    }
    connection.execute(insert(room).values({**values, **fresh, "number": _NEXT_NUMBER}))
    agent = {
        **{name: getattr(row, name) for name in AGENT_COLUMNS},
        "room_id": row.id,
        "id": row.agent_id,
        "turn_order": 0,
        "name": row.model,
        "color": "",
        "removed": False,
        "skip_next": False,
        "tokens": 0,
    }
    connection.execute(insert(room_agent).values(agent))
    connection.execute(
        insert(conversation).values(
            room_id=row.id,
            temperature=row.temperature,
            thinking=row.thinking,
            tools=None if row.tools is None else dump(list(row.tools)),
            workspace=row.workspace,
            head=row.head,
            is_named=row.is_named,
        )
    )


def _put_step(connection: Connection, room_id: str, stored: StoredStep) -> None:
    one = stored.step
    values = {
        "id": one.id,
        "type": one.type,
        "name": one.name,
        "id_ref": one.id_ref,
        "arguments": one.arguments,
        "content": one.content,
        "success": one.success,
        "status": one.status,
        "started_at": stored.started_at,
        "seconds": one.seconds,
        "ask": "" if one.ask is None else dump(ask_fields(one.ask)),
    }
    key = {"room_id": room_id, "message_id": stored.message_id, "place": stored.place}
    connection.execute(_PUT_STEP, {**key, **values})


def _index(connection: Connection, room_id: str, found: Searchable) -> None:
    words = indexed(found.text)
    if not words.strip():
        return
    row = {
        "room_id": room_id,
        "message_id": found.message_id,
        "role": found.role,
        "created_at": found.created_at,
    }
    number = connection.execute(_NOTE, row).scalar_one()
    connection.execute(_INDEX, {"rowid": number, "words": words})
