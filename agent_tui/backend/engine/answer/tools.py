"""The tool calls of one round: stored before any of them runs, allowed or denied, run in the model's order.

A call that may change something runs by itself: it waits for those before it, and those after it wait for it.
Only when its turn comes is it shown to a person, so they see what it would do then. Neighbours that change
nothing run in parallel.

Every call gets a result. Only a tool at work, and waiting for a person, are ever cancelled; what is being
written is not. A person may take any time to decide about a call that asks: while one is there who could
decide, there is no time-out (``asks`` denies the call if people have left). But a stop, a pause and a
deletion end the waiting at once, as they end a tool that is still preparing its preview, or running.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

from agent_tui.backend.engine.answer.steps import StepLog
from agent_tui.backend.engine.timing import Timing
from agent_tui.backend.engine.words import failure, storable
from agent_tui.backend.engine.written import ChangeSet
from agent_tui.backend.models.model import Image, NotePiece, ToolSpec
from agent_tui.backend.tools.calling import failed_output, parse_in_thread, run_tool
from agent_tui.backend.tools.mcp.server import ServerListed
from agent_tui.backend.tools.rules import exact_rule
from agent_tui.backend.tools.tool import NamingTool, Tool, ToolError, ToolOutput, ToolPlace
from agent_tui.model.errors import StoreError
from agent_tui.model.events import WAITS, Step, ToolAsk
from agent_tui.model.records import FileChange
from agent_tui.model.tool_forms import FormAnswer, ToolForm

OUTDATED = (
    "not run: by now it would do something else than the user was shown and allowed (a file was changed "
    "meanwhile); look again, then call again"
)
STOPPED_BEFORE = "not run: the answer was stopped before that"
MAX_ASK_CHARACTERS = 300_000  # what is not shown completely cannot be allowed

T = TypeVar("T")
log = logging.getLogger(__name__)

# Tools that did not end when they were cancelled: kept, because the loop might lose them.
_lingering: set[asyncio.Task[Any]] = set()


class ToolSource(Protocol):
    """The source of tools (tools/toolbox.py)."""

    async def specs(self, names: Collection[str] | None = None) -> tuple[ToolSpec, ...]:
        """Return the descriptions of all tools for models, or at least of those with these ``names``. Never
        raises: unreachable ones are left out.
        """
        ...

    def servers(self, names: Collection[str] | None = None) -> Sequence[ServerListed]:
        """Return the state of the MCP servers, or of those of tools with these ``names``."""
        ...

    def begin(self) -> None:
        """Start the MCP servers, without waiting for them."""
        ...

    def tool(self, name: str) -> Tool | None: ...

    @property
    def allow(self) -> Sequence[str]:
        """Patterns of calls that run without asking, by the config file."""
        ...


@dataclass(frozen=True, slots=True)
class CallAllowed:
    """A person, or a rule that they made meanwhile, allows the call."""


@dataclass(frozen=True, slots=True)
class CallDenied:
    """The call may not run; the model gets the reason ``why``."""

    why: str


@dataclass(frozen=True, slots=True)
class CallStopped:
    """The answer was stopped before a decision."""


Approval = CallAllowed | CallDenied | CallStopped
PendingReply = asyncio.Future[CallAllowed | CallDenied]


class Gate(Protocol):
    """Decides whether a call of an ``ask`` tool may run."""

    def allows(self, tool: str, arguments: Mapping[str, Any], place: ToolPlace) -> bool:
        """Return whether a rule lets the call run in that folder without asking."""
        ...

    def could_allow(self, tool: str) -> bool:
        """Return whether any call of the tool might be allowed: by a rule, or by a person who can be
        asked.
        """
        ...

    def ask(self, call: Step, arguments: Mapping[str, Any], place: ToolPlace, ask: ToolAsk) -> PendingReply:
        """Return a future for the decision; cancelling it withdraws the question."""
        ...

    def fill_in(self, call: Step, form: ToolForm) -> asyncio.Future[FormAnswer]:
        """Return a future for the filled-in form; when it is done, the question is withdrawn."""
        ...


@dataclass(frozen=True, slots=True)
class Workshop:
    """What calls need to run: ``enabled`` are the names of the tools that were offered. ``is_foreign``: the
    agent is not ours, so tools that only read need approval, too.
    """

    tools: ToolSource
    gate: Gate
    place: ToolPlace
    enabled: Collection[str]
    is_foreign: bool = False


@dataclass(frozen=True, slots=True)
class _Job:
    """A call with its tool; what it would do is looked at when its turn comes."""

    call: Step
    tool: Tool | None = None
    arguments: Mapping[str, Any] | None = None
    ask: ToolAsk | None = None
    reply: PendingReply | None = None  # for the decision of a person
    refusal: ToolOutput | None = None  # it cannot run, even if allowed
    refused: str = "failed"  # or "cut": the status of a call that cannot run

    @property
    def status(self) -> str:
        """Its status when its turn comes."""
        return self.refused if self.refusal else "asks" if self.ask else "running"

    @property
    def changes(self) -> bool:
        return self.tool is not None and self.tool.changes


class ToolCalls:
    """Runs calls of the answer with these ``steps``; ``write`` commits."""

    def __init__(
        self,
        workshop: Workshop,
        steps: StepLog,
        write: Callable[[ChangeSet], Awaitable[None]],
        timing: Timing,
    ) -> None:
        self._workshop = workshop
        self._steps = steps
        self._write = write
        self._timing = timing
        self._cut = asyncio.Event()
        self.images: dict[str, tuple[Image, ...]] = {}  # from results, by the ids of their calls

    def cut(self) -> None:
        """End running calls and those that wait for a decision."""
        self._cut.set()

    async def run(self, calls: Sequence[Step], written: ChangeSet) -> None:
        """Store ``calls`` together with ``written``, and run them; each has its result then.

        Raises ``StoreError``.
        """
        found = await asyncio.gather(*(self._unless_stopped(call, self._find(call)) for call in calls))
        first, *later = in_turns(found)
        ready = await self._prepare_calls(first)
        self._steps.now = self._timing.now().isoformat()
        for job in ready:
            self._steps.put_call(job.call, job.status, job.ask, written)
        for job in (job for turn in later for job in turn):
            self._steps.put_call(job.call, WAITS, None, written)
        await self._take_turn(ready, written)
        for turn in later:
            ready, written = await self._prepare_calls(turn), ChangeSet()
            for job in ready:
                self._steps.set_call(job.call, job.status, None, written, job.ask)
            await self._take_turn(ready, written)

    async def _take_turn(self, turn: Sequence[_Job], written: ChangeSet) -> None:
        """Store calls whose turn has come, together with ``written``, and run them in parallel."""
        for job in turn:
            if job.refusal is not None:
                self._steps.put_result(
                    job.call, storable(job.refusal.content), success=False, written=written
                )
        try:
            await self._write(written)
        except StoreError:
            for job in turn:
                if job.reply is not None:
                    job.reply.cancel()
            raise
        running = [self._carry_out(job) for job in turn if job.refusal is None]
        outcomes = await asyncio.gather(*running, return_exceptions=True)
        for outcome in outcomes:
            if isinstance(outcome, BaseException):
                raise outcome

    async def _prepare_calls(self, turn: Sequence[_Job]) -> list[_Job]:
        ready = await asyncio.gather(*(self._unless_stopped(job.call, self._prepare(job)) for job in turn))
        # Before anyone can know about it: an answer may come at once.
        return [self._with_approval(job) for job in ready]

    async def _unless_stopped(self, call: Step, work: Coroutine[Any, Any, _Job]) -> _Job:
        refusal = failed_output(STOPPED_BEFORE)
        return await self._unless_cut(work) or _Job(call, refusal=refusal, refused="cut")

    async def _find(self, call: Step) -> _Job:
        tool = self._workshop.tools.tool(call.name)
        if tool is None or call.name not in self._workshop.enabled:
            why = f"the tool {call.name!r} does not exist" if call.name else "the call names no tool"
            if tool is not None:
                why = f"the tool {call.name!r} is not enabled in this conversation"
            names = ", ".join(sorted(self._workshop.enabled)) or "none"
            return _Job(call, refusal=failed_output(f"{why}; there are: {names}"))
        try:
            arguments = await parse_in_thread(tool.spec, call.arguments)
        except ToolError as error:
            return _Job(call, refusal=failed_output(str(error)))
        return _Job(call, tool, arguments)

    async def _prepare(self, job: _Job) -> _Job:
        tool, arguments = job.tool, job.arguments or {}
        if tool is None:
            return job
        try:
            if isinstance(tool, NamingTool):
                arguments = await tool.resolve(arguments)
                job = replace(job, arguments=arguments)
            needs_approval = tool.permission == "ask" or self._workshop.is_foreign
            if not needs_approval or self._is_allowed_by_rule(job.call.name, arguments):
                return job
            return replace(job, ask=await self._ask_of(tool, arguments))
        except ToolError as error:
            return replace(job, refusal=failed_output(str(error)))

    async def _ask_of(self, tool: Tool, arguments: Mapping[str, Any]) -> ToolAsk:
        """Return what the call would do, as a person is shown it; raises ``ToolError`` if that is
        impossible.
        """
        name = tool.spec.name
        try:
            # In a thread: it may read files for the preview.
            async with asyncio.timeout(self._timing.preview):
                return await asyncio.to_thread(self._preview, tool, arguments)
        except ToolError:
            raise
        except TimeoutError:
            raise ToolError(
                f"not run: {name} could not say within {self._timing.preview:g} s what it would do"
            ) from None
        except Exception as error:  # noqa: BLE001 - a tool may raise anything (architecture.md §10)
            raise ToolError(f"{name} crashed: {failure(error)}") from None

    def _preview(self, tool: Tool, arguments: Mapping[str, Any]) -> ToolAsk:
        """Return the preview for a person, with the rule that they may keep; reads files."""
        name, place = tool.spec.name, self._workshop.place
        ask = tool.ask(arguments, place)
        size = len(ask.call) + len(ask.preview)
        if size > MAX_ASK_CHARACTERS:
            raise ToolError(
                f"not run: what it would do takes {size:,} characters to show, and the user is shown at most "
                f"{MAX_ASK_CHARACTERS:,}; do it in smaller parts"
            )
        pattern, folder = exact_rule(name, arguments, place)
        if storable(pattern + folder) != pattern + folder:
            pattern = folder = ""
        call, preview = storable(ask.call), storable(ask.preview)
        return ToolAsk(call, preview, ask.preview_type, pattern, folder)

    def _with_approval(self, job: _Job) -> _Job:
        if job.ask is None:
            return job
        place = self._workshop.place
        return replace(job, reply=self._workshop.gate.ask(job.call, job.arguments or {}, place, job.ask))

    def _is_allowed_by_rule(self, name: str, arguments: Mapping[str, Any]) -> bool:
        return self._workshop.gate.allows(name, arguments, self._workshop.place)

    async def _carry_out(self, job: _Job) -> None:
        try:
            if job.reply is not None and not await self._wait_for_approval(job.call, job.reply):
                return
            await self._run(job)
        except StoreError:
            self.cut()  # nothing can be stored, so nothing may run
            raise

    async def _wait_for_approval(self, call: Step, reply: PendingReply) -> bool:
        """Return whether the call may run, once that is decided."""
        approval: Approval = await self._unless_cut(_result(reply)) or CallStopped()
        match approval:
            case CallAllowed():
                written = ChangeSet()
                self._steps.set_call(call, "running", None, written)
                await self._write(written)
            case CallDenied(why):
                await self._end(call, "denied", failed_output(why), None)
            case CallStopped():
                reply.cancel()
                await self._end(call, "cut", failed_output("not run: the answer was stopped"), None)
        return isinstance(approval, CallAllowed)

    async def _run(self, job: _Job) -> None:
        if job.tool is None:
            return
        if self._cut.is_set():  # while its start was being stored
            await self._end(job.call, "cut", failed_output(STOPPED_BEFORE), None)
            return
        if outdated := await self._unless_cut(self._why_outdated(job.tool, job)):
            await self._end(job.call, "failed", failed_output(outdated), None)
            return
        clock = asyncio.get_running_loop().time
        begun = clock()
        changes: list[FileChange] = []
        output = await self._run_tool(job.call, job.tool, job.arguments or {}, changes)
        seconds = round(clock() - begun, 3)
        if output is None:
            why = failed_output("cut: the answer was stopped while this ran")
            await self._end(job.call, "cut", why, seconds, changes)
        else:
            if output.images:
                self.images[job.call.id] = output.images
            await self._end(job.call, "done" if output.success else "failed", output, seconds, changes)

    async def _run_tool(
        self, call: Step, tool: Tool, arguments: Mapping[str, Any], changes: list[FileChange]
    ) -> ToolOutput | None:
        """Return the result of ``_unless_cut``, and leave changes to files in ``changes``. The tool's
        progress is stored, no more often than a person can read it; a form that it wants filled in is asked.
        """
        newest: list[str] = []
        remarks: list[str] = []
        forms: asyncio.Queue[tuple[ToolForm, asyncio.Future[FormAnswer]]] = asyncio.Queue()

        async def fill_in(form: ToolForm) -> FormAnswer:
            answer: asyncio.Future[FormAnswer] = asyncio.get_running_loop().create_future()
            forms.put_nowait((form, answer))
            return await answer

        def tell(line: str) -> None:
            newest[:] = [line]

        place = replace(
            self._workshop.place, tell=tell, fill_in=fill_in, remark=remarks.append, changed=changes.append
        )
        work = asyncio.create_task(self._unless_cut(run_tool(tool, arguments, place)))
        form = asyncio.create_task(forms.get())
        try:
            while remarks or not work.done():
                await asyncio.wait(
                    {work, form}, timeout=self._timing.progress, return_when=asyncio.FIRST_COMPLETED
                )
                if form.done():
                    await self._fill_in(call, *form.result(), work)
                    form = asyncio.create_task(forms.get())
                await self._write_progress(call, remarks, [] if work.done() else newest)
        except StoreError:
            self.cut()  # nothing can be stored: the tool ends, and this waits for it
            await asyncio.wait({work})
            raise
        except asyncio.CancelledError:
            work.cancel()
            raise
        finally:
            form.cancel()
        return work.result()

    async def _write_progress(self, call: Step, remarks: list[str], newest: list[str]) -> None:
        """Store what a running tool reported since the last time."""
        written = ChangeSet()
        self._steps.note([NotePiece("form_declined", about=storable(remark)) for remark in remarks], written)
        remarks.clear()
        if newest:
            self._steps.put_progress(call, storable(newest.pop()), written)
        if written.events:
            await self._write(written)

    async def _fill_in(
        self, call: Step, form: ToolForm, answer: asyncio.Future[FormAnswer], work: asyncio.Task[Any]
    ) -> None:
        """Ask a person what a running tool wants to know, until they answer, the answer is cut, the tool
        ends, or it withdraws the question.
        """
        if answer.done():
            return
        reply = self._workshop.gate.fill_in(call, form)
        if not reply.done():
            ask = ToolAsk(f"{form.server} asks you for {form.amount}", form=form)
            cut = asyncio.create_task(self._cut.wait())
            written = ChangeSet()
            try:
                self._steps.set_call(call, "asks", None, written, ask)
                await self._write(written)
                await asyncio.wait({work, reply, answer, cut}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                cut.cancel()
                if not reply.done():
                    reply.set_result(FormAnswer("cancel"))
            written = ChangeSet()
            self._steps.set_call(call, "running", None, written)
            await self._write(written)
        if not answer.done():
            answer.set_result(reply.result())

    async def _why_outdated(self, tool: Tool, job: _Job) -> str:
        """Return why a person's decision no longer counts, for example because a file changed since its diff
        was shown. "" if it counts, or if a rule lets the call run in any case.
        """
        arguments = job.arguments or {}
        if job.ask is None or self._is_allowed_by_rule(job.call.name, arguments):
            return ""
        try:
            now = await self._ask_of(tool, arguments)
        except ToolError as error:
            return str(error)
        return "" if now == job.ask else OUTDATED

    async def _end(
        self,
        call: Step,
        status: str,
        output: ToolOutput,
        seconds: float | None,
        changes: Sequence[FileChange] = (),
    ) -> None:
        written = ChangeSet()
        self._steps.now = self._timing.now().isoformat()
        folder = str(self._workshop.place.workspace)
        for change in changes[:1]:  # a tool changes one file
            written.changes.append(self._steps.file_changed(call, change, folder))
        self._steps.set_call(call, status, seconds, written)
        content = storable(output.content)
        self._steps.put_result(call, content, success=output.success, written=written)
        await self._write(written)

    async def _unless_cut(self, work: Coroutine[Any, Any, T]) -> T | None:
        """Return the result of ``work``; ``None`` if the answer was cut first."""
        if self._cut.is_set():
            work.close()
            return None
        task = asyncio.create_task(work, name="tool-call")
        cut = asyncio.create_task(self._cut.wait())
        try:
            await asyncio.wait({task, cut}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            cut.cancel()
        if not task.done():
            task.cancel()
            await asyncio.wait({task}, timeout=self._timing.tool_grace)
        if not task.done():
            log.warning("a cancelled tool did not end in %s s", self._timing.tool_grace)
            _lingering.add(task)
            task.add_done_callback(_lingering.discard)
            return None
        return None if task.cancelled() else task.result()


def in_turns(calls: Sequence[_Job]) -> list[list[_Job]]:
    """Return the calls in the order given, those that may run in parallel together."""
    turns: list[list[_Job]] = []
    for call in calls:
        if turns and not (call.changes or turns[-1][-1].changes):
            turns[-1].append(call)
        else:
            turns.append([call])
    return turns


async def tools_for_model(
    tools: ToolSource,
    names: Collection[str] | None,
    is_offered: Callable[[str], bool],
    cut: asyncio.Event,
    timing: Timing,
    tell: Callable[[NotePiece], Awaitable[None]],
) -> tuple[ToolSpec, ...]:
    """Return the tools that a model may call; none after a ``cut``. Raises what ``tell`` raises.

    MCP servers take a while to start: ``tell`` gets those that are waited for, and in the end those that are
    missing. If ``names`` is given, only servers with tools of these names count.
    """
    listing = asyncio.create_task(tools.specs(names))
    cut_wait = asyncio.create_task(cut.wait())
    noted = ""
    try:
        while not (
            await asyncio.wait({listing, cut_wait}, timeout=timing.notice, return_when="FIRST_COMPLETED")
        )[0]:
            starting = ", ".join(
                server.name for server in tools.servers(names) if server.status == "starting"
            )
            if starting != noted:
                noted = starting
                await tell(NotePiece("servers_wait", about=noted))
    finally:
        cut_wait.cancel()
        if not listing.done():
            listing.cancel()
            await asyncio.wait({listing}, timeout=timing.tool_grace)
    if noted:
        await tell(NotePiece("servers_wait"))
    if listing.cancelled() or not listing.done():
        return ()
    for server in tools.servers(names):
        if server.status != "ready":
            fix = f": {server.fix}" if server.fix else ""
            about = f"{server.name}: {server.problem or 'it is still starting'}{fix}"
            await tell(NotePiece("server_missing", about=about))
    return tuple(spec for spec in listing.result() if is_offered(spec.name))


async def _result(reply: PendingReply) -> CallAllowed | CallDenied:
    return await reply
