"""OpenAI's chat completions through pydantic-ai, with calls told from their first piece on.

Imported by ``dialects`` when the first such provider is used: the SDK costs hundreds of ms.

pydantic-ai tells nothing of a call before its name has come: one whose name never comes is lost without a
word, and while one waits, the next part of the answer cannot end (its index is one too many). So a call that
begins without a name gets an empty one; what comes later is added to it.
"""

from __future__ import annotations

from collections.abc import Iterable

from openai.types.chat.chat_completion_chunk import Choice, ChoiceDeltaToolCall, ChoiceDeltaToolCallFunction
from pydantic_ai.messages import ModelResponseStreamEvent, ToolCallPart
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIStreamedResponse


class _Streamed(OpenAIStreamedResponse):
    def _map_tool_call_delta(self, choice: Choice) -> Iterable[ModelResponseStreamEvent]:
        for call in choice.delta.tool_calls or []:
            function = call.function or ChoiceDeltaToolCallFunction()
            if function.name is None and self._begins(call):
                call.function = function.model_copy(update={"name": ""})
            yield from super()._map_tool_call_delta(_only(choice, call))

    def _begins(self, call: ChoiceDeltaToolCall) -> bool:
        if call.index is not None:
            return self._parts_manager.get_part_by_vendor_id(call.index) is None
        parts = self._parts_manager.get_parts()  # some servers count by nothing
        return not parts or not isinstance(parts[-1], ToolCallPart)


class ChatModel(OpenAIChatModel):
    """One model of a provider that speaks chat completions."""

    @property
    def _streamed_response_cls(self) -> type[OpenAIStreamedResponse]:
        return _Streamed


def _only(choice: Choice, call: ChoiceDeltaToolCall) -> Choice:
    return choice.model_copy(update={"delta": choice.delta.model_copy(update={"tool_calls": [call]})})
