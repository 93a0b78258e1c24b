"""The tool that runs a command in the workspace, with a time limit."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from agent_tui.backend.models.model import ToolSpec
from agent_tui.backend.tools.programs.child import END_SECONDS, PIPE_BYTES, Child
from agent_tui.backend.tools.programs.environment import command_environment
from agent_tui.backend.tools.texts import MAX_OUTPUT_CHARACTERS, Spool, structure
from agent_tui.backend.tools.tool import Permission, ToolError, ToolOutput, ToolPlace, object_schema
from agent_tui.backend.tools.workspace import Workspace
from agent_tui.config.tools import COMMAND_SECONDS
from agent_tui.model.events import ToolAsk
from agent_tui.model.inert import inert, visible, visible_line

MAX_COMMAND_CHARACTERS = 10_000
MAX_LINE_CHARACTERS = 200  # of its output while it runs
NEWEST_LINES = 3  # of it
NEWEST_BYTES = 4 * NEWEST_LINES * MAX_LINE_CHARACTERS


class RunCommand:
    """``run_command``: ``seconds`` is the most time that a command may take; ``pass_env`` names the variables
    of our environment that it gets besides the harmless ones.
    """

    permission: Permission = "ask"
    changes = True

    def __init__(self, pass_env: tuple[str, ...] = (), seconds: float = COMMAND_SECONDS) -> None:
        self.spec = _spec(seconds)
        self._pass_env = pass_env
        self._limit = seconds

    @property
    def seconds(self) -> float:
        # When the command's time is up, its output is the result; this is the time for writing that.
        return self._limit + 3 * END_SECONDS

    def ask(self, arguments: Mapping[str, Any], place: ToolPlace) -> ToolAsk:
        """Return the exact command, its folder and its time limit."""
        command = _command(arguments)
        folder = Workspace.of(place).root
        line = visible_line(command)
        preview = f"in {visible_line(str(folder))}\n{self._time(arguments):g} s at most"
        if line != command:
            preview = f"{visible(command)}\n\n{preview}"
        return ToolAsk(line, preview)

    def _time(self, arguments: Mapping[str, Any]) -> float:
        return float(min(arguments.get("seconds", self._limit), self._limit))

    async def run(self, arguments: Mapping[str, Any], place: ToolPlace) -> ToolOutput:
        """Return ``{"success", "exit_code", "output"}``. After the time-out, or if the command killed the
        process that watches it, exit_code is null and "error" says so, with what could not be ended.
        """
        command, seconds = _command(arguments), self._time(arguments)
        folder = Workspace.of(place).checked_root()
        spool = Spool(MAX_OUTPUT_CHARACTERS // 2)
        why = "ended because it killed the process that watches it"
        code: int | None = None
        environ = command_environment(self._pass_env)
        child = await Child.start(("/bin/sh", "-c", command), folder, environ)
        async with child:
            reading = asyncio.create_task(_read(child, spool, place.tell))
            try:
                try:
                    async with asyncio.timeout(seconds):
                        code = await child.wait()
                except TimeoutError:
                    why = f"ended after {seconds:g} s"
                    await child.end()
                # Processes that could not be ended may hold the output: then nothing more is read.
                await asyncio.wait([reading], timeout=1.0 if child.left else END_SECONDS)
            finally:
                reading.cancel()
                await asyncio.wait([reading])
        fields: dict[str, Any] = {"success": code == 0, "exit_code": code}
        if code is None:
            fields["error"] = why + _what_else_ended(child.left)
        return ToolOutput(structure({**fields, "output": spool.text()}, "output"), code == 0, spool.size)


def _what_else_ended(left: tuple[str, ...]) -> str:
    if left:
        return f", but these programs could not be ended: {', '.join(left)}"
    return ", with everything it had started"


async def _read(child: Child, spool: Spool, tell: Callable[[str], None] | None) -> None:
    newest = b""
    while data := await child.stdout.read(PIPE_BYTES):
        spool.add(data)
        newest = (newest + data[-NEWEST_BYTES:])[-NEWEST_BYTES:]
        if tell is not None and (lines := _last_lines(newest)):
            tell("\n".join(lines))


def _last_lines(data: bytes) -> list[str]:
    """Return the last lines of ``data`` that are not blank. What was written over by a carriage return, as by
    the bar of a download, is gone.
    """
    lines = (line.rstrip("\r").rpartition("\r")[2] for line in data.decode("utf-8", "replace").split("\n"))
    shown = (inert(line.expandtabs()).replace("\n", " ")[:MAX_LINE_CHARACTERS].rstrip() for line in lines)
    return [line for line in shown if line][-NEWEST_LINES:]


def _spec(seconds: float) -> ToolSpec:
    return ToolSpec(
        "run_command",
        "Run a shell command (/bin/sh -c) in the workspace and return its exit code and its output, standard"
        " output and errors together. It has no terminal and no input; everything that it starts ends with"
        f" it. It is ended after {seconds:g} seconds, or earlier if you say so.",
        object_schema(
            {
                "command": {"type": "string", "minLength": 1, "maxLength": MAX_COMMAND_CHARACTERS},
                "seconds": {
                    "type": "number",
                    "exclusiveMinimum": 0,
                    "maximum": seconds,
                    "description": "end it after this time",
                },
            },
            "command",
        ),
    )


def _command(arguments: Mapping[str, Any]) -> str:
    command: str = arguments["command"]
    if "\0" in command:
        raise ToolError("a command cannot hold the character NUL")
    if any("\ud800" <= char <= "\udfff" for char in command):
        raise ToolError("a command cannot hold half a character (a lone surrogate)")
    return command
