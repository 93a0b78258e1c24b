"""The tools that only read files: what there is, and what is in a file."""

from __future__ import annotations

import asyncio
import os
import stat
import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from agent_tui.backend.models.model import ToolSpec
from agent_tui.backend.tools.texts import MAX_OUTPUT_CHARACTERS
from agent_tui.backend.tools.tool import Permission, ToolError, ToolOutput, ToolPlace, object_schema
from agent_tui.backend.tools.walking import FolderEntry, glob_spec, walk
from agent_tui.backend.tools.workspace import Workspace
from agent_tui.model.events import ToolAsk
from agent_tui.model.inert import inert_line, visible, visible_line

FILE_SECONDS = 20.0
MAX_ENTRIES = 1_000
MAX_LINES = 2_000
MAX_LINE_CHARACTERS = 2_000
MAX_SCANNED_BYTES = 64 * 1024 * 1024
BINARY_PROBE_BYTES = 8_192
PATH = {"type": "string", "description": "relative to the workspace"}
GLOB = {"type": "string", "description": "only files that match, as in .gitignore: *.py"}

_LIST = ToolSpec(
    "list_files",
    "List the files and folders of the workspace, or of one folder in it. Folders end with /; what"
    " .gitignore leaves out is not listed.",
    object_schema(
        {
            "path": {**PATH, "default": "."},
            "glob": GLOB,
            "depth": {"type": "integer", "minimum": 1, "maximum": 60, "default": 60},
        }
    ),
)
_READ = ToolSpec(
    "read_file",
    f"Read a text file of the workspace with line numbers: at most {MAX_LINES:,} lines from line offset on.",
    object_schema(
        {
            "path": PATH,
            "offset": {"type": "integer", "minimum": 1, "default": 1, "description": "the first line"},
            "limit": {"type": "integer", "minimum": 1, "maximum": MAX_LINES, "default": MAX_LINES},
        },
        "path",
    ),
)


class LookingTool(ABC):
    """What tools that only read files have in common."""

    permission: Permission = "read"
    changes = False
    seconds = FILE_SECONDS
    spec: ToolSpec

    def ask(self, arguments: Mapping[str, Any], place: ToolPlace) -> ToolAsk:
        """Return the call in one line. Raises ``ToolError`` for a path outside the workspace."""
        with Workspace.of(place).find(arguments.get("path", ".")):
            pass
        call = f"{self.spec.name} {' '.join(map(str, arguments.values())) or '.'}"
        line = visible_line(call)
        return ToolAsk(line, "" if line == call else visible(call))

    async def run(self, arguments: Mapping[str, Any], place: ToolPlace) -> ToolOutput:
        """Return the result of ``look``. Its thread cannot be cancelled, so ``done`` asks it to end."""
        done = threading.Event()
        try:
            return await asyncio.to_thread(self.look, Workspace.of(place), arguments, done)
        finally:
            done.set()

    @abstractmethod
    def look(self, workspace: Workspace, arguments: Mapping[str, Any], done: threading.Event) -> ToolOutput:
        """Return the result, in a thread; ends soon after ``done`` is set."""


class ListFiles(LookingTool):
    """``list_files``."""

    spec = _LIST

    def look(self, workspace: Workspace, arguments: Mapping[str, Any], done: threading.Event) -> ToolOutput:
        """Return one path a line."""
        only = glob_spec(arguments["glob"]) if "glob" in arguments else None
        lines: list[str] = []
        path, depth = arguments.get("path", "."), arguments.get("depth", 60)
        for entry in walk(workspace, path, done, depth=depth):
            if only is not None and (entry.is_folder or not only.match_file(entry.path)):
                continue
            if len(lines) == MAX_ENTRIES:
                lines.append(f"[… more than {MAX_ENTRIES:,}; name a folder or a glob]")
                break
            lines.append(_line(entry))
        return ToolOutput("\n".join(lines) or "[nothing]")


class ReadFile(LookingTool):
    """``read_file``."""

    spec = _READ

    def look(self, workspace: Workspace, arguments: Mapping[str, Any], done: threading.Event) -> ToolOutput:
        """Return numbered lines, and a last line in brackets if there are more."""
        path, first = arguments["path"], arguments.get("offset", 1)
        last = first + arguments.get("limit", MAX_LINES) - 1
        lines: list[str] = []
        characters = number = scanned = 0
        with workspace.file(path) as file, os.fdopen(file, "rb", closefd=False) as reader:
            refuse_binary(reader.peek(BINARY_PROBE_BYTES)[:BINARY_PROBE_BYTES], path)
            while not done.is_set() and (line := reader.readline(MAX_SCANNED_BYTES)):
                number += 1
                scanned += len(line)
                if number >= first:
                    if number > last or characters > MAX_OUTPUT_CHARACTERS * 9 // 10:
                        lines.append(f"[… the file goes on; offset {number} reads from there]")
                        break
                    lines.append(f"{number:6}  {_shortened(line)}")
                    characters += len(lines[-1])
                if scanned > MAX_SCANNED_BYTES:
                    raise ToolError(f"line {first:,} is further than {MAX_SCANNED_BYTES:,} bytes into {path}")
        if not lines:
            return ToolOutput(f"[{'the file is empty' if not number else f'it has only {number:,} lines'}]")
        return ToolOutput("\n".join(lines))


def refuse_binary(data: bytes, path: str) -> None:
    """Raise ``ToolError`` for anything but text."""
    if b"\0" in data:
        raise ToolError(f"{inert_line(path)}: is a binary file")


def _shortened(line: bytes) -> str:
    text = line[: MAX_LINE_CHARACTERS * 4].decode("utf-8", "replace").rstrip("\r\n")
    if len(text) > MAX_LINE_CHARACTERS:
        return f"{text[:MAX_LINE_CHARACTERS]} [… the line has {len(line):,} bytes]"
    return text


def _line(entry: FolderEntry) -> str:
    if entry.is_folder:
        return f"{entry.path}/"
    if entry.is_file:
        return f"{entry.path}  {entry.status.st_size:,} bytes"
    kind = "link" if stat.S_ISLNK(entry.status.st_mode) else "no ordinary file"
    return f"{entry.path}  [{kind}]"
