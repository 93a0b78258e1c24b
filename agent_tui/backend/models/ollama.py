"""Ollama's own API behind the form of chat completions, for what its ``/v1`` cannot do.

Its ``/v1/chat/completions`` takes no ``num_ctx`` and silently leaves out the beginning of a prompt that is
too long; ``POST /api/chat`` takes ``options.num_ctx`` and ``truncate: false``. Only where the config file
sets ``num_ctx``, this transport sends the SDK's request to ``/api/chat``, and returns the stream that the SDK
reads.

Sources: Ollama's ``api/types.go`` (ChatRequest, ChatResponse, Message, ToolCall), read of 0.17.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

import httpx2

CHAT = "/v1/chat/completions"
MAX_LINE_BYTES = 16 * 1024 * 1024


class OllamaTransport(httpx2.AsyncBaseTransport):
    """Sends chat completions to ``/api/chat`` with ``num_ctx``; everything else passes unchanged."""

    def __init__(self, inner: httpx2.AsyncBaseTransport, num_ctx: int) -> None:
        self._inner = inner
        self._num_ctx = num_ctx

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Return the response to ``request``; raises what the underlying transport raises."""
        if not request.url.path.endswith(CHAT):
            return await self._inner.handle_async_request(request)
        body = json.loads(await request.aread())
        path = request.url.path.removesuffix(CHAT) + "/api/chat"
        headers = [(name, value) for name, value in request.headers.raw if name.lower() != b"content-length"]
        native_request = httpx2.Request(
            request.method,
            request.url.copy_with(path=path),
            headers=headers,
            json=_native(body, self._num_ctx),
            extensions=request.extensions,
        )
        answer = await self._inner.handle_async_request(native_request)
        if answer.status_code != httpx2.codes.OK:
            return answer
        return httpx2.Response(
            answer.status_code,
            headers={"content-type": "text/event-stream"},
            stream=_Chunks(answer, body.get("model", "")),
            extensions=answer.extensions,
        )

    async def aclose(self) -> None:
        """Close the underlying transport."""
        await self._inner.aclose()


def _native(body: Mapping[str, Any], num_ctx: int) -> dict[str, Any]:
    """Return the body of ``/api/chat`` for a ``body`` of chat completions."""
    most = body.get("max_tokens") or body.get("max_completion_tokens")
    options = {"num_ctx": num_ctx, "num_predict": most, "temperature": body.get("temperature")}
    effort = body.get("reasoning_effort")
    fields = {
        "model": body["model"],
        "messages": [_message(message) for message in body["messages"]],
        "tools": body.get("tools"),
        "think": None if effort is None else effort != "none",
        "options": {name: value for name, value in options.items() if value is not None},
        "stream": True,
        "truncate": False,
        "shift": False,  # do not drop the beginning during the answer, either
    }
    return {name: value for name, value in fields.items() if value is not None}


def _message(message: Mapping[str, Any]) -> dict[str, Any]:
    content = message.get("content") or ""
    images = []
    if isinstance(content, list):
        # Chat completions have "data:image/png;base64,…" for an image, Ollama the part after the comma.
        urls = [part["image_url"]["url"] for part in content if part.get("type") == "image_url"]
        images = [url.partition(",")[2] for url in urls]
        content = "".join(part.get("text", "") for part in content)
    native: dict[str, Any] = {"role": message["role"], "content": content}
    if images:
        native["images"] = images
    if message["role"] == "tool":
        native["tool_call_id"] = message.get("tool_call_id", "")
    if calls := message.get("tool_calls"):
        native["tool_calls"] = [
            {
                "id": call["id"],
                "function": {
                    "name": call["function"]["name"],
                    "arguments": _arguments(call["function"]["arguments"]),
                },
            }
            for call in calls
        ]
    return native


def _arguments(text: str) -> dict[str, Any]:
    """Return arguments as the object that Ollama requires; other values get a name of ours."""
    try:
        value = json.loads(text or "{}")
    except ValueError:
        value = text
    return value if isinstance(value, dict) else {"arguments": value}


class _Chunks(httpx2.AsyncByteStream):
    """The lines of Ollama's response as events of chat completions."""

    def __init__(self, answer: httpx2.Response, model: str) -> None:
        self._answer = answer
        self._model = model
        self._calls = 0

    async def __aiter__(self) -> AsyncIterator[bytes]:
        waiting = bytearray()
        assert isinstance(self._answer.stream, httpx2.AsyncByteStream)
        async for piece in self._answer.stream:
            waiting += piece
            *lines, rest = waiting.split(b"\n")
            waiting = bytearray(rest)
            if len(waiting) > MAX_LINE_BYTES:
                raise httpx2.RemoteProtocolError("a line of the answer is too long")
            for line in lines:
                if line.strip():
                    yield self._events(line)
        if waiting.strip():
            yield self._events(waiting)

    async def aclose(self) -> None:
        await self._answer.aclose()

    def _events(self, line: bytes | bytearray) -> bytes:
        """Return the events for one line; invalid JSON breaks the answer, as in the SDK."""
        answer = json.loads(line.decode("utf-8", "replace"))
        if "error" in answer:
            return _event({"error": {"message": str(answer["error"])}})
        message = answer.get("message") or {}
        delta: dict[str, Any] = {"content": message.get("content", "")}
        if thought := message.get("thinking"):
            delta["reasoning_content"] = thought
        if calls := [self._call(call) for call in message.get("tool_calls") or ()]:
            delta["tool_calls"] = calls
        if not answer.get("done"):
            return self._chunk(delta)
        reason = answer.get("done_reason") or "stop"
        prompt, completion = answer.get("prompt_eval_count", 0), answer.get("eval_count", 0)
        usage = {
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "total_tokens": prompt + completion,
        }
        is_call = self._calls and reason == "stop"
        last = self._chunk(delta, "tool_calls" if is_call else reason)
        return last + _event({**self._head, "choices": [], "usage": usage}) + b"data: [DONE]\n\n"

    def _call(self, call: Mapping[str, Any]) -> dict[str, Any]:
        number, self._calls = self._calls, self._calls + 1
        function = call.get("function") or {}
        return {
            "index": number,
            "id": call.get("id") or f"call_{number}",
            "type": "function",
            "function": {
                "name": function.get("name", ""),
                "arguments": json.dumps(function.get("arguments") or {}),
            },
        }

    @property
    def _head(self) -> dict[str, Any]:
        return {"id": "ollama", "object": "chat.completion.chunk", "created": 0, "model": self._model}

    def _chunk(self, delta: Mapping[str, Any], finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return _event({**self._head, "choices": [choice]})


def _event(value: object) -> bytes:
    return f"data: {json.dumps(value)}\n\n".encode()
