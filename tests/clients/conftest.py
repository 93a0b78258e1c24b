from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from agent_tui.clients.http import Net
from tests.fakes.clock import FakeClock
from tests.fakes.servers.chat_server import LogChatServer
from tests.fakes.servers.http_server import FakeServer


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def server() -> AsyncIterator[FakeServer]:
    async with FakeServer() as server:
        yield server


@pytest.fixture
async def ours() -> AsyncIterator[LogChatServer]:
    async with LogChatServer() as server:
        yield server


@pytest.fixture
async def net(server: FakeServer) -> AsyncIterator[Net]:
    async with Net(server.url, environ={}) as net:
        yield net
