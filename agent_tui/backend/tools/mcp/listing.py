"""A stream of messages whose lists of tools are valid: the ``mcp`` package refuses a whole list for one wrong
tool. Imported with ``mcp`` itself, only when an MCP server is first needed.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

import mcp_types
from mcp.shared.message import SessionMessage
from mcp_types.methods import validate_server_result

from agent_tui.backend.tools.mcp.server import MAX_LISTED

if TYPE_CHECKING:  # names only for type checkers: the package does not export them
    from mcp.client._transport import ReadStream, TransportStreams

VERSION: Final = "2025-11-25"  # of the protocol: what a tool has to have
UNUSABLE: Final = {"type": "object", "properties": {"": {"type": "unknown"}}}  # passes, and is then left out


@asynccontextmanager
async def with_valid_tools(
    transport: AbstractAsyncContextManager[TransportStreams],
) -> AsyncGenerator[TransportStreams]:
    """Open ``transport``; every list of tools that it brings is valid."""
    async with transport as (read, write):
        yield _ValidTools(read), write


class _ValidTools:
    """A stream of messages with valid lists of tools."""

    def __init__(self, stream: ReadStream[SessionMessage | Exception]) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    async def receive(self) -> SessionMessage | Exception:
        return _corrected(await self._stream.receive())

    def __aiter__(self) -> _ValidTools:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        return _corrected(await anext(self._stream))

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def __aenter__(self) -> _ValidTools:
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *raised: Any) -> bool | None:
        return await self._stream.__aexit__(*raised)


def _corrected(message: SessionMessage | Exception) -> SessionMessage | Exception:
    answer = message.message if isinstance(message, SessionMessage) else None
    if isinstance(answer, mcp_types.JSONRPCResponse):
        tools = answer.result.get("tools")
        if isinstance(tools, list) and not _are_valid(tools[:MAX_LISTED]):
            tools = [valid for tool in tools[:MAX_LISTED] for valid in _valid(tool)]
        if isinstance(tools, list):
            answer.result["tools"] = tools[:MAX_LISTED]
    return message


def _valid(tool: Any) -> list[Any]:
    """Return the tool as a list of one: as much of it as is valid; an empty list if nothing is."""
    if not isinstance(tool, dict):
        return []
    needed = {key: tool[key] for key in ("name", "description", "inputSchema") if key in tool}
    named = {"name": tool.get("name"), "inputSchema": needed.get("inputSchema")}
    candidates = (tool, needed, named, named | {"inputSchema": UNUSABLE})
    return next(([candidate] for candidate in candidates if _are_valid([candidate])), [])


def _are_valid(tools: list[Any]) -> bool:
    try:
        validate_server_result("tools/list", VERSION, {"tools": tools})
    except ValueError:
        return False
    return True
