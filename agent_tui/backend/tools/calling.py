"""One call of a tool: reads its arguments as the model wrote them, and always returns a result."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from agent_tui.backend.models.model import ToolSpec
from agent_tui.backend.tools.schema import misfit
from agent_tui.backend.tools.texts import MAX_OUTPUT_CHARACTERS, cut, failure, structure
from agent_tui.backend.tools.tool import Tool, ToolError, ToolOutput, ToolPlace, without_limit
from agent_tui.model.inert import inert_line
from agent_tui.model.tool_forms import FormAnswer, ToolForm
from agent_tui.wire.content import content_success, strict_json

MAX_ARGUMENT_CHARACTERS = 2_000_000

_log = logging.getLogger(__name__)


async def run_tool(tool: Tool, arguments: Mapping[str, Any], place: ToolPlace) -> ToolOutput:
    """Return the output of the call with ``arguments``, which ``parse_in_thread`` returned; a failed one for
    everything that went wrong: an error or a crash of the tool, its time-out. Raises only when cancelled.
    """
    try:
        async with asyncio.timeout(tool.seconds) as limit:
            output = await tool.run(arguments, _without_time_of_people(place, limit, tool.seconds))
    except ToolError as error:
        return failed_output(str(error))
    except TimeoutError:
        return failed_output(f"{tool.spec.name} was ended after {tool.seconds:g} s, its time-out")
    except Exception as error:  # noqa: BLE001 - a tool may raise anything (architecture.md §10)
        _log.warning("the tool %s crashed", tool.spec.name, exc_info=True)
        return failed_output(f"{tool.spec.name} crashed: {type(error).__name__}: {error}")
    size = max(output.size, len(output.content.encode("utf-8", "replace")))
    # Half a character, which JSON can contain, could not be stored or sent.
    content = _capped(output.content.encode("utf-8", "replace").decode("utf-8"))
    return ToolOutput(content, content_success(content), size, output.images)


def _without_time_of_people(place: ToolPlace, limit: asyncio.Timeout, seconds: float) -> ToolPlace:
    """Return the place with a ``fill_in`` that stops the time-out while a person fills in a form."""
    fill_in = place.fill_in
    if fill_in is None:
        return place

    async def filled_in(form: ToolForm) -> FormAnswer:
        with without_limit(limit, seconds):
            return await fill_in(form)

    return replace(place, fill_in=filled_in)


async def parse_in_thread(spec: ToolSpec, text: str) -> dict[str, Any]:
    """Call ``parse_arguments`` in a thread: a million items take seconds."""
    return await asyncio.to_thread(parse_arguments, spec, text)


def parse_arguments(spec: ToolSpec, text: str) -> dict[str, Any]:
    """Return the arguments of a call; raises ``ToolError`` that says what the model should correct."""
    if len(text) > MAX_ARGUMENT_CHARACTERS:
        raise ToolError(f"the arguments have more than {MAX_ARGUMENT_CHARACTERS:,} characters")
    try:
        arguments = strict_json(text or "{}")
    except (ValueError, RecursionError) as error:
        why = str(error) or "nested too deep"
        raise ToolError(f"the arguments are not valid JSON: {inert_line(why, 200)}") from None
    if not isinstance(arguments, dict):
        raise ToolError("the arguments must be a JSON object")
    try:
        wrong = misfit(spec, arguments)
    except RecursionError:
        wrong = "the arguments are nested too deep"
    if wrong:
        raise ToolError(wrong)
    return arguments


def failed_output(reason: str) -> ToolOutput:
    """Return a failed output with the reason as its content."""
    content = failure(reason)
    return ToolOutput(content, success=False, size=len(content.encode()))


def _capped(content: str) -> str:
    """Cut what is too long; in a JSON object of ours or a server's, its ``success`` must survive that."""
    if len(content) <= MAX_OUTPUT_CHARACTERS:
        return content
    if content_success(content):
        return cut(content, MAX_OUTPUT_CHARACTERS)
    return structure({"success": False, "error": content}, "error")
