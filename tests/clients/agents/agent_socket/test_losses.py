"""How a connection to an agent socket is lost, and what is left of the answer."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

import pytest

from agent_tui.clients.agents.link import SocketTimes
from agent_tui.clients.agents.socket import AgentSocketClient
from agent_tui.clients.announced import announced
from agent_tui.model.errors import ConnectFailed, StreamLost, TimedOut
from agent_tui.state.conversation import ConversationState
from tests.clients.agents.agent_socket.asking import Told, ask, asked, events_of, words
from tests.fakes.agents import agent_socket_server as fake
from tests.fakes.agents.agent_socket_server import AgentSocketServer
from tests.fakes.clock import FakeClock

pytestmark = pytest.mark.timeout(60)


async def test_graceful_disconnect_in_mid_answer_is_a_loss_that_keeps_the_words(
    client: AgentSocketClient, server: AgentSocketServer, told: Told
) -> None:
    server.answers = [[fake.text("So f"), fake.GOODBYE, fake.text("ar"), fake.end()]]
    state = ConversationState()
    answer = announced(ask(client, "Hi", turn_id="t1"), "t1", "Hi")
    events, error = await events_of(answer)
    for event in events:
        state.apply(event)
    assert isinstance(error, StreamLost)
    assert "about to stop" in str(error)
    assert [(turn.text, turn.status, turn.interrupted) for turn in state.turns.values()] == [
        ("Hi", "said", ""),
        ("So f", "cut", "lost"),
    ]
    await server.until(lambda one: one.closed)
    assert server.closed == [1000]
    assert (told.disconnects, told.codes) == ([error], [])


@pytest.mark.parametrize("goodbye", [fake.GOODBYE, fake.close(1001), fake.close(1012), fake.close(1013)])
async def test_after_a_server_said_that_it_stops_the_next_connection_waits_a_little(
    server: AgentSocketServer, told: Told, goodbye: fake.Action
) -> None:
    clock = FakeClock()
    client = AgentSocketClient(server.url, hooks=told.hooks(), clock=clock, environ={})
    server.greetings = [[fake.STATUS, goodbye]]
    await client.connect()
    await told.until(lambda one: one.disconnects)
    asking = asyncio.create_task(asked(client))
    await clock.asked_again(clock.asked)
    assert len(server.paths) == 1
    await clock.advance(1.0)
    assert words(await asking) == "You said: Hi"
    await client.aclose()


@pytest.mark.parametrize(
    ("action", "said", "is_retryable"),
    [
        (fake.close(1000), "before the end", True),
        (fake.close(1001), "shutting down", True),
        (fake.close(1011, "oops"), "the server failed: oops", True),
        (fake.close(1012), "restarts", True),
        (fake.close(1013, "later"), "try again later: later", True),
        (fake.close(4321, "own code"), "own code", True),
        (fake.close(1009), "takes no message of this size", False),
        (fake.abort, "broke off", True),
        (fake.not_utf8(), "not UTF-8", False),
    ],
)
async def test_a_close_in_mid_answer_is_a_loss_and_says_why(
    client: AgentSocketClient,
    server: AgentSocketServer,
    told: Told,
    action: fake.Action,
    said: str,
    is_retryable: bool,
) -> None:
    server.answers = [[fake.text("So f"), action]]
    events, error = await events_of(ask(client, "Hi"))
    assert words(events) == "So f"
    assert isinstance(error, StreamLost)
    assert said in str(error)
    assert error.retryable is is_retryable
    assert (told.codes, told.disconnects) == (["CONNECTION_ERROR"], [error])


@pytest.mark.parametrize("code", [1000, 1011, 1013])
async def test_a_close_before_status_is_no_connection(
    client: AgentSocketClient, server: AgentSocketServer, told: Told, code: int
) -> None:
    server.greetings = [[fake.close(code)]]
    with pytest.raises(ConnectFailed):
        await client.connect()
    assert (told.codes, told.disconnects) == (["CONNECTION_ERROR"], [])


async def test_a_message_that_is_too_large_names_the_limit(
    client: AgentSocketClient, server: AgentSocketServer
) -> None:
    server.answers = [[fake.text("So f"), fake.text("x" * (16 * 1024 * 1024 + 1)), fake.end()]]
    events, error = await events_of(ask(client, "Hi"))
    assert words(events) == "So f"
    assert isinstance(error, StreamLost)
    assert "too large" in str(error)
    assert "16777216" in str(error)


async def test_a_server_that_stops_answering_pings_is_noticed(server: AgentSocketServer, told: Told) -> None:
    times = SocketTimes(heartbeat=0.1, pong=0.1, close=0.1)
    client = AgentSocketClient(server.url, hooks=told.hooks(), times=times, environ={})
    server.answers = [[fake.text("So f"), fake.deaf, fake.forever]]
    with pytest.raises(StreamLost, match="stopped answering"):
        await asked(client)
    await client.aclose()


async def test_an_answer_that_falls_silent_times_out_where_that_is_wanted(
    server: AgentSocketServer, told: Told
) -> None:
    times = SocketTimes(silence=0.2)
    client = AgentSocketClient(server.url, hooks=told.hooks(), times=times, environ={})
    server.answers = [[fake.text("So f"), fake.forever]]
    with pytest.raises(TimedOut, match=r"0.2 s without a frame"):
        await asked(client)
    await client.aclose()


async def test_a_tool_may_be_silent_for_longer_than_the_agent(server: AgentSocketServer, told: Told) -> None:
    times = SocketTimes(silence=0.1)
    client = AgentSocketClient(server.url, hooks=told.hooks(), times=times, environ={})
    is_built = asyncio.Event()
    server.answers = [
        [fake.call("build", "{}"), fake.waits(is_built), fake.result("build", "done"), fake.forever]
    ]
    heard: list[str] = []

    async def listen() -> None:
        async with aclosing(client.answer("Build it")) as answer:
            async for one in answer:
                heard.append(one.name)  # noqa: PERF401 - what came before it fails counts

    listening = asyncio.create_task(listen())
    done, _ = await asyncio.wait({listening}, timeout=5 * (times.silence or 0))
    assert not done
    is_built.set()
    with pytest.raises(TimedOut):
        await listening
    assert heard == ["", "AGENT_EVENT_TOOL_CALL_CHUNK", "AGENT_EVENT_TOOL_RESULT"]
    await client.aclose()


async def test_a_server_that_takes_no_message_times_out_and_the_connection_is_given_up(
    server: AgentSocketServer, told: Told
) -> None:
    times = SocketTimes(status=0.5, send=0.2, drain=0.1)
    client = AgentSocketClient(server.url, hooks=told.hooks(), times=times, environ={})
    server.greetings = [[fake.STATUS, fake.deaf]]
    await client.connect()
    with pytest.raises(TimedOut, match="takes no message"):
        await asked(client, "x" * 30_000_000)
    await client.linger(20)
    assert (client.is_connected, len(told.disconnects)) == (False, 1)
    await client.aclose()


async def test_the_connection_is_told_to_be_over_once_and_found_again_by_the_next_question(
    client: AgentSocketClient, server: AgentSocketServer, told: Told
) -> None:
    server.greetings = [[fake.STATUS, fake.close(1001)]]
    await client.connect()
    await told.until(lambda one: one.disconnects)
    assert not client.is_connected
    assert words(await asked(client)) == "You said: Hi"
    await client.aclose()
    assert [type(reason) for reason in told.disconnects] == [StreamLost, type(None)]
    assert server.texts == ["Hi"]


async def test_a_question_after_the_close_is_not_connected(
    client: AgentSocketClient, server: AgentSocketServer, told: Told
) -> None:
    await client.aclose()
    with pytest.raises(ConnectFailed, match="was closed"):
        await asked(client)
    assert (told.codes, server.paths) == (["NOT_CONNECTED"], [])


async def test_closing_ends_the_answer_under_way(
    client: AgentSocketClient, server: AgentSocketServer
) -> None:
    server.answers = [[fake.text("So f"), fake.forever]]
    answer = ask(client, "Hi")
    await anext(answer)
    await client.aclose()
    events, error = await events_of(answer)
    assert (words(events), type(error)) == ("So f", StreamLost)
