"""The one interface to a tool: arguments in, an output out."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

from agent_tui.backend.models.model import Image, ToolSpec
from agent_tui.model.events import ToolAsk
from agent_tui.model.records import FileChange
from agent_tui.model.tool_forms import FormAnswer, ToolForm

# read: looks only, and only where it may. ask: changes or reaches something, so a person is asked before.
Permission = Literal["read", "ask"]


@dataclass(frozen=True, slots=True)
class ToolPlace:
    """Where a call works. ``workspace`` None: there is none, and tools that need one say so. ``tell`` takes a
    line that says how far the call is, as often as the tool likes. ``fill_in`` returns what a person makes of
    a form, however long that takes; where nobody can be asked, it is declined. ``remark`` takes a line about
    an MCP server, by its name, that people are told once, ``changed`` what was done to a file.
    """

    workspace: Path | None = None
    tell: Callable[[str], None] | None = None
    fill_in: Callable[[ToolForm], Awaitable[FormAnswer]] | None = None
    remark: Callable[[str], None] | None = None
    changed: Callable[[FileChange], None] | None = None


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """What a call brought: the text that the model is told (JSON where it has a structure), whether it
    succeeded, and how many bytes there were before ``content`` was capped. ``images`` are what a model that
    can see is shown besides, while it answers; ``content`` names them.
    """

    content: str
    success: bool = True
    size: int = 0
    images: tuple[Image, ...] = ()


class Tool(Protocol):
    """One tool. ``seconds`` is its time-out; an argument can never change it."""

    @property
    def spec(self) -> ToolSpec: ...

    @property
    def permission(self) -> Permission: ...

    @property
    def seconds(self) -> float: ...

    def ask(self, arguments: Mapping[str, Any], place: ToolPlace) -> ToolAsk:
        """Return exactly what the call would do, for a person. Reads, and changes nothing.

        Raises ``ToolError`` for arguments that can never be carried out (outside the workspace, …).
        """
        ...

    async def run(self, arguments: Mapping[str, Any], place: ToolPlace) -> ToolOutput:
        """Carry the call out; ``arguments`` fit the schema. Cancelling ends it and all it has started.

        Raises ``ToolError`` for what went wrong; anything else it raises is a bug of the tool, and is
        reported as a failed result by its caller.
        """
        ...


def object_schema(properties: Mapping[str, Any], *needed: str) -> dict[str, Any]:
    """Return the JSON schema of an object with these properties and no others, ``needed`` among them."""
    schema = {"type": "object", "properties": dict(properties), "additionalProperties": False}
    return {**schema, "required": list(needed)} if needed else schema


@contextmanager
def without_limit(limit: asyncio.Timeout, seconds: float) -> Iterator[None]:
    """Let a time-out wait while this is open, and begin anew with so many ``seconds`` afterwards."""
    if not limit.expired():
        limit.reschedule(None)
    try:
        yield
    finally:
        if not limit.expired():
            limit.reschedule(asyncio.get_running_loop().time() + seconds)


class ToolError(Exception):
    """A call failed in a way that its model can act on; the text is one line."""
