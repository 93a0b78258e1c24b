"""A client of an agent socket (protocols.md §4), and a server that was written from there alone."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from agent_tui.clients.agents.socket import AgentSocketClient
from tests.clients.agents.agent_socket.asking import SOON, Told
from tests.fakes.agents.agent_socket_server import AgentSocketServer, agent_socket_server


@pytest.fixture
async def server() -> AsyncIterator[AgentSocketServer]:
    async with agent_socket_server() as running:
        yield running


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
async def client(server: AgentSocketServer, told: Told) -> AsyncIterator[AgentSocketClient]:
    made = AgentSocketClient(server.url, hooks=told.hooks(), times=SOON, environ={})
    yield made
    await made.aclose()
