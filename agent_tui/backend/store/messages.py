"""Stored rows as messages: for ``GET …/messages`` and the log's ``message``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from agent_tui.backend.store.rows import ROOM, TurnRow, UserSaid
from agent_tui.model.chains import said_in
from agent_tui.model.events import Attachment, Message, Note, SpeechRecord, Step
from agent_tui.wire.chat_encode import answer_content, question_content, spoken_fields
from agent_tui.wire.content import dump, steps_content, text_content
from agent_tui.wire.rooms_encode import note_fields, token_count
from agent_tui.wire.steps_encode import step_fields

# Of one answer. As JSON they are at most four times as many bytes; a client may refuse more than 64 MiB.
MAX_PAGE_CHARACTERS = 8_000_000


@dataclass(frozen=True, slots=True)
class MessagePage:
    """Messages in order; ``more`` says that others follow, ``as_of`` is the seq that they correspond to."""

    messages: list[Message]
    more: bool
    as_of: int


def that_fit(messages: Sequence[Message]) -> list[Message]:
    """Return the first messages that fit into one answer, at least one."""
    characters = 0
    for place, message in enumerate(messages):
        characters += len(message.content)
        if characters > MAX_PAGE_CHARACTERS and place:
            return list(messages[:place])
    return list(messages)


def with_notes(stored: str, notes: Sequence[Note]) -> str:
    """Return the stored notes of a turn with these added."""
    if not notes:
        return stored
    return dump([note_fields(note) for note in dict.fromkeys((*notes_of(stored), *notes))])


def notes_of(stored: str) -> tuple[Note, ...]:
    """Return what ``with_notes`` stored; nothing for empty or damaged text."""
    try:
        return tuple(Note(**fields) for fields in json.loads(stored)) if stored else ()
    except (ValueError, TypeError):
        return ()


def attachments_text(attachments: Sequence[Attachment]) -> str:
    """Return attachments as text to store; empty for none."""
    return json.dumps([asdict(file) for file in attachments], ensure_ascii=False) if attachments else ""


def attachments_of(stored: str) -> tuple[Attachment, ...]:
    """Return the attachments in such a text."""
    stored_fields: list[dict[str, Any]] = json.loads(stored) if stored else []
    return tuple(Attachment(**fields) for fields in stored_fields)


def spoken_text(spoken: SpeechRecord) -> str:
    """Return how a message was spoken as text to store, as far as it is known."""
    return json.dumps(spoken_fields(spoken), ensure_ascii=False)


def spoken_of(stored: str) -> SpeechRecord | None:
    """Return how a message was spoken from such a text; ``None`` if it was not spoken."""
    return SpeechRecord(**json.loads(stored)) if stored else None


def as_heard(message: Message) -> Message:
    """Return an answer only as far as it was heard: a person who cut in does not know the rest."""
    if message.spoken is None or not message.spoken.text or message.role == "user":
        return message
    last = max((place for place, step in enumerate(message.steps) if step.type == "text"), default=-1)
    steps = tuple(
        replace(step, content=message.spoken.text if place == last else "") if step.type == "text" else step
        for place, step in enumerate(message.steps)
    )
    return replace(message, text=message.spoken.text, steps=steps)


def user_message(
    conversation_id: str, speech: UserSaid, versions: tuple[str, ...] = (), *, kind: str
) -> Message:
    """Return a person's message; its ``content`` is that of the kind's own protocol (protocols.md §1, §2)."""
    attachments = attachments_of(speech.attachments)
    return Message(
        id=speech.id,
        room_id=conversation_id,
        role="user",
        content=text_content(speech.text) if kind in ROOM else question_content(speech.text, attachments),
        text=speech.text,
        sender_name=speech.sender_name,
        sender_color=speech.sender_color,
        round_number=speech.round,
        token_count=token_count(speech.text),
        created_at=speech.created_at,
        to=speech.to_agent,
        attachments=attachments,
        parent_id=speech.parent,
        versions=versions,
        spoken=spoken_of(speech.spoken),
    )


def turn_message(
    conversation_id: str,
    turn: TurnRow,
    steps: Sequence[Step] = (),
    versions: tuple[str, ...] = (),
    *,
    kind: str,
) -> Message:
    """Return one attempt at a turn as a message of its agent, with the name it had then.

    ``content`` and the meaning of ``token_count`` depend on the kind's protocol. In a chat the count is the
    provider's for completion tokens, 0 if unknown, and an answer that failed is ``interrupted`` (protocols.md
    §2). In a room, a turn with words only has no ``steps`` besides its text.
    """
    text, interrupted = turn.text or said_in(steps), turn.reason
    if kind not in ROOM:
        interrupted = interrupted or ("error" if turn.error else "")
        content, tokens = answer_content(text, steps), turn.completion_tokens
    elif all(step.type == "text" for step in steps):
        content, tokens, steps = steps_content(text), token_count(text), ()
    else:
        content, tokens = dump({"steps": [step_fields(step) for step in steps]}), token_count(text)
    return Message(
        id=turn.message_id,
        room_id=conversation_id,
        role="assistant",
        content=content,
        text=text,
        sender_name=turn.sender_name,
        sender_color=turn.sender_color,
        round_number=turn.round,
        token_count=tokens,
        created_at=turn.created_at,
        agent_id=turn.agent_id,
        interrupted=interrupted,
        status="streaming" if turn.status == "streaming" else "",
        error=turn.error,
        superseded=turn.status == "superseded",
        trimmed=turn.trimmed,
        usage=turn.usage,
        steps=tuple(steps),
        parent_id=turn.parent,
        versions=versions,
        seconds=turn.seconds,
        continues=turn.continues,
        spoken=spoken_of(turn.spoken),
        notes=notes_of(turn.notes),
    )
