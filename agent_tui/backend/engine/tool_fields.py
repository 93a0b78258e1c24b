"""What callers say of tools, in rooms and in chats, checked."""

from __future__ import annotations

from pathlib import Path

from agent_tui.backend.engine.words import storable
from agent_tui.model.errors import Refused

MAX_TOOLS = 500
MAX_TOOL_NAME_CHARACTERS = 100


def checked_tools(tools: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of tools, each once; raises ``Refused`` (422)."""
    if len(tools) > MAX_TOOLS or any(not 0 < len(name) <= MAX_TOOL_NAME_CHARACTERS for name in tools):
        detail = f"At most {MAX_TOOLS} names of tools, each of 1 to {MAX_TOOL_NAME_CHARACTERS} characters."
        raise Refused("The enabled_tools are out of bounds", detail, status=422)
    return tuple(dict.fromkeys(map(storable, tools)))


def checked_workspace(workspace: str) -> str:
    """Return the folder that tools work in, empty for none; raises ``Refused`` (422)."""
    if not workspace:
        return ""
    folder = Path(workspace)
    if "\0" in workspace or not folder.is_absolute() or not folder.is_dir():
        detail = "Name one that exists, by its absolute path."
        raise Refused("The workspace is no folder", detail, status=422)
    return storable(workspace)
