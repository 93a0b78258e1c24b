"""Voice rooms over HTTP, with a fake LiveKit server and a fake agent, both real processes."""

from __future__ import annotations

import asyncio
import json
import sys
import urllib.request
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import jwt
import pytest
from starlette.applications import Starlette

from agent_tui import __version__
from agent_tui.backend.engine.engine import Engine
from agent_tui.backend.engine.unwatched import OpenPrograms
from agent_tui.backend.http.problem import ERROR_ANSWERS
from agent_tui.backend.http.workspaces import Workspaces
from agent_tui.backend.hub import Hub
from agent_tui.backend.store.store import FileStore
from agent_tui.backend.voice.rooms import BackendAddress, VoiceRooms
from agent_tui.backend.voice.routes import VoiceRoutes
from agent_tui.config.voice import VoiceConfig
from agent_tui.voice_parts import STAMP_FILE
from tests.backend.served import served
from tests.backend.wire_client import PATIENCE_SECONDS, Answer, WireClient
from tests.fakes.scripted_model import FakeModels, ScriptedModel
from tests.fakes.scripted_tools import ScriptedBox
from tests.fakes.voice import agent_child, livekit_server

T = TypeVar("T")

TOKEN_PATH = "/api/voice/token"
BACKEND_TOKEN = "only-for-our-agent"


def write_program(path: Path, *lines: str) -> Path:
    """Write a shell script that can be run; return its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(["#!/bin/sh", *lines, ""]))
    path.chmod(0o700)
    return path


def write_agent(data: Path, *, is_fake: bool = True) -> None:
    """Put the fake agent where ``voice setup`` puts the agent's Python; ``is_fake``: so is the server."""
    fake = ["export FAKE_LIVEKIT=1"] if is_fake else []
    script = Path(agent_child.__file__).resolve()
    folder = data / "voice/env"
    write_program(folder / "bin/python", *fake, f'exec "{sys.executable}" "{script}" "$@"')
    (folder / STAMP_FILE).write_text(__version__)


def write_server(data: Path, mode: str = "good") -> Path:
    """Put a fake livekit-server where ``voice setup`` puts the real one; return its path."""
    script = Path(livekit_server.__file__).resolve()
    server = data / "voice/bin/livekit-server"
    return write_program(server, f'exec "{sys.executable}" "{script}" {mode} "$@"')


async def until(look: Callable[[], T]) -> T:
    """Return what ``look`` returns once that is true."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not (result := look()):  # noqa: ASYNC110 - other processes tell it to nobody
            await asyncio.sleep(0.02)
    return result


def play(server_url: str, act: str, **fields: Any) -> None:
    """Have somebody join or leave a room of the fake server."""
    url = f"{server_url.replace('ws://', 'http://')}/fake/{act}"
    request = urllib.request.Request(url, json.dumps(fields).encode(), method="POST")  # noqa: S310 - ours
    urllib.request.urlopen(request, timeout=PATIENCE_SECONDS).close()  # noqa: S310


def looks(server_url: str) -> int:
    """Return how often the fake server was asked which rooms there are."""
    url = f"{server_url.replace('ws://', 'http://')}/fake/looks"
    with urllib.request.urlopen(url, timeout=PATIENCE_SECONDS) as answer:  # noqa: S310 - ours
        return int(answer.read())


@dataclass(slots=True)
class VoiceBackend:
    """The calls about voice on a real socket, and what is behind them."""

    client: WireClient
    rooms: VoiceRooms
    engine: Engine
    presence: OpenPrograms
    models: FakeModels
    data: Path
    url: str = ""  # of the LiveKit server, once somebody has joined

    async def ask(self, **fields: Any) -> Answer:
        """Ask for a token."""
        return await self.client.call("POST", TOKEN_PATH, fields)

    async def join(self, room: str, **fields: Any) -> Any:
        """Ask for a token that is given; return the answer's fields."""
        answer = await self.ask(room_name=room, **fields)
        assert answer.status == 201, answer.body
        self.url = answer.json["server_url"]
        return answer.json

    async def about(self) -> Any:
        """Return what ``GET /api/voice`` says."""
        answer = await self.client.call("GET", "/api/voice")
        assert answer.status == 200, answer.body
        return answer.json

    async def about_room(self, name: str) -> Any:
        """Return what it says about one room, None when there is no such room."""
        return next((room for room in (await self.about())["rooms"] if room["name"] == name), None)

    async def until_agent(self, room: str, state: str) -> Any:
        """Wait for the state of a room's agent; return what is said about the agent."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while (agent := (await self.about_room(room))["agent"])["state"] != state:  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        return agent

    def orders(self) -> list[dict[str, Any]]:
        """Return what agents were told, those of all rooms in the order in which they came."""
        file = self.data / "voice/told.jsonl"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    async def play(self, act: str, **fields: Any) -> None:
        """Have somebody join or leave a room of the fake server."""
        await asyncio.to_thread(play, self.url, act, **fields)

    async def until_server(self, *states: str) -> Any:
        """Wait until the server is in one of ``states``; return what is said about it."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while (server := (await self.about())["server"])["state"] not in states:  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        return server

    async def until_people(self, count: int) -> None:
        """Wait until so many people are in all rooms together."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while sum(len(room["people"]) for room in (await self.about())["rooms"]) != count:  # noqa: ASYNC110
                await asyncio.sleep(0.02)

    def servers(self) -> list[int]:
        """Return the process ids of all fake servers so far."""
        return [int(line) for line in (self.data / "voice/servers").read_text().split()]


@asynccontextmanager
async def voice_backend(
    data: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    server: str | Path = "good",
    config: VoiceConfig | None = None,
    left_seconds: float = 60.0,
    join_seconds: float = 60.0,
    is_near: bool = True,
    default: str = "scripts",
) -> AsyncIterator[VoiceBackend]:
    """Give voice rooms with the fake agent, and the fake server in mode ``server`` ("": there is none), or
    the real one at that path. ``default`` is the provider of conversations that name none.
    """
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.delenv("LIVEKIT_SERVER", raising=False)
    if isinstance(server, Path):
        monkeypatch.setenv("LIVEKIT_SERVER", str(server))
    elif server:
        monkeypatch.setenv("LIVEKIT_SERVER", str(write_server(data, server)))
    write_agent(data, is_fake=isinstance(server, str))
    store = FileStore(data / "rooms.db")
    presence = OpenPrograms()
    models = FakeModels(ScriptedModel(lambda _request: ["Well."], free=True))
    models.default = default
    engine = Engine(store, Hub(store), models, ScriptedBox(), unwatched_seconds=None, presence=presence)
    address = BackendAddress("http://127.0.0.1:1", BACKEND_TOKEN, is_near)
    voice = config or VoiceConfig()
    rooms = VoiceRooms(
        data,
        lambda: voice,
        engine,
        presence,
        address,
        left_seconds=left_seconds,
        look_seconds=0.05,
        join_seconds=join_seconds,
    )
    try:
        await engine.start(resume=False)
        app = Starlette(
            routes=VoiceRoutes(rooms, Workspaces(None)).routes(), exception_handlers=ERROR_ANSWERS
        )
        async with served(app) as port:
            yield VoiceBackend(WireClient(port), rooms, engine, presence, models, data)
    finally:
        await rooms.aclose()
        await engine.stop_all()
        await store.close()


def claims(token: str) -> Any:
    """Return what a token says, whoever signed it."""
    return jwt.decode(token, options={"verify_signature": False})
