"""How an agent socket is connected to: STATUS, and servers that are busy, refuse, or are not there."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agent_tui.clients.agents.link import SocketTimes
from agent_tui.clients.agents.socket import LINGER_SECONDS, AgentSocketClient
from agent_tui.config.tools import TOOL_HEADER, TOOL_VARIABLE
from agent_tui.model.errors import (
    AgentBusy,
    AgentTuiError,
    ConnectFailed,
    NotFound,
    ProtocolError,
    Refused,
    StreamLost,
    Unauthorized,
)
from tests.clients.agents.agent_socket.asking import Told, asked, words
from tests.fakes.agents import agent_socket_server as fake
from tests.fakes.agents.agent_socket_server import AgentSocketServer, agent_socket_server

pytestmark = pytest.mark.timeout(60)


def test_the_times_of_the_protocol() -> None:
    times = SocketTimes()
    assert (times.status, times.heartbeat, LINGER_SECONDS) == (5.0, 30.0, 0.2)


async def test_no_status_in_time_is_no_connection(
    client: AgentSocketClient, server: AgentSocketServer, told: Told
) -> None:
    server.greetings = [[fake.forever]]
    with pytest.raises(ConnectFailed, match=r"no STATUS within 0.2 s"):
        await client.connect()
    assert told.codes == ["TIMEOUT"]
    await server.until(lambda one: one.closed)
    assert (server.open, told.disconnects) == (0, [])


@pytest.mark.parametrize("first", [fake.text("Hi"), fake.GOODBYE, {"type": "?"}, {"no": "type"}])
async def test_a_first_frame_that_is_not_status_is_an_error(
    client: AgentSocketClient, server: AgentSocketServer, told: Told, first: dict[str, Any]
) -> None:
    server.greetings = [[first, fake.STATUS]]
    with pytest.raises(ProtocolError, match="did not begin with STATUS"):
        await client.connect()
    assert told.codes == ["INVALID_STATUS"]


async def test_a_first_frame_that_is_not_json_is_a_parse_error(
    client: AgentSocketClient, server: AgentSocketServer, told: Told
) -> None:
    server.greetings = [["hello"]]
    with pytest.raises(ProtocolError, match="not JSON"):
        await client.connect()
    assert told.codes == ["PARSE_ERROR"]


async def test_an_error_before_status_says_why(
    client: AgentSocketClient, server: AgentSocketServer, told: Told
) -> None:
    server.greetings = [[fake.error("NO_MODEL", "none is configured")], [fake.error("CHAT_BUSY", "another")]]
    with pytest.raises(ProtocolError, match="NO_MODEL: none is configured"):
        await client.connect()
    with pytest.raises(AgentBusy):
        await client.connect()
    assert told.codes == ["NO_MODEL", "CHAT_BUSY"]


async def test_status_twice_does_no_harm(
    client: AgentSocketClient, server: AgentSocketServer, told: Told
) -> None:
    server.greetings = [[fake.STATUS, fake.STATUS]]
    server.answers = [[fake.STATUS, fake.text("Hi"), fake.STATUS, fake.end()]]
    assert words(await asked(client)) == "Hi"
    assert (told.orphans, told.errors) == ([], [])


# --- busy, refused, not there ------------------------------------------------------------------------


@pytest.mark.parametrize("how", [403, 409, 1008])
async def test_a_chat_that_another_client_holds_is_busy(
    client: AgentSocketClient, server: AgentSocketServer, told: Told, how: int
) -> None:
    server.held, server.busy = {"0"}, how
    with pytest.raises(AgentBusy):
        await client.connect()
    assert told.codes == ["CHAT_BUSY"]
    server.held.clear()
    assert words(await asked(client)) == "You said: Hi"


async def test_a_busy_chat_says_the_reason_of_its_close(
    client: AgentSocketClient, server: AgentSocketServer
) -> None:
    server.held, server.busy = {"0"}, 1008
    with pytest.raises(AgentBusy, match="chat 0 is busy"):
        await client.connect()


async def test_a_server_that_begins_and_then_finds_the_chat_busy_is_busy_too(
    client: AgentSocketClient, server: AgentSocketServer
) -> None:
    server.answers = [[fake.close(1008, "held by another")]]
    with pytest.raises(AgentBusy, match="held by another"):
        await asked(client)


async def test_a_close_with_1008_in_mid_answer_is_a_loss(
    client: AgentSocketClient, server: AgentSocketServer
) -> None:
    server.answers = [[fake.text("So f"), fake.close(1008, "thrown out")]]
    with pytest.raises(StreamLost, match="thrown out"):
        await asked(client)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (200, ProtocolError),
        (401, Unauthorized),
        (410, Refused),
        (429, ConnectFailed),
        (503, ConnectFailed),
    ],
)
async def test_another_refusal_is_not_busy(
    client: AgentSocketClient, server: AgentSocketServer, told: Told, status: int, kind: type[AgentTuiError]
) -> None:
    server.refusals = [status]
    with pytest.raises(kind) as raised:
        await client.connect()
    assert not isinstance(raised.value, AgentBusy)
    assert told.codes == ["CONNECTION_ERROR"]


async def test_nobody_at_the_address_cannot_be_connected_to(told: Told) -> None:
    client = AgentSocketClient("http://127.0.0.1:9/", hooks=told.hooks(), environ={})
    with pytest.raises(ConnectFailed):
        await client.connect()
    assert (told.codes, told.disconnects) == (["CONNECTION_ERROR"], [])
    await client.aclose()


async def test_an_older_server_without_chat_ids_is_found_at_its_fixed_address(told: Told) -> None:
    async with agent_socket_server(fixed="/old/ws") as server:
        base = f"{server.url}old/ws"
        client = AgentSocketClient(base, "5", hooks=told.hooks(), environ={})
        assert words(await asked(client)) == "You said: Hi"
        assert server.paths == ["/old/v1/agent_ws/5/", "/old/ws"]
        await client.aclose()
        told_to = AgentSocketClient(base, chat_path="", environ={})
        assert words(await asked(told_to)) == "You said: Hi"
        assert server.paths[2:] == ["/old/ws"]
        await told_to.aclose()
    assert told.errors == []


async def test_where_neither_address_answers_there_is_no_such_agent(told: Told) -> None:
    async with agent_socket_server(fixed="/elsewhere") as server:
        client = AgentSocketClient(server.url, hooks=told.hooks(), environ={})
        with pytest.raises(NotFound):
            await client.connect()
        assert server.paths == ["/v1/agent_ws/0/", "/"]
        assert told.codes == ["CONNECTION_ERROR"]
        await client.aclose()


async def test_a_busy_older_server_is_busy(told: Told) -> None:
    async with agent_socket_server(fixed="/ws") as server:
        server.refusals = [0, 403]
        client = AgentSocketClient(f"{server.url}ws", hooks=told.hooks(), environ={})
        with pytest.raises(AgentBusy):
            await client.connect()
        await client.aclose()


async def test_the_whole_header_goes_out_and_says_when_a_tool_asks(server: AgentSocketServer) -> None:
    client = AgentSocketClient(server.url, authorization="Basic c2VjcmV0", environ={TOOL_VARIABLE: "1"})
    await client.connect()
    (headers,) = server.headers
    assert (headers["Authorization"], headers[TOOL_HEADER]) == ("Basic c2VjcmV0", "1")
    await client.aclose()


async def test_a_server_that_answers_no_ping_does_not_delay_the_first_question(
    client: AgentSocketClient, server: AgentSocketServer
) -> None:
    server.greetings = [[fake.STATUS, fake.deaf, fake.forever]]
    async with asyncio.timeout(SocketTimes().status / 2):
        await client.connect()
