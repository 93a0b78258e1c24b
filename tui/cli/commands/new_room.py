"""A new room, as the command line and a room file describe it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agent_tui.config import agent_templates
from agent_tui.config.room_file import FileAgent, RoomFile, read_room_file, resolved
from agent_tui.model.errors import ConfigError
from agent_tui.model.events import RoomInfo
from agent_tui.model.settings import Values, settings_of
from agent_tui.paths import file_exists, named_path
from tui.cli import output
from tui.cli.output import PROGRAM
from tui.screens.localised import localised

SUFFIX = ".toml"
# Settings of a room that have an option.
OPTIONS = {name: setting for name, setting in settings_of(RoomInfo).items() if setting.option}


@dataclass(frozen=True, slots=True)
class NewRoom:
    """The fields for ``POST /api/rooms``; missing ``values``, and ``None``, are left to the server."""

    values: Values
    agents: tuple[FileAgent, ...] | None = None
    provider: str = ""  # for agents that name none
    strict: bool = False  # the demo model speaks only if it is named


@dataclass(frozen=True, slots=True)
class RoomOptions:
    """The command line's options for a new room, ``None`` if not given; ``values`` are settings."""

    from_file: Path | None = None
    agents: list[str] | None = None
    templates: list[str] | None = None
    provider: str | None = None
    strict: bool = False
    values: Values = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, value in self.values.items():
            setting = OPTIONS[name]
            if setting.type is float and not math.isfinite(value):
                raise ConfigError(f"{setting.option} {setting.wanted}")

    @property
    def given(self) -> list[str]:
        """The given options that only make sense for a new room."""
        values = {
            "--from": self.from_file,
            "--agent": self.agents,
            "--template": self.templates,
            "--provider": self.provider,
        }
        of_new = [OPTIONS[name].option for name in self.values if not OPTIONS[name].of_made]
        return [*(option for option, value in values.items() if value is not None), *of_new]

    @property
    def changes(self) -> dict[str, Any]:
        """The changes to an existing room before it runs, by the wire's names."""
        return {name: value for name, value in self.values.items() if OPTIONS[name].of_made}


def options_of(given: dict[str, Any]) -> RoomOptions:
    """Return the options of the command line: ``given`` is by their names, with ``None``, ``False`` or an
    empty list if not given. A folder is absolute then.
    """
    values: dict[str, Any] = {}
    for name, setting in OPTIONS.items():
        value = given.pop(setting.option[2:].replace("-", "_"))
        if isinstance(value, Path):
            value = str(named_path(value, setting.option, resolves=True))
        if value is not None and value is not False and value != []:
            values[name] = value
    return RoomOptions(**given, values=values)


def is_room_file(argument: str) -> bool:
    """Return whether an argument that could be a ROOM names a room file."""
    return argument.endswith(SUFFIX) and file_exists(Path(argument))


def room_of_options(options: RoomOptions) -> NewRoom:
    """Return the room that the options, and with lower priority a file, describe; raises ``ConfigError``."""
    file = RoomFile(Path())
    if options.from_file is not None:
        file = read_room_file(options.from_file)
        for warning in file.warnings:
            output.notice(localised(warning))
    given = {name: value for name, value in options.values.items() if value != "" or OPTIONS[name].required}
    values = {**file.values, **given}
    task = values.get("task", "")
    if not task.strip():
        if options.from_file is not None and "task" not in options.values:
            raise ConfigError(f"{options.from_file}: task", "is missing")
        raise ConfigError("a new room needs --task", f"see {PROGRAM} rooms new --help")
    return NewRoom(values, _agents(options, file, task), options.provider or "", options.strict)


def _agents(options: RoomOptions, file: RoomFile, task: str) -> tuple[FileAgent, ...] | None:
    """Return the agents of the options, else those of the file, with their templates' texts."""
    asked = [FileAgent(template=wanted.strip()) for wanted in options.templates or ()]
    asked += map(parse_agent, options.agents or ())
    agents, path = (asked, None) if asked else (file.agents, file.path)
    if agents is None:
        return None
    templates: list[agent_templates.Template] = []
    if any(agent.template for agent in agents):
        templates, warnings = agent_templates.load()
        for warning in warnings:
            output.notice(localised(warning))
    elif asked and any(not wanted.strip() for wanted in options.templates or ()):
        raise ConfigError("--template needs an ID", f"{PROGRAM} rooms templates lists them")
    return tuple(resolved(agents, templates, task, path))


def parse_agent(text: str) -> FileAgent:
    """Return the agent of ``NAME[=MODEL]``; raises ``ConfigError`` if there is no name."""
    name, _, model = text.partition("=")
    if not name.strip():
        raise ConfigError("--agent needs NAME or NAME=MODEL")
    return FileAgent(name=name.strip(), model=model.strip())
