"""What requests about chats say: their bodies and the folders that they name, read and checked."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from agent_tui.backend.body import Fields, wrong_field
from agent_tui.backend.engine.chat_fields import UNSET
from agent_tui.backend.engine.chats import ConversationChange, NewConversation, Question
from agent_tui.events import Attachment

MAX_QUESTION_BYTES = 8 * 1024 * 1024  # files come with it


class Workspaces:
    """Where tools of chats may work: at or below ``roots``, or None: wherever a caller says."""

    def __init__(self, roots: Sequence[Path] | None) -> None:
        self._roots = None if roots is None else tuple(root.resolve() for root in roots)

    def checked(self, workspace: str | None) -> str | None:
        """Return the folder, where it matters without links in its path; raises ``Refused`` (422)."""
        if not workspace or self._roots is None:
            return workspace
        if "\0" in workspace or not Path(workspace).is_absolute():
            raise wrong_field("workspace", "must be an absolute path")
        try:
            folder = Path(workspace).resolve()
        except (OSError, RuntimeError):  # links in a circle
            raise wrong_field("workspace", "is no folder") from None
        if not any(folder.is_relative_to(root) for root in self._roots):
            where = ", ".join(map(str, self._roots)) or "none: the server was started without --workspace"
            raise wrong_field("workspace", f"must be a folder in one that the server allows ({where})")
        return str(folder)


def new_conversation(fields: Fields, workspaces: Workspaces) -> NewConversation:
    """Return the chat to make."""
    return NewConversation(
        title=fields.text("title") or "",
        system_prompt=fields.text("system_prompt") or "",
        model=fields.text("model") or "",
        provider_id=fields.text("provider_id") or "",
        temperature=fields.decimal("temperature"),
        thinking_enabled=fields.flag("thinking_enabled") or False,
        enabled_tools=fields.texts("enabled_tools"),
        workspace=workspaces.checked(fields.text("workspace")) or "",
        max_tokens=fields.number("max_tokens") or 0,
        max_cost=fields.decimal("max_cost") or 0.0,
    )


def conversation_change(fields: Fields, workspaces: Workspaces) -> ConversationChange:
    """Return what to change about a chat; null means none for its temperature and its tools."""
    return ConversationChange(
        title=fields.text("title"),
        system_prompt=fields.text("system_prompt"),
        model=fields.text("model"),
        provider_id=fields.text("provider_id"),
        temperature=fields.decimal("temperature") if fields.has("temperature") else UNSET,
        thinking_enabled=fields.flag("thinking_enabled"),
        enabled_tools=fields.texts("enabled_tools") if fields.has("enabled_tools") else UNSET,
        workspace=workspaces.checked(fields.text("workspace")),
        max_tokens=fields.number("max_tokens"),
        max_cost=fields.decimal("max_cost"),
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
        client_key=fields.text("client_key") or "",
    )


def _attachment(fields: Fields) -> Attachment:
    return Attachment(
        fields.needed_text("name"), fields.needed_text("content"), fields.text("type") or "text/plain"
    )
