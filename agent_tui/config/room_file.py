"""A room as a file: what `rooms new --from` reads and `rooms export --format toml` writes.

    task = "Which queue for the importer?"
    rounds = 4
    on_error = "pause"

    [[agents]]
    template = "critic"

    [[agents]]
    name = "Ada"
    prompt = "You know the importer by heart."
    model = "some-model"

A file is hostile: sizes are capped, and every error is one line with the file, the key and what is wrong.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Final

from agent_tui.config.agent_templates import Template, language_of
from agent_tui.config.file import DEMO_PROVIDER
from agent_tui.config.table import Table, read_toml
from agent_tui.config.toml_string import toml_string
from agent_tui.model.colors import hex_color
from agent_tui.model.errors import ConfigError
from agent_tui.model.events import AgentInfo, RoomInfo
from agent_tui.model.inert import inert_line
from agent_tui.model.records import AGENT_NAME, MAX_AGENTS, NAME
from agent_tui.model.settings import Setting, Values, settings_of
from agent_tui.paths import named_path

MAX_FILE_BYTES: Final = 1024 * 1024
MAX_TOOL_NAME_CHARACTERS: Final = 100
MAX_PATH_CHARACTERS: Final = 4_096

_SETTINGS: Final = [setting for setting in settings_of(RoomInfo).values() if setting.in_new]
_OF_AGENTS: Final = settings_of(AgentInfo).values()


@dataclass(frozen=True, slots=True)
class FileAgent:
    """One ``[[agents]]`` entry; empty fields come from the template, or from the server."""

    name: str = ""
    template: str = ""
    prompt: str = field(default="", repr=False)
    model: str = ""
    provider: str = ""
    color: str = ""

    def filled(self, template: Template, language: str) -> FileAgent:
        """Return the agent with its empty fields from ``template``, in ``language``."""
        name, prompt, _ = template.in_language(language)
        return FileAgent(
            self.name or name,
            self.template,
            self.prompt or prompt,
            self.model or template.model,
            self.provider or template.provider,
            self.color or template.color,
        )


@dataclass(frozen=True, slots=True)
class RoomFile:
    """A room file as it was read: ``values`` are settings of ``RoomInfo``; missing ones, and ``None``, are
    left to the server.
    """

    path: Path
    values: Values = field(default_factory=dict)
    agents: tuple[FileAgent, ...] | None = None
    warnings: tuple[str, ...] = ()


def read_room_file(path: Path) -> RoomFile:
    """Return the room in ``path``; the caller checks that it has a task.

    Raises ``ConfigError`` with one line: file, key and error.
    """
    table = Table(path, read_toml(path, MAX_FILE_BYTES))
    table.warn_of_unknown([*(setting.called for setting in _SETTINGS), "agents"], "unknown key, ignored")
    read = {setting.name: _value(table, setting) for setting in _SETTINGS}
    values = {name: value for name, value in read.items() if value is not None and value not in ("", False)}
    agents = _agents(table)
    return RoomFile(path, values, agents, tuple(f"{path}: {line}" for line in table.warnings))


def resolved(
    agents: Sequence[FileAgent], known: Sequence[Template], task: str, path: Path | None
) -> list[FileAgent]:
    """Return ``agents`` with everything from their templates, in the language of ``task``.

    ``path`` is the file that names them, ``None`` for the command line. Raises ``ConfigError`` for an unknown
    template.
    """
    by_id = {template.id: template for template in known}
    language = language_of(task)
    filled = []
    for number, agent in enumerate(agents, 1):
        if not agent.template:
            filled.append(agent)
            continue
        template = by_id.get(agent.template)
        if template is None:
            wanted = inert_line(agent.template, AGENT_NAME)
            where = "--template" if path is None else f"{path}: agents[{number}].template"
            raise ConfigError(where, f'there is no template "{wanted}"; {_names(known)}')
        filled.append(agent.filled(template, language))
    return filled


def _names(known: Sequence[Template]) -> str:
    return "known: " + ", ".join(template.id for template in known)


def room_file_text(room: RoomInfo) -> str:
    """Return ``room`` as a room file that makes the same room again."""
    lines = [(setting, _toml_value(setting, getattr(room, setting.name))) for setting in _SETTINGS]
    lines.sort(key=lambda line: not line[0].required)  # the task comes first
    blocks = ["\n".join(f"{setting.called} = {text}" for setting, text in lines if text)]
    for agent in room.agents:
        named = {setting.called: getattr(agent, setting.name) for setting in _OF_AGENTS}
        values = {field.name: named[field.name] for field in fields(FileAgent) if field.name in named}
        if agent.provider_id == DEMO_PROVIDER:
            del values["model"]
        if not hex_color(agent.color):
            del values["color"]
        blocks.append("\n".join(["[[agents]]", *(f"{k} = {toml_string(v)}" for k, v in values.items() if v)]))
    if not room.agents:
        blocks[0] += "\nagents = []"
    return "\n\n".join(blocks) + "\n"


def _toml_value(setting: Setting, value: Any) -> str:
    match value:
        case bool():
            return "true" if value else ""
        case str():
            return toml_string(value) if value and value in (setting.choices or (value,)) else ""
        case int() | float():
            return repr(setting.type(value)) if 0 < value < math.inf else ""
        case _:
            return f"[{', '.join(map(toml_string, value))}]" if value else ""


def _text(table: Table, key: str, most: float) -> str:
    value = table.text(key, most)
    return value if value.strip() else ""


def _value(table: Table, setting: Setting) -> Any:
    """Return a setting's value in the file; ``None`` or an empty one if it is left to the server."""
    key = setting.called
    if setting.type is tuple:
        return _names_of_tools(table, setting)
    if setting.type is str:
        return _folder(table, key) if setting.is_folder else _choice(table, setting)
    value = table.values.get(key)
    if value is None:
        return None
    if setting.type is bool:
        if not isinstance(value, bool):
            raise table.fail(key, "must be true or false")
        return value
    most = setting.most if setting.type is int else math.inf  # the server decides what is too much money
    fits = type(value) in (int, setting.type) and setting.least <= value <= most and value < math.inf
    if not fits:
        raise table.fail(key, setting.wanted)
    return setting.type(value)


