"""The same answers as each kind of provider streams them, for ``FakeModelServer``.

Framing facts: the Messages API names its events and ends with ``message_stop``, its reason to stop comes
before in a ``message_delta``; Gemini (``alt=sse``) sends whole responses, the last with a ``finishReason``.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from tests.fakes.models import model_server
from tests.fakes.models.model_server import Answer, AskedCall, Ending, data

SIGNATURE = "c2lnbmVk"  # of thoughts, in base64; only its provider understands it


class Says(Protocol):
    """Makes an answer that thinks, says ``pieces``, calls tools; a ``finish`` of None leaves the end out."""

    def __call__(
        self,
        *pieces: str,
        thinking: Sequence[str] = (),
        calls: Sequence[AskedCall] = (),
        finish: str | None = ...,
        usage: tuple[int, int] = ...,
        ending: Ending = "end",
    ) -> Answer: ...


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of provider: how it speaks, and what it calls the usual things."""

    name: str
    says: Says
    length: str  # the reason to finish when the tokens are used up
    filtered: str
    path: str  # what follows the root of the server in base_url
    shape: bytes  # JSON that is right for the stream's framing and wrong for this API

    def __str__(self) -> str:
        return self.name


def event(kind: str, **fields: Any) -> bytes:
    """Return one event of the Messages API."""
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode()


def anthropic_says(
    *pieces: str,
    thinking: Sequence[str] = (),
    calls: Sequence[AskedCall] = (),
    finish: str | None = "end_turn",
    usage: tuple[int, int] = (7, 3),
    ending: Ending = "end",
) -> Answer:
    """Return an answer of the Messages API."""
    counted = {"input_tokens": usage[0], "output_tokens": 1}
    message = {"id": "m", "type": "message", "role": "assistant", "model": "x", "content": []}
    frames = [event("message_start", message={**message, "usage": counted, "stop_reason": None})]
    parts = [("thinking", thinking, {"signature": SIGNATURE}), ("text", pieces, {})]
    for place, (kind, words, more) in enumerate((kind, words, more) for kind, words, more in parts if words):
        block = {"type": kind, kind: "", **more}
        frames.append(event("content_block_start", index=place, content_block=block))
        for word in words:
            step = {"type": f"{kind}_delta", kind: word}
            frames.append(event("content_block_delta", index=place, delta=step))
        if finish is not None or calls:
            frames.append(event("content_block_stop", index=place))
    blocks = sum(1 for _, words, _ in parts if words)
    for place, call in enumerate(calls, blocks):
        begun = {"type": "tool_use", "id": call.id, "name": call.name, "input": {}}
        frames.append(event("content_block_start", index=place, content_block=begun))
        for piece in call.arguments:
            step = {"type": "input_json_delta", "partial_json": piece}
            frames.append(event("content_block_delta", index=place, delta=step))
        if finish is not None:
            frames.append(event("content_block_stop", index=place))
    if finish is not None:
        end = {"stop_reason": finish, "stop_sequence": None}
        frames.append(event("message_delta", delta=end, usage={"output_tokens": usage[1]}))
        frames.append(event("message_stop"))
    return Answer(tuple(frames), ending=ending)


def google_says(
    *pieces: str,
    thinking: Sequence[str] = (),
    calls: Sequence[AskedCall] = (),
    finish: str | None = "STOP",
    usage: tuple[int, int] = (7, 3),
    ending: Ending = "end",
) -> Answer:
    """Return an answer of the Gemini API."""
    parts: list[dict[str, Any]] = [{"text": word, "thought": True} for word in thinking]
    parts += [{"text": word} for word in pieces]
    for call in calls:
        called = {"name": call.name, "args": json.loads(call.text), **({"id": call.id} if call.id else {})}
        parts.append({"functionCall": called, "thoughtSignature": SIGNATURE})
    frames = [_response({"content": {"role": "model", "parts": [part]}, "index": 0}) for part in parts]
    if finish is not None:
        counted = {"promptTokenCount": usage[0], "candidatesTokenCount": usage[1]}
        end = {"content": {"role": "model", "parts": [{"text": ""}]}, "finishReason": finish, "index": 0}
        frames.append(_response(end, usageMetadata={**counted, "totalTokenCount": sum(usage)}))
    return Answer(tuple(frames), ending=ending)


def openai_says(
    *pieces: str,
    thinking: Sequence[str] = (),
    calls: Sequence[AskedCall] = (),
    finish: str | None = "stop",
    usage: tuple[int, int] = (7, 3),
    ending: Ending = "end",
) -> Answer:
    """Return an answer of the Chat Completions API."""
    counted = None if finish is None else usage
    return model_server.says(
        *pieces,
        thinking=thinking,
        calls=calls,
        finish=finish,
        usage=counted,
        done=finish is not None,
        ending=ending,
    )


def _response(candidate: dict[str, Any], **fields: Any) -> bytes:
    return data({"candidates": [candidate], "modelVersion": "x", **fields})


SHAPE = data({"choices": 7, "candidates": 7})
KINDS = (
    Kind("openai", openai_says, "length", "content_filter", "/v1", SHAPE),
    Kind("ollama", openai_says, "length", "content_filter", "/v1", SHAPE),
    Kind("anthropic", anthropic_says, "max_tokens", "refusal", "", event("message_start", message=7)),
    Kind("google", google_says, "MAX_TOKENS", "SAFETY", "", SHAPE),
)
