"""The tools of an MCP server, as tools of ours. What it says about itself is not trusted."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Collection, Mapping
from fnmatch import fnmatchcase
from itertools import chain, count
from math import inf
from typing import TYPE_CHECKING, Any

from agent_tui.backend.models.model import ToolSpec
from agent_tui.backend.tools.mcp.results import output
from agent_tui.backend.tools.mcp.server import McpServer
from agent_tui.backend.tools.schema import is_valid_schema
from agent_tui.backend.tools.tool import Permission, ToolOutput, ToolPlace
from agent_tui.config.tools import McpConfig
from agent_tui.model.events import ToolAsk
from agent_tui.model.inert import inert, visible, visible_line

if TYPE_CHECKING:
    from mcp_types import Tool

MAX_TOOLS = 200  # of one server: models get worse with more, and some take 128 at most
MAX_DESCRIPTION_CHARACTERS = 2_000
MAX_SCHEMA_CHARACTERS = 20_000
MAX_CHECKED_CHARACTERS = 1_000_000  # of all schemas of one server: checking one takes up to seconds
OWN_SECONDS = 60.0
MAX_NAME_CHARACTERS = 64  # OpenAI's limit, the strictest
_NAME = re.compile(rf"[A-Za-z0-9_-]{{1,{MAX_NAME_CHARACTERS}}}")
_ODD = re.compile(r"[^A-Za-z0-9_-]")

_log = logging.getLogger(__name__)


class McpTool:
    """One tool of a server: ``SERVER__TOOL`` in letters that models may use; ``name`` is the server's own."""

    def __init__(self, server: McpServer, spec: ToolSpec, name: str, *, claims_to_read: bool = False) -> None:
        """``claims_to_read``: its server says that it only reads. It asks, but may run beside others."""
        self.spec = spec
        self.server = server
        self._name = name
        self.permission: Permission = "read" if name in server.config.read_only else "ask"
        self.changes = self.permission == "ask" and not claims_to_read

    @property
    def seconds(self) -> float:
        # The server's own time-out comes first: it says more, and checks whether the server is alive.
        return self.server.call_seconds + OWN_SECONDS

    def ask(self, arguments: Mapping[str, Any], place: ToolPlace) -> ToolAsk:
        """Return the call with all its arguments."""
        line = visible_line(f"{self.spec.name} {json.dumps(arguments, ensure_ascii=False)}")
        return ToolAsk(line, visible(json.dumps(arguments, ensure_ascii=False, indent=2)))

    async def run(self, arguments: Mapping[str, Any], place: ToolPlace) -> ToolOutput:
        """Return the server's answer as text; what is not text is named. Images are separate."""
        result = await self.server.call(self._name, arguments, place)
        return await output(result, self.server.read)


def tools_of_server(server: McpServer) -> tuple[McpTool, ...]:
    """Return the server's tools that are wanted and valid, at most ``MAX_TOOLS``. May take long."""
    tools: dict[str, McpTool] = {}
    checked = 0.0
    wanted = [foreign for foreign in server.foreign_tools if _is_wanted(server.config, foreign.name)]
    full_names = [f"{server.config.name}__{foreign.name}" for foreign in wanted]
    taken = {name for name in full_names if _NAME.fullmatch(name)}
    for name, foreign in zip(full_names, wanted, strict=True):
        size = min(_size(foreign.input_schema), MAX_SCHEMA_CHARACTERS + 1)
        checked += size
        if len(tools) == MAX_TOOLS or checked > MAX_CHECKED_CHARACTERS:
            break
        if name not in taken:
            name = _in_letters(name, taken)
            taken.add(name)
        spec = _spec(name, foreign) if size <= MAX_SCHEMA_CHARACTERS else None
        if spec is None or name in tools:
            _log.warning("a tool of the MCP server %s cannot be used", server.config.name)
            continue
        claims_to_read = foreign.annotations is not None and bool(foreign.annotations.read_only_hint)
        tools[name] = McpTool(server, spec, foreign.name, claims_to_read=claims_to_read)
    return tuple(tools.values())


def how_many(server: McpServer, used: int) -> str:
    """Return one line about a server's unused tools and how to choose them; "" if all are used."""
    wanted = sum(_is_wanted(server.config, foreign.name) for foreign in server.foreign_tools)
    if used == wanted:
        return ""
    if used < MAX_TOOLS:
        return f"{wanted - used} of {wanted} tools cannot be used: their names or parameters are not valid"
    where = f"mcp.{server.config.name}.tools"
    return f"only the first {used} of {wanted} tools are used; name those you need in {where}"


def _is_wanted(config: McpConfig, name: str) -> bool:
    return not config.tools or any(fnmatchcase(name, pattern) for pattern in config.tools)


def _in_letters(name: str, taken: Collection[str]) -> str:
    """Return ``name`` in letters and with a length that all models' APIs accept, different from all in
    ``taken``.
    """
    plain = _ODD.sub("_", name)[:MAX_NAME_CHARACTERS]
    numbered = (f"{plain[: MAX_NAME_CHARACTERS - len(str(n)) - 1]}_{n}" for n in count(2))
    return next(candidate for candidate in chain([plain], numbered) if candidate not in taken)


def _size(schema: Mapping[str, Any]) -> float:
    """Return the characters of a schema as JSON; infinite if it cannot be JSON."""
    try:
        return len(json.dumps(schema))
    except (ValueError, RecursionError):
        return inf


def _spec(name: str, foreign: Tool) -> ToolSpec | None:
    schema = foreign.input_schema
    if schema.get("type") != "object" or not is_valid_schema(schema):
        return None
    description = inert(foreign.description or "")[:MAX_DESCRIPTION_CHARACTERS]
    return ToolSpec(name, description, schema)
