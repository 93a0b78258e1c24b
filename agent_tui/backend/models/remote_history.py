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

# What an answer was to: its question, and each call's name and arguments. No ids: some providers repeat
# theirs, and ours are used for calls without one.
_Content = str | Sequence[pai.UserContent]  # of a user's message
Key = tuple[int, tuple[tuple[str, str], ...]]


class ProviderThoughts:
    """What providers want back while an answer uses tools: thoughts, with their signatures.

    No one else understands it, so it is not stored: after a restart it is missing, and they do without.
    """

    def __init__(self) -> None:
        self._answers: OrderedDict[Key, pai.ModelResponse] = OrderedDict()

    def keep(self, told_: Sequence[ChatMessage], answer: pai.ModelResponse) -> None:
        """Keep an answer that called tools, as it came, with its messages."""
        calls = tuple(
            (part.tool_name, arguments_text(part.args))
            for part in answer.parts
            if isinstance(part, pai.ToolCallPart)
        )
        if calls:
            self._answers[_question(told_), calls] = answer
            while len(self._answers) > MAX_KEPT:
                self._answers.popitem(last=False)

    def find(self, told_: Sequence[ChatMessage], message: ChatMessage) -> pai.ModelResponse | None:
        """Return the original answer of ``message``; ``None`` if it is not kept."""
        calls = tuple((call.name, call.arguments) for call in message.calls)
        return self._answers.get((_question(told_), calls)) if calls else None


def arguments_text(arguments: str | Mapping[str, Any] | None) -> str:
    """Return arguments as JSON text; some providers send them as a complete object."""
    if arguments is None:
        return ""
    return encodable(arguments) if isinstance(arguments, str) else dump(arguments)


def model_messages(
    messages: Sequence[ChatMessage],
    kept: ProviderThoughts,
    *,
    has_tools: bool,
    odd_ids: bool = True,
    continues: str = "",
    is_prefilled: bool = False,
) -> list[pai.ModelMessage]:
    """Return ``messages`` in pydantic-ai's form; results of one round are one message, as most require.

    Without ``odd_ids`` the provider takes only letters and digits in the ids of calls. User and assistant
    alternate and a user is last: many servers' conversation templates (Mistral's, Gemma's) refuse any other
    order, newer Claudes one that ends with the assistant, and local servers continue the assistant's last
    words. Without tools, calls and results are written in words: some providers refuse them then. What is
    kept is sent with the calls since the last question: no provider needs older ones. An answer that
    ``continues`` the last message is requested in words, unless the provider continues it itself
    (``is_prefilled``).
    """
    asked = max((at for at, message in enumerate(messages) if message.role == "user"), default=-1)
    known: list[pai.ModelMessage] = []
    for at, original in enumerate(messages):
        message = original if odd_ids else _plain_ids(original)
        if message.role == "tool" and has_tools:
            _add_result(known, message)
        elif message.role == "assistant" and has_tools:
            _add(known, _answer(message, kept.find(messages, original) if at > asked else None))
        else:
            _add(known, _in_words(message))
    if known and isinstance(known[-1], pai.ModelResponse):
        if is_prefilled:
            known[-1] = _without_end(known[-1])
        else:
            asked_to = instruction(encodable(continues)) if continues else GO_ON
            known.append(pai.ModelRequest(parts=[pai.UserPromptPart(asked_to)]))
    return known


def has_thoughts(messages: Sequence[ChatMessage], kept: ProviderThoughts) -> bool:
    """Return whether the current answer can continue thinking: its thoughts before its calls are kept."""
    last = next((message for message in reversed(messages) if message.role != "tool"), None)
    return last is None or not last.calls or kept.find(messages, last) is not None


def _without_end(answer: pai.ModelResponse) -> pai.ModelResponse:
    """Return an answer that is continued: the Messages API refuses one that ends in white space."""
    *parts, last = answer.parts
    if isinstance(last, pai.TextPart):
        last = replace(last, content=last.content.rstrip())
    return replace(answer, parts=[*parts, last])


def _plain_ids(message: ChatMessage) -> ChatMessage:
    calls = tuple(replace(call, id=_ODD.sub("_", call.id)) for call in message.calls)
    return replace(message, calls=calls, call_id=_ODD.sub("_", message.call_id))


def _question(told_: Sequence[ChatMessage]) -> int:
    return hash(next((message.content for message in reversed(told_) if message.role == "user"), ""))


def _add(known: list[pai.ModelMessage], message: pai.ModelMessage) -> None:
    """Add a message; a second message of the same role is joined to the first."""
    match known[-1:], message:
        case (
            [pai.ModelRequest(parts=[pai.UserPromptPart(content=said) as last])],
            pai.ModelRequest(parts=[pai.UserPromptPart(content=more)]),
        ):
            last.content = _both(said, more)
        case (
            [pai.ModelResponse(parts=[pai.TextPart(content=said) as words])],
            pai.ModelResponse(parts=[pai.TextPart(content=more), *calls] as parts),
        ) if parts:
            known[-1] = replace(message, parts=[replace(words, content=f"{said}\n\n{more}"), *calls])
        case _:
            known.append(message)


def _both(said: _Content, more: _Content) -> _Content:
    if isinstance(said, str) and isinstance(more, str):
        return f"{said}\n\n{more}"
    return [part for one in (said, more) for part in ([one] if isinstance(one, str) else one)]


def _images(message: ChatMessage) -> list[pai.BinaryImage]:
    return [pai.BinaryImage(image.data, media_type=image.media_type) for image in message.images]


def _add_result(known: list[pai.ModelMessage], message: ChatMessage) -> None:
    # Always as a success: pydantic-ai would wrap the text of a failure, which says so itself.
    text = encodable(message.content)
    images = _images(message)
    part = pai.ToolReturnPart(_name(message.name), [text, *images] if images else text, message.call_id)
    last = known[-1] if known else None
    if isinstance(last, pai.ModelRequest) and isinstance(last.parts[-1], pai.ToolReturnPart):
        last.parts = [*last.parts, part]
    else:
        known.append(pai.ModelRequest(parts=[part]))


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
