"""The calls of a backend besides rooms and chats: providers, tools and their rules, presence."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any, Final

from agent_tui.clients.calls import Calls
from agent_tui.clients.clock import SYSTEM_CLOCK, Clock
from agent_tui.clients.log_stream import GIVE_UP_SECONDS, IDLE_SECONDS, LogStream, Post
from agent_tui.clients.records import (
    ModelInfo,
    PausesSoon,
    ProviderInfo,
    ProviderTest,
    ToolInfo,
    ToolRule,
    ToolServer,
    pauses_soon,
    read_all,
    read_models,
    read_provider_test,
    read_servers,
    whole_list,
)
from agent_tui.model.errors import NotFound, NotOffered, Refused
from agent_tui.model.events import Event
from agent_tui.wire import log
from agent_tui.wire.fields import error_text
from agent_tui.wire.sse import Frame

_ENDS_RUN: Final = ("error", "end")
MAX_ERROR_CHARACTERS: Final = 500
PROVIDER_SECONDS = 60.0  # additional time for a call that asks a provider


class BackendClient:
    """Every method raises what ``Calls`` does."""

    def __init__(
        self, calls: Calls, *, clock: Clock = SYSTEM_CLOCK, idle_timeout: float = IDLE_SECONDS
    ) -> None:
        self._calls = calls
        self._clock = clock
        self._idle_timeout = idle_timeout

    # --- providers -------------------------------------------------------------------------------------

    async def providers(self) -> list[ProviderInfo]:
        """Return the providers that the server knows, its default first."""
        value = await self._calls.plain("GET", "providers", "a list of providers")
        return read_all(ProviderInfo, whole_list(value, "providers"), "providers")

    async def models(self, provider_id: str) -> list[str]:
        """Return the names of the models of one provider; see ``offered``."""
        return [model.id for model in await self.list_models(provider_id)]

    async def list_models(self, provider_id: str) -> list[ModelInfo]:
        """Return the models of one provider, asked now; raises errors that a person can act on."""
        path = self._calls.paths.of("provider_models", provider_id)
        return read_models(await self._calls.net.call("GET", path, patience=PROVIDER_SECONDS))

    async def test_provider(self, **fields: str) -> ProviderTest:
        """Ask a provider that is not in the config yet (kind, base_url, api_key, api_key_env, model)."""
        path = self._calls.paths.of("provider_test")
        answer = await self._calls.net.call("POST", path, json=fields, patience=PROVIDER_SECONDS)
        return read_provider_test(answer)

    # --- tools -----------------------------------------------------------------------------------------

    async def tools(self, *, is_waiting: bool = True) -> tuple[list[ToolInfo], list[ToolServer]]:
        """Return the tools that agents may use here, and the MCP servers that some of them come from. Waits
        for servers that are still starting, unless ``is_waiting`` is false.
        """
        params = {} if is_waiting else {"wait": "0"}
        value = await self._calls.plain("GET", "tools", "a list of tools", params=params)
        return read_all(ToolInfo, whole_list(value, "tools"), "tools"), read_servers(value)

    async def rules(self) -> list[ToolRule]:
        """Return which calls run without asking."""
        value = await self._calls.plain("GET", "rules", "a list of rules")
        return read_all(ToolRule, whole_list(value, "rules"), "rules")

    async def drop_rule(self, rule_id: str) -> None:
        """Remove a rule: what it allowed asks again."""
        path = self._calls.paths.of("rule", rule_id)
        try:
            await self._calls.net.call("DELETE", path)
        except (NotFound, NotOffered) as error:
            raise await self._calls.explain_refusal("DELETE", path, "taking back a rule", error) from error

    async def run_tool(self, fields: Mapping[str, str]) -> AsyncGenerator[Event, None]:
        """Run one call of a tool of the server (conversation, workspace, name, arguments as JSON text); yield
        its events. Closing it ends the call. Sends exactly one POST.
        """
        path = self._calls.paths.of("tool_run")
        stream = LogStream(
            self._calls.net,
            path,
            idle_timeout=self._idle_timeout,
            post=Post(path, {}, dict(fields)),
            is_last=lambda frame: frame.event in _ENDS_RUN,
            give_up_seconds=GIVE_UP_SECONDS,
            clock=self._clock,
        )
        async with aclosing(aiter(stream)) as items:
            async for item in items:
                if not isinstance(item, Frame) or item.event == "end":
                    continue
                if item.event == "error":
                    raise Refused(error_text(item.data)[:MAX_ERROR_CHARACTERS])
                yield log.decode(item.event, item.data)

    async def answer_tool(
        self,
        run_id: str,
        decision: str,
        pattern: str = "",
        reason: str = "",
        values: Mapping[str, Any] | None = None,
    ) -> None:
        """Allow or deny such a call: see ``ConversationsClient.answer``."""
        path = self._calls.paths.of("tool_answer", run_id)
        await self._calls.net.call("POST", path, json=decision_fields(decision, pattern, reason, values))

    # --- a person's program ----------------------------------------------------------------------------

    async def press(self) -> None:
        """Report that a person pressed a key."""
        await self._calls.net.call("POST", self._calls.paths.of("presence"))

    async def attend(
        self, *, give_up_seconds: float | None = None
    ) -> AsyncGenerator[PausesSoon | None, None]:
        """Report that a person's program is open, as long as this is read: what is running continues
        meanwhile.

        Yields what pauses soon because no key was pressed for long, and ``None`` when one was. Ends if the
        server does not count this program; reconnects and raises as ``LogStream`` does.
        """
        stream = LogStream(
            self._calls.net,
            self._calls.paths.of("presence"),
            idle_timeout=self._idle_timeout,
            give_up_seconds=give_up_seconds,
            clock=self._clock,
        )
        async with aclosing(aiter(stream)) as items:
            async for item in items:
                if isinstance(item, Frame):
                    yield pauses_soon(item.data)


def decision_fields(
    decision: str, pattern: str, reason: str, values: Mapping[str, Any] | None
) -> dict[str, object]:
    """Return a person's decision about a call that asks, as it is sent."""
    fields = (("pattern", pattern or None), ("reason", reason or None), ("values", values))
    return {"decision": decision} | {name: value for name, value in fields if value is not None}
