"""All tools: ours, and those of the MCP servers in the config file."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from agent_tui.backend.models.model import ToolSpec
from agent_tui.backend.tools.fetching import FetchUrl
from agent_tui.backend.tools.files import ListFiles, ReadFile
from agent_tui.backend.tools.mcp.server import McpServer, ServerListed
from agent_tui.backend.tools.mcp.tools import McpTool, how_many, tools_of_server
from agent_tui.backend.tools.searching import SearchFiles
from agent_tui.backend.tools.shell import RunCommand
from agent_tui.backend.tools.simple import Calculator, CurrentTime
from agent_tui.backend.tools.tool import Permission, Tool, ToolError
from agent_tui.backend.tools.writing import PatchFile, WriteFile
from agent_tui.config.file import Config

BUILT_IN = "built-in"
AGAIN_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class ListedTool:
    """A tool as in ``GET /api/tools``; ``source`` is "built-in" or an MCP server's name."""

    spec: ToolSpec
    permission: Permission
    source: str


class Toolbox:
    """The tools by name. MCP servers are started when the tools are first listed."""

    def __init__(self, read: Callable[[], Config]) -> None:
        """``read`` returns the current config file, the same object until it has changed."""
        self._read = read
        self._servers: tuple[McpServer, ...] = ()
        self._leaving: set[asyncio.Task[None]] = set()  # servers that are no longer in the file
        self._foreign: dict[str, McpTool] = {}
        self._offered: dict[McpServer, object] = {}  # the list of its tools that is offered now
        self._tried: set[McpServer] = set()  # servers whose first start was waited for
        self._added: tuple[Tool, ...] = ()
        self._configure(read())

    def add(self, *tools: Tool) -> None:
        """Offer these too, as ours: tools that need more than the config file."""
        self._added += tools
        self._configure(self._config)

    def begin(self) -> None:
        """Start the MCP servers that were not started yet, without waiting."""
        if (config := self._read()) is not self._config:
            self._configure(config)
        for server in self._servers:
            server.begin()

    async def specs(self, names: Collection[str] | None = None) -> tuple[ToolSpec, ...]:
        """Return the specs of ``list_tools(names)``, for models. Never raises."""
        return tuple(tool.spec for tool in await self.list_tools(names))

    async def list_tools(
        self, names: Collection[str] | None = None, *, is_waiting: bool = True
    ) -> tuple[ListedTool, ...]:
        """Return all tools: ours, and those of the servers that could be started.

        Waits until all servers have started, or only those with tools of these ``names``; not at all if not
        ``is_waiting``. The config file is read again if it changed.
        """
        self.begin()
        if is_waiting:
            await asyncio.gather(*map(self._start_server, self._servers_of(names)))
        await asyncio.gather(*map(self._offer_tools, self._servers))
        ours = [ListedTool(tool.spec, tool.permission, BUILT_IN) for tool in self._ours.values()]
        theirs = [
            ListedTool(tool.spec, tool.permission, tool.server.config.name) for tool in self._foreign.values()
        ]
        return (*ours, *theirs)

    def servers(self, names: Collection[str] | None = None) -> tuple[ServerListed, ...]:
        """Return the state of the config file's MCP servers, or of those of tools with these ``names``."""
        return tuple(self._listed_server(server) for server in self._servers_of(names))

    def _servers_of(self, names: Collection[str] | None) -> Sequence[McpServer]:
        if names is None:
            return self._servers
        wanted = {name.partition("__")[0] for name in names if "__" in name}
        return [server for server in self._servers if server.config.name in wanted]

    def _listed_server(self, server: McpServer) -> ServerListed:
        used = sum(tool.server is server for tool in self._foreign.values())
        listed = server.as_listed(used)
        return listed if listed.problem else replace(listed, problem=how_many(server, used))

    def tool(self, name: str) -> Tool | None:
        """Return the tool of that name, ``None`` if there is none (or its server was never reached)."""
        return self._ours.get(name) or self._foreign.get(name)

    @property
    def on_this_machine(self) -> frozenset[str]:
        """The names of our own tools, without those that need more than the config file."""
        return frozenset(self._ours) - {tool.spec.name for tool in self._added}

    async def aclose(self) -> None:
        """End all servers."""
        await asyncio.gather(*(server.aclose() for server in self._servers), *self._leaving)

    def _configure(self, config: Config) -> None:
        self._config = config
        self.allow = config.tools.allow  # patterns of calls that run without approval
        ours: list[Tool] = [
            *(CurrentTime(), Calculator()),
            *(ListFiles(), ReadFile(), SearchFiles(), WriteFile(), PatchFile()),
            FetchUrl(config.tools.private_hosts),
            RunCommand(config.tools.pass_env, config.tools.command_seconds),
            *self._added,
        ]
        self._ours = {tool.spec.name: tool for tool in ours}
        before, wanted = self._servers, config.mcp.values()
        kept = {server.config.name: server for server in before if server.config in wanted}
        self._servers = tuple(kept.get(mcp.name) or McpServer(mcp) for mcp in wanted)
        for server in set(before) - set(self._servers):
            leaving = asyncio.create_task(server.aclose())
            self._leaving.add(leaving)
            leaving.add_done_callback(self._leaving.discard)
        self._foreign = {name: tool for name, tool in self._foreign.items() if tool.server in self._servers}
        self._offered = {server: tools for server, tools in self._offered.items() if server in self._servers}
        self._tried &= set(self._servers)

    async def _start_server(self, server: McpServer) -> None:
        # A server that cannot be started keeps its last tools; their calls say why they fail. Only its first
        # start is waited for at length: one that hangs must not delay every question.
        seconds = AGAIN_SECONDS if server in self._tried else server.start_seconds_left
        with suppress(ToolError, TimeoutError):
            async with asyncio.timeout(seconds):
                await server.start()
        self._tried.add(server)

    async def _offer_tools(self, server: McpServer) -> None:
        latest = server.foreign_tools
        if self._offered.get(server) is latest:
            return
        # In a thread: a hostile server may list tools whose schemas take minutes to check.
        tools = await asyncio.to_thread(tools_of_server, server)
        if server not in self._servers:  # the config file has changed meanwhile
            return
        self._offered[server] = latest
        others = {name: tool for name, tool in self._foreign.items() if tool.server is not server}
        self._foreign = others | {tool.spec.name: tool for tool in tools}
