"""What requests about chats say: their bodies and the folders that they name, read and checked."""

from __future__ import annotations

from agent_tui.backend.engine.chat_asks import Word
from agent_tui.backend.engine.chat_fields import UNSET
from agent_tui.backend.engine.chats import ConversationChange, NewConversation, Question, Recorded
from agent_tui.backend.http.body import Fields
from agent_tui.backend.http.workspaces import Workspaces
from agent_tui.model.events import Attachment, Spoken

SPOKEN_TIMES = ("started_at", "ended_at", "hearing", "end_of_turn", "model", "voice", "whole")
MAX_QUESTION_BYTES = 8 * 1024 * 1024  # files come with it


def new_conversation(fields: Fields, workspaces: Workspaces) -> NewConversation:
    """Return the chat to make."""
    return NewConversation(
        title=fields.text("title") or "",
        system_prompt=fields.text("system_prompt") or "",
        model=fields.text("model") or "",
        provider_id=fields.text("provider_id") or "",
        temperature=fields.decimal("temperature"),
        thinking_enabled=fields.flag("thinking_enabled"),
        enabled_tools=fields.texts("enabled_tools"),
        workspace=workspaces.checked(fields.text("workspace")) or "",
        max_tokens=fields.number("max_tokens") or 0,
        max_cost=fields.decimal("max_cost") or 0.0,
        answer_tokens=fields.number("answer_tokens") or 0,
        kind=fields.text("kind") or "chat",
        client_key=fields.text("client_key") or "",
    )


def conversation_change(fields: Fields, workspaces: Workspaces) -> ConversationChange:
    """Return what to change about a chat; null means the model's own temperature and
    thinking, and the tools that need not be asked for."""
    return ConversationChange(
        title=fields.text("title"),
        system_prompt=fields.text("system_prompt"),
        model=fields.text("model"),
        provider_id=fields.text("provider_id"),
        temperature=fields.decimal("temperature") if fields.has("temperature") else UNSET,
        thinking_enabled=fields.flag("thinking_enabled") if fields.has("thinking_enabled") else UNSET,
        enabled_tools=fields.texts("enabled_tools") if fields.has("enabled_tools") else UNSET,
        workspace=workspaces.checked(fields.text("workspace")),
        max_tokens=fields.number("max_tokens"),
        max_cost=fields.decimal("max_cost"),
        answer_tokens=fields.number("answer_tokens"),
        archived=fields.flag("archived"),
        head=fields.text("head"),
    )


def question(fields: Fields) -> Question:
    """Return what is asked."""
    return Question(
        content=fields.text("content") or "",
        attachments=tuple(_attachment(one) for one in fields.objects("attachments") or ()),
        thinking=fields.flag("thinking_enabled"),
        tools=fields.texts("enabled_tools"),
        parent_id=fields.text("parent_id"),
        again=fields.text("again") or "",
        continues=fields.text("continues") or "",
        client_key=fields.text("client_key") or "",
    )


def recorded(fields: Fields) -> Recorded:
    """Return what was said in a voice session."""
    spoken = fields.object("spoken") or Fields({})
    return Recorded(
        spoken=Spoken(spoken.text("text") or "", **{name: spoken.decimal(name) for name in SPOKEN_TIMES}),
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


def word_of(fields: Fields) -> Word:
    """Return what a person says to a call that asks, in a chat or a room."""
    return Word(
        fields.needed_text("decision"),
        fields.text("pattern") or "",
        fields.text("reason") or "",
        fields.mapping("values") or {},
    )
