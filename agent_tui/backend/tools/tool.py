"""The interface of a tool: arguments in, an output out."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

from agent_tui.backend.models.model import Image, ToolSpec
from agent_tui.model.events import ToolAsk
from agent_tui.model.records import FileChange
from agent_tui.model.tool_forms import FormAnswer, ToolForm

# read: only reads, and only where it may. ask: changes or reaches something, so a person is asked first.
Permission = Literal["read", "ask"]


@dataclass(frozen=True, slots=True)
class ToolPlace:
    """Where a call works. ``workspace`` ``None``: there is none, and tools that need one say so. ``tell``
    takes a line about the call's progress, or the last lines of its output, as often as the tool likes.
    ``fill_in`` returns a person's answer to a form, however long that takes; if nobody can be asked, it is
    declined. ``remark`` takes a line about an MCP server, by its name, that people are told once; ``changed``
    takes a change to a file.
    """

    workspace: Path | None = None
    tell: Callable[[str], None] | None = None
    fill_in: Callable[[ToolForm], Awaitable[FormAnswer]] | None = None
    remark: Callable[[str], None] | None = None
    changed: Callable[[FileChange], None] | None = None


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """The result of a call: the text for the model (JSON if it has a structure), whether it succeeded, and
    how many bytes there were before ``content`` was cut. ``images`` are for a model that can see, during its
    answer; ``content`` names them.
    """

    content: str
    success: bool = True
    size: int = 0
    images: tuple[Image, ...] = ()


class Tool(Protocol):
    """One tool. ``seconds`` is its time-out, which no argument can change. ``changes``: a call may change
    something that another call sees, so it runs by itself and in order.
    """

    @property
    def spec(self) -> ToolSpec: ...

    @property
    def permission(self) -> Permission: ...

    @property
    def changes(self) -> bool: ...

    @property
    def seconds(self) -> float: ...

    def ask(self, arguments: Mapping[str, Any], place: ToolPlace) -> ToolAsk:
        """Return exactly what the call would do, for a person. Reads, and changes nothing.

        Raises ``ToolError`` for arguments that can never be carried out (outside the workspace, …).
        """
        ...

    async def run(self, arguments: Mapping[str, Any], place: ToolPlace) -> ToolOutput:
        """Carry the call out; ``arguments`` fit the schema. Cancelling ends it and everything it started.

        Raises ``ToolError`` for what went wrong; anything else it raises is a bug of the tool, and is
        reported as a failed result by its caller.
        """
        ...


@runtime_checkable
class NamingTool(Protocol):
    """A tool whose arguments name something in words that may mean another thing later, "the first one"."""

    async def resolve(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the arguments with what they mean now: that is shown, allowed, and done.

        Raises ``ToolError`` if they mean nothing or several things.
        """
        ...


def object_schema(properties: Mapping[str, Any], *needed: str) -> dict[str, Any]:
    """Return the JSON schema of an object with only these properties; ``needed`` are required."""
    schema = {"type": "object", "properties": dict(properties), "additionalProperties": False}
    return {**schema, "required": list(needed)} if needed else schema


@contextmanager
def without_limit(limit: asyncio.Timeout, seconds: float) -> Iterator[None]:
    """Stop a time-out while this is open, and start it over with this many ``seconds`` afterwards."""
    if not limit.expired():
        limit.reschedule(None)
    try:
        yield
    finally:
        if not limit.expired():
            limit.reschedule(asyncio.get_running_loop().time() + seconds)


class ToolError(Exception):
    """A call failed in a way that its model can handle; the text is one line."""