def _choice(table: Table, setting: Setting) -> str:
    value = _text(table, setting.called, NAME if setting.choices else setting.most)
    if value and setting.choices and value not in setting.choices:
        known = ", ".join(setting.choices)
        raise table.fail(setting.called, f'is "{inert_line(value, 60)}"; known: {known}')
    return value


def _names_of_tools(table: Table, setting: Setting) -> tuple[str, ...] | None:
    key, value = setting.called, table.values.get(setting.called)
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(name, str) and name for name in value):
        raise table.fail(key, 'must be names: ["read_file", "search_files"]')
    if len(value) > setting.most or any(len(name) > MAX_TOOL_NAME_CHARACTERS for name in value):
        raise table.fail(key, f"at most {setting.most} names of {MAX_TOOL_NAME_CHARACTERS} characters")
    return tuple(value)


def _folder(table: Table, key: str) -> str:
    """Return the absolute path of a folder; a relative path begins at the file."""
    text = _text(table, key, MAX_PATH_CHARACTERS)
    if not text:
        return ""
    begins_at = Path() if text.startswith("~") else table.path.parent
    return str(named_path(begins_at / text, table.place(key), resolves=True))


def _agents(table: Table) -> tuple[FileAgent, ...] | None:
    value = table.values.get("agents")
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(entry, Mapping) for entry in value):
        raise table.fail("agents", "must be tables: [[agents]]")
    if len(value) > MAX_AGENTS:
        raise table.fail("agents", f"{len(value)} of at most {MAX_AGENTS}")
    return tuple(_agent(table.inner(f"agents[{number}]", entry)) for number, entry in enumerate(value, 1))


def _agent(table: Table) -> FileAgent:
    most = {"template": NAME, **{setting.called: setting.most for setting in _OF_AGENTS}}
    table.warn_of_unknown(most, "unknown key, ignored")
    texts = {key: _text(table, key, longest) for key, longest in most.items()}
    if not texts["name"].strip() and not texts["template"]:
        raise table.fail("name", "is missing; an agent needs a name or a template")
    if texts["color"] and not hex_color(texts["color"]):
        raise table.fail("color", "must be like #4c9be8")
    return FileAgent(**{**texts, "color": hex_color(texts["color"])})
