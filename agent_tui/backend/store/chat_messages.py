"""Stored rows of chats as messages: what ``GET …/messages`` answers and the log's ``message`` says."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from agent_tui.backend.store.rows import TurnRow, UserSaid
from agent_tui.chains import said_in
from agent_tui.events import Attachment, Message, Step
from agent_tui.wire.chat_encode import answer_content, question_content
from agent_tui.wire.rooms_encode import token_count


def attachments_text(attachments: Sequence[Attachment]) -> str:
    """Return attachments as they are stored; empty for none."""
    return json.dumps([asdict(one) for one in attachments], ensure_ascii=False) if attachments else ""


def attachments_of(stored: str) -> tuple[Attachment, ...]:
    """Return what ``attachments_text`` stored."""
    found: list[dict[str, Any]] = json.loads(stored) if stored else []
    return tuple(Attachment(**one) for one in found)


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
    )
