"""The three modes: in a room, at a console, as a worker that is sent to rooms."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import stat
import sys
import threading
from collections.abc import Coroutine
from contextlib import suppress
from dataclasses import replace
from typing import Any, Protocol, TextIO, TypeVar

from livekit import rtc
from livekit.agents import AgentServer, JobContext, JobExecutorType

from agent_tui.config.voice import VoiceAgentConfig
from agent_tui.model.errors import AgentTuiError, ConfigError, ConnectFailed
from agent_tui.voice_agent.assignment import UNREADABLE, Assignment, check_who_answers, read_assignment, tell
from agent_tui.voice_agent.console import ConsoleAgent, read_address
from agent_tui.voice_agent.languages import LanguageNotice, language_of
from agent_tui.voice_agent.parts import Parts, load_parts
from agent_tui.voice_agent.room import AGENT_NAME, RoomSession

CONNECT_SECONDS = 10.0
LEAVE_SECONDS = 0.5
CLOSE_SECONDS = 2.0
LAST_SECONDS = 2.8  # the process that ends us waits for three
MOST_JOBS = 10  # of a worker, at the same time
MAX_LINE_BYTES = 1 << 20

T = TypeVar("T")

log = logging.getLogger(__name__)


class Closable(Protocol):
    """Something that was started."""

    async def aclose(self) -> None: ...


class Life:
    """When to end: at a signal, at the end of standard input (our parent is gone), or when told to."""

    def __init__(self, out: TextIO) -> None:
        self.out = out
        self.over = asyncio.Event()
        self._lines = asyncio.StreamReader(limit=MAX_LINE_BYTES)
        self._watch: asyncio.Task[None] | None = None

    async def begin(self) -> Assignment | None:
        """Listen to signals, report that we are warm, and return the assignment; ``None`` if we were told to
        end.
        """
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.end)
        if not _is_open_end(sys.stdin):
            tell(self.out, "warm")
            return read_assignment(sys.stdin.buffer.readline(MAX_LINE_BYTES).decode(errors="replace"))
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(self._lines), sys.stdin)
        tell(self.out, "warm")
        line = await self.during(self._lines.readline())
        if not line:
            return None
        self._watch = asyncio.create_task(self._watch_input(), name="life.input")
        return read_assignment(line.decode(errors="replace"))

    def end(self) -> None:
        """End, and in any case soon: a library that hangs is abandoned."""
        if not self.over.is_set():
            self.over.set()
            last = threading.Timer(LAST_SECONDS, os._exit, (0,))
            last.daemon = True
            last.start()

    async def during(self, work: Coroutine[Any, Any, T]) -> T | None:
        """Return what ``work`` returns; it is cancelled, and returns nothing, when it is time to end."""
        task = asyncio.create_task(work)
        end = asyncio.create_task(self.over.wait())
        try:
            await asyncio.wait((task, end), return_when=asyncio.FIRST_COMPLETED)
        finally:
            end.cancel()
            if not task.done():
                task.cancel()
                await asyncio.wait((task,), timeout=CLOSE_SECONDS)
        return task.result() if task.done() and not task.cancelled() else None

    async def _watch_input(self) -> None:
        with suppress(ValueError):  # a line that is too long is not one of ours
            while await self._lines.readline():
                pass
        self.end()


def _is_open_end(stdin: TextIO) -> bool:
    """Return whether ``stdin`` is a pipe, socket or terminal. The end of a plain file means nothing."""
    mode = os.fstat(stdin.fileno()).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or stdin.isatty()


class PreparedParts:
    """The parts that most people use, loaded before it is known who will come. Unused ones are closed at the
    end.
    """

    def __init__(self) -> None:
        self._locale = os.environ.get("LC_ALL") or os.environ.get("LANG") or ""
        self._loading: asyncio.Task[Parts] | None = None

    async def __aenter__(self) -> PreparedParts:
        self._loading = asyncio.create_task(load_parts(VoiceAgentConfig(), self._locale), name="prepared")
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._loading:
            self._loading.cancel()
            with suppress(asyncio.CancelledError, AgentTuiError):
                await (await self._loading).aclose()

    async def parts(self, assignment: Assignment) -> Parts:
        """Return the parts for ``assignment``."""
        choice = assignment.agent
        is_usual = not (choice.stt or choice.tts or choice.hearing or choice.voice)
        same_language = language_of(assignment.locale) == language_of(self._locale)
        if self._loading and is_usual and same_language and choice.end_of_turn is None:
            loaded = await asyncio.shield(self._loading)
            self._loading = None
            return loaded
        return await load_parts(choice, assignment.locale)


async def run_room(out: TextIO) -> None:
    """Join the room that the first line names, with its token; raises ``AgentTuiError``."""
    life = Life(out)
    closing: list[Closable] = []
    async with PreparedParts() as prepared:
        assignment = await life.begin()
        if assignment is None:
            return
        check_who_answers(assignment)
        room = rtc.Room()
        room.on("disconnected", lambda _reason: life.end())

        async def talk() -> None:
            parts = await prepared.parts(assignment)
            closing.append(parts)
            _notify(out, parts.notices)
            agent = RoomSession(assignment, parts, room)
            closing.append(agent)
            await _join(room, assignment)  # last: a wrong setting is not told as an agent that left
            await agent.start()
            tell(out, "joined")
            await life.over.wait()

        try:
            await life.during(talk())
        finally:
            with suppress(TimeoutError):  # otherwise others would see a ghost for twenty seconds
                await asyncio.wait_for(room.disconnect(), LEAVE_SECONDS)
            await _close_all(closing)


async def run_console(out: TextIO, address: str) -> None:
    """Talk with the terminal that listens at ``address``; raises ``AgentTuiError``."""
    where = read_address(address)
    life = Life(out)
    closing: list[Closable] = []
    async with PreparedParts() as prepared:
        assignment = await life.begin()
        if assignment is None:
            return
        check_who_answers(assignment)

        async def talk() -> None:
            parts = await prepared.parts(assignment)
            closing.append(parts)
            _notify(out, parts.notices)
            agent = ConsoleAgent(assignment, parts, where, life.end)
            closing.append(agent)
            try:
                await agent.start()
            except OSError as error:
                raise ConnectFailed(f"nothing listens at {address}", error.strerror or "") from error
            tell(out, "joined")
            await life.over.wait()

        try:
            await life.during(talk())
        finally:
            await _close_all(closing)


async def run_worker(out: TextIO, name: str) -> None:
    """Serve rooms that ask for the agent ``name``; url, key and secret are ``LIVEKIT_…`` of the environment.

    The first line has what all jobs share; the metadata of a job (JSON) what is special to it. Raises
    ``AgentTuiError``.
    """
    missing = [
        key for key in ("LIVEKIT_URL", "LIVEKIT_API_KEY", "LIVEKIT_API_SECRET") if not os.environ.get(key)
    ]
    if missing:
        raise ConfigError("a worker needs a LiveKit server", f"set {', '.join(missing)}")
    life = Life(out)
    assignment = await life.begin()
    if assignment is None:
        return
    if not assignment.backend_url:  # otherwise every job would fail
        raise ConfigError(UNREADABLE, "backend_url is missing")
    if not (assignment.conversation_id or assignment.agent.llm):
        why = "only rooms are served whose job names one in its metadata"
        tell(out, "notice", code="conversation", title="conversation_id is missing", detail=why)
    server = AgentServer(
        host="127.0.0.1",  # otherwise its health port listens on every interface
        port=0,
        job_executor_type=JobExecutorType.THREAD,
        num_idle_processes=0,
        # The machine's load, which it would report, makes the server drop jobs silently.
        load_fnc=lambda worker: min(len(worker.active_jobs) / MOST_JOBS, 0.69),
        load_threshold=float("inf"),
        drain_timeout=0,
    )

    async def entry(context: JobContext) -> None:
        await _serve_job(context, assignment)

    server.rtc_session(entry, agent_name=name or AGENT_NAME)
    server.on("worker_registered", lambda *_: tell(out, "joined"))
    try:
        await life.during(server.run(devmode=False))
    finally:
        with suppress(TimeoutError):
            await asyncio.wait_for(server.aclose(), CLOSE_SECONDS)


async def _serve_job(context: JobContext, shared: Assignment) -> None:
    try:
        special = read_assignment(context.job.metadata or "{}")
    except ConfigError:
        special = Assignment()
    assignment = replace(
        shared,
        room=context.room.name,
        conversation_id=special.conversation_id or shared.conversation_id,
        locale=special.locale or shared.locale,
    )
    check_who_answers(assignment)
    parts = await load_parts(assignment.agent, assignment.locale)
    agent = RoomSession(assignment, parts, context.room)
    await context.connect()  # last, as in ``run_room``

    async def close() -> None:
        await _close_all([parts, agent])

    context.add_shutdown_callback(close)
    await agent.start()


async def _join(room: rtc.Room, assignment: Assignment) -> None:
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            await room.connect(assignment.url, assignment.token, rtc.RoomOptions(auto_subscribe=True))
    except TimeoutError as error:
        raise ConnectFailed(
            "the LiveKit server did not let the agent in", "no connection within 10 s"
        ) from error
    except rtc.ConnectError as error:
        # Its text contains the whole token.
        reason = "the token was refused" if "401" in str(error) else "no one answered, or the answer was no"
        raise ConnectFailed("the LiveKit server did not let the agent in", reason) from None


def _notify(out: TextIO, notices: list[LanguageNotice]) -> None:
    for notice in notices:
        tell(out, "notice", code=notice.code, title=notice.title, detail=notice.detail)


async def _close_all(closing: list[Closable]) -> None:
    """Close everything, the newest first, and abandon what hangs."""
    try:
        async with asyncio.timeout(CLOSE_SECONDS):
            for part in reversed(closing):
                await part.aclose()
    except TimeoutError:
        log.warning("the session did not end in time")
