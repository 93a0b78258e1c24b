"""The calls about tools: their list, the rules for calls without asking, and one that runs a call."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import asdict
from http import HTTPStatus
from typing import Protocol

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from agent_tui.backend.engine.answer.tool_runs import ForeignCall, ToolRuns
from agent_tui.backend.engine.engine import Engine
from agent_tui.backend.http.body import read_fields, wrong_field
from agent_tui.backend.http.chat_requests import decision_of
from agent_tui.backend.http.presence import is_child
from agent_tui.backend.http.problem import json_answer
from agent_tui.backend.http.room_requests import path_id
from agent_tui.backend.http.routing import by_method
from agent_tui.backend.http.streaming import EventStream
from agent_tui.backend.http.workspaces import Workspaces
from agent_tui.backend.store.rows import NewEvent
from agent_tui.backend.tools.calling import MAX_ARGUMENT_CHARACTERS
from agent_tui.backend.tools.mcp.server import ServerListed
from agent_tui.backend.tools.rooms import ROOM_TOOLS
from agent_tui.backend.tools.toolbox import ListedTool
from agent_tui.wire.rooms_encode import frame_bytes

MAX_CALL_BYTES = 6 * MAX_ARGUMENT_CHARACTERS + 64 * 1024
MAX_NAME_CHARACTERS = 200


class ToolListing(Protocol):
    """The list of all tools (tools/toolbox.py)."""

    async def list_tools(self, *, is_waiting: bool = True) -> Sequence[ListedTool]: ...
    def servers(self) -> Sequence[ServerListed]: ...


class Tools:
    """The routes under ``/api/tools``."""

    def __init__(self, engine: Engine, tools: ToolListing, runs: ToolRuns, workspaces: Workspaces) -> None:
        self._engine = engine
        self._tools = tools
        self._runs = runs
        self._workspaces = workspaces

    def routes(self) -> list[Route]:
        """Return one route for each path."""
        return [
            by_method("/api/tools", GET=self.list_tools),
            by_method("/api/tools/run", POST=self.run),
            by_method("/api/tools/run/{run_id}/answer", POST=self.answer),
            by_method("/api/tools/rules", GET=self.rules),
            by_method("/api/tools/rules/{rule_id}", DELETE=self.drop_rule),
        ]

    async def list_tools(self, request: Request) -> Response:
        """Answer with all tools; with ``?wait=0`` without waiting for MCP servers that are still starting."""
        is_waiting = request.query_params.get("wait") != "0"
        tools = [
            {
                "name": tool.spec.name,
                "description": tool.spec.description,
                "parameters": tool.spec.parameters,
                "permission": tool.permission,
                "source": tool.source,
                "only_if_named": tool.spec.name in ROOM_TOOLS,
            }
            for tool in await self._tools.list_tools(is_waiting=is_waiting)
        ]
        servers = [asdict(server) for server in self._tools.servers()]
        return json_answer({"tools": tools, "servers": servers})

    async def run(self, request: Request) -> Response:
        """Run one call of a tool of ours in a folder; answer with its events in the log's form, the result
        last. It ends when the client leaves.
        """
        fields = await read_fields(request, MAX_CALL_BYTES)
        workspace = self._workspaces.check(fields.needed_text("workspace"))
        if not workspace:
            raise wrong_field("workspace", "must not be empty")
        conversation, name = fields.needed_text("conversation"), fields.needed_text("name")
        for field, text in (("conversation", conversation), ("name", name)):
            if not text or len(text) > MAX_NAME_CHARACTERS:
                raise wrong_field(field, f"must have 1 to {MAX_NAME_CHARACTERS} characters")
        call = ForeignCall(
            conversation, workspace, name, fields.text("arguments") or "", is_alone=is_child(request)
        )
        return EventStream(_frames(self._runs.run(call)), is_run=True)

    async def answer(self, request: Request) -> Response:
        """Take a person's decision about a call that asks."""
        run_id = path_id(request, "run_id", "call of a tool")
        await self._runs.answer(run_id, decision_of(await read_fields(request)))
        return json_answer({}, HTTPStatus.ACCEPTED)

    async def rules(self, _request: Request) -> Response:
        return json_answer({"rules": [asdict(rule) for rule in self._engine.asks.rules()]})

    async def drop_rule(self, request: Request) -> Response:
        await self._engine.drop_rule(path_id(request, "rule_id", "rule"))
        return await self.rules(request)


async def _frames(batches: AsyncGenerator[list[NewEvent], None]) -> AsyncGenerator[bytes, None]:
    async with aclosing(batches):
        async for events in batches:
            yield b"".join(frame_bytes(None, event.name, event.data) for event in events)
    yield frame_bytes(None, "end", "{}")
