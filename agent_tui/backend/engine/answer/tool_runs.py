"""Single calls of our tools for agents that live elsewhere (``client_tools``, protocols.md §4).

They run like those of our own agents: by ``ToolCalls``, with the same rules and confinement; every call needs
a person's approval, or a rule. Nothing about them is stored: the program that shows the answer has them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Collection
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

from agent_tui.backend.engine.answer.asks import AskDecision, Asks
from agent_tui.backend.engine.answer.steps import StepLog
from agent_tui.backend.engine.answer.tools import ToolCalls, ToolSource, Workshop
from agent_tui.backend.engine.timing import Timing
from agent_tui.backend.engine.written import ChangeSet
from agent_tui.backend.models.model import CallPiece
from agent_tui.backend.store.rows import NewEvent
from agent_tui.backend.tools.tool import ToolPlace
from agent_tui.model.errors import NotFound, Refused

CONVERSATION = "client:"  # the beginning of names of others' conversations, which none of our ids contains
MAX_RUNS = 32


@dataclass(frozen=True, slots=True)
class ForeignCall:
    """One call: ``arguments`` is JSON text as an agent wrote it. Rules "for this conversation" apply to
    ``conversation``, any name that the program chooses. ``is_alone``: nobody is asked.
    """

    conversation: str
    workspace: str
    name: str
    arguments: str
    is_alone: bool = False


@dataclass(slots=True)
class _Run:
    conversation_id: str
    id: str = field(default_factory=lambda: uuid4().hex)
    step_id: str = ""
    events: asyncio.Queue[list[NewEvent] | None] = field(default_factory=asyncio.Queue)  # None: it is over
    calls: ToolCalls | None = None

    async def write(self, written: ChangeSet) -> None:
        """Queue what a call of our own conversations would have stored."""
        self.events.put_nowait(list(written.events))

    def cut(self) -> None:
        if self.calls is not None:
            self.calls.cut()


class ToolRuns:
    """All such running calls. ``enabled`` are the names of the tools that others may call."""

    def __init__(
        self, tools: ToolSource, asks: Asks, enabled: Collection[str], timing: Timing | None = None
    ) -> None:
        self._tools = tools
        self._asks = asks
        self._enabled = enabled
        self._timing = timing or Timing()
        self._runs: dict[str, _Run] = {}

    async def run(self, call: ForeignCall) -> AsyncGenerator[list[NewEvent], None]:
        """Run the call and yield its events, the result last: events of the log. Their turn is the run's id,
        by which ``answer`` takes a person's decision. Closing it ends the call and everything it started.

        Raises ``Refused`` (429) if too many are running.
        """
        if len(self._runs) >= MAX_RUNS:
            raise Refused("Too many tools are running", f"{MAX_RUNS} may run at once.", status=429)
        run = _Run(CONVERSATION + call.conversation)
        self._runs[run.id] = run
        with self._asks.attend(run.conversation_id):
            work = asyncio.create_task(self._work(run, call))
            work.add_done_callback(lambda _: run.events.put_nowait(None))
            try:
                while (events := await run.events.get()) is not None:
                    yield events
                work.result()
            finally:
                del self._runs[run.id]
                run.cut()
                await asyncio.wait({work})

    async def _work(self, run: _Run, call: ForeignCall) -> None:
        gate = self._asks.gate(run.conversation_id, run.id, is_alone=call.is_alone)
        place = ToolPlace(Path(call.workspace))
        workshop = Workshop(self._tools, gate, place, self._enabled, is_foreign=True)
        steps = StepLog(run.id, self._timing.now().isoformat(), has_rows=False)
        written = ChangeSet()
        steps.hear([CallPiece(0, run.id, call.name, call.arguments)], written)
        calls = steps.close_calls(written)
        run.step_id = calls[0].id
        run.calls = ToolCalls(workshop, steps, run.write, self._timing)
        await run.calls.run(calls, ChangeSet())

    async def answer(self, run_id: str, answer: AskDecision) -> None:
        """Take a person's decision about a call that asks. Raises as ``Asks.answer``."""
        run = self._runs.get(run_id)
        if run is None:
            raise NotFound("There is no such call of a tool", status=404)
        await self._asks.take((run.conversation_id, run.id, run.step_id), answer)

    def stop_all(self) -> None:
        """End all calls; each gets its result then."""
        for run in self._runs.values():
            run.cut()
