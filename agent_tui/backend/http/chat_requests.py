"""Reads and checks requests about chats: their bodies and folders."""

from __future__ import annotations

from typing import Any

from agent_tui.backend.engine.answer.asks import AskDecision
from agent_tui.backend.engine.chats.fields import QuestionFields, RecordedSpeech
from agent_tui.backend.http.body import Fields
from agent_tui.backend.http.room_requests import settings
from agent_tui.backend.http.workspaces import Workspaces
from agent_tui.model.events import Attachment, ConversationInfo, SpeechRecord

SPOKEN_TIMES = ("started_at", "ended_at", "hearing", "end_of_turn", "model", "voice", "whole")
MAX_QUESTION_BYTES = 8 * 1024 * 1024  # files are part of it


def new_conversation(fields: Fields, workspaces: Workspaces) -> dict[str, Any]:
    """Return the chat to make, as ``Engine.create`` takes it."""
    new = settings(fields, ConversationInfo, workspaces, is_new=True)
    return new | {"kind": fields.text("kind"), "client_key": fields.text("client_key")}


def conversation_change(fields: Fields, workspaces: Workspaces) -> dict[str, Any]:
    """Return the changes of a chat, as ``Engine.change`` takes them."""
    return settings(fields, ConversationInfo, workspaces)


def question(fields: Fields) -> QuestionFields:
    """Return the question."""
    return QuestionFields(
        content=fields.text("content") or "",
        attachments=tuple(_attachment(file) for file in fields.objects("attachments") or ()),
        thinking=fields.flag("thinking_enabled"),
        tools=fields.texts("enabled_tools"),
        parent_id=fields.text("parent_id"),
        again=fields.text("again") or "",
        continues=fields.text("continues") or "",
        client_key=fields.text("client_key") or "",
    )


def recorded(fields: Fields) -> RecordedSpeech:
    """Return what was said in a voice session."""
    spoken = fields.object("spoken") or Fields({})
    return RecordedSpeech(
        spoken=SpeechRecord(
            spoken.text("text") or "", **{name: spoken.decimal(name) for name in SPOKEN_TIMES}
        ),
        message_id=fields.text("message_id") or "",
        client_key=fields.text("client_key") or "",
        role=fields.text("role") or "",
        content=fields.text("content") or "",
        speaker=fields.text("speaker") or "",
        is_cut=fields.flag("interrupted") or False,
    )


def _attachment(fields: Fields) -> Attachment:
    return Attachment(
        fields.needed_text("name"), fields.needed_text("content"), fields.text("type") or "text/plain"
    )


def decision_of(fields: Fields) -> AskDecision:
    """Return a person's decision about a call that asks, in a chat or a room."""
    return AskDecision(
        fields.needed_text("decision"),
        fields.text("pattern") or "",
        fields.text("reason") or "",
        fields.mapping("values") or {},
    )
