"""Calls of tools as the engine makes them: by the text of their arguments."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agent_tui.backend.tools.calling import failed_output, parse_in_thread, run_tool
from agent_tui.backend.tools.tool import Tool, ToolError, ToolOutput, ToolPlace


async def called(tool: Tool, workspace: Path | None = None, **arguments: Any) -> ToolOutput:
    """Return what the call brought."""
    return await run_text(tool, json.dumps(arguments), ToolPlace(workspace))


async def run_text(tool: Tool, text: str, place: ToolPlace) -> ToolOutput:
    """Return what a call brings whose arguments a model wrote so."""
    try:
        arguments = await parse_in_thread(tool.spec, text)
    except ToolError as error:
        return failed_output(str(error))
    return await run_tool(tool, arguments, place)


async def refused(tool: Tool, workspace: Path | None = None, **arguments: Any) -> str:
    """Return why the call failed, in the form that every failure has."""
    output = await called(tool, workspace, **arguments)
    said: Mapping[str, Any] = json.loads(output.content)
    assert said["success"] is False, output
    assert output.success is False
    assert "\n" not in said["error"]
    return str(said["error"])
