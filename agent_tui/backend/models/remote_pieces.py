"""The events of a provider's answer as our pieces: words, thoughts, calls as they grow, and why it ended.

Imported only by ``remote_calls``, which is imported in a thread.

Sources of the reasons: the enums of the Chat Completions, Messages and Gemini APIs; beside them
"model_length" and "error" (Mistral), "sensitive" and "network_error" (Zhipu),
"insufficient_system_resource" (DeepSeek), "abort" (vLLM).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pydantic_ai import messages as pai

from agent_tui.backend.models.model import CallPiece, Piece, TextPiece, ThinkingPiece
from agent_tui.backend.models.remote_history import arguments_text
from agent_tui.wire.content import encodable

Ending = Literal["good", "length", "filtered", "given up"]

_LENGTH = {"length", "max_tokens", "model_length", "model_context_window_exceeded", "continuation"}
_FILTERED = {
    *("content_filter", "content_filtered", "guardrail_intervened", "refusal", "sensitive", "spii"),
    *("safety", "recitation", "blocklist", "prohibited_content", "image_safety", "model_armor"),
}
_GIVEN_UP = {
    *("error", "abort", "network_error", "insufficient_system_resource", "language", "other"),
    *("malformed_function_call", "malformed_response", "unexpected_tool_call", "too_many_tool_calls"),
    "missing_thought_signature",
}


@dataclass(slots=True)
class _OpenCall:
    """A call that has begun: its number, and what was yielded of it."""

    number: int
    id: str
    name: str


class Pieces:
    """The pieces of one answer. ``said`` tells whether there was anything in it, if only a call.

    Calls are numbered in the order of their beginning, whatever the provider counts: some always count 0,
    some give all calls of an answer the same number. Without ``has_tools`` calls were not offered, and none
    come.
    """

    def __init__(self, *, has_tools: bool) -> None:
        self.said = False
        self._has_tools = has_tools
        self._open_calls: dict[int, _OpenCall] = {}  # by the part of the answer, the newest of each
        self._calls = 0

    def of(self, event: pai.ModelResponseStreamEvent) -> list[Piece]:
        """Return the pieces of the event."""
        match event:
            case pai.PartStartEvent(part=pai.TextPart(content=text)):
                return self._text(text)
            case pai.PartDeltaEvent(delta=pai.TextPartDelta(content_delta=text)):
                return self._text(text)
            case pai.PartStartEvent(part=pai.ThinkingPart(content=text)):
                return _thought(text)
            case pai.PartDeltaEvent(delta=pai.ThinkingPartDelta(content_delta=thought)):
                return _thought(thought)
            case pai.PartStartEvent(index=part, part=pai.ToolCallPart() as call) if self._has_tools:
                return [self._begin(part, call.tool_call_id, call.tool_name, call.args)]
            case pai.PartDeltaEvent(index=part, delta=pai.ToolCallPartDelta() as more) if self._has_tools:
                return self._go_on(part, more)
            case _:
                return []  # ends of parts

    def _text(self, text: str) -> list[Piece]:
        self.said = self.said or bool(text and not text.isspace())
        return [TextPiece(encodable(text))] if text else []

    def _begin(
        self, part: int, call_id: str, name: str, arguments: str | dict[str, object] | None
    ) -> CallPiece:
        call = self._open_calls[part] = _OpenCall(self._calls, call_id, name)
        self._calls += 1
        self.said = True
        return CallPiece(call.number, encodable(call_id), encodable(name), arguments_text(arguments))

    def _go_on(self, part: int, more: pai.ToolCallPartDelta) -> list[Piece]:
        call, name = self._open_calls[part], more.tool_name_delta or ""
        if name and call.name and more.tool_call_id not in (None, call.id):
            return [self._begin(part, more.tool_call_id or "", name, more.args_delta)]
        if name == call.name:
            name = ""  # some repeat it with every piece
        call.name += name
        arguments = arguments_text(more.args_delta)
        if not (name or arguments):
            return []
        return [CallPiece(call.number, "", encodable(name), arguments)]


def _thought(text: str | None) -> list[Piece]:
    return [ThinkingPiece(encodable(text))] if text else []


def ending(*reasons: str | None) -> Ending:
    """Return the meaning of the first of ``reasons`` that is bad; an unknown one is good."""
    for reason in (reason.lower() for reason in reasons if reason):
        if reason in _LENGTH:
            return "length"
        if reason in _FILTERED:
            return "filtered"
        if reason in _GIVEN_UP:
            return "given up"
    return "good"
