"""The form of a room, in sections; what the server needs for a new one, from its form or its task alone."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from textual.widget import Widget
from textual.widgets import Static

from agent_tui.config.agent_templates import Template, language_of, templates
from agent_tui.model.events import AgentInfo, RoomInfo
from agent_tui.model.inert import inert_line
from agent_tui.model.records import AGENT_NAME
from agent_tui.model.settings import Setting, settings_of
from tui.forms.values import read_value, settings_in
from tui.screens.words import say

SETTINGS: Final = {name: one for name, one in settings_in(RoomInfo).items() if one.in_new}
AGENTS: Final = ("critic", "engineer", "writer")  # ids of templates: they see a task in three different ways
FIRST: Final = ("task", "name", "execution_mode", "max_rounds")  # always sent
SECTIONS: Final[Mapping[str, Sequence[str]]] = {  # of the form, below the task and the name
    "discussion": ("execution_mode", "max_rounds", "synthesis", "view"),
    "agents": (),
    "limits": ("max_tokens", "max_cost", "answer_tokens"),
    "after": ("on_error", "on_resume"),
    "tools": ("workspace", "guide"),
}


def in_sections(
    fields: Callable[[str], Iterable[Widget]], beside: Mapping[str, Iterable[Widget]]
) -> Iterator[Widget]:
    """Yield the title of each section, the ``fields`` of its settings, and what else is in it."""
    for section, names in SECTIONS.items():
        yield Static(say(f"new.section.{section}"), classes="section", markup=False)
        for name in names:
            yield from fields(name)
        yield from beside.get(section, ())


def first_value(setting: Setting) -> Any:
    """Return the initial value of a setting's field."""
    return setting.default if setting.default_in_form is None else setting.default_in_form


def read_room(
    values: Mapping[str, str], agents: list[dict[str, str]], tools: Collection[str]
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the arguments of ``RoomsClient.create`` from the ``values`` of fields; the problems by field."""
    fields: dict[str, Any] = {}
    problems: dict[str, str] = {}
    for name, setting in SETTINGS.items():
        if name not in values:
            continue  # the form has no such field
        try:
            value = read_value(setting, values[name].strip())
        except ValueError as error:
            problems[name] = str(error)
            continue
        # A default value is not sent, except the first ones: a server may have other defaults.
        if value != setting.default or (name in FIRST and value):
            fields[name] = value
    if agents:  # otherwise the server chooses
        fields["agents"] = agents
    if tools:
        fields["enabled_tools"] = list(tools)
    return fields, problems


def agent_of(template: Template, language: str, provider: str = "", model: str = "") -> dict[str, str]:
    """Return an agent for ``RoomsClient.create``; ``provider`` and ``model`` are for a template with none."""
    name, prompt, _ = template.in_language(language)
    agent = AgentInfo("", name, template.color, template.model, 0, prompt, template.provider)
    return fields_of(agent, provider, model)


def fields_of(agent: AgentInfo, provider: str, model: str) -> dict[str, str]:
    """Return an agent for ``RoomsClient.create``; ``provider`` and ``model`` are for one with none."""
    chosen = agent.provider_id or provider
    # A model belongs to a provider: with another provider it would be unknown.
    model = agent.model or (model if chosen == provider else "")
    agent = replace(agent, model=model, provider_id=chosen)
    return {name: value for name in settings_of(AgentInfo) if (value := str(getattr(agent, name)))}


def quick_room(task: str) -> dict[str, Any]:
    """Return what ``RoomsClient.create`` needs for a task: three agents in its language, side by side, with
    the default provider, and a synthesis at the end. Reads files, so call it in a thread.
    """
    agents = [agent_of(template, language_of(task)) for template in _default_agents(templates())]
    as_in_form = {name: first_value(SETTINGS[name]) for name in ("execution_mode", "synthesis")}
    return {"task": task, **as_in_form, "agents": agents}


def quick_names(offered: Sequence[Template], language: str) -> list[str]:
    names = (template.in_language(language)[0] for template in _default_agents(offered))
    return [inert_line(name, AGENT_NAME) for name in names]


def _default_agents(offered: Sequence[Template]) -> list[Template]:
    by_id = {template.id: template for template in offered}
    return [by_id[name] for name in AGENTS if name in by_id]
