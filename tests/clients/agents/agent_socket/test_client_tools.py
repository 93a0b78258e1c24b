"""Tools of an agent on a socket that run here."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import Any

import pytest

from agent_tui.clients.agents.link import Tell
from agent_tui.clients.agents.socket import AgentSocketClient
from agent_tui.model import events as ev
from agent_tui.wire.agent_socket import ClientToolCall, ClientToolResult
from tests.clients.agents.agent_socket.asking import Told, ask, asked
from tests.fakes.agents import agent_socket_server as fake
from tests.fakes.agents.agent_socket_server import AgentSocketServer

pytestmark = pytest.mark.timeout(60)


async def picked(call: ClientToolCall, _: Tell) -> ClientToolResult:
    return ClientToolResult(call.call_id, {"picked": call.args})


async def refused(call: ClientToolCall, _: Tell) -> ClientToolResult:
    return ClientToolResult(call.call_id, error="the person said no")


async def broken(call: ClientToolCall, _: Tell) -> ClientToolResult:
    raise ValueError("secret words")


@pytest.mark.parametrize(
    ("tool", "said"),
    [
        (picked, {"result": {"picked": {"kind": "png"}}}),
        (refused, {"error": "the person said no"}),
        (broken, {"error": "the tool failed: ValueError"}),
    ],
)
async def test_a_client_tool_is_announced_run_when_allowed_and_answered(
    server: AgentSocketServer, told: Told, tool: Any, said: dict[str, Any]
) -> None:
    client = AgentSocketClient(server.url, hooks=told.hooks(client_tools=tool), environ={})
    answered = asyncio.Event()
    asks = fake.client_call("c1", "pick", {"kind": "png"})
    server.answers = [[asks, fake.waits(answered), fake.text("Thanks"), fake.end()]]
    asking = asyncio.create_task(asked(client))
    await server.until(lambda one: len(one.received) == 2)
    answered.set()
    events = await asking
    assert server.paths == ["/v1/agent_ws/0/?client_tools=1"]
    assert server.received[1] == {"type": "CLIENT_TOOL_RESULT", "call_id": "c1", **said}
    shown = [event.step.type for event in events if isinstance(event, ev.StepSet)]
    assert shown == ["tool_call", "tool_result", "text"]
    await client.aclose()


async def test_a_client_that_announced_no_tools_runs_none(
    client: AgentSocketClient, server: AgentSocketServer
) -> None:
    answered = asyncio.Event()
    server.answers = [[fake.client_call("c1", "pick", {}), fake.waits(answered), fake.end()]]
    asking = asyncio.create_task(asked(client))
    await server.until(lambda one: len(one.received) == 2)
    answered.set()
    await asking
    assert server.received[1]["error"] == "this client runs no tools"
    assert server.paths == ["/v1/agent_ws/0/"]


async def test_a_tool_of_an_answer_that_was_left_is_given_up_and_answered(
    server: AgentSocketServer, told: Told
) -> None:
    was_given_up = asyncio.Event()

    async def slow(call: ClientToolCall, _: Tell) -> ClientToolResult:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            was_given_up.set()
            raise
        return ClientToolResult(call.call_id)

    client = AgentSocketClient(server.url, hooks=told.hooks(client_tools=slow), environ={})
    server.answers = [[fake.client_call("c1", "pick", {}), fake.forever]]
    async with aclosing(ask(client, "Hi")) as answer:
        await anext(answer)
    await was_given_up.wait()
    await server.until(lambda one: len(one.received) == 2)
    assert server.received[1]["call_id"] == "c1"
    assert "nobody waits" in server.received[1]["error"]
    await client.aclose()


async def test_a_client_tool_that_nobody_asked_for_is_not_run(server: AgentSocketServer, told: Told) -> None:
    async def never(call: ClientToolCall, _: Tell) -> ClientToolResult:
        raise AssertionError

    client = AgentSocketClient(server.url, hooks=told.hooks(client_tools=never), environ={})
    server.greetings = [[fake.STATUS, fake.client_call("c1", "pick", {})]]
    await client.connect()
    await server.until(lambda one: one.received)
    assert server.received[0]["error"] == "nobody waits for this answer"
    assert len(told.orphans) == 1
    await client.aclose()


async def test_one_call_that_is_asked_for_twice_is_run_once(server: AgentSocketServer, told: Told) -> None:
    runs: list[str] = []
    go_on = asyncio.Event()

    async def counted(call: ClientToolCall, _: Tell) -> ClientToolResult:
        runs.append(call.call_id)
        await go_on.wait()
        return ClientToolResult(call.call_id, 1)

    client = AgentSocketClient(server.url, hooks=told.hooks(client_tools=counted), environ={})
    asks = fake.client_call("c1", "pick", {})
    server.answers = [[asks, asks, fake.text("x"), fake.waits(go_on), fake.end()]]
    async with aclosing(ask(client, "Hi")) as answer:
        async for event in answer:
            if isinstance(event, ev.StepAdded):
                go_on.set()
    assert runs == ["c1"]
    assert told.codes == ["UNEXPECTED_MSG_TYPE"]
    await client.aclose()
