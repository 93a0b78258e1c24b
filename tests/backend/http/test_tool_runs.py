"""Single calls of tools for agents that live elsewhere, at the HTTP face."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent_tui.backend.engine.answer.tool_runs import MAX_RUNS
from agent_tui.clients.agents.tools import ClientTools
from agent_tui.clients.backend import BackendClient
from agent_tui.clients.chat import ChatClient
from agent_tui.clients.http import Net
from agent_tui.config.tools import TOOL_HEADER
from agent_tui.wire.agent_socket import ClientToolCall
from agent_tui.wire.sse import Frame, SSEParser
from tests.backend.chat_backend import TOKEN, ChatBackend, chat_backend
from tests.backend.wire_client import Stream
from tests.fakes.scripted_model import ScriptedModel
from tests.fakes.scripted_tools import ScriptedTool, echo

RUN = "/api/tools/run"
NOBODY_SPEAKS = ScriptedModel(lambda _: [])


def body(folder: Path, name: str = "change", **changes: Any) -> dict[str, Any]:
    fields = {"conversation": "them/0", "workspace": str(folder), "name": name, "arguments": "{}"}
    return {**fields, **changes}


def data(frame: Frame) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(frame.data)
    return told


def outcome(frames: list[Frame]) -> dict[str, Any]:
    """Return the result, which stands before the end."""
    assert frames[-1].event == "end"
    step: dict[str, Any] = data(frames[-2])["step"]
    assert step["type"] == "tool_result"
    return step


def ready(client: BackendClient) -> Callable[[], Awaitable[BackendClient]]:
    async def reach() -> BackendClient:
        return client

    return reach


async def frames_of(stream: Stream) -> AsyncGenerator[Frame, None]:
    """Yield the frames of a run, which have no ids."""
    parser = SSEParser()
    async for chunk in stream.chunks():
        for frame in parser.feed(chunk):
            yield frame


async def asked(
    backend: ChatBackend,
    fields: Mapping[str, Any],
    *words: Mapping[str, Any],
    headers: Mapping[str, str] | None = None,
) -> list[Frame]:
    """Run a call, say these words to what asks, and return its frames."""
    frames = []
    async with backend.client.open("POST", RUN, fields, headers) as stream:
        assert stream.status == 200
        async for frame in frames_of(stream):
            frames.append(frame)
            if data(frame).get("status") == "asks":
                for word in words:
                    path = f"{RUN}/{data(frame)['turn_id']}/answer"
                    await backend.client.call("POST", path, word)
    return frames


@pytest.mark.parametrize("decision", ["once", "deny"])
async def test_a_tool_that_only_looks_needs_approval_too(tmp_path: Path, decision: str) -> None:
    look = ScriptedTool("look", echo)
    async with chat_backend(tmp_path, NOBODY_SPEAKS, look) as backend:
        fields = body(tmp_path, "look", arguments='{"text": "hello"}')
        frames = await asked(backend, fields, {"decision": decision})
        assert [data(frame)["ask"]["call"] for frame in frames if data(frame).get("ask")]
        assert ("hello" in outcome(frames).get("content", "")) == (decision == "once")
        assert look.ran == [{"text": "hello"}] * (decision == "once")


@pytest.mark.parametrize("decision", ["once", "conversation", "always", "deny"])
async def test_one_that_asks_waits_for_a_word_that_holds_as_wide_as_it_says(
    tmp_path: Path, decision: str
) -> None:
    change = ScriptedTool("change", echo, permission="ask")
    async with chat_backend(tmp_path, NOBODY_SPEAKS, change) as backend:
        words = {"decision": "deny"}  # to what asks again
        first = await asked(backend, body(tmp_path), {"decision": decision, "reason": "not now"})
        assert ("not now" in outcome(first).get("content", "")) == (decision == "deny")
        assert len(change.ran) == (decision != "deny")
        del change.ran[:]
        await asked(backend, body(tmp_path), words)
        assert len(change.ran) == (decision in ("conversation", "always"))
        del change.ran[:]
        await asked(backend, body(tmp_path, conversation="them/1"), words)
        assert len(change.ran) == (decision == "always")


async def test_a_wider_pattern_than_the_one_shown_is_refused(tmp_path: Path) -> None:
    change = ScriptedTool("change", echo, permission="ask")
    async with chat_backend(tmp_path, NOBODY_SPEAKS, change) as backend:
        wide = {"decision": "always", "pattern": "change(*)"}
        frames = await asked(backend, body(tmp_path), wide, {"decision": "deny"})
        assert "denied" in outcome(frames)["content"]
        assert not change.ran
        assert not backend.engine.asks.rules()


async def test_a_client_that_leaves_ends_what_runs(tmp_path: Path) -> None:
    began, ended = asyncio.Event(), asyncio.Event()

    async def slow(_: Mapping[str, Any]) -> str:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return ""

    async with chat_backend(tmp_path, NOBODY_SPEAKS, ScriptedTool("slow", slow)) as backend:
        async with backend.client.open("POST", RUN, body(tmp_path, "slow")) as stream:
            asking = await anext(frames_of(stream))
            answer = f"{RUN}/{data(asking)['turn_id']}/answer"
            await backend.client.call("POST", answer, {"decision": "once"})
            await began.wait()
        await ended.wait()


async def test_one_call_too_many_is_refused_in_a_plain_sentence(tmp_path: Path) -> None:
    async def slow(_: Mapping[str, Any]) -> str:
        await asyncio.Event().wait()
        return ""

    async with chat_backend(tmp_path, NOBODY_SPEAKS, ScriptedTool("slow", slow)) as backend:
        async with AsyncExitStack() as opened:
            for _ in range(MAX_RUNS):
                opening = backend.client.open("POST", RUN, body(tmp_path, "slow"))
                stream = await opened.enter_async_context(opening)
                await anext(frames_of(stream))
            async with Net(f"http://127.0.0.1:{backend.client.port}", TOKEN) as net:
                tools = ClientTools(ready(ChatClient(net).backend), "them/0", str(tmp_path))
                result = await tools.run(ClientToolCall("call-1", "slow"), lambda _: None)
        assert result.error == f"not run: Too many tools are running: {MAX_RUNS} may run at once."


async def test_a_program_that_a_tool_started_gets_nothing_allowed(tmp_path: Path) -> None:
    change = ScriptedTool("change", echo, permission="ask")
    async with chat_backend(tmp_path, NOBODY_SPEAKS, change) as backend:
        frames = await asked(backend, body(tmp_path), headers={TOOL_HEADER: "1"})
        assert "nobody was there" in outcome(frames)["content"]
        assert not change.ran


async def test_a_body_that_does_not_fit_runs_nothing(tmp_path: Path) -> None:
    bodies: tuple[tuple[dict[str, Any], int], ...] = (
        ({"workspace": ""}, 422),
        ({"workspace": "not/absolute"}, 422),
        ({"workspace": "/"}, 422),  # not one of those that the server allows
        ({"name": ""}, 422),
        ({"name": "n" * 201}, 422),
        ({"conversation": 7}, 422),
        ({"arguments": {}}, 422),
        ({"arguments": "x" * 13_000_000}, 413),
    )
    look = ScriptedTool("look", echo)
    async with chat_backend(tmp_path, NOBODY_SPEAKS, look, workspaces=(tmp_path,)) as backend:
        for changes, status in bodies:
            answer = await backend.client.call("POST", RUN, body(tmp_path, **{"name": "look", **changes}))
            assert answer.status == status, list(changes)
        assert not look.ran


async def test_words_need_a_call_that_asks_and_a_token(tmp_path: Path) -> None:
    async with chat_backend(tmp_path, NOBODY_SPEAKS) as backend:
        answer = await backend.client.call("POST", f"{RUN}/nothing/answer", {"decision": "once"})
        assert answer.status == 404
        stranger = replace(backend.client, token=None)
        for path in (RUN, f"{RUN}/nothing/answer"):
            assert (await stranger.call("POST", path, {})).status == 401
