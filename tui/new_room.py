"""A room to be made, as the command line and a room file describe it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

from agent_tui.config import agent_templates
from agent_tui.config.room_file import FileAgent, RoomFile, read_room_file, resolved
from agent_tui.model.errors import ConfigError
from tui import output
from tui.output import PROGRAM

Mode = Literal["sequential", "parallel"]
OnError = Literal["continue", "pause"]
SUFFIX = ".toml"


@dataclass(frozen=True, slots=True)
class NewRoom:
    """The fields of ``POST /api/rooms``; ``None`` is left to the server."""

    task: str
    name: str = ""
    agents: tuple[FileAgent, ...] | None = None
    rounds: int | None = None
    mode: Mode | None = None
    keep_running: bool = False
    max_tokens: int | None = None
    max_cost: float | None = None
    answer_tokens: int | None = None
    on_error: OnError | None = None
    tools: tuple[str, ...] | None = None
    workspace: str = ""  # the whole path
    provider: str = ""  # of agents that name none
    strict: bool = False  # the demo model speaks only where it is named


@dataclass(frozen=True, slots=True)
class RoomOptions:
    """What the command line says about a new room; ``None`` where it says nothing."""

    from_file: Path | None = None
    task: str | None = None
    name: str | None = None
    agents: list[str] | None = None
    templates: list[str] | None = None
    provider: str | None = None
    rounds: int | None = None
    mode: Mode | None = None
    keep_running: bool = False
    max_tokens: int | None = None
    max_cost: float | None = None
    on_error: OnError | None = None
    tools: list[str] | None = None
    workspace: Path | None = None
    strict: bool = False

    def __post_init__(self) -> None:
        if self.max_cost is not None and not math.isfinite(self.max_cost):
            raise ConfigError("--max-cost must be US dollars, 0 or more")

    @property
    def given(self) -> list[str]:
        """The options that only mean something for a room that is made."""
        values = {
            "--from": self.from_file,
            "--task": self.task,
            "--name": self.name,
            "--agent": self.agents,
            "--template": self.templates,
            "--provider": self.provider,
            "--rounds": self.rounds,
            "--mode": self.mode,
        }
        return [option for option, value in values.items() if value is not None]

    @property
    def folder(self) -> str:
        """The folder of the tools by its whole path, "" where none is named."""
        return "" if self.workspace is None else str(self.workspace.expanduser().resolve())

    @property
    def changes(self) -> dict[str, Any]:
        """What a room that is there already is told before it runs, by the wire's names."""
        values: dict[str, Any] = {
            "max_tokens": self.max_tokens,
            "max_cost": self.max_cost,
            "on_error": self.on_error,
        }
        values |= {"enabled_tools": self.tools or None, "workspace": self.folder or None}
        told = {field: value for field, value in values.items() if value is not None}
        return {**told, "keep_running": True} if self.keep_running else told


def is_room_file(argument: str) -> bool:
    """Say whether an argument that could be a ROOM names a file that describes one."""
    return argument.endswith(SUFFIX) and Path(argument).is_file()


def described(options: RoomOptions) -> NewRoom:
    """Return the room that file and options describe, the options being the stronger.

    Warns on stderr of what means nothing in the file. Raises ``ConfigError`` for everything that is wrong.
    """
    file = RoomFile(Path())
    if options.from_file is not None:
        file = read_room_file(options.from_file)
        for warning in file.warnings:
            output.notice(warning)
    task = file.task if options.task is None else options.task
    if not task.strip():
        raise _no_task(options)
    return NewRoom(
        task,
        options.name or file.name,
        _agents(options, file, task),
        file.rounds if options.rounds is None else options.rounds,
        options.mode or cast("Mode | None", file.mode or None),
        options.keep_running or file.keep_running,
        file.max_tokens if options.max_tokens is None else options.max_tokens,
        file.max_cost if options.max_cost is None else options.max_cost,
        file.answer_tokens,
        options.on_error or cast("OnError | None", file.on_error or None),
        tuple(options.tools) if options.tools else file.tools,
        options.folder or file.workspace,
        options.provider or "",
        options.strict,
    )


def _no_task(options: RoomOptions) -> ConfigError:
    if options.from_file is not None and options.task is None:
        return ConfigError(f"{options.from_file}: task", "is missing")
    return ConfigError("a new room needs --task", f"see {PROGRAM} rooms new --help")


def _agents(options: RoomOptions, file: RoomFile, task: str) -> tuple[FileAgent, ...] | None:
    """Return the agents of the options, else those of the file, with what their templates say."""
    asked = [FileAgent(template=wanted.strip()) for wanted in options.templates or ()]
    asked += map(parse_agent, options.agents or ())
    agents, path = (asked, None) if asked else (file.agents, file.path)
    if agents is None:
        return None
    known: list[agent_templates.Template] = []
    if any(agent.template for agent in agents):
        known, warnings = agent_templates.load()
        for warning in warnings:
            output.notice(warning)
    elif asked and any(not wanted.strip() for wanted in options.templates or ()):
        raise ConfigError("--template needs an ID", f"{PROGRAM} rooms templates lists them")
    return tuple(resolved(agents, known, task, path))


def parse_agent(text: str) -> FileAgent:
    """Return the agent of ``NAME[=MODEL]``; raises ``ConfigError`` when there is no name."""
    name, _, model = text.partition("=")
    if not name.strip():
        raise ConfigError("--agent needs NAME or NAME=MODEL")
    return FileAgent(name=name.strip(), model=model.strip())
