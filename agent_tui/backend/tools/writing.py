"""The tools that change files. Their changes are shown as a diff first."""

from __future__ import annotations

import asyncio
import posixpath
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from agent_tui.backend.models.model import ToolSpec
from agent_tui.backend.tools.files import FILE_SECONDS, PATH, refuse_binary
from agent_tui.backend.tools.patching import counts, diff, patched
from agent_tui.backend.tools.tool import (
    Permission,
    ToolError,
    ToolOutput,
    ToolPlace,
    object_schema,
)
from agent_tui.backend.tools.workspace import MAX_PATH_CHARACTERS, MissingFolder, Workspace
from agent_tui.model.events import ToolAsk
from agent_tui.model.inert import inert_line, visible, visible_line
from agent_tui.model.records import FileChange

MAX_CONTENT_CHARACTERS = 1_000_000
MAX_FILE_BYTES = 5 * 1024 * 1024
MAX_EDITS = 50

_WRITE = ToolSpec(
    "write_file",
    "Write a text file of the workspace: all of it, in place of what was there. Folders are made as needed.",
    object_schema(
        {"path": PATH, "content": {"type": "string", "maxLength": MAX_CONTENT_CHARACTERS}}, "path", "content"
    ),
)
_EDIT = object_schema(
    {
        "search": {"type": "string", "minLength": 1, "description": "exact text, there only once"},
        "replace": {"type": "string", "description": "what is to stand there instead"},
        "all": {"type": "boolean", "default": False, "description": "replace it wherever it is"},
    },
    "search",
    "replace",
)
_PATCH = ToolSpec(
    "patch_file",
    "Change a text file of the workspace: replace exact texts in it, in order. All edits are made or none.",
    object_schema(
        {"path": PATH, "edits": {"type": "array", "minItems": 1, "maxItems": MAX_EDITS, "items": _EDIT}},
        "path",
        "edits",
    ),
)


class _ChangingTool(ABC):
    """Changes one file from its text to another."""

    permission: Permission = "ask"
    changes = True
    seconds = FILE_SECONDS
    spec: ToolSpec

    def ask(self, arguments: Mapping[str, Any], place: ToolPlace) -> ToolAsk:
        """Return the diff that the call would make; the path is never cut."""
        path: str = arguments["path"]
        workspace = Workspace.of(place)
        old, new = self._both(arguments, workspace)
        call = visible_line(f"{self.spec.name} {path}", 2 * MAX_PATH_CHARACTERS)
        with suppress(MissingFolder), workspace.find(path, is_written=True) as found:
            if found.path != posixpath.normpath(path) and not path.startswith("/"):
                call = visible_line(f"{self.spec.name} {path}, a link to {found.path}")
        if old == new:
            return ToolAsk(call, "it would change nothing")
        return ToolAsk(call, visible(diff(old or "", new, visible_line(path), is_new=old is None)), "diff")

    async def run(self, arguments: Mapping[str, Any], place: ToolPlace) -> ToolOutput:
        """Return one line about what was written."""
        # In a thread, and to its end even when cancelled: a file is written completely or not at all, and
        # what was done to it is known before the call is reported as cut.
        work = asyncio.create_task(asyncio.to_thread(self._write, arguments, place))
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            await asyncio.wait({work})
            raise

    def _write(self, arguments: Mapping[str, Any], place: ToolPlace) -> ToolOutput:
        workspace, path = Workspace.of(place), inert_line(arguments["path"], 300)
        with workspace.changing(arguments["path"]):
            old, new = self._both(arguments, workspace)
            if old == new:
                return ToolOutput(f"{path} is as it was: there was nothing to change")
            try:
                data = new.encode("utf-8")
            except UnicodeEncodeError:
                raise ToolError("the content holds half a character (a lone surrogate)") from None
            real = workspace.write(arguments["path"], data)
            added, removed = counts(old or "", new)
            if place.changed is not None:
                changes = diff(old or "", new, real, is_new=old is None)
                place.changed(FileChange(real, old, new, changes, added, removed))
        if old is None:
            return ToolOutput(f"{path}: created, {len(data):,} bytes", size=len(data))
        return ToolOutput(f"{path}: +{added} -{removed} lines, {len(data):,} bytes now", size=len(data))

    @abstractmethod
    def _both(self, arguments: Mapping[str, Any], workspace: Workspace) -> tuple[str | None, str]:
        """Return the current text, ``None`` for none, and the new one."""


class WriteFile(_ChangingTool):
    """``write_file``."""

    spec = _WRITE

    def _both(self, arguments: Mapping[str, Any], workspace: Workspace) -> tuple[str | None, str]:
        return _text(workspace, arguments["path"]), arguments["content"]


class PatchFile(_ChangingTool):
    """``patch_file``."""

    spec = _PATCH

    def _both(self, arguments: Mapping[str, Any], workspace: Workspace) -> tuple[str | None, str]:
        path = arguments["path"]
        old = _text(workspace, path)
        if old is None:
            raise ToolError(f"{inert_line(path)}: there is no such file")
        return old, patched(old, arguments["edits"])


def _text(workspace: Workspace, path: str) -> str | None:
    data = workspace.read_if_there(path, MAX_FILE_BYTES)
    if data is None:
        return None
    refuse_binary(data, path)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise ToolError(f"{inert_line(path)}: is not in UTF-8, and stays as it is") from None
