"""A room of which only the task was said: who talks about it, and how."""

from __future__ import annotations

from typing import Any, Final

from agent_tui.config.agent_templates import language_of, templates
from tui.forms.new_room_fields import agent_of

AGENTS: Final = ("critic", "engineer", "writer")  # ids of templates: they see a task in three different ways


def quick_room(task: str) -> dict[str, Any]:
    """Return what ``RoomsClient.create`` needs for a task: three agents who speak its language side by side,
    by the default provider. Reads files, so call it in a thread.
    """
    language = language_of(task)
    known = {template.id: template for template in templates()}
    agents = [agent_of(known[name], language) for name in AGENTS]
    return {"task": task, "execution_mode": "parallel", "agents": agents}
