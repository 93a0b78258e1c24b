"""A room made from a task alone: its agents and its settings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from agent_tui.config.agent_templates import Template, language_of, templates
from agent_tui.model.inert import inert_line
from agent_tui.model.records import AGENT_NAME
from tui.forms.new_room_fields import SETTINGS, agent_of, first_value

AGENTS: Final = ("critic", "engineer", "writer")  # ids of templates: they see a task in three different ways


def quick_room(task: str) -> dict[str, Any]:
    """Return what ``RoomsClient.create`` needs for a task: three agents in its language, side by side, with
    the default provider, and a synthesis at the end. Reads files, so call it in a thread.
    """
    agents = [agent_of(one, language_of(task)) for one in _chosen(templates())]
    as_in_form = {name: first_value(SETTINGS[name]) for name in ("execution_mode", "synthesis")}
    return {"task": task, **as_in_form, "agents": agents}


def quick_names(known: Sequence[Template], language: str) -> list[str]:
    return [inert_line(one.in_language(language)[0], AGENT_NAME) for one in _chosen(known)]


def _chosen(known: Sequence[Template]) -> list[Template]:
    by_id = {template.id: template for template in known}
    return [by_id[name] for name in AGENTS if name in by_id]
