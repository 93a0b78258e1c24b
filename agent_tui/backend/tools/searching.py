"""The tool that finds text in the workspace's files, with any regular expression."""

from __future__ import annotations

import math
import re
import stat
import threading
import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from agent_tui.backend.models.model import ToolSpec
from agent_tui.backend.tools.files import BINARY_PROBE_BYTES, GLOB, PATH, LookingTool
from agent_tui.backend.tools.tool import ToolError, ToolOutput, object_schema
from agent_tui.backend.tools.walking import glob_spec, walk
from agent_tui.backend.tools.workspace import Workspace

if TYPE_CHECKING:
    import regex

SEARCH_SECONDS = 10.0
MAX_HITS = 200
MAX_HIT_CHARACTERS = 300
MAX_FILE_BYTES = 5 * 1024 * 1024
# Characters of a pattern with its minimum repetitions written out, as the engine does: at worst it takes 250
# bytes for each, and seconds in which nothing else runs.
MAX_WRITTEN_OUT = 2_000_000
_AT_LEAST = re.compile(r"\{\s*(\d+)")

_SPEC = ToolSpec(
    "search_files",
    f"Find lines that match a regular expression in the files of the workspace: at most {MAX_HITS} of them,"
    " as path:line: text. What .gitignore leaves out, binary and very large files are not searched.",
    object_schema(
        {
            "pattern": {"type": "string", "minLength": 1, "maxLength": 500},
            "path": {**PATH, "description": "a file or folder, relative to the workspace", "default": "."},
            "glob": GLOB,
            "ignore_case": {"type": "boolean", "default": False},
        },
        "pattern",
    ),
)


class SearchFiles(LookingTool):
    """``search_files``: ``seconds`` is for all files together."""

    spec = _SPEC

    def __init__(self, seconds: float = SEARCH_SECONDS) -> None:
        self._limit = seconds
        # The engine has its own, rough time limit; this one is only for when all else fails.
        self.seconds = 4 * seconds + 5.0

    def look(self, workspace: Workspace, arguments: Mapping[str, Any], done: threading.Event) -> ToolOutput:
        """Return one hit a line, and a last line in brackets with their number."""
        until = time.monotonic() + self._limit
        wanted = _compiled(arguments["pattern"], ignore_case=arguments.get("ignore_case", False))
        hits: list[str] = []
        searched = matching = 0
        for path, text in _files(workspace, arguments, done):
            searched += 1
            try:
                before = len(hits)
                hits += _hits(wanted, path, text, until, MAX_HITS + 1 - len(hits))
                matching += len(hits) > before
            except TimeoutError:
                raise ToolError(
                    f"searching took longer than {self._limit:g} s; a simpler pattern, or a path or glob,"
                    " is quicker"
                ) from None
            if len(hits) > MAX_HITS:
                hits[MAX_HITS:] = [f"[… more than {MAX_HITS}; a path, a glob or a longer pattern helps]"]
                break
        if not hits:
            return ToolOutput(f"[no hits in {searched:,} files]")
        return ToolOutput("\n".join([*hits, f"[{min(len(hits), MAX_HITS)} hits in {matching:,} files]"]))


def _compiled(pattern: str, *, ignore_case: bool) -> regex.Pattern[str]:
    import regex  # lazy: the backend starts without it, and this is a thread

    times = math.prod(max(1, int(count)) for count in _AT_LEAST.findall(pattern))
    if times * len(pattern) > MAX_WRITTEN_OUT:
        raise ToolError("the pattern repeats too much; + and * may repeat what they like")
    flags = regex.MULTILINE | (regex.IGNORECASE if ignore_case else 0)
    try:
        return regex.compile(pattern, flags)
    except (regex.error, RecursionError, OverflowError, MemoryError) as error:
        raise ToolError(f"the pattern is not a regular expression: {error}") from error


def _hits(wanted: regex.Pattern[str], path: str, text: str, until: float, most: int) -> list[str]:
    """Return the matching lines; raises ``TimeoutError``, from the engine itself, when the time is up."""
    # One search of the whole file shows for nearly all files that they have no match.
    if wanted.search(text, timeout=_time_left(until), concurrent=True) is None:
        return []
    hits: list[str] = []
    for number, line in enumerate(text.split("\n"), 1):
        if wanted.search(line, timeout=_time_left(until), concurrent=True):
            hits.append(f"{path}:{number}: {line.strip()[:MAX_HIT_CHARACTERS]}")
            if len(hits) >= most:
                break
    return hits


def _time_left(until: float) -> float:
    left = until - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


def _files(
    workspace: Workspace, arguments: Mapping[str, Any], done: threading.Event
) -> Iterator[tuple[str, str]]:
    only = glob_spec(arguments["glob"]) if "glob" in arguments else None
    path = arguments.get("path", ".")
    with workspace.find(path) as location:
        status = location.status
    if status is not None and stat.S_ISREG(status.st_mode):
        yield location.path, _text(workspace, location.path) or ""
        return
    for entry in walk(workspace, path, done):
        if not entry.is_file or entry.status.st_size > MAX_FILE_BYTES:
            continue
        if only is not None and not only.match_file(entry.path):
            continue
        try:
            text = _text(workspace, entry.path)
        except ToolError:
            continue  # it was removed, or may not be read
        if text is not None:
            yield entry.path, text


def _text(workspace: Workspace, path: str) -> str | None:
    data = workspace.read(path, MAX_FILE_BYTES)
    if b"\0" in data[:BINARY_PROBE_BYTES]:
        return None
    return data.decode("utf-8", "replace").replace("\r\n", "\n")
