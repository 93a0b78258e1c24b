"""Tools that an agent socket runs on this machine: our own backend runs them, and asks a person before."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing
from typing import Any, Final

from agent_tui.clients.agents.link import Tell
from agent_tui.clients.backend import BackendClient
from agent_tui.model import events as ev
from agent_tui.model.errors import AgentTuiError, Refused
from agent_tui.wire.agent_socket import ClientToolCall, ClientToolResult
from agent_tui.wire.content import json_object

GONE: Final = 409  # HTTP


class ClientTools:
    """The tools of the backend that ``reach`` returns, confined to ``workspace``. "Allow in this
    conversation" applies to ``conversation``.
    """

    def __init__(
        self, reach: Callable[[], Awaitable[BackendClient]], conversation: str, workspace: str
    ) -> None:
        self._reach = reach
        self._conversation = conversation
        self._workspace = workspace
        self._runs: dict[str, str] = {}  # call id → its run, which may ask

    async def run(self, call: ClientToolCall, tell: Tell) -> ClientToolResult:
        """Return the result of a call, with an error for everything that went wrong. Cancelling ends the
        call.
        """
        try:
            return await self._run(call, tell)
        except AgentTuiError as error:
            has_begun = call.call_id in self._runs
            why = f"broke off, it may have run: {error}" if has_begun else f"not run: {error}"
            return ClientToolResult(call.call_id, error=why)
        finally:
            self._runs.pop(call.call_id, None)

    async def _run(self, call: ClientToolCall, tell: Tell) -> ClientToolResult:
        fields = {
            "conversation": self._conversation,
            "workspace": self._workspace,
            "name": call.tool_name,
            "arguments": call.arguments,
        }
        backend = await self._reach()
        async with aclosing(backend.run_tool(fields)) as events:
            async for event in events:
                match event:
                    case ev.ToolStatusChanged(run_id):
                        self._runs[call.call_id] = run_id
                        if event.status not in ("done", "failed"):
                            tell(event)
                    case ev.StepSet(_, ev.Step(type="tool_result") as step):
                        if step.success:
                            return ClientToolResult(call.call_id, step.content)
                        return ClientToolResult(call.call_id, error=_failure(step.content))
                    case _:
                        pass
        return ClientToolResult(call.call_id, error="the tool broke off")

    async def answer(
        self,
        call_id: str,
        decision: str,
        pattern: str = "",
        reason: str = "",
        values: Mapping[str, Any] | None = None,
    ) -> None:
        """Send a person's decision about a call that asks. Raises ``Refused`` (409) if it no longer asks, and
        what reaching the backend raises.
        """
        run_id = self._runs.get(call_id)
        if run_id is None:
            raise Refused("The call no longer needs approval", status=GONE)
        await (await self._reach()).answer_tool(run_id, decision, pattern, reason, values)


def _failure(content: str) -> str:
    why = json_object(content).get("error")
    return why if isinstance(why, str) and why else content or "failed"
