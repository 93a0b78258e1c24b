"""Stored rows of chats as messages: what ``GET …/messages`` answers and the log's ``message`` says."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from agent_tui.backend.store.messages import notes_of
from agent_tui.backend.store.rows import TurnRow, UserSaid
from agent_tui.model.chains import said_in
from agent_tui.model.events import Attachment, Message, Spoken, Step
from agent_tui.wire.chat_encode import answer_content, question_content, spoken_fields
from agent_tui.wire.rooms_encode import token_count


def attachments_text(attachments: Sequence[Attachment]) -> str:
    """Return attachments as they are stored; empty for none."""
    return json.dumps([asdict(one) for one in attachments], ensure_ascii=False) if attachments else ""


def attachments_of(stored: str) -> tuple[Attachment, ...]:
    """Return what ``attachments_text`` stored."""
    found: list[dict[str, Any]] = json.loads(stored) if stored else []
    return tuple(Attachment(**one) for one in found)


def spoken_text(spoken: Spoken) -> str:
    """Return how a message was spoken as it is stored: what is known of it."""
    return json.dumps(spoken_fields(spoken), ensure_ascii=False)


def spoken_of(stored: str) -> Spoken | None:
    """Return what ``spoken_text`` stored; None for a message that was not spoken."""
    return Spoken(**json.loads(stored)) if stored else None


def as_heard(message: Message) -> Message:
    """Return an answer as far as it was heard: a person who cut in knows nothing of the rest."""
    if message.spoken is None or not message.spoken.text or message.role == "user":
        return message
    last = max((place for place, step in enumerate(message.steps) if step.type == "text"), default=-1)
    steps = tuple(
        replace(step, content=message.spoken.text if place == last else "") if step.type == "text" else step
        for place, step in enumerate(message.steps)
    )
    return replace(message, text=message.spoken.text, steps=steps)


def question_message(room_id: str, said: UserSaid, versions: tuple[str, ...] = ()) -> Message:
    """Return a person's message of a chat."""
    attachments = attachments_of(said.attachments)
    return Message(
        id=said.id,
        room_id=room_id,
        role="user",
        content=question_content(said.text, attachments),
        text=said.text,
        sender_name=said.sender_name,
        sender_color=said.sender_color,
        round_number=said.round,
        token_count=token_count(said.text),
        created_at=said.created_at,
        attachments=attachments,
        parent_id=said.parent,
        versions=versions,
        spoken=spoken_of(said.spoken),
    )


def answer_message(
    room_id: str, turn: TurnRow, steps: tuple[Step, ...], versions: tuple[str, ...] = ()
) -> Message:
    """Return an answer; its ``sender_name`` is the model's name, its ``token_count`` the provider's count of
    completion tokens, 0 where it is unknown (protocols.md §2).
    """
    text = turn.text or said_in(steps)
    return Message(
        id=turn.message_id,
        room_id=room_id,
        role="assistant",
        content=answer_content(text, steps),
        text=text,
        sender_name=turn.model,
        sender_color=turn.sender_color,
        round_number=turn.round,
        token_count=turn.completion_tokens,
        created_at=turn.created_at,
        agent_id=turn.agent_id,
        interrupted=turn.reason,
        status="streaming" if turn.status == "streaming" else "",
        error=turn.error,
        trimmed=turn.trimmed,
        usage=turn.usage,
        steps=steps,
        parent_id=turn.parent,
        versions=versions,
        seconds=turn.seconds,
        continues=turn.continues,
        spoken=spoken_of(turn.spoken),
        notes=notes_of(turn.notes),
    )
