"""What the pages say of keys, commands, settings and themes, computed from where these are declared.

A part of a page is made anew each time, but for the last column of a table of settings: that is written by
people, and kept in its row.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, fields
from pathlib import Path
from typing import Any, Final

from agent_tui.config.file import BackendConfig, ProviderConfig, ScreenConfig
from agent_tui.config.presets import PRESETS
from agent_tui.config.tools import McpConfig, ToolsConfig
from agent_tui.config.voice import VoiceAgentConfig, VoiceConfig
from agent_tui.model.events import AgentInfo, ConversationInfo, RoomInfo
from agent_tui.model.settings import Setting, settings_of
from tui.cli.declared import COMMANDS, ROOT
from tui.cli.output import PROGRAM
from tui.cli.pages import command_table, help_page
from tui.keys.keymap import SCOPES, KeymapEntry, catalogue
from tui.keys.names import names_of
from tui.live.commands import ALL, BOTH, CHAT, ROOM, VOICE
from tui.live.commands import COMMANDS as SLASH_COMMANDS
from tui.screens.words import say
from tui.themes import TERMINAL, available, load

FOLDER: Final = Path(__file__).parent
MADE: Final = re.compile(r"(<!-- made: (\S+) -->\n)(.*?)(<!-- end -->)", re.S)
# A row of settings: its name, and what people wrote of it behind the computed columns.
ROW: Final = re.compile(r"^\| `(\S+)` \|.*(?<!\\)\| (.*?) \|$", re.M)
# What the scopes of keys are called; one that is not here goes by its own name.
PLACES: Final = {
    "app": "Everywhere",
    "home": "The home screen",
    "room": "In a room",
    "pane": "While reading: rooms, chats, voice rooms",
    "composer": "While you write",
    "words": "While you write in a room",
    "find": "In the find bar",
    "chat": "In a chat",
    "ask": "Approvals",
    "voice": "In a voice room",
    "list": "The lists of rooms and of chats",
    "rooms": "Only in the list of rooms",
    "chats": "Only in the list of chats",
    "new": "The form of a new room",
    "rename": "Rename",
    "help": "The help",
    "setup": "Connect a model",
    "quit": "Quit?",
    "question": "Yes or no?",
    "queue": "Queued messages of a room",
    "settings": "The settings of a room or a chat",
    "agents": "The agents in the settings of a room",
    "agent_choice": "The agents of a new room",
    "agent_form": "The form of an agent",
    "search": "Search everything",
    "choose": "Choose from a list",
    "pager": "All of a step",
    "asked": "Everything a tool would do",
    "reason": "Why a tool may not run",
    "keep": "Always allow?",
    "tool_form": "A form of an MCP server",
    "chat_queue": "Queued questions of a chat",
    "choice": "A choice in a form",
    "picking": "A field with a list",
    "marking": "A list with marks",
}


def pages() -> list[Path]:
    """Return the pages, by name."""
    return sorted(FOLDER.glob("*.md"))


def written(text: str) -> str:
    """Return a page with its computed parts as they have to be."""
    return MADE.sub(lambda part: f"{part[1]}{MAKERS[part[2]](part[3])}\n{part[4]}", text)


def keys(_: str = "") -> str:
    """Return a table for each place that has keys: what can be pressed, what it does, the id."""
    return "\n".join(_place(scope) for scope in SCOPES)


def _place(scope: str) -> str:
    same: dict[str, list[KeymapEntry]] = {}
    for entry in catalogue():
        if entry.scope == scope:
            same.setdefault(entry.description, []).append(entry)
    rows = [
        (
            _ticked(names_of(key for entry in entries for key in entry.keys)),
            does,
            _ticked(entry.id for entry in entries),
        )
        for does, entries in same.items()
    ]
    title = PLACES.get(scope, scope.replace("_", " ").capitalize())
    return f"## {title}\n\n{_table(('key', 'does', 'id'), rows)}"


def slash_commands(_: str = "") -> str:
    """Return a row for each command of the line: where it can be given, and what it does."""
    where = {ALL: "everywhere", BOTH: "rooms and chats", ROOM: "rooms", CHAT: "chats", VOICE: "voice rooms"}
    rows = [(f"`/{one.name}`", where[one.kinds], say(f"command.{one.name}")) for one in SLASH_COMMANDS]
    return _table(("command", "in", "does"), rows)


def presets(_: str = "") -> str:
    """Return a row for each provider that is known: where it is, and where its key is looked for."""
    rows = [
        (one.label, f"`{one.base_url}`", _ticked(one.variables) or "none is needed")
        for one in PRESETS.values()
    ]
    return _table(("provider", "address", "key"), rows)


def help_pages(_: str = "") -> str:
    """Return the help page of the program and those of its commands."""
    parts = (
        f"## {PROGRAM} {path}".rstrip() + f"\n\n```text\n{help_page(path)}```\n" for path in (ROOT, *COMMANDS)
    )
    return "\n".join(parts)


def themes(_: str = "") -> str:
    """Return a row for each ground that themes write on: those that do."""
    grounds: dict[str, list[str]] = {}
    for name in available():
        grounds.setdefault(_ground(name), []).append(name)
    return _table(("ground", "themes"), [(ground, _ticked(names)) for ground, names in grounds.items()])


def _ground(theme: str) -> str:
    return "the terminal's own" if theme == TERMINAL else "dark" if load(theme).dark else "light"


def config(*records: type, without: Sequence[str] = ()) -> Callable[[str], str]:
    """Return what makes the table of a part of the config file: the keys and defaults of its record."""

    def made(before: str) -> str:
        kept = _kept(before)
        rows = [
            (f"`{one.name}`", _default(one), kept.get(one.name, ""))
            for record in records
            for one in fields(record)
            if one.name not in ("name", *without) or record is VoiceAgentConfig
        ]
        return _table(("key", "default", "means"), rows)

    return made


def settings(record: type) -> Callable[[str], str]:
    """Return what makes the table of the settings of rooms, chats or agents."""

    def made(before: str) -> str:
        kept = _kept(before)
        rows = [
            (f"`{one.name}`", *_set(one, record), _values(one), kept.get(one.name, ""))
            for one in settings_of(record).values()
        ]
        return _table(("over HTTP", *_WAYS[record], "can be", "means"), rows)

    return made


_SAID: Final[Mapping[type, str]] = {bool: "true or false", tuple: "names", str: "text"}
_WAYS: Final[Mapping[type, Sequence[str]]] = {
    RoomInfo: ("in a room file", "option"),
    AgentInfo: ("in a room file",),
    ConversationInfo: (),
}


def _set(one: Setting, record: type) -> tuple[str, ...]:
    """Return what a setting is called where it can be set, besides HTTP."""
    in_file = f"`{one.called}`" if one.in_new else ""
    ways = (in_file, f"`{one.option}`" if one.option else "")
    return ways[: len(_WAYS[record])]


def _values(one: Setting) -> str:
    """Return what a setting can be."""
    if one.choices:
        *choices, last = (f"`{choice}`" for choice in one.choices)
        return f"{', '.join(choices)} or {last}"
    if one.type in (int, float):
        return one.bounds
    said = "a folder" if one.is_folder else "`#rgb` or `#rrggbb`" if one.is_color else _SAID[one.type]
    return f"{said}, or null" if one.nullable else said


def _kept(before: str) -> dict[str, str]:
    return {row[1]: row[2] for row in ROW.finditer(before)}


def _default(one: Field[Any]) -> str:
    """Return the default of a key as the file has it."""
    match one.default:
        case value if value is MISSING:
            required = one.metadata.get("default", "required")
            return required if one.default_factory is MISSING else "none"
        case None | "" | ():
            return "none"
        case bool():
            return f"`{str(one.default).lower()}`"
        case float():
            return f"`{one.default:g}`"
        case str():
            return f'`"{one.default}"`'
        case _:
            return f"`{one.default}`"


def _ticked(names: Iterable[str]) -> str:
    return " ".join(f"`{name}`".replace("|", "\\|") for name in names)


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of Markdown."""
    return "".join(f"{line}\n" for line in _lines(heads, rows))


def _lines(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(heads)} |"
    yield "|" + "---|" * len(heads)
    for row in rows:
        yield f"| {' | '.join(row)} |"


MAKERS: Final[Mapping[str, Callable[[str], str]]] = {
    "keys": keys,
    "commands": lambda _: command_table(),
    "slash-commands": slash_commands,
    "presets": presets,
    "help-pages": help_pages,
    "themes": themes,
    "config-screen": config(ScreenConfig),
    "config-providers": config(ProviderConfig),
    "config-backends": config(BackendConfig, without=("has_timeout",)),
    "config-tools": config(ToolsConfig),
    "config-mcp": config(McpConfig),
    "config-voice": config(VoiceConfig, without=("agent",)),
    "config-voice-agent": config(VoiceAgentConfig),
    "settings-room": settings(RoomInfo),
    "settings-agent": settings(AgentInfo),
    "settings-chat": settings(ConversationInfo),
}
