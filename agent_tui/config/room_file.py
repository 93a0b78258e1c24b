"""A room as a file: what `rooms new --from` reads and `rooms export --format toml` writes.

    task = "Which queue for the importer?"
    rounds = 4
    max_cost = 0.50

    [[agents]]
    template = "critic"

    [[agents]]
    name = "Ada"
    prompt = "You know the importer by heart."
    model = "some-model"

A file is hostile: sizes are capped, and every complaint is one line with the file, the key and what is wrong.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from agent_tui.config.agent_templates import COLOR, Template, language_of, read_toml
from agent_tui.config.file import DEMO_PROVIDER
from agent_tui.config.toml_string import toml_string
from agent_tui.model.errors import ConfigError
from agent_tui.model.events import RoomInfo
from agent_tui.model.inert import inert_line

MODES: Final = ("sequential", "parallel")
ON_ERROR: Final = ("continue", "pause")
MAX_FILE_BYTES: Final = 1024 * 1024
MAX_AGENTS: Final = 64  # this and the following are the backend's own limits
MAX_ROUNDS: Final = 1_000
MAX_TASK_CHARACTERS: Final = 100_000
MAX_PROMPT_CHARACTERS: Final = 100_000
MAX_ROOM_NAME_CHARACTERS: Final = 200
MAX_AGENT_NAME_CHARACTERS: Final = 100
MAX_MODEL_CHARACTERS: Final = 200
MAX_TOKENS: Final = 10**12
MAX_ANSWER_TOKENS: Final = 10_000_000
MAX_TOOLS: Final = 500
MAX_TOOL_NAME_CHARACTERS: Final = 100
MAX_PATH_CHARACTERS: Final = 4_096

_KEYS = (
    "task",
    "name",
    "mode",
    "rounds",
    "max_tokens",
    "max_cost",
    "answer_tokens",
    "on_error",
    "keep_running",
    "tools",
    "workspace",
    "agents",
)
_AGENT_TEXTS = {
    "name": MAX_AGENT_NAME_CHARACTERS,
    "template": MAX_MODEL_CHARACTERS,
    "prompt": MAX_PROMPT_CHARACTERS,
    "model": MAX_MODEL_CHARACTERS,
    "provider": MAX_MODEL_CHARACTERS,
    "color": MAX_MODEL_CHARACTERS,
}


@dataclass(frozen=True, slots=True)
class FileAgent:
    """One ``[[agents]]`` entry; what is empty the template says, or the server."""

    name: str = ""
    template: str = ""
    prompt: str = field(default="", repr=False)
    model: str = ""
    provider: str = ""
    color: str = ""

    def filled(self, template: Template, language: str) -> FileAgent:
        """Return the agent with what it leaves out from ``template``, in ``language``."""
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
    """A room file as it was read; ``None`` and empty are left to the server."""

    path: Path
    task: str = ""
    name: str = ""
    mode: str = ""
    rounds: int | None = None
    max_tokens: int | None = None
    max_cost: float | None = None
    answer_tokens: int | None = None
    on_error: str = ""
    keep_running: bool = False
    tools: tuple[str, ...] | None = None
    workspace: str = ""  # the whole path
    agents: tuple[FileAgent, ...] | None = None
    warnings: tuple[str, ...] = ()


def read_room_file(path: Path) -> RoomFile:
    """Return the room that ``path`` describes; a missing task is the caller's to miss.

    Raises ``ConfigError`` whose one line is file, key and what is wrong.
    """
    table = read_toml(path, MAX_FILE_BYTES)
    reader = _Reader(path)
    reader.unknown(table, _KEYS, "")
    return RoomFile(
        path,
        task=reader.text(table, "task", MAX_TASK_CHARACTERS),
        name=reader.text(table, "name", MAX_ROOM_NAME_CHARACTERS),
        mode=reader.choice(table, "mode", MODES),
        rounds=reader.whole(table, "rounds", 1, MAX_ROUNDS),
        max_tokens=reader.whole(table, "max_tokens", 0, MAX_TOKENS),
        max_cost=reader.amount(table, "max_cost"),
        answer_tokens=reader.whole(table, "answer_tokens", 0, MAX_ANSWER_TOKENS),
        on_error=reader.choice(table, "on_error", ON_ERROR),
        keep_running=reader.flag(table, "keep_running"),
        tools=reader.names(table, "tools"),
        workspace=reader.folder(table, "workspace"),
        agents=reader.agents(table),
        warnings=tuple(reader.warnings),
    )


def resolved(
    agents: Sequence[FileAgent], known: Sequence[Template], task: str, path: Path | None
) -> list[FileAgent]:
    """Return ``agents`` with everything their templates say, in the language of ``task``.

    ``path`` is the file that names them, ``None`` for the command line. Raises ``ConfigError`` for a
    template that is not there.
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
            wanted = inert_line(agent.template, MAX_AGENT_NAME_CHARACTERS)
            where = "--template" if path is None else f"{path}: agents[{number}].template"
            raise ConfigError(where, f'there is no template "{wanted}"; {_names(known)}')
        filled.append(agent.filled(template, language))
    return filled


def _names(known: Sequence[Template]) -> str:
    return "known: " + ", ".join(template.id for template in known)


