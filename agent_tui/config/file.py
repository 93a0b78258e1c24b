"""The config file (cli.md, «Config file»): where it is, what it says, what is wrong with it.

Read with plain code, not pydantic, because it is read before the first frame (architecture.md §3).
The screen and the backend both read it, each its own part.
"""

from __future__ import annotations

import math
import os
import re
import stat
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from platformdirs import user_config_path, user_data_path

from agent_tui.config.tools import McpConfig, ToolsConfig, read_mcp, read_tools
from agent_tui.config.voice import VoiceConfig, read_voice
from agent_tui.model.errors import ConfigError
from agent_tui.redaction import hide_secrets

APP = "agent-tui"
ROOMS, CHAT, TASKS, SOCKET = BACKEND_KINDS = ("rooms", "chat", "tasks", "socket")
# Kind of provider → where it is when the config file does not say; an OpenAI-compatible one may be anywhere.
PROVIDER_URLS: Mapping[str, str] = {
    "openai": "",
    "ollama": "http://127.0.0.1:11434/v1",
    "anthropic": "https://api.anthropic.com",
    "google": "https://generativelanguage.googleapis.com",
}
PROVIDER_KINDS = tuple(PROVIDER_URLS)
_KNOWN_OF_KIND = {
    ROOMS: ("paths",),
    CHAT: ("paths",),
    TASKS: ("total_timeout", "engine_type"),
    SOCKET: ("workspace", "chat_path"),
}
EMBEDDED = "embedded"  # the reserved name of the backend that we start ourselves
AGENT_PROVIDER = "backend:"  # a provider of that and a backend's name is the agent that answers there
AGENT_KINDS = (TASKS, SOCKET)
DEMO_PROVIDER = "demo"  # the reserved name of the provider that needs no key and no network
SECTIONS = ("backends", "providers", "theme", "keys", "screen", "tools", "mcp", "voice")
MOTIONS = ("full", "reduced")
FRAME_RATES = (1, 60)  # frames a second, least and most
MAX_KEYS = 500
_SECRET_ARGUMENT = re.compile("key|token|secret|passw|login|auth", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class BackendConfig:
    """One ``[backends.NAME]``; ``timeout`` is in seconds without a byte, ``paths`` overrides URL paths.

    Of an agent service, ``timeout`` bounds the answer to a POST and ``total_timeout`` a whole task. Of an
    agent socket, ``workspace`` is where the agent's folder is on this machine ("": nowhere), ``chat_path``
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
    engine_type: str = "claude_api"
    workspace: str = ""
    chat_path: str | None = None


@dataclass(frozen=True, slots=True)
class ProviderConfig:
    """One ``[providers.NAME]``; the name is the provider_id. Prices are US dollars per million tokens,
    None where the file names none; ``keyring``: the key is kept by the system, under this name.
    ``timeout`` is in seconds without a token; ``num_ctx`` is what Ollama is to load a model with.
    """

    name: str
    kind: str
    base_url: str = field(repr=False)  # may hold a login
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
        """Return the API key as the environment, else the file has it, else empty; the keyring, which
        comes between the two, may take its time and is asked by ``agent_tui.config.keys``.
        """
        return os.environ.get(self.api_key_env, "") or self.api_key


@dataclass(frozen=True, slots=True)
class ScreenConfig:
    """The ``[screen]`` table: how much moves, frames a second at most, whether the mouse is the program's
    (else the terminal's own selection works), and whether signs are ASCII (``None``: as the terminal can).
    """

    motion: str = MOTIONS[0]
    frame_rate: int = 30
    mouse: bool = True
    ascii: bool | None = None


@dataclass(frozen=True, slots=True)
class Config:
    """The whole file; ``warnings`` are lines for ``config check`` and never stop anything.

    ``keys`` is binding id → keys as they were written; ``tui.keys.keymap`` knows which of them mean
    something.
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
    """Return the config file's absolute path: ``AGENT_TUI_CONFIG`` or the user's config folder."""
    named = os.environ.get("AGENT_TUI_CONFIG")
    return Path(named).expanduser().absolute() if named else user_config_path(APP) / "config.toml"


def data_path() -> Path:
    """Return the folder of the database: ``AGENT_TUI_DATA`` or the user's data folder."""
    named = os.environ.get("AGENT_TUI_DATA")
    return Path(named).expanduser().absolute() if named else user_data_path(APP)


def load(path: Path | None = None) -> Config:
    """Return the config of ``path`` (the user's by default); a missing file is an empty config.

    Raises ``ConfigError`` whose title names the file and the key that is wrong.
    """
    path = path or config_path()
    table = read_table(path)
    reader = _Reader(path)
    backends = {name: reader.backend(name, entry) for name, entry in reader.tables(table, "backends")}
    providers = {name: reader.provider(name, entry) for name, entry in reader.tables(table, "providers")}
    theme = reader.text(table, "theme", "theme")
    keys = reader.keys(reader.table(table, "keys"))
    screen = reader.screen(reader.table(table, "screen"))
    tools = read_tools(reader.table(table, "tools"), reader.fail, reader.warnings)
    mcp = {
        name: read_mcp(name, entry, reader.fail, reader.warnings)
        for name, entry in reader.tables(table, "mcp")
    }
    voice = read_voice(reader.table(table, "voice"), reader.fail, reader.warnings)
    reader.warnings += [f"{key}: unknown setting, ignored" for key in table if key not in SECTIONS]
    reader.warn_if_readable(table)
    return Config(path, backends, providers, theme, keys, screen, tuple(reader.warnings), tools, mcp, voice)


def read_table(path: Path) -> dict[str, Any]:
    """Return the file as plain tables; raises ``ConfigError`` when it cannot be read or is no TOML."""
    try:
        with path.open("rb") as file:
            return tomllib.load(file)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: not valid TOML", str(error)) from error
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read", error.strerror or str(error)) from error


class _Reader:
    """Reads one file's tables; every complaint names the file and the dotted key."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.warnings: list[str] = []

    def fail(self, key: str, detail: str) -> ConfigError:
        return ConfigError(f"{self._path}: {key}", detail)

    def tables(self, table: Mapping[str, Any], key: str) -> list[tuple[str, Mapping[str, Any]]]:
        section = table.get(key, {})
        if not isinstance(section, Mapping):
            raise self.fail(key, f"must be tables like [{key}.NAME]")
        for name, entry in section.items():
            if not isinstance(entry, Mapping):
                raise self.fail(f"{key}.{name}", f"must be a table: [{key}.{name}]")
        return list(section.items())

    def table(self, table: Mapping[str, Any], key: str) -> Mapping[str, Any]:
        """Return the table ``key``; what else stands there is warned about and counts as empty."""
        section = table.get(key, {})
        if isinstance(section, Mapping):
            return section
        self.warnings.append(f"{key}: must be a table: [{key}]; ignored")
        return {}

    def keys(self, table: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
        """Return dotted id → keys. ``room.zoom = "f5"`` without quotes around the id is a table to TOML."""
        found: dict[str, str] = {}
        for name, value in table.items():
            where = f"{prefix}{name}"
            if isinstance(value, Mapping):
                found |= self.keys(value, f"{where}.")
            elif not isinstance(value, str):
                self.warnings.append(f'keys.{where}: must be a string like "f5" or "ctrl+x,f5"; ignored')
            elif len(found) < MAX_KEYS:
                found[where] = value
        return found

    def screen(self, table: Mapping[str, Any]) -> ScreenConfig:
        """Return the ``[screen]`` table; what is wrong in it is warned about and left as it is by default."""
        self._unknown(table, "screen", ("motion", "frame_rate", "mouse", "ascii"))
        least, most = FRAME_RATES
        allowed: dict[str, tuple[Callable[[Any], bool], str]] = {
            "motion": (lambda value: value in MOTIONS, " or ".join(f'"{motion}"' for motion in MOTIONS)),
            "frame_rate": (lambda value: type(value) is int and least <= value <= most, f"{least} to {most}"),
            "mouse": (lambda value: isinstance(value, bool), "true or false"),
            "ascii": (lambda value: isinstance(value, bool), "true or false"),
        }
        good = {}
        for key, (fits, known) in allowed.items():
            if key in table and fits(table[key]):
                good[key] = table[key]
            elif key in table:
                self.warnings.append(f"screen.{key}: must be {known}; ignored")
        return ScreenConfig(**good)

    def text(self, table: Mapping[str, Any], key: str, where: str, *, needed: bool = False) -> str:
        value = table.get(key, "")
        if not isinstance(value, str):
            raise self.fail(where, "must be a string")
        if needed and not value:
            raise self.fail(where, "is missing")
        return value

    def number(self, table: Mapping[str, Any], key: str, where: str, default: float) -> float:
        value = table.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
            raise self.fail(where, "must be a number above 0")
        return float(value)

    def _kind(self, entry: Mapping[str, Any], where: str, kinds: tuple[str, ...]) -> str:
        kind = self.text(entry, "kind", f"{where}.kind", needed=True)
        if kind not in kinds:
            raise self.fail(f"{where}.kind", f"is {kind!r}; known: {', '.join(kinds)}")
        return kind

    def _unknown(self, entry: Mapping[str, Any], where: str, known: tuple[str, ...]) -> None:
        self.warnings += [f"{where}.{key}: unknown setting, ignored" for key in entry if key not in known]

    def _url(self, entry: Mapping[str, Any], key: str, where: str, more: tuple[str, ...] = ()) -> str:
        url = self.text(entry, key, f"{where}.{key}", needed=True)
        if not url.startswith(("http://", "https://", *more)):
            raise self.fail(f"{where}.{key}", "must begin with http:// or https://")
        return url

    def backend(self, name: str, entry: Mapping[str, Any]) -> BackendConfig:
        where = f"backends.{name}"
        if name == EMBEDDED:
            raise self.fail(where, "this name is reserved for the backend that agent-tui starts itself")
        paths = entry.get("paths", {})
        if not isinstance(paths, Mapping) or not all(isinstance(p, str) for p in paths.values()):
            raise self.fail(f"{where}.paths", "must be a table of strings")
        kind = self._kind(entry, where, BACKEND_KINDS)
        known = ("kind", "url", "token", "token_env", "timeout", *_KNOWN_OF_KIND[kind])
        self._unknown(entry, where, known)
        taken = {key: value for key, value in entry.items() if key in known}
        default = BackendConfig(name, kind, "")
        return BackendConfig(
            name,
            kind,
            self._url(entry, "url", where, ("ws://", "wss://") if kind == SOCKET else ()),
            self.text(entry, "token", f"{where}.token"),
            self.text(entry, "token_env", f"{where}.token_env"),
            self.number(entry, "timeout", f"{where}.timeout", 30.0),
            dict(paths),
            self.number(taken, "total_timeout", f"{where}.total_timeout", default.total_timeout),
            self.text(taken, "engine_type", f"{where}.engine_type") or default.engine_type,
            self.text(taken, "workspace", f"{where}.workspace"),
            self.text(taken, "chat_path", f"{where}.chat_path") if "chat_path" in taken else None,
        )

    def provider(self, name: str, entry: Mapping[str, Any]) -> ProviderConfig:
        where = f"providers.{name}"
        if name == DEMO_PROVIDER:
            raise self.fail(where, "this name is reserved for the demo model")
        known = tuple(one.name for one in fields(ProviderConfig) if one.name != "name")
        self._unknown(entry, where, known)
        kind = self._kind(entry, where, PROVIDER_KINDS)
        if not entry.get("base_url"):
            entry = {**entry, "base_url": PROVIDER_URLS[kind]}
        most = self._whole(entry, "max_tokens", where, 0)
        keyring = entry.get("keyring", False)
        if not isinstance(keyring, bool):
            raise self.fail(f"{where}.keyring", "must be true or false")
        return ProviderConfig(
            name,
            kind,
            self._url(entry, "base_url", where),
            self.text(entry, "model", f"{where}.model"),
            self.text(entry, "api_key", f"{where}.api_key"),
            self.text(entry, "api_key_env", f"{where}.api_key_env"),
            most or None,
            keyring,
            self._whole(entry, "context_tokens", where, 0) or None,
            self._price(entry, "input_price", where),
            self._price(entry, "output_price", where),
            self._timeout(entry, where),
            self._num_ctx(entry, kind, where),
        )

    def _timeout(self, entry: Mapping[str, Any], where: str) -> float | None:
        if "timeout" not in entry:
            return None
        seconds = self.number(entry, "timeout", f"{where}.timeout", 0)
        if not math.isfinite(seconds):
            raise self.fail(f"{where}.timeout", "must be a number of seconds")
        return seconds

    def _num_ctx(self, entry: Mapping[str, Any], kind: str, where: str) -> int | None:
        if "num_ctx" in entry and kind != "ollama":
            raise self.fail(f"{where}.num_ctx", 'is for providers of kind = "ollama"')
        return self._whole(entry, "num_ctx", where, 0) or None

    def _whole(self, entry: Mapping[str, Any], key: str, where: str, default: int) -> int:
        return int(self.number(entry, key, f"{where}.{key}", 0)) if entry.get(key) is not None else default

    def _price(self, entry: Mapping[str, Any], key: str, where: str) -> float | None:
        value = entry.get(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
            raise self.fail(f"{where}.{key}", "must be a number, US dollars per million tokens")
        return float(value)

    def warn_if_readable(self, table: Mapping[str, Any]) -> None:
        if not _holds_secret(table):
            return
        mode = self._path.stat().st_mode
        if mode & (stat.S_IRGRP | stat.S_IROTH):
            self.warnings.append(f"{self._path}: holds a secret and others may read it; chmod 600 it")


def _holds_secret(table: Mapping[str, Any]) -> bool:
    """Say whether something in the file is a secret; arguments of programs count only where they look so."""
    servers = table.get("mcp", {})
    arguments = [server.get("args", []) for server in servers.values()]
    if any(_SECRET_ARGUMENT.search(str(one)) for listed in arguments for one in listed):
        return True
    kept = {name: {**server, "args": []} for name, server in servers.items()}
    table = {**table, "mcp": kept}
    return bool(hide_secrets(table) != table)
