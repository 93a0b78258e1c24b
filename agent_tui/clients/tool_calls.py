"""The calls about tools and what was allowed of them, which every kind of backend may have."""

from __future__ import annotations

from typing import Any

from agent_tui.clients.chat_answers import (
    ToolInfo,
    ToolRule,
    ToolServer,
    read_rules,
    read_servers,
    read_tools,
)
from agent_tui.clients.http import Net
from agent_tui.clients.offers import explained, not_offered
from agent_tui.clients.paths import Paths
from agent_tui.model.errors import NotFound, NotOffered


class ToolCalls:
    """Calls of a client that has a ``Net`` and paths."""

    _net: Net
    _paths: Paths

    async def tools(self, *, is_waiting: bool = True) -> tuple[list[ToolInfo], list[ToolServer]]:
        """Return the tools that agents may use here, and the MCP servers that some of them come from. Servers
        that still start are waited for, unless it is not ``is_waiting``.
        """
        value = await self._listed("tools", "a list of tools", {} if is_waiting else {"wait": "0"})
        return read_tools(value), read_servers(value)

    async def rules(self) -> list[ToolRule]:
        """Return which calls run without asking, and which rules of an earlier version are suspended."""
        return read_rules(await self._listed("rules", "a list of rules", {}))

    async def confirm_rule(self, rule_id: str) -> None:
        """Let a suspended rule hold again."""
        await self._of_rule("POST", "rule_confirm", rule_id, "confirming a rule")

    async def drop_rule(self, rule_id: str) -> None:
        """Take a rule back: what it allowed is asked again."""
        await self._of_rule("DELETE", "rule", rule_id, "taking back a rule")

    async def _listed(self, name: str, what: str, params: dict[str, str]) -> Any:
        """Return a list; a 404 means that the call is missing."""
        try:
            return await self._net.call("GET", self._paths.of(name), params=params)
        except (NotFound, NotOffered) as error:
            raise not_offered(what, error) from error

    async def _of_rule(self, method: str, name: str, rule_id: str, what: str) -> None:
        path = self._paths.of(name, rule_id)
        try:
            await self._net.call(method, path)
        except (NotFound, NotOffered) as error:
            raise await explained(self._net, method, path, what, error) from error
