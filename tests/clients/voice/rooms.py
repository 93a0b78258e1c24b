"""A real LiveKit server and real agents for tests of voice rooms."""

from __future__ import annotations

import asyncio
import ctypes
import http.client
import importlib.util
import json
import os
import secrets
import shutil
import signal
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from livekit import api

from agent_tui.network import has_interface

PATIENCE_SECONDS = 60.0
ROOM = "demo"
ROOT = Path(__file__).parents[3]


def find_server() -> str:
    """Return the livekit-server of the variable or of PATH, empty when there is none."""
    return os.environ.get("LIVEKIT_SERVER") or shutil.which("livekit-server") or ""


NEEDED = [  # marks of a test in a room
    pytest.mark.voice,
    pytest.mark.skipif(not find_server(), reason="no livekit-server: set LIVEKIT_SERVER or put it on PATH"),
    pytest.mark.skipif(
        not importlib.util.find_spec("livekit.agents"), reason="no livekit-agents: --all-extras"
    ),
    pytest.mark.skipif(not has_interface(), reason="WebRTC needs an interface besides loopback"),
]


def die_with_parent() -> None:
    """Have a child killed when the tests are (Linux)."""
    ctypes.CDLL("libc.so.6").prctl(1, signal.SIGKILL)


def _free_ports() -> tuple[int, int]:
    with (
        socket.socket(socket.AF_INET, socket.SOCK_STREAM) as tcp,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp,
    ):
        tcp.bind(("127.0.0.1", 0))
        udp.bind(("127.0.0.1", 0))
        return tcp.getsockname()[1], udp.getsockname()[1]


class LiveKit:
    """One livekit-server on loopback; it can be killed and started again as it was."""

    def __init__(self, log: Path) -> None:
        self.key, self.secret = "key", secrets.token_hex(32)
        self.port, self.media_port = _free_ports()
        self.url = f"ws://127.0.0.1:{self.port}"
        self._log = log
        self._child: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        """Start it and wait until it answers."""
        config = {
            "port": self.port,
            "bind_addresses": ["127.0.0.1"],
            "rtc": {
                "tcp_port": 0,
                "udp_port": self.media_port,
                "ips": {"includes": ["127.0.0.1/32"]},
                "node_ip": "127.0.0.1",
                "use_external_ip": False,
                "stun_servers": ["127.0.0.1:9"],
                "enable_loopback_candidate": True,
            },
            "keys": {self.key: self.secret},
            "room": {"empty_timeout": 30, "departure_timeout": 5},
            "logging": {"level": "warn"},
            "development": True,
        }
        with self._log.open("ab") as log:
            self._child = await asyncio.create_subprocess_exec(
                find_server(),
                env={**os.environ, "LIVEKIT_CONFIG": json.dumps(config)},
                stdout=log,
                stderr=log,
                preexec_fn=die_with_parent,
            )
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not await asyncio.to_thread(self._answers):
                assert self._child.returncode is None, self._log.read_text()
                await asyncio.sleep(0.02)
            await asyncio.sleep(0.2)  # a signal within its first 100 ms is lost

    def _answers(self) -> bool:
        asking = http.client.HTTPConnection("127.0.0.1", self.port, timeout=1)
        try:
            asking.request("GET", "/")
            return asking.getresponse().status == 200
        except OSError:
            return False
        finally:
            asking.close()

    async def kill(self) -> None:
        """Kill it as a crash would."""
        assert self._child is not None
        if self._child.returncode is None:
            self._child.kill()
        await self._child.wait()

    async def shut_down(self) -> None:
        """End it as whoever runs it would, without waiting for those who are in its rooms."""
        assert self._child is not None
        while self._child.returncode is None:
            self._child.terminate()
            await asyncio.wait({asyncio.create_task(self._child.wait())}, timeout=0.5)

    def token(self, identity: str, room: str = ROOM, *, seconds: float = 600.0, agent: bool = False) -> str:
        """Return a token that it signs."""
        token = api.AccessToken(self.key, self.secret).with_identity(identity).with_name(identity.title())
        grants = api.VideoGrants(room_join=True, room=room)
        if agent:  # its state is an attribute that it sets itself
            grants = api.VideoGrants(room_join=True, room=room, agent=True, can_update_own_metadata=True)
            token = token.with_kind("agent").with_attributes({"lk.agent.name": "toned"})
        return token.with_ttl(timedelta(seconds=seconds)).with_grants(grants).to_jwt()

    @asynccontextmanager
    async def admin(self) -> AsyncIterator[api.LiveKitAPI]:
        """Give its API for whoever runs it."""
        async with api.LiveKitAPI(self.url.replace("ws", "http", 1), self.key, self.secret) as server:
            yield server


@asynccontextmanager
async def server(folder: Path) -> AsyncIterator[LiveKit]:
    """Give a server that answers; it is killed at the end."""
    livekit = LiveKit(folder / "livekit.log")
    await livekit.start()
    try:
        yield livekit
    finally:
        await livekit.kill()


class AgentProcess:
    """One ``tests.fakes.voice.voice_agent``."""

    def __init__(self, child: asyncio.subprocess.Process) -> None:
        self.child = child

    async def join(self, livekit: LiveKit, room: str = ROOM, identity: str = "agent") -> None:
        """Let it join a room; returns when it listens."""
        assert self.child.stdin is not None
        assert self.child.stdout is not None
        line: dict[str, Any] = {"url": livekit.url, "token": livekit.token(identity, room, agent=True)}
        self.child.stdin.write(json.dumps(line).encode() + b"\n")
        async with asyncio.timeout(PATIENCE_SECONDS):
            assert json.loads(await self.child.stdout.readline())["state"] == "joined"


@asynccontextmanager
async def agent_process(folder: Path, *modes: str) -> AsyncIterator[AgentProcess]:
    """Give an agent that has joined no room yet; it is killed at the end."""
    with (folder / "agent.log").open("ab") as log:
        child = await asyncio.create_subprocess_exec(
            sys.executable, "-W", "ignore", "-P", "-m", "tests.fakes.voice.voice_agent", *modes,
            cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE, stderr=log, preexec_fn=die_with_parent,
        )  # fmt: skip
    try:
        yield AgentProcess(child)
    finally:
        if child.returncode is None:
            child.kill()
        await child.wait()
