"""What the calls about chats answer besides conversations and messages, read tolerantly."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from agent_tui.clients.room_answers import text_of
from agent_tui.wire.fields import listed


@dataclass(frozen=True, slots=True)
class Hit:
    """One message, or a title (no ``message_id``), that a search found; in ``snippet`` each match stands
    between U+0002 and U+0003.
    """

    conversation_id: str
    title: str = ""
    message_id: str = ""
    role: str = ""
    snippet: str = ""
    created_at: str = ""


@dataclass(frozen=True, slots=True)
class ToolInfo:
    """A tool that the server's agents may use; ``parameters`` is its JSON schema, ``permission`` "read" or
    "ask", ``source`` "built-in" or the name of an MCP server (both are empty where nobody says).
    """

    name: str
    description: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    permission: str = ""
    source: str = ""


@dataclass(frozen=True, slots=True)
class ToolServer:
    """An MCP server that the backend uses: ``status`` idle, starting, ready or failed, how many of the tools
    it ``offered`` are used, what is wrong or left out, and what helps.
    """

    name: str
    status: str = ""
    tools: int = 0
    offered: int = 0
    problem: str = ""
    fix: str = ""


@dataclass(frozen=True, slots=True)
class ToolRule:
    """Calls that somebody allowed. ``scope`` "exact": the one call of ``pattern``, in ``folder`` where it
    works in one; "wide": all that fit the pattern; "suspended": none until it is confirmed. It holds
    everywhere or in the conversation or room ``conversation_id``.
    """

    id: str
    tool: str = ""
    pattern: str = ""
    created_at: str = ""
    folder: str = ""
    scope: str = ""
    conversation_id: str = ""


def read_hits(value: object) -> list[Hit]:
    """Return the hits of ``{"hits": […]}`` or of a bare list; skips what names no conversation."""
    names = ("conversation_id", "title", "message_id", "role", "snippet", "created_at")
    hits = (Hit(*(text_of(item, name) for name in names)) for item in listed(value, "hits"))
    return [hit for hit in hits if hit.conversation_id]


def read_tools(value: object) -> list[ToolInfo]:
    """Return the tools of ``{"tools": […]}`` or of a bare list; skips what has no name."""
    read = []
    for item in listed(value, "tools"):
        parameters = item.get("parameters") if isinstance(item, Mapping) else None
        tool = ToolInfo(
            text_of(item, "name"),
            text_of(item, "description"),
            parameters if isinstance(parameters, Mapping) else {},
            text_of(item, "permission"),
            text_of(item, "source"),
        )
        if tool.name:
            read.append(tool)
    return read


def read_servers(value: object) -> list[ToolServer]:
    """Return the MCP servers of ``{"servers": […]}``, none where nothing is said of any."""
    if not isinstance(value, Mapping) or "servers" not in value:
        return []
    return [
        ToolServer(
            text_of(item, "name"),
            text_of(item, "status"),
            _count(item, "tools"),
            _count(item, "offered"),
            text_of(item, "problem"),
            text_of(item, "fix"),
        )
        for item in listed(value, "servers")
        if text_of(item, "name")
    ]


def read_rules(value: object) -> list[ToolRule]:
    """Return the rules of ``{"rules": […]}`` or of a bare list; skips what has no id."""
    names = ("id", "tool", "pattern", "created_at", "folder", "scope", "conversation_id")
    rules = (ToolRule(*(text_of(item, name) for name in names)) for item in listed(value, "rules"))
    return [rule for rule in rules if rule.id]


def _count(item: object, name: str) -> int:
    value = item.get(name) if isinstance(item, Mapping) else None
    return value if isinstance(value, int) and value > 0 else 0
