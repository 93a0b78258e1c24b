"""Steps of a turn and the states of its calls, as they are sent (protocols.md §2), in rooms and in chats."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from agent_tui.model import events as ev


def step_fields(step: ev.Step) -> dict[str, Any]:
    """Return a step with exactly the fields that protocols.md §2 names for its type; other types may have a
    ``name``.
    """
    head: dict[str, Any] = {"id": step.id, "index": step.index, "type": step.type}
    match step.type:
        case "tool_call":
            return {**head, "id_ref": step.id_ref, "name": step.name, "arguments": step.arguments}
        case "tool_result":
            fields = {"id_ref": step.id_ref, "name": step.name, "content": step.content}
            return {**head, **fields, "success": step.success}
        case "thinking" | "text":
            return {**head, "content": step.content}
        case _:  # of another server's agent
            return {**head, **({"name": step.name} if step.name else {}), "content": step.content}


def call_fields(
    status: str, seconds: float | None, ask: ev.ToolAsk | None, progress: str = ""
) -> dict[str, Any]:
    """Return the state of a call; ``ask`` only while it asks, ``progress`` only if there is some."""
    fields: dict[str, Any] = {"status": status}
    if seconds is not None:
        fields["seconds"] = seconds
    if ask is not None and status == "asks":
        fields["ask"] = ask_fields(ask)
    if progress:
        fields["progress"] = progress
    return fields


def ask_fields(ask: ev.ToolAsk) -> dict[str, Any]:
    """Return the question to a person; ``form`` only if there is one."""
    fields = asdict(ask)
    if ask.form is None:
        del fields["form"]
    return fields


def calls_fields(steps: Sequence[ev.Step]) -> dict[str, Any]:
    """Return the states of the tool calls among ``steps``, by step id."""
    return {
        step.id: call_fields(step.status, step.seconds, step.ask)
        for step in steps
        if step.type == "tool_call" and step.status
    }
