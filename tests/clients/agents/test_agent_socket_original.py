"""The original's client against a server that was written from protocols.md §4 alone: the two peers agree.

What our own server has to pass is this client; here it is shown to tell right from wrong.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator

import pytest

from agent_tui.model import events as ev
from agent_tui.wire.agent_socket_encode import AgentSocketEncoder
from tests.fakes.agents import agent_socket_server as fake
from tests.fakes.agents.agent_socket_original import Busy, OriginalClient, OriginalError
from tests.fakes.agents.agent_socket_server import AgentSocketServer, agent_socket_server

pytestmark = pytest.mark.timeout(60)


@pytest.fixture
async def server() -> AsyncIterator[AgentSocketServer]:
    async with agent_socket_server() as running:
        yield running


@pytest.fixture
async def client(server: AgentSocketServer) -> AsyncIterator[OriginalClient]:
    made = OriginalClient(server.url, 3)
    yield made
    await made.close()


async def test_the_original_reads_a_whole_answer(server: AgentSocketServer, client: OriginalClient) -> None:
    server.answers = [
        [
            fake.text("I "),
            fake.call("f", "{"),
            fake.text("sub", "tools:1"),
            fake.call(None, "}"),
            fake.update({"progress": 1}),
            fake.result("f", [1]),
            fake.text("see."),
            fake.file("a.txt"),
            fake.end(9),
        ]
    ]
    await client.connect()
    answer = await client.ask("Hi", ["in.txt"])
    assert (answer.text, answer.texts["tools:1"], answer.files) == ("I see.", "sub", ["a.txt"])
    assert (answer.calls, answer.results) == ([["main", "f", "{}"]], [("main", "f", [1])])
    assert (answer.updates, answer.tokens_used) == ([{"progress": 1}], 9)
    assert server.received == [{"type": "USER_MESSAGE", "text": "Hi", "attachments": ["in.txt"]}]
    assert server.paths == ["/v1/agent_ws/3/"]


async def test_the_original_reads_what_our_log_becomes(
    server: AgentSocketServer, client: OriginalClient
) -> None:
    encoder = AgentSocketEncoder()
    events: list[ev.Event] = [
        ev.TurnStarted("m1", "c1", "assistant", "demo", "", 0),
        ev.StepSet("m1", ev.Step("step-0", 0, "thinking", "hm")),
        ev.StepSet("m1", ev.Step("step-1", 1, "text", "I look.")),
        ev.StepSet("m1", ev.Step("step-2", 2, "tool_call", name="read", arguments="{}")),
        ev.ToolStatusChanged("m1", "step-2", "running", progress="half"),
        ev.StepSet("m1", ev.Step("step-3", 3, "tool_result", "blue", "read", id_ref="step-2")),
        ev.StepSet("m1", ev.Step("step-4", 4, "text", "Blue.")),
        ev.TurnNoted("m1", "file_offered", about="a.txt"),
        ev.TurnDone("m1", "m1", 4, ev.Usage(10, 4)),
    ]
    frames = [json.loads(frame.json()) for event in events for frame in encoder.encode(event)]
    failing = [json.loads(frame.json()) for frame in AgentSocketEncoder().encode(ev.RunFailed("Stopped"))]
    server.answers = [frames, failing]
    await client.connect()
    answer = await client.ask("Hi")
    assert (answer.text, answer.files, answer.tokens_used) == ("I look.Blue.", ["a.txt"], 14)
    assert answer.results == [("main", "read", "blue")]
    with pytest.raises(OriginalError, match="STOPPED"):
        await client.ask("Hi")


async def test_the_original_sees_a_busy_chat_only_in_a_403(server: AgentSocketServer) -> None:
    server.held = {"3"}
    with pytest.raises(Busy):
        await OriginalClient(server.url, 3).connect()
    server.busy = 1008
    with pytest.raises(OriginalError, match="CONNECTION_ERROR"):
        await OriginalClient(server.url, 3).connect()


async def test_the_original_takes_one_question_at_a_time(
    server: AgentSocketServer, client: OriginalClient
) -> None:
    go_on = asyncio.Event()
    server.answers = [[fake.waits(go_on), fake.end()]]
    with pytest.raises(OriginalError, match="NOT_CONNECTED"):
        await client.ask("early")
    await client.connect()
    asking = asyncio.create_task(client.ask("one"))
    await server.until(lambda one: one.texts)
    with pytest.raises(Busy):
        await client.ask("two")
    go_on.set()
    await asking


async def test_the_original_says_when_a_server_is_not_to_the_letter(server: AgentSocketServer) -> None:
    async def fails(*frames: fake.Action) -> str:
        client = OriginalClient(server.url)
        server.greetings, server.answers = [[fake.STATUS]], [frames]
        await client.connect()
        with pytest.raises(OriginalError):
            await client.ask("Hi")
        await client.close()
        await server.until(lambda one: not one.held)
        return client.errors[-1].code if client.errors else "lost"

    assert await fails({"type": "AGENT_EVENT_DANCE"}) == "UNEXPECTED_MSG_TYPE"
    assert await fails({"type": "AGENT_EVENT_END", "tokens_used": "many"}) == "PARSE_ERROR"
    assert await fails("not json") == "PARSE_ERROR"
    assert await fails(fake.error("X", "y")) == "X"
    assert await fails(fake.close(1000)) == "lost"
    assert await fails(fake.GOODBYE) == "lost"


async def test_the_original_of_an_older_server_uses_its_address_as_given() -> None:
    async with agent_socket_server(fixed="/old") as server:
        client = OriginalClient(f"{server.url}old", fixed_url=True)
        await client.connect()
        assert (await client.ask("Hi")).text == "You said: Hi"
        await client.close()
        assert client.disconnects == 1
