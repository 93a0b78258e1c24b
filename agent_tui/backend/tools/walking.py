"""All files below a folder of the workspace, in order, without those that .gitignore excludes."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent_tui.backend.tools.tool import ToolError
from agent_tui.backend.tools.workspace import Workspace
from agent_tui.ignored import MAX_IGNORE_BYTES, MAX_STARS, IgnoreRules, is_costly
from agent_tui.model.inert import inert

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

MAX_DEPTH = 60


@dataclass(frozen=True, slots=True)
class FolderEntry:
    """One file, folder or link; ``path`` is relative to the workspace."""

    path: str
    status: os.stat_result

    @property
    def is_folder(self) -> bool:
        return stat.S_ISDIR(self.status.st_mode)

    @property
    def is_file(self) -> bool:
        return stat.S_ISREG(self.status.st_mode)


def walk(
    workspace: Workspace, path: str, done: threading.Event, *, depth: int = MAX_DEPTH
) -> Iterator[FolderEntry]:
    """Yield what is below ``path``, each folder before its contents; links are named, not followed. Ends
    early once ``done`` is set.

    Raises ``ToolError`` if ``path`` is not a folder of the workspace.
    """
    with workspace.folder(path) as (folder, real):
        ignored = IgnoreRules()
        if real:
            with workspace.folder("") as (root, _):
                ignored = _rules_above(root, real)
        yield from _below(folder, real, ignored, min(depth, MAX_DEPTH), done)


def glob_spec(glob: str) -> GitIgnoreSpec:
    """Return a matcher for paths by a glob as in .gitignore; raises ``ToolError`` for an invalid one."""
    from pathspec import GitIgnoreSpec  # lazy: the backend starts without it, and this is a thread

    if not glob.strip() or is_costly(glob) or "\n" in glob:
        raise ToolError(f"the glob {glob[:100]!r} cannot be used: at most {MAX_STARS} * in it")
    try:
        return GitIgnoreSpec.from_lines([glob])
    except ValueError as error:
        raise ToolError(f"the glob {glob[:100]!r} cannot be used: {error}") from error


def _rules_above(root: int, real: str) -> IgnoreRules:
    """Return the rules of the folders from the workspace's own down to the parent of ``real``."""
    ignored = _with_rules_of(root, "", IgnoreRules())
    folder, names = root, real.split("/")
    with suppress(OSError), ExitStack() as opened:  # of a folder that was removed a moment ago
        for place, name in enumerate(names[:-1], 1):
            folder = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
            opened.callback(os.close, folder)
            ignored = _with_rules_of(folder, "/".join(names[:place]), ignored)
    return ignored


def _below(
    folder: int, path: str, ignored: IgnoreRules, depth: int, done: threading.Event
) -> Iterator[FolderEntry]:
    ignored = _with_rules_of(folder, path, ignored)
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return
    for name in names:
        if done.is_set():
            return
        where = f"{path}/{name}" if path else name
        if name == ".git" or inert(name) != name or "\n" in name:
            continue  # nobody could name it to a tool anyway
        try:
            status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except OSError:
            continue
        entry = FolderEntry(where, status)
        if ignored.leave_out(where, is_folder=entry.is_folder):
            continue
        yield entry
        if entry.is_folder and depth > 1:
            try:
                inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
            except OSError:
                continue
            try:
                yield from _below(inner, where, ignored, depth - 1, done)
            finally:
                os.close(inner)


def _with_rules_of(folder: int, path: str, ignored: IgnoreRules) -> IgnoreRules:
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        file = os.open(".gitignore", flags, dir_fd=folder)
    except OSError:
        return ignored
    with os.fdopen(file, "rb") as reader:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            return ignored
        return ignored.below(path, reader.read(MAX_IGNORE_BYTES))
