"""The messages for a provider: ours in pydantic-ai's form, with what only the provider understands.

Imported only by ``remote_calls``, which is imported in a thread. Names and ids come from models and are sent
to any provider, also to another one; each refuses a whole request because of one odd character.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pydantic_ai import messages as pai

from agent_tui.backend.models.continuing import instruction
from agent_tui.backend.models.model import ChatMessage, ToolCall
from agent_tui.wire.content import dump, encodable

MAX_KEPT = 64  # current answers of a provider
MAX_NAME_CHARACTERS = 64  # OpenAI's, the strictest
NAMELESS = "nameless"
IN_WORDS = "content"  # pydantic-ai's id of thoughts among the words, which are not sent back
GO_ON = "[Go on.]"  # for an agent that spoke last itself
_ODD = re.compile("[^a-zA-Z0-9_-]")

_Content = str | Sequence[pai.UserContent]  # of a user's message
# Identifies an answer: its question, and each call's name and arguments. No ids: some providers repeat
# theirs, and ours are used for calls without one.
Key = tuple[int, tuple[tuple[str, str], ...]]


class ProviderThoughts:
    """What providers want back while an answer uses tools: thoughts, with their signatures.

    No one else understands these, so they are not stored: after a restart calls are made without them.
    """

    def __init__(self) -> None:
        self._answers: OrderedDict[Key, pai.ModelResponse] = OrderedDict()

    def keep(self, messages: Sequence[ChatMessage], answer: pai.ModelResponse) -> None:
        """Keep an answer that called tools, as it came, with its messages."""
        calls = tuple(
            (part.tool_name, arguments_text(part.args))
            for part in answer.parts
            if isinstance(part, pai.ToolCallPart)
        )
        if calls:
            self._answers[_question(messages), calls] = answer
            while len(self._answers) > MAX_KEPT:
                self._answers.popitem(last=False)

    def find(self, messages: Sequence[ChatMessage], message: ChatMessage) -> pai.ModelResponse | None:
        """Return the original answer of ``message``; ``None`` if it is not kept."""
        calls = tuple((call.name, call.arguments) for call in message.calls)
        return self._answers.get((_question(messages), calls)) if calls else None


def arguments_text(arguments: str | Mapping[str, Any] | None) -> str:
    """Return arguments as JSON text; some providers send them as a complete object."""
    if arguments is None:
        return ""
    return encodable(arguments) if isinstance(arguments, str) else dump(arguments)


def model_messages(
    messages: Sequence[ChatMessage],
    thoughts: ProviderThoughts,
    *,
    has_tools: bool,
    any_ids: bool = True,
    continues: str = "",
    is_prefilled: bool = False,
) -> list[pai.ModelMessage]:
    """Return ``messages`` in pydantic-ai's form; results of one round are one message, as most require.

    Without ``any_ids`` the provider takes only letters and digits in the ids of calls. User and assistant
    alternate and a user is last: many servers' conversation templates (Mistral's, Gemma's) refuse any other
    order, newer Claudes one that ends with the assistant, and local servers continue the assistant's last
    words. Without tools, calls and results are written in words: some providers refuse them then. The
    ``thoughts`` kept are sent with the calls since the last question: no provider needs older ones. An answer
    that ``continues`` the last message is requested in words, unless the provider continues it itself
    (``is_prefilled``).
    """
    question_at = max((at for at, message in enumerate(messages) if message.role == "user"), default=-1)
    history: list[pai.ModelMessage] = []
    for at, original in enumerate(messages):
        message = original if any_ids else _plain_ids(original)
        if message.role == "tool" and has_tools:
            _add_result(history, message)
        elif message.role == "assistant" and has_tools:
            _add(history, _answer(message, thoughts.find(messages, original) if at > question_at else None))
        else:
            _add(history, _in_words(message))
    if history and isinstance(history[-1], pai.ModelResponse):
        if is_prefilled:
            history[-1] = _without_end(history[-1])
        else:
            asked_to = instruction(encodable(continues)) if continues else GO_ON
            history.append(pai.ModelRequest(parts=[pai.UserPromptPart(asked_to)]))
    return history


def has_thoughts(messages: Sequence[ChatMessage], thoughts: ProviderThoughts) -> bool:
    """Return whether the current answer can continue thinking: its thoughts before its calls are kept."""
    last = next((message for message in reversed(messages) if message.role != "tool"), None)
    return last is None or not last.calls or thoughts.find(messages, last) is not None


def _without_end(answer: pai.ModelResponse) -> pai.ModelResponse:
    """Return an answer that is continued: the Messages API refuses one that ends in white space."""
    *parts, last = answer.parts
    if isinstance(last, pai.TextPart):
        last = replace(last, content=last.content.rstrip())
    return replace(answer, parts=[*parts, last])


def _plain_ids(message: ChatMessage) -> ChatMessage:
    calls = tuple(replace(call, id=_ODD.sub("_", call.id)) for call in message.calls)
    return replace(message, calls=calls, call_id=_ODD.sub("_", message.call_id))


def _question(messages: Sequence[ChatMessage]) -> int:
    return hash(next((message.content for message in reversed(messages) if message.role == "user"), ""))


def _add(history: list[pai.ModelMessage], message: pai.ModelMessage) -> None:
    """Add a message; a second message of the same role is joined to the first."""
    match history[-1:], message:
        case (
            [pai.ModelRequest(parts=[pai.UserPromptPart(content=before) as last])],
            pai.ModelRequest(parts=[pai.UserPromptPart(content=more)]),
        ):
            last.content = _both(before, more)
        case (
            [pai.ModelResponse(parts=[pai.TextPart(content=before) as words])],
            pai.ModelResponse(parts=[pai.TextPart(content=more), *calls] as parts),
        ) if parts:
            history[-1] = replace(message, parts=[replace(words, content=f"{before}\n\n{more}"), *calls])
        case _:
            history.append(message)


def _both(before: _Content, after: _Content) -> _Content:
    if isinstance(before, str) and isinstance(after, str):
        return f"{before}\n\n{after}"
    lists = ([content] if isinstance(content, str) else content for content in (before, after))
    return [part for parts in lists for part in parts]


def _images(message: ChatMessage) -> list[pai.BinaryImage]:
    return [pai.BinaryImage(image.data, media_type=image.media_type) for image in message.images]


def _add_result(history: list[pai.ModelMessage], message: ChatMessage) -> None:
    # Always as a success: pydantic-ai would wrap the text of a failure, which says so itself.
    text = encodable(message.content)
    images = _images(message)
    part = pai.ToolReturnPart(_name(message.name), [text, *images] if images else text, message.call_id)
    last = history[-1] if history else None
    if isinstance(last, pai.ModelRequest) and isinstance(last.parts[-1], pai.ToolReturnPart):
        last.parts = [*last.parts, part]
    else:
        history.append(pai.ModelRequest(parts=[part]))


def _answer(message: ChatMessage, kept: pai.ModelResponse | None) -> pai.ModelResponse:
    content = encodable(message.content)
    if kept is None:
        parts: list[pai.ModelResponsePart] = [pai.TextPart(content)] if content.strip() else []
        return pai.ModelResponse(parts=[*parts, *map(_call, message.calls)])
    return replace(kept, parts=list(_as_it_came(kept, message.calls)))


def _as_it_came(kept: pai.ModelResponse, calls: Sequence[ToolCall]) -> Iterator[pai.ModelResponsePart]:
    """Yield the parts of an answer in their order: Claude accepts its thoughts in no other."""
    coming = iter(calls)
    for part in kept.parts:
        match part:
            case pai.ThinkingPart() if part.id != IN_WORDS:
                yield part
            case pai.TextPart() if part.content.strip():
                yield replace(part, content=encodable(part.content))
            case pai.ToolCallPart(provider_details=more):
                name = kept.provider_name if more else None
                yield replace(_call(next(coming)), provider_name=name, provider_details=more)
            case _:
                pass


def _call(call: ToolCall) -> pai.ToolCallPart:
    return pai.ToolCallPart(_name(call.name), encodable(call.arguments), call.id)


def _name(name: str) -> str:
    return _ODD.sub("_", name)[:MAX_NAME_CHARACTERS] or NAMELESS


def _in_words(message: ChatMessage) -> pai.ModelMessage:
    content = encodable(message.content)
    match message.role:
        case "system":
            return pai.ModelRequest(parts=[pai.SystemPromptPart(content)])
        case "user":
            images = _images(message)
            return pai.ModelRequest(parts=[pai.UserPromptPart([content, *images] if images else content)])
        case "tool":
            return pai.ModelRequest(parts=[pai.UserPromptPart(f"[{message.name} gave: {content}]")])
        case "assistant":
            calls = [encodable(f"[called {call.name} {call.arguments}]") for call in message.calls]
            words = "\n\n".join([*([content] if content else []), *calls])
            return pai.ModelResponse(parts=[pai.TextPart(words)] if words else [])
