"""One request at a time, and what belongs to none."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

import pytest

from agent_tui.clients.agents.socket import AgentSocketClient
from agent_tui.model.errors import AgentBusy
from tests.clients.agents.agent_socket.asking import Told, ask, asked, words
from tests.fakes.agents import agent_socket_server as fake
from tests.fakes.agents.agent_socket_server import AgentSocketServer

pytestmark = pytest.mark.timeout(60)


async def test_a_second_question_is_refused_here_and_the_first_goes_on(
    client: AgentSocketClient, server: AgentSocketServer
) -> None:
    go_on = asyncio.Event()
    server.answers = [[fake.text("A"), fake.waits(go_on), fake.text("B"), fake.end()]]
    async with aclosing(ask(client, "one")) as first:
        await anext(first)
        with pytest.raises(AgentBusy):
            await asked(client, "two")
        go_on.set()
        assert words([event async for event in first]) == "AB"
    assert server.texts == ["one"]


async def test_of_two_questions_at_once_one_is_asked(
    client: AgentSocketClient, server: AgentSocketServer
) -> None:
    both = await asyncio.gather(asked(client, "one"), asked(client, "two"), return_exceptions=True)
    assert [isinstance(one, AgentBusy) for one in both] == [False, True]
    assert server.texts == ["one"]


async def test_leaving_early_drains_the_rest_and_frees_the_chat(
    client: AgentSocketClient, server: AgentSocketServer, told: Told
) -> None:
    go_on = asyncio.Event()
    server.answers = [[fake.text("A"), fake.waits(go_on), fake.text("B"), fake.end()]]
    async with aclosing(ask(client, "one")) as first:
        await anext(first)
    go_on.set()
    assert words(await asked(client, "two")) == "You said: two"
    assert (len(server.paths), told.orphans, told.disconnects) == (1, [], [])


async def test_an_answer_that_was_left_and_fails_frees_the_chat_too(
    client: AgentSocketClient, server: AgentSocketServer, told: Told
) -> None:
    go_on = asyncio.Event()
    server.answers = [[fake.text("A"), fake.waits(go_on), fake.error("X", "y")]]
    async with aclosing(ask(client, "one")) as first:
        await anext(first)
    go_on.set()
    assert words(await asked(client, "two")) == "You said: two"
    assert (len(server.paths), told.codes) == (1, ["X"])


async def test_a_left_answer_without_an_end_costs_its_connection_before_the_next_question(
    client: AgentSocketClient, server: AgentSocketServer, told: Told
) -> None:
    server.answers = [[fake.text("A"), fake.forever]]
    async with aclosing(ask(client, "one")) as first:
        await anext(first)
    assert words(await asked(client, "two")) == "You said: two"
    assert (len(server.paths), len(told.disconnects)) == (2, 1)


async def test_a_request_that_is_cancelled_while_it_connects_leaves_nothing_behind(
    client: AgentSocketClient, server: AgentSocketServer
) -> None:
    server.greetings = [[fake.forever]]
    asking = asyncio.create_task(asked(client))
    await server.until(lambda one: one.open)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    await server.until(lambda one: one.closed)
    assert words(await asked(client)) == "You said: Hi"


async def test_events_without_a_request_go_to_the_callback(
    client: AgentSocketClient, server: AgentSocketServer, told: Told
) -> None:
    early = [fake.text("a reminder"), {"type": "AGENT_EVENT_DANCE"}, fake.file("x")]
    server.greetings = [[fake.STATUS, *early]]
    await client.connect()
    await told.until(lambda one: len(one.orphans) == 3)
    assert [frame.data() for frame in told.orphans] == early


async def test_what_was_sent_before_the_question_is_not_taken_as_its_answer(
    client: AgentSocketClient, server: AgentSocketServer, told: Told
) -> None:
    old = [fake.text("the end of another answer"), fake.end()]
    server.greetings = [[fake.STATUS, *old]]
    assert words(await asked(client)) == "You said: Hi"
    assert [frame.data() for frame in told.orphans] == old


async def test_what_comes_after_the_end_is_an_orphan_and_a_second_end_too(
    client: AgentSocketClient, server: AgentSocketServer, told: Told
) -> None:
    server.answers = [[fake.text("Hi"), fake.end(), fake.text("PS"), fake.end(), fake.close(1000)]]
    assert words(await asked(client)) == "Hi"
    await client.linger(30)
    assert [frame.data() for frame in told.orphans] == [fake.text("PS"), fake.end()]


async def test_who_asks_once_listens_no_longer_than_it_is_told(client: AgentSocketClient) -> None:
    await client.linger()
    await asked(client)
    await client.linger(0.01)
    assert client.is_connected
