"""The config file (cli.md, «Config file»): its place, its contents, its errors.

Read with plain code, not pydantic, because it is read before the first frame (architecture.md §3). The screen
and the backend both read it, each its own part.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from itertools import chain
from pathlib import Path
from typing import Any

from platformdirs import user_config_path, user_data_path, user_downloads_path

from agent_tui.config.table import Table, read_toml
from agent_tui.config.tools import McpConfig, ToolsConfig, read_mcp, read_tools
from agent_tui.config.voice import VoiceConfig, read_voice
from agent_tui.model.errors import ConfigError
from agent_tui.model.inert import inert_line
from agent_tui.model.records import MOST_TOKENS
from agent_tui.paths import named_path
from agent_tui.redaction import hide_secrets

APP = "agent-tui"
ROOMS, CHAT, TASKS, SOCKET = BACKEND_KINDS = ("rooms", "chat", "tasks", "socket")
# Kind of provider → its address if the config file has none; an OpenAI-compatible one may be anywhere.
PROVIDER_URLS: Mapping[str, str] = {
    "openai": "",
    "ollama": "http://127.0.0.1:11434/v1",
    "anthropic": "https://api.anthropic.com",
    "google": "https://generativelanguage.googleapis.com",
}
PROVIDER_KINDS = tuple(PROVIDER_URLS)
ENGINE_TYPES = ("claude_api", "claude_agent_sdk")  # of agent services
_KNOWN_OF_KIND = {
    ROOMS: ("paths",),
    CHAT: ("paths",),
    TASKS: ("total_timeout", "engine_type"),
    SOCKET: ("workspace", "chat_path"),
}
EMBEDDED = "embedded"  # the reserved name of the backend that we start ourselves
AGENT_PROVIDER = "backend:"  # a provider "backend:NAME" is the agent at that backend
AGENT_KINDS = (TASKS, SOCKET)
DEMO_PROVIDER = "demo"  # the reserved name of the provider without key and network
SECTIONS = ("backends", "providers", "theme", "keys", "screen", "tools", "mcp", "voice")
TABLES = tuple(name for name in SECTIONS if name != "theme")
MOTIONS = ("full", "reduced")
SCREEN_LANGUAGES = ("auto", "en", "zh-CN", "ru")
FRAME_RATES = (1, 60)  # frames a second, least and most
MAX_KEYS = 500
MOST_PRICE = 1_000_000  # US dollars per million tokens: no cost is infinite
MAX_FILE_BYTES = 16 * 1024 * 1024
_SECRET_ARGUMENT = re.compile("key|token|secret|passw|login|auth", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class BackendConfig:
    """One ``[backends.NAME]``; ``timeout`` is in seconds without a byte, ``paths`` overrides URL paths.

    For an agent service, ``timeout`` limits the answer to a POST and ``total_timeout`` a whole task. For an
    agent socket, ``workspace`` is the agent's folder on this machine ("" if it is not here), ``chat_path``
    the path of a chat (``None``: the usual one, "": ``url`` is used as it is).
    """

    name: str
    kind: str
    url: str
    token: str = field(default="", repr=False)
    token_env: str = ""
    timeout: float = 30.0
    paths: Mapping[str, str] = field(default_factory=dict)
    total_timeout: float = 120.0
    engine_type: str = ENGINE_TYPES[0]
    workspace: str = ""
    chat_path: str | None = None
    has_timeout: bool = False  # whether the file sets ``timeout``


@dataclass(frozen=True, slots=True)
class ProviderConfig:
    """One ``[providers.NAME]``; the name is the provider_id. Prices are US dollars per million tokens,
    ``None`` if the file has none; ``keyring``: the key is in the system's keyring, under this name.

    ``timeout`` is in seconds without a token; ``num_ctx`` is the context size with which Ollama loads a
    model.
    """

    name: str
    kind: str
    base_url: str = field(repr=False, metadata={"default": "that of its kind"})  # may hold a login
    model: str = ""
    api_key: str = field(default="", repr=False)
    api_key_env: str = ""
    max_tokens: int | None = None
    keyring: bool = False
    context_tokens: int | None = None
    input_price: float | None = None
    output_price: float | None = None
    timeout: float | None = None
    num_ctx: int | None = None

    def key(self) -> str:
        """Return the API key from the environment, else from the file, else "". The keyring, which comes
        between the two, may be slow and is asked by ``agent_tui.config.keys``.
        """
        return os.environ.get(self.api_key_env, "") or self.api_key


@dataclass(frozen=True, slots=True)
class ScreenConfig:
    """The ``[screen]`` table: motion, the most frames a second, whether the program uses the mouse (otherwise
    the terminal's own selection works), whether signs are ASCII (``None``: depends on the terminal), and the
    language ("auto": the locale's). ``theme`` is used if none is set before the first table.
    """

    motion: str = MOTIONS[0]
    frame_rate: int = 30
    mouse: bool = True
    ascii: bool | None = None
    language: str = SCREEN_LANGUAGES[0]
    theme: str = ""


@dataclass(frozen=True, slots=True)
class Config:
    """The whole file; ``warnings`` are lines for ``config check`` and never stop anything.

    ``keys`` is binding id → keys as they were written; ``tui.keys.keymap`` knows which of them are valid.
    """

    path: Path
    backends: Mapping[str, BackendConfig] = field(default_factory=dict)
    providers: Mapping[str, ProviderConfig] = field(default_factory=dict)
    theme: str = ""
    keys: Mapping[str, str] = field(default_factory=dict)
    screen: ScreenConfig = ScreenConfig()
    warnings: tuple[str, ...] = ()
    tools: ToolsConfig = field(default_factory=ToolsConfig)
    mcp: Mapping[str, McpConfig] = field(default_factory=dict)
    voice: VoiceConfig = field(default_factory=VoiceConfig)


def config_path() -> Path:
    """Return the config file's absolute path: ``AGENT_TUI_CONFIG`` or the user's config folder.

    Raises ``ConfigError``.
    """
    if named := os.environ.get("AGENT_TUI_CONFIG"):
        return named_path(named, "AGENT_TUI_CONFIG")
    return _own_folder(user_config_path, "AGENT_TUI_CONFIG") / "config.toml"


def missing_file() -> Path | None:
    """Return the file that ``AGENT_TUI_CONFIG`` names if it is not there; it may be misspelt."""
    path = config_path()
    return path if os.environ.get("AGENT_TUI_CONFIG") and not path.exists() else None


def data_path() -> Path:
    """Return the folder of the database: ``AGENT_TUI_DATA`` or the user's data folder.

    Raises ``ConfigError``.
    """
    named = os.environ.get("AGENT_TUI_DATA")
    return named_path(named, "AGENT_TUI_DATA") if named else _own_folder(user_data_path, "AGENT_TUI_DATA")


def _own_folder(folder_of: Callable[[str], Path], variable: str) -> Path:
    """Return the program's folder in the home folder, which some users of containers lack."""
    try:
        return folder_of(APP)
    except RuntimeError as error:
        raise ConfigError("this user has no home folder", f"set HOME or {variable}") from error


def downloads_path() -> Path:
    """Return the person's folder for downloads; one in the data folder for who has no home folder.

    Raises ``ConfigError``.
    """
    try:
        return user_downloads_path()
    except RuntimeError:
        return data_path() / "downloads"


def load(path: Path | None = None) -> Config:
    """Return the config of ``path`` (the user's by default); a missing file is an empty config.

    Raises ``ConfigError`` whose title names the file and the wrong key.
    """
    path = path or config_path()
    reader = _Reader(path, read_table(path))
    reader.refuse_unknown_tables()
    screen = _screen(reader.section("screen"))
    config = Config(
        path,
        {name: _backend(name, table) for name, table in reader.tables("backends")},
        {name: _provider(name, table) for name, table in reader.tables("providers")},
        reader.text("theme") or screen.theme,
        reader.keys(reader.section("keys").values),
        screen,
        tools=read_tools(reader.section("tools")),
        mcp={name: read_mcp(name, table) for name, table in reader.tables("mcp")},
        voice=read_voice(reader.section("voice")),
    )
    reader.warn_of_unknown(SECTIONS)
    reader.warn_if_readable()
    return replace(config, warnings=tuple(reader.warnings))


def read_table(path: Path) -> dict[str, Any]:
    """Return the file as plain tables; raises ``ConfigError`` if it cannot be read or is not TOML."""
    return read_toml(path, MAX_FILE_BYTES, is_needed=False)


class _Reader(Table):
    """The whole file."""

    def refuse_unknown_tables(self) -> None:
        """Raise ``ConfigError`` for a table that nobody knows: a ``[provider.NAME]`` means a provider, and
        the demo model must not answer in its place.
        """
        for key, value in self.values.items():
            if key not in SECTIONS and isinstance(value, Mapping):
                raise self.fail(inert_line(key, 60), f"no such table; known: {', '.join(TABLES)}")

    def section(self, key: str) -> Table:
        """Return the table ``key``; anything else there causes a warning and counts as empty."""
        section = self.values.get(key, {})
        if isinstance(section, Mapping):
            return self.inner(key, section)
        self.warnings.append(f"{key}: must be a table: [{key}]; ignored")
        return self.inner(key, {})

    def keys(self, table: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
        """Return dotted id → keys. ``room.zoom = "f5"`` without quotes around the id is a table in TOML."""
        keys: dict[str, str] = {}
        for name, value in table.items():
            where = f"{prefix}{name}"
            if isinstance(value, Mapping):
                keys |= self.keys(value, f"{where}.")
            elif not isinstance(value, str):
                self.warnings.append(f'keys.{where}: must be a string like "f5" or "ctrl+x,f5"; ignored')
            elif len(keys) < MAX_KEYS:
                keys[where] = value
        return keys

    def warn_if_readable(self) -> None:
        if not _holds_secret(self.values):
            return
        mode = self.path.stat().st_mode
        if mode & (stat.S_IRGRP | stat.S_IROTH):
            self.warnings.append(f"{self.path}: holds a secret and others may read it; chmod 600 it")


def _one_of(words: Iterable[str]) -> str:
    return "one of " + ", ".join(f'"{word}"' for word in words)


def _screen(table: Table) -> ScreenConfig:
    """Return the ``[screen]`` table; for an invalid value, a warning and the default."""
    table.warn_of_unknown([field.name for field in fields(ScreenConfig)])
    least, most = FRAME_RATES
    allowed: dict[str, tuple[Callable[[Any], bool], str]] = {
        "motion": (lambda value: value in MOTIONS, _one_of(MOTIONS)),
        "frame_rate": (
            lambda value: type(value) is int and least <= value <= most,
            f"from {least} to {most}",
        ),
        "mouse": (lambda value: isinstance(value, bool), "true or false"),
        "ascii": (lambda value: isinstance(value, bool), "true or false"),
        "language": (
            lambda value: value in SCREEN_LANGUAGES,
            _one_of(SCREEN_LANGUAGES),
        ),
        "theme": (lambda value: isinstance(value, str), "the name of a theme"),
    }
    good = {}
    for key, (fits, known) in allowed.items():
        if key in table.values and fits(table.values[key]):
            good[key] = table.values[key]
        elif key in table.values:
            table.warnings.append(f"screen.{key}: must be {known}; ignored")
    return ScreenConfig(**good)


def _kind(table: Table, kinds: tuple[str, ...]) -> str:
    kind = table.text("kind", needed=True)
    if kind not in kinds:
        raise table.fail("kind", f"is {kind!r}; known: {', '.join(kinds)}")
    return kind


def _backend(name: str, table: Table) -> BackendConfig:
    if name == EMBEDDED:
        raise table.fail("", "this name is reserved for the backend that agent-tui starts itself")
    paths = table.values.get("paths", {})
    if not isinstance(paths, Mapping) or not all(isinstance(p, str) for p in paths.values()):
        raise table.fail("paths", "must be a table of strings")
    kind = _kind(table, BACKEND_KINDS)
    known = ("kind", "url", "token", "token_env", "timeout", *_KNOWN_OF_KIND[kind])
    table.refuse_unknown({*known, *chain.from_iterable(_KNOWN_OF_KIND.values())})
    table.warn_of_unknown(known)
    values = table.values_for(BackendConfig, {field.name for field in fields(BackendConfig)} - {*known})
    if "chat_path" in known and "chat_path" in table.values:
        values["chat_path"] = table.text("chat_path")
    if values.get("engine_type", ENGINE_TYPES[0]) not in ENGINE_TYPES:
        raise table.fail("engine_type", f"must be one of {', '.join(ENGINE_TYPES)}")
    if folder := values.get("workspace"):
        values["workspace"] = str(named_path(folder, table.place("workspace")))
    schemes = ("ws://", "wss://") if kind == SOCKET else ()
    return BackendConfig(
        name, kind, table.url("url", *schemes), paths=dict(paths), has_timeout="timeout" in values, **values
    )


def _provider(name: str, table: Table) -> ProviderConfig:
    if name == DEMO_PROVIDER:
        raise table.fail("", "this name is reserved for the demo model")
    table.refuse_unknown({field.name for field in fields(ProviderConfig) if field.name != "name"})
    kind = _kind(table, PROVIDER_KINDS)
    base_url = table.url("base_url") if table.values.get("base_url") else PROVIDER_URLS[kind]
    if not base_url:
        raise table.fail("base_url", "is missing")
    if "num_ctx" in table.values and kind != "ollama":
        raise table.fail("num_ctx", 'is for providers of kind = "ollama"')
    return ProviderConfig(
        name,
        kind,
        base_url,
        max_tokens=_tokens(table, "max_tokens"),
        context_tokens=_tokens(table, "context_tokens"),
        input_price=_price(table, "input_price"),
        output_price=_price(table, "output_price"),
        timeout=table.number("timeout") if "timeout" in table.values else None,
        num_ctx=_tokens(table, "num_ctx"),
        **table.values_for(ProviderConfig),
    )


def _tokens(table: Table, key: str) -> int | None:
    if key not in table.values:
        return None
    amount = table.number(key, MOST_TOKENS)
    if not amount.is_integer():
        raise table.fail(key, "must be a whole number")
    return int(amount)


def _price(table: Table, key: str) -> float | None:
    value = table.values.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
        raise table.fail(key, "must be a number, US dollars per million tokens")
    if value > MOST_PRICE:
        raise table.fail(key, "is too large")
    return float(value)


def _holds_secret(table: Mapping[str, Any]) -> bool:
    """Return whether the file contains a secret; arguments of programs count only if they look like one."""
    servers = table.get("mcp", {})
    arguments = [server.get("args", []) for server in servers.values()]
    if any(_SECRET_ARGUMENT.search(str(argument)) for argument in chain.from_iterable(arguments)):
        return True
    without_arguments = {name: {**server, "args": []} for name, server in servers.items()}
    table = {**table, "mcp": without_arguments}
    return bool(hide_secrets(table) != table)
