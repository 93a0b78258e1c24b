"""One backend process from start to end: lock, socket, store, engine, server, and back in reverse order."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import secrets
import signal
import socket
import sys
import time
from collections.abc import Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agent_tui import BACKEND_PROTOCOL, __version__
from agent_tui.backend.config_file import ConfigFile
from agent_tui.backend.engine.answer.tool_runs import ToolRuns
from agent_tui.backend.engine.engine import Engine
from agent_tui.backend.engine.rooms.commands import RoomCommands
from agent_tui.backend.engine.unwatched import OpenPrograms
from agent_tui.backend.http.agent_tasks import AgentService
from agent_tui.backend.http.agent_ws import AgentSockets
from agent_tui.backend.http.app import Api, Traffic, build_app
from agent_tui.backend.http.auth import KnownHosts, is_loopback
from agent_tui.backend.http.chats import ChatRoutes
from agent_tui.backend.http.connection import HttpServer, bound_socket, url_of
from agent_tui.backend.http.presence import Attendance
from agent_tui.backend.http.tools import Tools
from agent_tui.backend.http.workspaces import Workspaces
from agent_tui.backend.hub import Hub
from agent_tui.backend.lock import DatabaseLock
from agent_tui.backend.logs import start_logging
from agent_tui.backend.models.providers import Models
from agent_tui.backend.options import Settings
from agent_tui.backend.store.agent_sessions import StoredSessions
from agent_tui.backend.store.store import FileStore
from agent_tui.backend.tools.programs.orphans import ORPHANS
from agent_tui.backend.tools.rooms import room_tools
from agent_tui.backend.tools.toolbox import Toolbox
from agent_tui.backend.voice.rooms import BackendAddress, VoiceRooms
from agent_tui.backend.voice.routes import VoiceRoutes
from agent_tui.config.file import load
from agent_tui.model.errors import not_written
from agent_tui.tracebacks import log_unhandled
from agent_tui.whole_file import write_whole

# Seconds after the request to end at which each of these is over, done or not: within three all is. What is
# left then is abandoned: programs of tools end with this process (``tools.child``), half a commit is none.
CUT_SECONDS = 1.7  # rooms and answers are stopped, and that is stored
LEFT_SECONDS = 2.6  # clients were told and have left, MCP servers have ended
CLOSED_SECONDS = 2.9  # the store is closed
IDLE_CHECKS = 4  # checks per idle time

log = logging.getLogger(__name__)

# What did not end in time: kept, because Python would complain otherwise.
_abandoned: set[asyncio.Task[Any]] = set()


def run(settings: Settings) -> None:
    """Run the backend until it is told to stop or, if embedded, until no client needs it.

    Raises ``AgentBusy`` if another process uses the database, ``ConfigError`` and ``StoreError`` if an
    option, the config file included, cannot be used.
    """
    load(settings.config)
    os.umask(0o077)  # the database, its journal and the log hold conversations
    ORPHANS.adopt()  # processes that a tool's command leaves behind come here, and are ended
    with DatabaseLock(settings.lock_file, settings.mode) as lock:
        start_logging(settings.log_file, stderr=settings.mode == "serve")
        with bound_socket(settings.host, settings.port) as listener:
            run_and_leave(_Process(settings, lock, listener).run())


def run_and_leave(process: Coroutine[Any, Any, None]) -> None:
    """Do what ``asyncio.run`` does, but wait neither for tasks that do not end when they are cancelled nor
    for threads: they end with this process, which ends at once (``__main__``).
    """
    loop = asyncio.new_event_loop()
    loop.set_exception_handler(log_unhandled)
    try:
        loop.run_until_complete(process)
    finally:
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(asyncio.sleep(0))
        _abandoned.update(asyncio.all_tasks(loop))


@dataclass(frozen=True, slots=True)
class _Inside:
    """What is behind the server."""

    engine: Engine
    hub: Hub
    models: Models
    toolbox: Toolbox
    presence: OpenPrograms
    voice: VoiceRooms
    tool_runs: ToolRuns

    def running(self) -> int:
        """Return how many rooms, answers and voice rooms are running."""
        return self.engine.runs.number() + self.voice.rooms

    async def stop(self) -> None:
        """Stop all rooms, answers and tools."""
        self.tool_runs.stop_all()
        await self.engine.stop_all("handover")


@dataclass(slots=True)
class _Process:
    settings: Settings
    lock: DatabaseLock
    listener: socket.socket
    instance: str = field(default_factory=lambda: secrets.token_hex(16))
    traffic: Traffic = field(default_factory=Traffic)
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    stopping_at: float = 0.0  # the loop's time of the request to end
    announcement: tuple[Path, str] | None = None  # the file that says how to reach it, and its contents

    async def run(self) -> None:
        self._listen_to_signals()
        settings = self.settings
        store = FileStore(settings.database, upgrading=self.lock.upgrading)
        models = Models(
            settings.config,
            demo_rate=settings.demo_rate,
            demo_seed=settings.demo_seed,
            sessions=StoredSessions(store),
        )
        token = self._token()
        config = ConfigFile(settings.config)
        toolbox = Toolbox(config.read)
        unwatched = settings.unwatched_seconds
        try:
            hub, presence = Hub(store), OpenPrograms()
            engine = Engine(store, hub, models, toolbox, unwatched_seconds=unwatched, presence=presence)
            toolbox.add(*room_tools(RoomCommands(engine)))
            await engine.start(resume=settings.resume)
            url, is_local = url_of(settings.host, self.listener), is_loopback(settings.host)
            address = BackendAddress(url, token or "", is_local)
            voice = VoiceRooms(settings.data, lambda: config.read().voice, engine, presence, address)
            runs = ToolRuns(toolbox, engine.asks, toolbox.on_this_machine)
            await self._serve(_Inside(engine, hub, models, toolbox, presence, voice, runs), token)
        finally:
            self.stopping_at = self.stopping_at or asyncio.get_running_loop().time()
            await self._by(LEFT_SECONDS, toolbox.aclose(), models.aclose())
            await self._by(CLOSED_SECONDS, store.close())
        log.info("stopped")

    async def _serve(self, inside: _Inside, token: str | None) -> None:
        hosts = KnownHosts(self.settings.host)
        api = Api(
            hosts,
            token,
            self.instance,
            self.stopping.set,
            voice_rooms=lambda: inside.voice.rooms,
            programs=lambda: inside.presence.programs,
        )
        workspaces = Workspaces(self.settings.workspaces)
        more = [
            *ChatRoutes(inside.engine, inside.hub, workspaces).routes(),
            *Tools(inside.engine, inside.toolbox, inside.tool_runs, workspaces).routes(),
            *Attendance(inside.presence).routes(),
            *VoiceRoutes(inside.voice, workspaces).routes(),
            *AgentService(inside.engine, inside.hub, workspaces).routes(),
            *AgentSockets(inside.engine, inside.hub, workspaces).routes(),
        ]
        app = build_app(inside.engine, inside.hub, api, self.traffic, inside.models, more, workspaces)
        server = HttpServer(app, lambda: self._ready(token))
        serving = asyncio.create_task(server.serve([self.listener]))
        stop_requested = asyncio.create_task(self.stopping.wait())
        idle = asyncio.create_task(self._stop_when_idle(inside))
        try:
            await asyncio.wait({serving, stop_requested}, return_when=asyncio.FIRST_COMPLETED)
            await self._stop(inside, server, serving)
        finally:
            stop_requested.cancel()
            idle.cancel()
            self._forget()

    def _token(self) -> str | None:
        token = self.settings.token
        return secrets.token_urlsafe(32) if token == "" else token

    def _listen_to_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.stopping.set)
        if self.settings.mode == "embedded":
            # The terminal that started it may close: others may use it, and rooms may have to continue.
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
        elif signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # nohup
            loop.add_signal_handler(signal.SIGHUP, self.stopping.set)

    def _ready(self, token: str | None) -> None:
        """Tell how to reach this process, now that it can be reached."""
        settings = self.settings
        url = url_of(settings.host, self.listener)
        log.info("%s %s listens on %s", settings.mode, __version__, url)
        if settings.mode == "embedded":
            facts = {
                "url": url,
                "port": self.listener.getsockname()[1],
                "token": token,
                "pid": os.getpid(),
                "version": __version__,
                "protocol": BACKEND_PROTOCOL,
                "instance": self.instance,
                "config": str(settings.config),
            }
            self._announce(settings.runtime_file, json.dumps(facts))
        elif settings.token == "":
            self._announce(settings.token_file, f"{token}\n")
            sys.stderr.write(f"agent-tui: the token is in {settings.token_file}\n")
        if not is_loopback(settings.host):
            log.warning("others can reach %s; without TLS they can also read what is said and the token", url)
        try:
            sys.stdout.write(f"listening on {url}\n")
            sys.stdout.flush()
        except BrokenPipeError:  # the parent process may be gone
            pass
        except OSError as error:
            raise not_written("the output cannot be written", error) from error

    def _announce(self, file: Path, text: str) -> None:
        write_whole(file, text.encode(), is_private=True, is_durable=False)
        self.announcement = file, text

    def _forget(self) -> None:
        """Remove the file that says how to reach this process, unless another process has written it since
        (the folder may have been deleted and made again).
        """
        if self.announcement is None:
            return
        file, text = self.announcement
        with contextlib.suppress(OSError, ValueError):
            if file.read_text(encoding="utf-8") == text:
                file.unlink()

    async def _stop(self, inside: _Inside, server: HttpServer, serving: asyncio.Task[None]) -> None:
        self.stopping_at = asyncio.get_running_loop().time()
        self.traffic.closed = True
        self.lock.say_stopping()
        self._forget()
        cutting = asyncio.create_task(inside.stop())
        # MCP servers may need all the time there is. They begin to end after every call was stopped.
        leaving = asyncio.create_task(inside.toolbox.aclose())
        voiceless = asyncio.create_task(inside.voice.aclose())
        await self._by(CUT_SECONDS, cutting)
        inside.hub.close()
        inside.presence.close()
        server.should_exit = True
        await self._by(LEFT_SECONDS, serving, leaving, voiceless, inside.models.aclose())

    async def _by(self, seconds: float, *work: asyncio.Task[None] | Coroutine[Any, Any, None]) -> None:
        """Wait for ``work``, but only until ``seconds`` after the request to end."""
        tasks = [task if isinstance(task, asyncio.Task) else asyncio.create_task(task) for task in work]
        seconds_left = self.stopping_at + seconds - asyncio.get_running_loop().time()
        done, late = await asyncio.wait(tasks, timeout=max(0.0, seconds_left))
        for task in late:
            name = getattr(task.get_coro(), "__qualname__", "")
            log.error("%s did not end in time; the next start closes what is left open", name)
        for task in done:
            task.result()

    async def _stop_when_idle(self, inside: _Inside) -> None:
        """Stop after ``idle_seconds`` without a request, an open stream, or a running room, answer or voice
        room.
        """
        seconds = self.settings.idle_seconds
        if seconds is None:
            return
        busy_at = time.monotonic()
        while time.monotonic() - busy_at < seconds:
            await asyncio.sleep(seconds / IDLE_CHECKS)
            if self.traffic.under_way or inside.running():
                busy_at = time.monotonic()
            busy_at = max(busy_at, self.traffic.last_seconds)
        log.info("nobody needs this backend any more")
        self.stopping.set()
