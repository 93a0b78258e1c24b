"""What a chat's model is told: its system prompt, then the branch, with the calls and results of answers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from agent_tui.backend.engine.answer_steps import tool_calls
from agent_tui.backend.models.model import ChatMessage, Image
from agent_tui.backend.tools.calling import failed
from agent_tui.model.chains import joined
from agent_tui.model.events import Attachment, Message, Step

_FENCES = re.compile("`{3,}")
NO_RESULT = failed("unknown: nothing is known of what became of this call; it was not run again").content


def branch_told(system_prompt: str, messages: Sequence[Message]) -> list[ChatMessage]:
    """Return what the messages of a branch are to a model.

    Answers that were cut or failed are told as far as they went, with a mark. One that failed before it said
    or called anything is left out with its question: nobody answered that, and the next one stands alone.
    """
    told = [ChatMessage("system", system_prompt)] if system_prompt else []
    for message in joined(messages):
        if message.role == "user":
            told.append(ChatMessage("user", question_told(message.text, message.attachments)))
        elif answer := _answer_told(message):
            told += answer
        elif message.error and told and told[-1].role == "user":
            told.pop()
    return told


def question_told(text: str, attachments: Sequence[Attachment]) -> str:
    """Return a person's words with the files that came with them, each in a fence under its name."""
    return "\n\n".join([*([text] if text else []), *map(_fenced, attachments)])


def steps_told(
    steps: Sequence[Step], images: Mapping[str, tuple[Image, ...]] | None = None
) -> list[ChatMessage]:
    """Return the steps of one answer, in their order, as messages: a model is told of each of its calls what
    came of it. What it thought it is not told. ``images`` came with results, by the ids of their calls.
    """
    pictures = images or {}
    told: list[ChatMessage] = []
    words: list[str] = []
    calls: list[Step] = []
    results = {step.id_ref: step for step in steps if step.type == "tool_result"}
    answered = False
    for step in steps:
        if answered and step.type != "tool_result":
            told += _round_told(words, calls, results, pictures)
            words, calls, answered = [], [], False
        if step.type == "text" and step.content:
            words.append(step.content)
        elif step.type == "tool_call":
            calls.append(step)
        elif step.type == "tool_result":
            answered = True
    return told + _round_told(words, calls, results, pictures)


def without_unrun(steps: Sequence[Step]) -> tuple[Step, ...]:
    """Return the steps of a cut answer without the newest round of calls, if none of them ever ran: a model
    that goes on makes them anew, whole.
    """
    end = len(steps)
    for type_ in ("tool_result", "tool_call"):
        while end and steps[end - 1].type == type_:
            end -= 1
    calls = [step for step in steps[end:] if step.type == "tool_call"]
    has_run = any(call.status != "cut" or call.seconds is not None for call in calls)
    return tuple(steps if has_run else steps[:end])


def cut_off(told: Sequence[ChatMessage]) -> str:
    """Return the words that an answer was cut off in: those of the last message, if it says and calls no
    more.
    """
    last = told[-1] if told else None
    return last.content if last is not None and last.role == "assistant" and not last.calls else ""


def _round_told(
    words: Sequence[str],
    calls: Sequence[Step],
    results: Mapping[str, Step],
    images: Mapping[str, tuple[Image, ...]],
) -> list[ChatMessage]:
    if not (words or calls):
        return []
    told = [ChatMessage("assistant", "\n\n".join(words), calls=tool_calls(calls))]
    for call in calls:
        result = results.get(call.id)
        content = NO_RESULT if result is None else result.content
        shown = images.get(call.id, ())
        told.append(ChatMessage("tool", content, call_id=call.id_ref, name=call.name, images=shown))
    return told


def _answer_told(message: Message) -> list[ChatMessage]:
    told = steps_told(message.steps)
    if not (message.error or message.interrupted) or (message.error and not told):
        return told
    mark = ChatMessage("assistant", f"[cut off here: {message.error or message.interrupted}]")
    if words := cut_off(told):
        return [*told[:-1], ChatMessage("assistant", f"{words}\n\n{mark.content}")]
    return [*told, mark]


def _fenced(attachment: Attachment) -> str:
    longest = max((len(fence) for fence in _FENCES.findall(attachment.content)), default=2)
    fence = "`" * (longest + 1)
    end = "" if attachment.content.endswith("\n") else "\n"
    return f"{attachment.name}:\n{fence}\n{attachment.content}{end}{fence}"
