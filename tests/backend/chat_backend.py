"""The backend's HTTP face with chats: a real store, real engines, a model and tools as the test has them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent_tui.backend.engine.answer.tool_runs import ToolRuns
from agent_tui.backend.engine.engine import Engine
from agent_tui.backend.engine.timing import Timing
from agent_tui.backend.http.agent_tasks import AgentService
from agent_tui.backend.http.agent_ws import AgentSockets
from agent_tui.backend.http.app import Api, Traffic, build_app
from agent_tui.backend.http.auth import KnownHosts
from agent_tui.backend.http.chats import ChatRoutes
from agent_tui.backend.http.tools import Tools
from agent_tui.backend.http.workspaces import Workspaces
from agent_tui.backend.hub import Hub
from tests.backend.served import served
from tests.backend.stores import open_store
from tests.backend.wire_client import Answer, Frame, WireClient
from tests.fakes.scripted_model import FakeModels, ScriptedModel
from tests.fakes.scripted_tools import ScriptedBox

TOKEN = "let-me-in"
A_PATH = "/api/conversations"
PLAIN: Mapping[str, str] = {"accept": "text/event-stream"}
DELTAS: Mapping[str, str] = {"accept": "text/event-stream; deltas=1"}
FULL: Mapping[str, str] = {"accept": "text/event-stream; deltas=1; full=1"}


@dataclass(slots=True)
class ChatBackend:
    """A running backend, a client with its token, and who speaks and works in it."""

    client: WireClient
    engine: Engine
    hub: Hub
    model: ScriptedModel
    traffic: Traffic

    async def chat(self, **fields: Any) -> str:
        """Make a conversation and return its path."""
        made = await self.client.call("POST", A_PATH, {"enabled_tools": ["look"], **fields})
        assert made.status == 201, made.body
        return f"{A_PATH}/{made.json['id']}"

    async def post(self, path: str, body: Any = None) -> Answer:
        """Call, and return the whole answer."""
        return await self.client.call("POST", path, body)

    async def ask(
        self, path: str, content: str = "Well?", headers: Mapping[str, str] = PLAIN, **fields: Any
    ) -> list[Frame]:
        """Ask in the conversation at ``path``; return the frames of the answer."""
        body = {"content": content, **fields} if content else fields
        return await self.all_frames("POST", f"{path}/messages", body, headers)

    async def all_frames(
        self, method: str, path: str, body: Any = None, headers: Mapping[str, str] = PLAIN
    ) -> list[Frame]:
        """Return the frames of a stream up to its end."""
        async with self.client.open(method, path, body, headers) as stream:
            assert stream.status == 200, await stream.reader.read(1000)
            return [frame async for frame in stream.frames()]


@asynccontextmanager
async def chat_backend(
    folder: Path,
    model: ScriptedModel,
    *tools: Any,
    workspaces: tuple[Path, ...] | None = None,
    timing: Timing | None = None,
    keep_alive_seconds: float = 60.0,
    models: FakeModels | None = None,
    allow: tuple[str, ...] = (),
) -> AsyncIterator[ChatBackend]:
    """Give a backend on a new database in ``folder``; ``models`` says for whom ``model`` speaks, ``allow`` is
    what the config file lets tools do.
    """
    store = open_store(folder / "chats.db")
    hub, models, box = Hub(store), models or FakeModels(model), ScriptedBox(*tools, allow=allow)
    quick = timing or Timing(retries=(), grace=0.05, tool_grace=0.05)
    engine = Engine(store, hub, models, box, unwatched_seconds=None, timing=quick)
    known = KnownHosts("127.0.0.1")
    api = Api(known, TOKEN, "instance-1", lambda: None, keep_alive_seconds)
    traffic = Traffic()
    folders = Workspaces(workspaces)
    more = [
        *ChatRoutes(engine, hub, folders, keep_alive_seconds).routes(),
        *Tools(engine, box, ToolRuns(box, engine.asks, frozenset(box.tools), quick), folders).routes(),
        *AgentService(engine, hub, folders).routes(),
        *AgentSockets(engine, hub, folders).routes(),
    ]
    try:
        await engine.start(resume=False)
        async with served(build_app(engine, hub, api, traffic, more=more)) as port:
            try:
                yield ChatBackend(WireClient(port, TOKEN), engine, hub, model, traffic)
            finally:
                await engine.stop_all("handover")
                hub.close()
    finally:
        await store.close()


def names(frames: list[Frame]) -> list[str]:
    """Return the frames' names."""
    return [frame.name for frame in frames]


def grown(frames: list[Frame]) -> dict[str, dict[str, Any]]:
    """Return the steps of one answer as a client of any form has them in the end, by their id."""
    steps: dict[str, dict[str, Any]] = {}
    for frame in frames:
        if frame.name == "process_step":
            step = frame.fields["step"]
            steps[step["id"]] = step
        elif frame.name == "process_step_delta":
            added = frame.fields
            for field in added.keys() - {"id"}:
                steps[added["id"]][field] += added[field]
    return steps


async def refused(running: ChatBackend, method: str, path: str, body: Any, status: int) -> str:
    """Return how a call is refused: as a problem, always."""
    answer = await running.client.call(method, path, body)
    assert answer.status == status, (method, path, body, answer.body)
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json["status"] == status
    told: str = answer.json["title"] + " " + answer.json["detail"]
    return told
