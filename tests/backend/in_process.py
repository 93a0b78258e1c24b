"""The backend's HTTP face over a real store and engine, with models the test speaks for."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent_tui.backend.engine.answer.tools import ToolSource
from agent_tui.backend.engine.engine import Engine
from agent_tui.backend.engine.resources import ModelSource
from agent_tui.backend.http.app import Api, Traffic, build_app
from agent_tui.backend.http.auth import KnownHosts
from agent_tui.backend.http.workspaces import Workspaces
from agent_tui.backend.hub import Hub
from agent_tui.backend.store.store import RETRY_SECONDS, Store
from tests.backend.served import served
from tests.backend.stores import open_store
from tests.backend.wire_client import WireClient
from tests.fakes.scripted_model import FakeModels, ScriptedModel
from tests.fakes.scripted_tools import ScriptedBox

TOKEN = "let-me-in"


@dataclass(slots=True)
class Backend:
    """A running backend, a client with its token, and the model that speaks for its agents."""

    client: WireClient
    engine: Engine
    hub: Hub
    traffic: Traffic
    stops: list[None]
    model: ScriptedModel

    async def room(self, task: str = "Redis or PostgreSQL?", agents: int = 2, **fields: Any) -> str:
        """Make a room and return its id."""
        named = [{"name": f"Agent {n}"} for n in range(1, agents + 1)]
        answer = await self.client.call("POST", "/api/rooms", {"task": task, "agents": named, **fields})
        assert answer.status == 201, answer.body
        room_id: str = answer.json["id"]
        return room_id


@asynccontextmanager
async def backend(
    folder: Path,
    model: ScriptedModel,
    *,
    models: ModelSource | Callable[[Store], ModelSource] | None = None,
    keep_alive_seconds: float = 60.0,
    box: ToolSource | None = None,
    workspaces: tuple[Path, ...] | None = None,
    retry_seconds: Sequence[float] = RETRY_SECONDS,
) -> AsyncIterator[Backend]:
    """Give a backend on the database in ``folder``; ``model`` speaks, ``models`` says for whom."""
    store = open_store(folder / "rooms.db", retry_seconds)
    if callable(models):
        models = models(store)
    hub = Hub(store)
    engine = Engine(store, hub, models or FakeModels(model), box or ScriptedBox(), unwatched_seconds=None)
    stops: list[None] = []
    api = Api(KnownHosts("127.0.0.1"), TOKEN, "instance-1", lambda: stops.append(None), keep_alive_seconds)
    traffic = Traffic()
    try:
        await engine.start(resume=False)
        app = build_app(engine, hub, api, traffic, workspaces=Workspaces(workspaces))
        async with served(app) as port:
            try:
                yield Backend(WireClient(port, TOKEN), engine, hub, traffic, stops, model)
            finally:
                await engine.stop_all("handover")
                hub.close()
    finally:
        await store.close()
