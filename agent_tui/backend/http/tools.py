"""The calls about tools: which there are, and which calls of them run without asking."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Protocol

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from agent_tui.backend.engine.chats import Chats
from agent_tui.backend.http.problem import json_answer
from agent_tui.backend.http.room_requests import path_id
from agent_tui.backend.http.routing import by_method
from agent_tui.backend.tools.toolbox import Listed, ServerListed


class ToolList(Protocol):
    """Who knows all tools (tools/toolbox.py)."""

    async def listed(self, *, is_waiting: bool = True) -> Sequence[Listed]: ...
    def servers(self) -> Sequence[ServerListed]: ...


class Tools:
    """The routes under ``/api/tools``."""

    def __init__(self, chats: Chats, tools: ToolList) -> None:
        self._chats = chats
        self._tools = tools

    def routes(self) -> list[Route]:
        """Return one route for each path."""
        return [
            by_method("/api/tools", GET=self.listed),
            by_method("/api/tools/rules", GET=self.rules),
            by_method("/api/tools/rules/{rule_id}", DELETE=self.drop_rule),
            by_method("/api/tools/rules/{rule_id}/confirm", POST=self.confirm_rule),
        ]

    async def listed(self, request: Request) -> Response:
        """Answer with all tools; with ``?wait=0`` MCP servers that still start are not waited for."""
        is_waiting = request.query_params.get("wait") != "0"
        tools = [
            {
                "name": one.spec.name,
                "description": one.spec.description,
                "parameters": one.spec.parameters,
                "permission": one.permission,
                "source": one.source,
            }
            for one in await self._tools.listed(is_waiting=is_waiting)
        ]
        servers = [asdict(one) for one in self._tools.servers()]
        return json_answer({"tools": tools, "servers": servers})

    async def rules(self, _request: Request) -> Response:
        names = ("id", "tool", "pattern", "folder", "scope", "created_at")
        rules = [
            {**{name: getattr(rule, name) for name in names}, "conversation_id": rule.conversation_id}
            for rule in self._chats.rules()
        ]
        return json_answer({"rules": rules})

    async def confirm_rule(self, request: Request) -> Response:
        await self._chats.confirm_rule(path_id(request, "rule_id", "rule"))
        return await self.rules(request)

    async def drop_rule(self, request: Request) -> Response:
        await self._chats.drop_rule(path_id(request, "rule_id", "rule"))
        return await self.rules(request)
