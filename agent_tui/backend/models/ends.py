"""Why an answer ended: what providers and servers call it, as one of four kinds.

Sources: the enums of the Chat Completions, Messages and Gemini APIs; beside them "model_length" and "error"
(Mistral), "sensitive" and "network_error" (Zhipu), "insufficient_system_resource" (DeepSeek), "abort" (vLLM).
"""

from __future__ import annotations

from typing import Literal

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


def ending(*reasons: str | None) -> Ending:
    """Return what the first of ``reasons`` that is bad means; what nobody knows is good."""
    for reason in (reason.lower() for reason in reasons if reason):
        if reason in _LENGTH:
            return "length"
        if reason in _FILTERED:
            return "filtered"
        if reason in _GIVEN_UP:
            return "given up"
    return "good"
