"""All the tools there are: ours, and those of the MCP servers in the config file."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime

from agent_tui.backend.models.model import ToolSpec
from agent_tui.backend.tools.environment import secret_names
from agent_tui.backend.tools.fetching import FetchUrl
from agent_tui.backend.tools.files import ListFiles, ReadFile
from agent_tui.backend.tools.mcp_server import McpServer
from agent_tui.backend.tools.mcp_tools import McpTool, offered
from agent_tui.backend.tools.searching import SearchFiles
from agent_tui.backend.tools.shell import COMMAND_SECONDS, RunCommand
from agent_tui.backend.tools.simple import Calculator, CurrentTime
from agent_tui.backend.tools.tool import Permission, Tool, ToolError
from agent_tui.backend.tools.writing import PatchFile, WriteFile
from agent_tui.config import Config

BUILT_IN = "built-in"
AGAIN_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Listed:
    """A tool as ``GET /api/tools`` tells of it; ``source`` is "built-in" or an MCP server's name."""

    spec: ToolSpec
    permission: Permission
    source: str


class Toolbox:
    """The tools by name. MCP servers are started when somebody first asks what there is."""

    def __init__(
        self,
        config: Config,
        *,
        command_seconds: float = COMMAND_SECONDS,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        ours: list[Tool] = [
            *(
                CurrentTime(now),
                Calculator(),
                ListFiles(),
                ReadFile(),
                SearchFiles(),
                WriteFile(),
                PatchFile(),
            ),
            FetchUrl(config.tools.private_hosts),
            RunCommand(secret_names(config), command_seconds),
        ]
        self.allow = config.tools.allow  # patterns of calls that run without asking
        self._ours = {tool.spec.name: tool for tool in ours}
        self._servers = tuple(McpServer(server) for server in config.mcp.values())
        self._foreign: dict[str, McpTool] = {}
        self._asked: dict[McpServer, object] = {}

    async def specs(self) -> tuple[ToolSpec, ...]:
        """Return what models are told: ours, and those of the servers that could be started. Never raises."""
        return tuple(one.spec for one in await self.listed())

    async def listed(self) -> tuple[Listed, ...]:
        """Return all tools, with what each may do without asking and where it comes from.

        Takes as long as the slowest server needs to start, when one was not started yet.
        """
        await asyncio.gather(*(self._ask(server) for server in self._servers))
        ours = [Listed(tool.spec, tool.permission, BUILT_IN) for tool in self._ours.values()]
        theirs = [
            Listed(tool.spec, tool.permission, tool.server.config.name) for tool in self._foreign.values()
        ]
        return (*ours, *theirs)

    def tool(self, name: str) -> Tool | None:
        """Return the tool of that name, None where there is none (or its server was never reached)."""
        return self._ours.get(name) or self._foreign.get(name)

    async def aclose(self) -> None:
        """End all servers."""
        await asyncio.gather(*(server.aclose() for server in self._servers))

    async def _ask(self, server: McpServer) -> None:
        # One that cannot be started offers what it did before; its calls say why they cannot be made. Only
        # the first time everybody waits for it: a server that hangs must not delay every question.
        with suppress(ToolError, TimeoutError):
            async with asyncio.timeout(AGAIN_SECONDS if server in self._asked else None):
                await server.start()
        if self._asked.get(server) is server.foreign_tools:
            return
        self._asked[server] = server.foreign_tools
        others = {name: tool for name, tool in self._foreign.items() if tool.server is not server}
        self._foreign = others | {tool.spec.name: tool for tool in offered(server)}
