"""The config file's tables for tools: ``[tools]`` and ``[mcp.NAME]``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Final

from agent_tui.config.table import Table

COMMAND_SECONDS: Final = 60.0
MOST_COMMAND_SECONDS: Final = 3_600.0
TOOL_VARIABLE: Final = "CALL_OF_A_TOOL"  # set for every program that a tool starts
TOOL_HEADER: Final = "agent-tui-tool"  # sent by our client inside such a program: it is not a person's

# The names of a server's tools begin with its name, and may have 64 characters in total.
_MCP_NAME = re.compile(r"[A-Za-z0-9](?:_?[A-Za-z0-9-]){0,31}")
_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\s/:@\[\]]+)(:\d{1,5})?")


@dataclass(frozen=True, slots=True)
class ToolsConfig:
    """The ``[tools]`` table: ``allow`` are patterns of calls that run without asking, ``private_hosts`` the
    ``host`` or ``host:port`` of this machine or network from which pages may be fetched, ``pass_env`` the
    environment variables that commands get besides the harmless ones, ``command_seconds`` the most time that
    one may take.
    """

    allow: tuple[str, ...] = ()
    private_hosts: tuple[str, ...] = ()
    pass_env: tuple[str, ...] = ()
    command_seconds: float = COMMAND_SECONDS


@dataclass(frozen=True, slots=True)
class McpConfig:
    """One ``[mcp.NAME]``: a server of tools, started as ``command`` or reached at ``url``.

    ``env`` is set for it, the variables in ``env_from`` are passed on; ``token_env`` names the variable with
    the token for ``url``; the tools in ``read_only`` run without asking. Only tools whose names match one of
    ``tools`` (globs) are used; all if that is empty.
    """

    name: str
    command: str = ""
    args: tuple[str, ...] = field(default=(), repr=False)  # may contain a secret
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    env_from: tuple[str, ...] = ()
    url: str = field(default="", repr=False)
    token_env: str = ""
    read_only: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()


def read_tools(table: Table) -> ToolsConfig:
    """Return the ``[tools]`` table; raises ``ConfigError`` for errors in it."""
    table.warn_of_unknown([field.name for field in fields(ToolsConfig)])
    if "command_seconds" in table.values:
        table.number("command_seconds", MOST_COMMAND_SECONDS)
    tools = ToolsConfig(**table.values_for(ToolsConfig))
    for host in tools.private_hosts:
        if not _HOST.fullmatch(host):
            raise table.fail("private_hosts", f'{host!r} must look like "127.0.0.1:8000" or "wiki.home"')
    table.check_variables("pass_env", tools.pass_env)
    return replace(tools, private_hosts=tuple(host.lower() for host in tools.private_hosts))


def read_mcp(name: str, table: Table) -> McpConfig:
    """Return one ``[mcp.NAME]``; raises ``ConfigError`` for errors in it."""
    if not _MCP_NAME.fullmatch(name) or len(name) > 32:
        raise table.fail("", "a name has at most 32 letters, digits, - and single _")
    table.warn_of_unknown([field.name for field in fields(McpConfig) if field.name != "name"])
    env = table.values.get("env", {})
    if not isinstance(env, Mapping) or not all(isinstance(value, str) for value in env.values()):
        raise table.fail("env", "must be a table of strings")
    server = McpConfig(name, env=dict(env), **table.values_for(McpConfig))
    if server.command and server.url:
        raise table.fail("", "takes command or url, not both")
    if not (server.command or server.url):
        raise table.fail("", "needs command or url")
    if server.url:
        table.url("url")
    table.check_variables("env", env)
    table.check_variables("env_from", server.env_from)
    return server
