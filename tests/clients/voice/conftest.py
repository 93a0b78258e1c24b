"""A LiveKit server, an agent and a sound without devices, for sessions in rooms."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.clients.voice import rooms
from tests.fakes.voice.sound import FedSound


@pytest.fixture
async def livekit(tmp_path: Path) -> AsyncIterator[rooms.LiveKit]:
    """A server; after the test no log of anybody holds a token."""
    async with rooms.server(tmp_path) as livekit:
        yield livekit
    for log in await asyncio.to_thread(lambda: list(tmp_path.glob("*.log*"))):
        if log.name != "livekit.log":  # the server's own
            assert "eyJ" not in await asyncio.to_thread(log.read_text), log


@pytest.fixture
async def agent(tmp_path: Path) -> AsyncIterator[rooms.AgentProcess]:
    async with rooms.agent_process(tmp_path) as agent:
        yield agent


@pytest.fixture
async def sound() -> AsyncIterator[FedSound]:
    sound = FedSound()
    await sound.open()
    yield sound
    await sound.aclose()
