"""Stored rows as messages of rooms: what ``GET messages`` answers and the event log's ``message`` says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from json import loads

from agent_tui.backend.store.rows import TurnRow, UserSaid
from agent_tui.model.events import Message, Note, Step
from agent_tui.wire.content import dump, steps_content, text_content
from agent_tui.wire.rooms_encode import note_fields, token_count
from agent_tui.wire.steps_encode import step_fields

# Of one answer. As JSON they are four times as many bytes at worst; a client may take no more than 64 MiB.
MAX_PAGE_CHARACTERS = 8_000_000


@dataclass(frozen=True, slots=True)
class Page:
    """Messages in order; ``more`` says that others follow, ``as_of`` is the seq they are the state of."""

    messages: list[Message]
    more: bool
    as_of: int


def that_fit(messages: Sequence[Message]) -> list[Message]:
    """Return the first messages that one answer can hold, at least one."""
    characters = 0
    for place, message in enumerate(messages):
        characters += len(message.content)
        if characters > MAX_PAGE_CHARACTERS and place:
            return list(messages[:place])
    return list(messages)


def with_notes(stored: str, notes: Sequence[Note]) -> str:
    """Return the notes of a turn as they are stored, once these are among them."""
    if not notes:
        return stored
    return dump([note_fields(note) for note in dict.fromkeys((*notes_of(stored), *notes))])


def notes_of(stored: str) -> tuple[Note, ...]:
    """Return what ``with_notes`` stored; nothing of empty text, and of what is damaged."""
    try:
        return tuple(Note(**fields) for fields in loads(stored)) if stored else ()
    except (ValueError, TypeError):
        return ()


def user_message(room_id: str, said: UserSaid) -> Message:
    """Return a person's message."""
    return Message(
        id=said.id,
        room_id=room_id,
        role="user",
        content=text_content(said.text),
        text=said.text,
        sender_name=said.sender_name,
        sender_color=said.sender_color,
        round_number=said.round,
        token_count=token_count(said.text),
        created_at=said.created_at,
        to=said.to_agent,
    )


def turn_message(room_id: str, turn: TurnRow, steps: Sequence[Step] = ()) -> Message:
    """Return one attempt at a turn as a message of its agent, under the name it had then.

    One that did nothing but speak has no ``steps`` besides its text, whatever it might have used.
    """
    if all(step.type == "text" for step in steps):
        steps = ()
    return Message(
        id=turn.message_id,
        room_id=room_id,
        role="assistant",
        content=dump({"steps": [step_fields(one) for one in steps]}) if steps else steps_content(turn.text),
        text=turn.text,
        sender_name=turn.sender_name,
        sender_color=turn.sender_color,
        round_number=turn.round,
        token_count=token_count(turn.text),
        created_at=turn.created_at,
        agent_id=turn.agent_id,
        interrupted=turn.reason,
        status="streaming" if turn.status == "streaming" else "",
        error=turn.error,
        superseded=turn.status == "superseded",
        trimmed=turn.trimmed,
        usage=turn.usage,
        steps=tuple(steps),
        continues=turn.continues,
        notes=notes_of(turn.notes),
    )
