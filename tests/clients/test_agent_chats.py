"""An agent of a service or a socket, used like the chats of a server: what its errors may say."""

from __future__ import annotations

import pytest

from agent_tui.clients.agents.chats import AgentChats
from agent_tui.config.file import SOCKET, TASKS, BackendConfig
from agent_tui.model.errors import AgentTuiError
from agent_tui.model.events import TurnNoted
from tests.fakes import agent_socket_server as fake
from tests.fakes.agent_socket_server import agent_socket_server
from tests.fakes.http_server import FakeServer, Reply, Request

TOKEN = "tok-en~SECRET"


def of(url: str, kind: str, notes: list[TurnNoted]) -> AgentChats:
    return AgentChats(BackendConfig("far", kind, url, token=TOKEN), note=notes.append)


async def test_a_socket_that_repeats_the_token_has_it_hidden() -> None:
    notes: list[TurnNoted] = []
    async with agent_socket_server() as server:
        server.answers = [[fake.error("X", f"bad Bearer {TOKEN}")], [fake.close(1011, f"no {TOKEN}")]]
        agent = of(server.url, SOCKET, notes)
        told = [one async for one in agent.answering("Hi", (), (), "t1")]
        assert "bad Bearer ********" in repr(told)
        with pytest.raises(AgentTuiError, match=r"no [*]{8}") as caught:
            [one async for one in agent.answering("Hi", (), (), "t2")]
        await agent.aclose()
    assert TOKEN not in f"{told}{caught.value!r}{notes}"


async def test_a_service_that_repeats_the_token_has_it_hidden() -> None:
    async def echo(request: Request, reply: Reply) -> None:
        await reply.head(400, {"Content-Type": "text/plain"})
        await reply.send(f"bad {request.headers['authorization']}".encode())
        await reply.end()

    async with FakeServer() as server:
        server.on("GET", "/ws/agent", echo)
        agent = of(server.url, TASKS, [])
        with pytest.raises(AgentTuiError, match=r"bad Bearer [*]{8}") as caught:
            await agent.opened("")
        await agent.aclose()
    assert TOKEN not in repr(caught.value)
