"""The parts of the config file that speak of tools: ``[tools]`` and ``[mcp.NAME]``."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final

from agent_tui.model.errors import ConfigError

TOOL_VARIABLE: Final = "CALL_OF_A_TOOL"  # set for every program that a tool starts
TOOL_HEADER: Final = "agent-tui-tool"  # sent by our client in such a program: it is no person's

# A server's name begins the names of its tools, which may have 64 characters in all.
_MCP_NAME = re.compile(r"[A-Za-z0-9](?:_?[A-Za-z0-9-]){0,31}")
_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\s/:@\[\]]+)(:\d{1,5})?")

Fail = Callable[[str, str], ConfigError]


@dataclass(frozen=True, slots=True)
class ToolsConfig:
    """The ``[tools]`` table: ``allow`` are patterns of calls that run without asking, ``private_hosts``
    the ``host`` or ``host:port`` of this machine or network that pages may be fetched from, ``pass_env`` the
    environment variables that commands get beside the harmless ones.
    """

    allow: tuple[str, ...] = ()
    private_hosts: tuple[str, ...] = ()
    pass_env: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class McpConfig:
    """One ``[mcp.NAME]``: a server of tools, started as ``command`` or reached at ``url``.

    ``env`` is set for it, the variables named in ``env_from`` are handed on; ``token_env`` names the one
    that holds the token for ``url``; the tools in ``read_only`` run without asking. Of its tools those are
    used whose names fit one of ``tools`` (globs); all where that is empty.
    """

    name: str
    command: str = ""
    args: tuple[str, ...] = field(default=(), repr=False)  # may hold a secret
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    env_from: tuple[str, ...] = ()
    url: str = field(default="", repr=False)
    token_env: str = ""
    read_only: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()


def read_tools(table: Mapping[str, Any], fail: Fail, warnings: list[str]) -> ToolsConfig:
    """Return the ``[tools]`` table; ``fail`` makes the error of what is wrong in it."""
    _warn_of_unknown(table, "tools", tuple(one.name for one in fields(ToolsConfig)), warnings)
    allow = _texts(table, "allow", "tools", fail)
    hosts = _texts(table, "private_hosts", "tools", fail)
    for host in hosts:
        if not _HOST.fullmatch(host):
            raise fail("tools.private_hosts", f'{host!r} must look like "127.0.0.1:8000" or "wiki.home"')
    pass_env = _variables(table, "pass_env", "tools", fail)
    return ToolsConfig(allow, tuple(host.lower() for host in hosts), pass_env)


def read_mcp(name: str, entry: Mapping[str, Any], fail: Fail, warnings: list[str]) -> McpConfig:
    """Return one ``[mcp.NAME]``; ``fail`` makes the error of what is wrong in it."""
    where = f"mcp.{name}"
    if not _MCP_NAME.fullmatch(name) or len(name) > 32:
        raise fail(where, "a name has at most 32 letters, digits, - and single _")
    known = tuple(one.name for one in fields(McpConfig) if one.name != "name")
    _warn_of_unknown(entry, where, known, warnings)
    command, url = _text(entry, "command", where, fail), _text(entry, "url", where, fail)
    if bool(command) == bool(url):
        raise fail(where, "needs either command or url")
    if url and not url.startswith(("http://", "https://")):
        raise fail(f"{where}.url", "must begin with http:// or https://")
    env = entry.get("env", {})
    if not isinstance(env, Mapping) or not all(isinstance(value, str) for value in env.values()):
        raise fail(f"{where}.env", "must be a table of strings")
    for variable in env:
        _check_variable(variable, f"{where}.env", fail)
    return McpConfig(
        name,
        command,
        _texts(entry, "args", where, fail),
        dict(env),
        _variables(entry, "env_from", where, fail),
        url,
        _text(entry, "token_env", where, fail),
        _texts(entry, "read_only", where, fail),
        _texts(entry, "tools", where, fail),
    )


def _warn_of_unknown(
    table: Mapping[str, Any], where: str, known: tuple[str, ...], warnings: list[str]
) -> None:
    warnings += [f"{where}.{key}: unknown setting, ignored" for key in table if key not in known]


def _text(table: Mapping[str, Any], key: str, where: str, fail: Fail) -> str:
    value = table.get(key, "")
    if not isinstance(value, str) or "\0" in value:
        raise fail(f"{where}.{key}", "must be a string")
    return value


def _texts(table: Mapping[str, Any], key: str, where: str, fail: Fail) -> tuple[str, ...]:
    value = table.get(key, [])
    if not isinstance(value, list) or not all(isinstance(one, str) and "\0" not in one for one in value):
        raise fail(f"{where}.{key}", "must be a list of strings")
    return tuple(value)


def _variables(table: Mapping[str, Any], key: str, where: str, fail: Fail) -> tuple[str, ...]:
    names = _texts(table, key, where, fail)
    for name in names:
        _check_variable(name, f"{where}.{key}", fail)
    return names


def _check_variable(name: str, where: str, fail: Fail) -> None:
    if not _ENV_NAME.fullmatch(name):
        raise fail(where, f"{name!r} cannot name an environment variable")
