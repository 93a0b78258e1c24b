"""The parts of a message in their order: its words, and what is folded between them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from agent_tui.model.events import Message, Step
from agent_tui.model.images import is_image
from tui.chat.files import facts
from tui.cli.export.document import FoldedPart, state_named
from tui.screens.words import count, say
from widgets.markdown.rows import APART
from widgets.transcript.step_body import fenced, step_body, step_head

# Which a result does not show.
TOLD_STATUSES = ("waits", "asks", "running", "denied", "unknown", "cut", "undone")


def parts(message: Message) -> list[str | FoldedPart]:
    """Return the words of a message, as Markdown, and its thoughts, tools and files; nothing empty."""
    found: list[str | FoldedPart] = []
    if all(step.type == "text" for step in message.steps):
        found.append(message.text)
    else:
        summaries = {note.about: note.count for note in message.notes if note.note == "summary"}
        found += _steps(message.steps, summaries)
    for file in message.attachments:
        body = "" if is_image(file) else fenced(file.content, limit=None)
        found.append(FoldedPart(file.name or say("export.file"), "", facts(file), body))
    return [part for part in found if not isinstance(part, str) or part.strip()]


def _steps(steps: tuple[Step, ...], summaries: Mapping[str, int]) -> Iterator[str | FoldedPart]:
    """Yield the parts; ``summaries`` are thoughts that replace this many messages, by their ids."""
    calls = {step.id for step in steps if step.type == "tool_call"}
    results = {step.id_ref: step for step in steps if step.type == "tool_result" and step.id_ref in calls}
    for step in steps:
        if step.type == "text":
            yield step.content
        elif step.id in summaries:
            title = say("step.summary", count=count(summaries[step.id]))
            yield FoldedPart(title, "", "", fenced(step.content, limit=None))
        elif step.type != "tool_result" or step.id_ref not in calls:
            yield _folded(step, results.get(step.id) if step.type == "tool_call" else None)


def _folded(step: Step, result: Step | None) -> FoldedPart:
    fields: dict[str, Any] = {"arguments": step.arguments, "content": step.content, "success": step.success}
    if result is not None:
        fields |= {"result": result.content, "success": result.success}
    title, about_it = step_head(step.type, name=step.name, **fields, seconds=step.seconds)
    name, _, about = title.partition(APART)
    status = state_named(step.status) if step.status in TOLD_STATUSES else ""
    summary = about_it if about_it.startswith(status) else " · ".join(filter(None, (status, about_it)))
    if step.type in ("thinking", "sub_agent"):  # what is written freely may leave something open
        return FoldedPart(name, "", summary, fenced(step.content, limit=None))
    return FoldedPart(name, about, summary, step_body(step.type, **fields, limit=None))
