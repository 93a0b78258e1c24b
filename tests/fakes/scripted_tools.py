"""Tools whose every step a test decides, and a box that holds them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from agent_tui.backend.models.model import ToolSpec
from agent_tui.backend.tools.mcp.server import ServerListed
from agent_tui.backend.tools.tool import Permission, Tool, ToolError, ToolOutput, ToolPlace
from agent_tui.backend.tools.toolbox import BUILT_IN, ListedTool
from agent_tui.model.events import ToolAsk

ANYTHING = {"type": "object"}
TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}


@dataclass
class ScriptedTool:
    """A tool that does what ``does`` does; ``ran`` are the arguments it was run with."""

    name: str
    does: Callable[[Mapping[str, Any]], Awaitable[str]]
    permission: Permission = "read"
    seconds: float = 60.0
    parameters: Mapping[str, Any] = field(default_factory=lambda: ANYTHING)
    changes: bool = False
    refusal: str = ""  # what ``ask`` raises
    looks: Callable[[], object] = lambda: None  # what ``ask`` does before, in its thread
    ran: list[Mapping[str, Any]] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)

    @property
    def spec(self) -> ToolSpec:
        return ToolSpec(self.name, f"What {self.name} does.", self.parameters)

    def ask(self, arguments: Mapping[str, Any], place: ToolPlace) -> ToolAsk:
        self.looks()
        if self.refusal:
            raise ToolError(self.refusal)
        return ToolAsk(f"{self.name} {json.dumps(dict(arguments))}", "what would change")

    async def run(self, arguments: Mapping[str, Any], place: ToolPlace) -> ToolOutput:
        self.ran.append(arguments)
        try:
            return ToolOutput(await self.does(arguments))
        except asyncio.CancelledError:
            self.ended.append("cancelled")
            raise


class ScriptedBox:
    """A toolbox of ``tools``; ``allow`` are the config file's patterns."""

    def __init__(self, *tools: Tool, allow: tuple[str, ...] = ()) -> None:
        self.tools = {tool.spec.name: tool for tool in tools}
        self.allow = allow
        self.broken: tuple[ServerListed, ...] = ()

    async def specs(self, names: Collection[str] | None = None) -> tuple[ToolSpec, ...]:
        """Return what models may be told of."""
        return tuple(tool.spec for tool in self.tools.values())

    def begin(self) -> None:
        """Start nothing: there is no MCP server."""

    async def list_tools(self, *, is_waiting: bool = True) -> tuple[ListedTool, ...]:
        """Return what people are told of."""
        return tuple(ListedTool(tool.spec, tool.permission, BUILT_IN) for tool in self.tools.values())

    def servers(self, names: Collection[str] | None = None) -> tuple[ServerListed, ...]:
        """Return the MCP servers that have no tools."""
        return self.broken

    def tool(self, name: str) -> Tool | None:
        """Return the tool of that name."""
        return self.tools.get(name)


async def echo(arguments: Mapping[str, Any]) -> str:
    """Say the arguments again."""
    return json.dumps(dict(arguments))


async def hang(_arguments: Mapping[str, Any]) -> str:
    """Never end."""
    await asyncio.Event().wait()
    raise AssertionError


async def crash(_arguments: Mapping[str, Any]) -> str:
    """Fail in a way that nobody thought of."""
    raise RuntimeError("the tool broke")


def reader(name: str = "look", does: Callable[[Mapping[str, Any]], Awaitable[str]] = echo) -> ScriptedTool:
    """Return a tool that runs without asking."""
    return ScriptedTool(name, does)


def writer(name: str = "change", does: Callable[[Mapping[str, Any]], Awaitable[str]] = echo) -> ScriptedTool:
    """Return a tool that asks first and changes something."""
    return ScriptedTool(name, does, permission="ask", changes=True)


def asker(name: str = "change", does: Callable[[Mapping[str, Any]], Awaitable[str]] = echo) -> ScriptedTool:
    """Return a tool that asks first and changes nothing."""
    return ScriptedTool(name, does, permission="ask")
