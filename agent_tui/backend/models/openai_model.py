"""OpenAI's chat completions through pydantic-ai, as they really come and as servers really take them.

Imported by ``dialects`` when the first such provider is used: the SDK costs hundreds of ms.

What pydantic-ai does otherwise:

- It yields nothing of a call before its name has come: one whose name never comes is silently lost, and
  while one waits, the next part of the answer cannot end (its index is one too many). So a call that begins
  without a name gets an empty one here; what comes later is added to it.
- It adds up the usage in all chunks; xAI and others send the total so far in each.
- It passes over a choice without a ``delta``, even if it has a reason to finish or a whole ``message``, and
  over thoughts in a list of contents, which are Mistral's.
- It takes ``<think>`` for a tag only if that is a chunk of its own, but then anywhere. Local servers without
  a parser for thoughts (llama.cpp, LM Studio, vLLM) send it in any pieces, and an answer may be about it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from typing import Any, Literal

from openai import Omit
from openai.types.chat.chat_completion_chunk import (
    ChatCompletionChunk,
    Choice,
    ChoiceDelta,
    ChoiceDeltaToolCall,
    ChoiceDeltaToolCallFunction,
)
from pydantic_ai.messages import ModelResponseStreamEvent, TextPart, ToolCallPart
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIStreamedResponse
from pydantic_ai.profiles.openai import OpenAIModelProfile
from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider
from pydantic_ai.usage import RequestUsage

from agent_tui.backend.models.remote_history import IN_WORDS

OPENS, CLOSES = "<think>", "</think>"
NO_TAGS = ("", "")  # pydantic-ai then looks for none


class ThoughtTags:
    """Separates thoughts in tags at the beginning of an answer from its words, without the white space around
    the tags. Without an opening tag everything is words: they were shown before a closing one came.
    """

    def __init__(self) -> None:
        self._at: Literal["beginning", "thoughts", "end", "words"] = "beginning"
        self.held = ""  # may be a part of a tag
        self._has_thought = False

    def take(self, text: str) -> tuple[str, str]:
        """Return (thoughts, words) that can be passed on, now that ``text`` has come."""
        text, self.held, thought = self.held + text, "", ""
        if self._at == "beginning":
            bare = text.lstrip()
            if bare != OPENS and OPENS.startswith(bare):
                self.held = text
                return "", ""
            self._at = "thoughts" if bare.startswith(OPENS) else "words"
            text = bare.removeprefix(OPENS) if self._at == "thoughts" else text
        if self._at == "thoughts":
            thought, text = self._thoughts(text if self._has_thought else text.lstrip())
            self._has_thought = self._has_thought or bool(thought)
        if self._at == "end":
            text = text.lstrip()
            self._at = "words" if text else "end"
        return thought, text

    def rest(self) -> tuple[str, str]:
        """Return (thoughts, words) that were held back: the text has ended, or something else follows."""
        held, self.held = self.held, ""
        if self._at == "thoughts":
            return held, ""
        self._at = "words"
        return "", held

    def _thoughts(self, text: str) -> tuple[str, str]:
        thought, tag, words = text.partition(CLOSES)
        if tag:
            self._at = "end"
            return thought, words
        part = next((n for n in range(len(CLOSES) - 1, 0, -1) if text.endswith(CLOSES[:n])), 0)
        self.held = text[len(text) - part :]
        return text[: len(text) - part], ""


class _ChatStream(OpenAIStreamedResponse):
    async def _validate_response(self) -> AsyncIterator[ChatCompletionChunk]:
        self._model_profile = OpenAIModelProfile(**{**self._model_profile, "thinking_tags": NO_TAGS})
        tags, last, failure = ThoughtTags(), None, None
        try:
            async for chunk in self._response:
                for choice in chunk.choices or ():
                    choice.delta = choice.delta or self._whole(choice)
                if chunk.choices:
                    last = chunk
                    _separate_thoughts(chunk.choices[0], tags)
                yield chunk
        except Exception as error:  # noqa: BLE001 - whatever the SDK raises, what came before it was said
            failure = error
        if last is not None and tags.held:
            choice = Choice(index=0, delta=ChoiceDelta())
            _separate_thoughts(choice, tags, is_over=True)
            yield last.model_copy(update={"choices": [choice], "usage": None})
        if failure is not None:
            raise failure

    def _whole(self, choice: Choice) -> ChoiceDelta:
        """Return the whole ``message`` of a choice; empty if it has none, or if its words came in pieces."""
        message = (choice.model_extra or {}).get("message")
        spoken_parts = (TextPart, ToolCallPart)
        if not isinstance(message, dict) or any(
            isinstance(p, spoken_parts) for p in self._parts_manager.get_parts()
        ):
            return ChoiceDelta()
        delta = ChoiceDelta.construct(**message)
        for number, call in enumerate(delta.tool_calls or ()):
            call.index = number
        return delta

    def _add_usage(self, usage: RequestUsage, *, reported: bool, cumulative: bool = False) -> None:
        super()._add_usage(usage, reported=reported, cumulative=cumulative or reported)

    def _map_thinking_delta(self, choice: Choice) -> Iterable[ModelResponseStreamEvent]:
        yield from super()._map_thinking_delta(choice)
        content: object = choice.delta.content
        if isinstance(content, list) and (thought := "".join(map(_thought, content))):
            part = ("listed", self._reasoning_generation)
            yield from self._parts_manager.handle_thinking_delta(
                vendor_part_id=part, id=IN_WORDS, content=thought
            )

    def _map_tool_call_delta(self, choice: Choice) -> Iterable[ModelResponseStreamEvent]:
        for call in choice.delta.tool_calls or []:
            function = call.function or ChoiceDeltaToolCallFunction()
            if function.name is None and self._begins(call):
                call.function = function.model_copy(update={"name": ""})
            yield from super()._map_tool_call_delta(_with_call_only(choice, call))

    def _begins(self, call: ChoiceDeltaToolCall) -> bool:
        if call.index is not None:
            return self._parts_manager.get_part_by_vendor_id(call.index) is None
        parts = self._parts_manager.get_parts()  # some servers always count 0
        return not parts or not isinstance(parts[-1], ToolCallPart)


class ChatModel(OpenAIChatModel):
    """One model of a provider that speaks chat completions. ``refused`` are fields of a call that its server
    refuses: "max_tokens" then has its newer name, "stream_options" is left out.
    """

    def __init__(self, name: str, provider: OpenAICompatibleProvider, refused: frozenset[str]) -> None:
        newer = OpenAIModelProfile(openai_chat_supports_max_completion_tokens=True)
        super().__init__(name, provider=provider, profile=newer if "max_tokens" in refused else None)
        self.refused = refused

    @property
    def _streamed_response_cls(self) -> type[OpenAIStreamedResponse]:
        return _ChatStream

    def _get_stream_options(self, model_settings: Any) -> Any:
        return Omit() if "stream_options" in self.refused else super()._get_stream_options(model_settings)


def _thought(part: Any) -> str:
    """Return the words of a part of the kind "thinking", which is a list of texts; nothing for other
    parts.
    """
    match part:
        case {"type": "thinking", "thinking": [*texts]}:
            return "".join(text["text"] for text in texts if isinstance(text.get("text"), str))
        case _:
            return ""


def _separate_thoughts(choice: Choice, tags: ThoughtTags, *, is_over: bool = False) -> None:
    """Put thoughts in tags into the form of Mistral's: a list of contents."""
    delta: Any = choice.delta
    if not isinstance(delta.content, str | None):
        return
    thought, words = tags.take(delta.content or "")
    if is_over or choice.finish_reason or delta.tool_calls:
        rest = tags.rest()
        thought, words = thought + rest[0], words + rest[1]
    delta.content = words
    if thought:
        delta.content = [{"type": "thinking", "thinking": [{"text": thought}]}, words]


def _with_call_only(choice: Choice, call: ChoiceDeltaToolCall) -> Choice:
    return choice.model_copy(update={"delta": choice.delta.model_copy(update={"tool_calls": [call]})})
