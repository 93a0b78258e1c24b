"""Clients of chats on the real backend: one of the original, and ours."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from agent_tui.backend.models.model import CallPiece, ThinkingPiece
from agent_tui.clients.chat import ChatClient, Question
from agent_tui.clients.http import Net
from agent_tui.model.errors import AgentBusy, NotFound
from agent_tui.model.events import LinkChanged, StepAdded, TurnDone
from tests.backend.chat_backend import TOKEN, ChatBackend, chat_backend
from tests.backend.engine.chat_house import speaks
from tests.fakes.scripted_model import Script, ScriptedModel
from tests.fakes.scripted_tools import reader

ROUND: Script = [
    ThinkingPiece("I "),
    ThinkingPiece("look."),
    "Let me\n",
    "see.",
    CallPiece(0, "call_a", "look", '{"at": '),
    CallPiece(0, arguments='"目标"}'),
]
WORDS = ["It ", "is ", "blue."]


@pytest.fixture
async def looking(tmp_path: Path) -> AsyncIterator[ChatBackend]:
    """A backend whose model thinks, speaks, looks and speaks again, at once."""
    async with chat_backend(tmp_path, speaks(ROUND, WORDS), reader()) as running:
        yield running


@pytest.fixture
async def held(tmp_path: Path) -> AsyncIterator[ChatBackend]:
    """A backend whose model says each of the words when the test lets it."""
    async with chat_backend(tmp_path, ScriptedModel(lambda request: WORDS), reader()) as running:
        yield running


async def original_client(port: int, chat_id: str, question: str) -> AsyncIterator[tuple[str, Any]]:
    """Ask as a client of the original does: no ids, no comments known, every step whole, by its id."""
    open_to, write_to = await asyncio.open_connection("127.0.0.1", port)
    body = json.dumps({"content": question, "attachments": [], "enabled_tools": ["look"]}).encode()
    head = [
        f"POST /api/conversations/{chat_id}/messages HTTP/1.1",
        f"Host: 127.0.0.1:{port}",
        f"Authorization: Bearer {TOKEN}",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
        "Connection: close",
    ]
    write_to.write("\r\n".join([*head, "", ""]).encode() + body)
    try:
        assert b" 200 " in await open_to.readline()
        event = data = ""
        async for raw in open_to:
            line = raw.decode().rstrip("\r\n")
            if line.startswith("event: "):
                event = line.removeprefix("event: ")
            elif line.startswith("data: "):
                data = line.removeprefix("data: ")
            elif not line and event:
                yield event, json.loads(data)
                event = data = ""
    finally:
        write_to.close()


async def test_a_client_of_the_original_gets_every_step_whole_and_the_end(looking: ChatBackend) -> None:
    path = await looking.chat()
    steps: dict[str, dict[str, Any]] = {}
    ends = []
    async for event, data in original_client(looking.client.port, path.rpartition("/")[2], "Blue?"):
        if event == "process_step":
            before = steps.get(data["step"]["id"], {}).get("content", "")
            assert data["step"].get("content", "").startswith(before)
            steps[data["step"]["id"]] = data["step"]
        else:
            ends.append((event, data))
    assert list(steps.values()) == [
        {"id": "step-0", "index": 0, "type": "thinking", "content": "I look."},
        {"id": "step-1", "index": 1, "type": "text", "content": "Let me\nsee."},
        {
            "id": "step-2",
            "index": 2,
            "type": "tool_call",
            "id_ref": "call_a",
            "name": "look",
            "arguments": '{"at": "目标"}',
        },
        {
            "id": "step-3",
            "index": 3,
            "type": "tool_result",
            "id_ref": "step-2",
            "name": "look",
            "content": '{"at": "\\u76ee\\u6807"}',
            "success": True,
        },
        {"id": "step-4", "index": 4, "type": "text", "content": "It is blue."},
    ]
    [(name, done)] = ends
    usage = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
    stored = (await looking.client.call("GET", f"{path}/messages")).json["messages"][-1]
    assert (name, done) == ("done", {"message_id": stored["id"], "token_count": 0, "usage": usage})


@pytest.fixture
async def client(looking: ChatBackend) -> AsyncIterator[ChatClient]:
    """Our client of that backend."""
    ours = ChatClient(Net(f"http://127.0.0.1:{looking.client.port}", TOKEN))
    try:
        yield ours
    finally:
        await ours.aclose()


async def test_our_client_makes_asks_follows_and_finds(looking: ChatBackend, client: ChatClient) -> None:
    chat = await client.create(title="Sky", enabled_tools=["look"])
    async with aclosing(client.ask(chat.id, Question("Why blue?"))) as events:
        heard = [event async for event in events]
    assert "".join(event.content for event in heard if isinstance(event, StepAdded)) == (
        "I look.Let me\nsee.It is blue."
    )
    done = heard[-1]
    assert isinstance(done, TurnDone)
    messages, as_of = await client.messages(chat.id)
    assert (messages[-1].id, messages[-1].text) == (done.message_id, "Let me\nsee.\n\nIt is blue.")
    assert as_of == (await client.show(chat.id)).last_event_id
    assert (await client.search("blue"))[0].conversation_id == chat.id
    assert [tool.name for tool in (await client.backend.tools())[0]] == ["look"]
    assert await client.missing(chat.id) == {"providers": "this server does not offer a list of providers"}
    changed = await client.change(chat.id, temperature=0.5, enabled_tools=None)
    assert (changed.temperature, changed.enabled_tools) == (0.5, None)
    assert (await client.change(chat.id, temperature=None)).temperature is None
    await client.delete(chat.id)
    with pytest.raises(NotFound):
        await client.show(chat.id)


async def test_our_client_learns_that_an_answer_is_under_way(held: ChatBackend) -> None:
    ours = ChatClient(Net(f"http://127.0.0.1:{held.client.port}", TOKEN))
    try:
        chat = await ours.create()
        asking = asyncio.create_task(held.ask(f"/api/conversations/{chat.id}"))
        answering = await held.model.called(1)
        async with aclosing(ours.ask(chat.id, Question("And?"))) as events:
            assert isinstance(await anext(events), LinkChanged)
            with pytest.raises(AgentBusy):
                await anext(events)
        answering.finish()
        await asking
    finally:
        await ours.aclose()
