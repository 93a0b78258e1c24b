"""The questions of an MCP server to its user during a call ("elicitation"), and their answers.

Over one connection a server does not say for which call it asks. If several are running, the newest one with
a person to ask is chosen.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from agent_tui.backend.tools.mcp.forms import form_of
from agent_tui.backend.tools.tool import ToolError, ToolPlace, without_limit
from agent_tui.model.inert import visible_line
from agent_tui.model.tool_forms import FormAnswer

if TYPE_CHECKING:
    from mcp.client.context import ClientRequestContext
    from mcp_types import ElicitRequestParams, ElicitResult

MAX_ADDRESS_CHARACTERS: Final = 200
MAX_OPEN: Final = 8  # questions of one call at the same time; more are declined

_log = logging.getLogger(__name__)


@dataclass(slots=True, eq=False)
class _Call:
    """A running call; ``open`` are its questions, which are asked one after the other."""

    place: ToolPlace
    limit: asyncio.Timeout
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    open: set[asyncio.Task[FormAnswer]] = field(default_factory=set)


class ServerQuestions:
    """The questions of the server ``name``; a call has ``call_seconds`` without the time that people need."""

    def __init__(self, name: str, call_seconds: float) -> None:
        self._name = name
        self._call_seconds = call_seconds
        self._calls: list[_Call] = []

    @asynccontextmanager
    async def of_call(self, place: ToolPlace, limit: asyncio.Timeout) -> AsyncGenerator[None]:
        """Mark a call as running while this is open; its questions end with it, as cancelled."""
        call = _Call(place, limit)
        self._calls.append(call)
        try:
            yield
        finally:
            self._calls.remove(call)
            for task in call.open:
                task.cancel()
            if call.open:
                await asyncio.wait(call.open)

    async def answer(self, context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        """Return a person's answer; this is the callback of the ``mcp`` package. Questions that cannot be
        asked are declined, and the person is told.
        """
        from mcp_types import ElicitResult  # as in server._load

        del context  # the server does not say which call

        call = next((call for call in reversed(self._calls) if call.place.fill_in is not None), None)
        if call is None or len(call.open) >= MAX_OPEN:
            _log.warning("a question of the MCP server %s was declined: nobody to ask", self._name)
            return ElicitResult(action="decline")
        if params.mode == "url":
            where = visible_line(params.url, MAX_ADDRESS_CHARACTERS)
            self._remark(call, f"wants a page opened, {where}: declined, this is not supported")
            return ElicitResult(action="decline")
        task = asyncio.create_task(self._ask(call, params.message, params.requested_schema))
        call.open.add(task)
        task.add_done_callback(call.open.discard)
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:  # the server withdraws its question
            task.cancel()
            raise
        answer = FormAnswer("cancel") if task.cancelled() else task.result()
        content = dict(answer.values or {}) if answer.action == "accept" else None
        return ElicitResult(action=answer.action, content=content)

    async def _ask(self, call: _Call, message: str, schema: dict[str, object]) -> FormAnswer:
        assert call.place.fill_in is not None
        try:
            form = form_of(self._name, message, schema)
        except ToolError as error:
            self._remark(call, f"asks you for something: declined, {error}")
            return FormAnswer("decline")
        async with call.turn:
            with without_limit(call.limit, self._call_seconds):
                answer = await call.place.fill_in(form)
        if answer.why:
            self._remark(call, f"asked you for {form.amount}: declined, {answer.why}")
        return answer

    def _remark(self, call: _Call, text: str) -> None:
        if call.place.remark is not None:
            call.place.remark(f"{self._name}: it {text}")