def room_file_text(room: RoomInfo) -> str:
    """Return ``room`` as a room file that makes the same room again."""
    top = {
        "task": toml_string(room.task),
        "name": toml_string(room.name) if room.name else "",
        "mode": toml_string(room.execution_mode) if room.execution_mode in MODES else "",
        "rounds": str(room.max_rounds) if room.max_rounds > 0 else "",
        "max_tokens": str(room.max_tokens) if room.max_tokens > 0 else "",
        "max_cost": repr(float(room.max_cost)) if 0 < room.max_cost < math.inf else "",
        "answer_tokens": str(room.answer_tokens) if room.answer_tokens > 0 else "",
        "on_error": toml_string(room.on_error) if room.on_error in ON_ERROR[1:] else "",
        "keep_running": "true" if room.keep_running else "",
        "tools": f"[{', '.join(map(toml_string, room.enabled_tools))}]" if room.enabled_tools else "",
        "workspace": toml_string(room.workspace) if room.workspace else "",
    }
    blocks = ["\n".join(f"{key} = {value}" for key, value in top.items() if value)]
    for agent in room.agents:
        is_demo = agent.provider_id == DEMO_PROVIDER
        fields = {
            "name": agent.name,
            "prompt": agent.system_prompt,
            "model": "" if is_demo else agent.model,
            "provider": agent.provider_id,
            "color": agent.color if COLOR.fullmatch(agent.color) else "",
        }
        lines = [f"{key} = {toml_string(value)}" for key, value in fields.items() if value]
        blocks.append("\n".join(["[[agents]]", *lines]))
    if not room.agents:
        blocks[0] += "\nagents = []"
    return "\n\n".join(blocks) + "\n"


class _Reader:
    """Reads one room file; every complaint names the file and the key."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.warnings: list[str] = []

    def _fail(self, key: str, detail: str) -> ConfigError:
        return ConfigError(f"{self._path}: {key}", detail)

    def unknown(self, table: Mapping[str, Any], known: Sequence[str], where: str) -> None:
        """Remember a warning for each key that means nothing."""
        self.warnings += [
            f"{self._path}: {where}{inert_line(key, 60)}: unknown key, ignored"
            for key in table
            if key not in known
        ]

    def text(self, table: Mapping[str, Any], key: str, most: int, where: str = "") -> str:
        value = table.get(key, "")
        if not isinstance(value, str):
            raise self._fail(f"{where}{key}", "must be a string")
        if len(value) > most:
            raise self._fail(f"{where}{key}", f"has {len(value):,} of at most {most:,} characters")
        return value if value.strip() else ""

    def choice(self, table: Mapping[str, Any], key: str, known: Sequence[str]) -> str:
        value = self.text(table, key, MAX_ROOM_NAME_CHARACTERS)
        if value and value not in known:
            raise self._fail(key, f'is "{inert_line(value, 60)}"; known: {", ".join(known)}')
        return value

    def whole(self, table: Mapping[str, Any], key: str, least: int, most: int) -> int | None:
        value = table.get(key)
        if value is None:
            return None
        if type(value) is not int or not least <= value <= most:
            raise self._fail(key, f"must be a whole number from {least:,} to {most:,}")
        return value

    def amount(self, table: Mapping[str, Any], key: str) -> float | None:
        value = table.get(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
            raise self._fail(key, "must be US dollars, 0 or more")
        return float(value)

    def flag(self, table: Mapping[str, Any], key: str) -> bool:
        value = table.get(key, False)
        if not isinstance(value, bool):
            raise self._fail(key, "must be true or false")
        return value

    def names(self, table: Mapping[str, Any], key: str) -> tuple[str, ...] | None:
        """Return names of tools, ``None`` where the file says nothing of them."""
        value = table.get(key)
        if value is None:
            return None
        if not isinstance(value, list) or not all(isinstance(name, str) and name for name in value):
            raise self._fail(key, 'must be names: ["read_file", "search_files"]')
        if len(value) > MAX_TOOLS or any(len(name) > MAX_TOOL_NAME_CHARACTERS for name in value):
            raise self._fail(key, f"at most {MAX_TOOLS} names of {MAX_TOOL_NAME_CHARACTERS} characters")
        return tuple(value)

    def folder(self, table: Mapping[str, Any], key: str) -> str:
        """Return a folder by its whole path; one without a root lies beside the file."""
        text = self.text(table, key, MAX_PATH_CHARACTERS)
        if not text:
            return ""
        try:
            return str((self._path.absolute().parent / Path(text).expanduser()).resolve())
        except (OSError, RuntimeError, ValueError):  # nobody is called so, links in a circle, a NUL
            raise self._fail(key, "is no folder") from None

    def agents(self, table: Mapping[str, Any]) -> tuple[FileAgent, ...] | None:
        """Return the agents, ``None`` where the file says nothing of them."""
        value = table.get("agents")
        if value is None:
            return None
        if not isinstance(value, list) or not all(isinstance(entry, Mapping) for entry in value):
            raise self._fail("agents", "must be tables: [[agents]]")
        if len(value) > MAX_AGENTS:
            raise self._fail("agents", f"{len(value)} of at most {MAX_AGENTS}")
        return tuple(self._agent(entry, f"agents[{number}].") for number, entry in enumerate(value, 1))

    def _agent(self, entry: Mapping[str, Any], where: str) -> FileAgent:
        self.unknown(entry, tuple(_AGENT_TEXTS), where)
        texts = {key: self.text(entry, key, most, where) for key, most in _AGENT_TEXTS.items()}
        if not texts["name"].strip() and not texts["template"]:
            raise self._fail(f"{where}name", "is missing; an agent needs a name or a template")
        if texts["color"] and not COLOR.fullmatch(texts["color"]):
            raise self._fail(f"{where}color", "must be like #4c9be8")
        return FileAgent(**texts)
