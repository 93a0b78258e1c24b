"""Which rules cover a call in its folder (``config.tool_rules`` has the patterns)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agent_tui.backend.tools.tool import ToolPlace
from agent_tui.config.tool_rules import COMMAND_TOOL, PATH_TOOLS, exact_pattern
from agent_tui.config.tool_rules import allows as pattern_allows


def exact_rule(tool: str, arguments: Mapping[str, Any], place: ToolPlace) -> tuple[str, str]:
    """Return the exact pattern of a call and its folder, without links: "" if the call works in no folder.
    The pattern is empty for a call that no rule can describe. Reads the file system.
    """
    if tool not in (COMMAND_TOOL, *PATH_TOOLS):
        return exact_pattern(tool, arguments), ""
    if place.workspace is None:
        return "", ""
    root = os.path.realpath(place.workspace)
    if tool in PATH_TOOLS:
        arguments = {**arguments, "path": os.path.relpath(_real_path(_path_in(arguments), root), root)}
    return exact_pattern(tool, arguments), root


def allows(pattern: str, tool: str, arguments: Mapping[str, Any], place: ToolPlace) -> bool:
    """Return whether a pattern covers this call. A file has to be covered both as it is named and as it is
    found: a link never leads to a file that the pattern does not cover.
    """
    if tool in PATH_TOOLS:
        arguments = {**arguments, "path": _path_in(arguments)}
    if not pattern_allows(pattern, tool, arguments):
        return False
    if tool not in PATH_TOOLS or place.workspace is None:
        return True
    root = os.path.realpath(place.workspace)
    real = _real_path(arguments["path"], root)
    if real == os.path.normpath(Path(root, arguments["path"])):
        return True
    return pattern_allows(pattern, tool, {**arguments, "path": os.path.relpath(real, root)})


def _path_in(arguments: Mapping[str, Any]) -> str:
    """Return the path of a call; without one, ``list_files`` lists the whole workspace."""
    return str(arguments.get("path", "."))


def _real_path(path: str, root: str) -> str:
    return os.path.realpath(Path(root, path.replace("\0", "")))
