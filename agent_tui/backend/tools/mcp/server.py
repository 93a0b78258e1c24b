"""One MCP server of the config file: started when it is first needed, and again after it died, with a pause.

The connection lives in a task of its own: the ``mcp`` package ties it to the task that opened it, and a
cancelled call must not end the server.
"""

from __future__ import annotations

import asyncio
import importlib
import logging
import os
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Literal

from agent_tui.backend.tools.mcp.questions import ServerQuestions
from agent_tui.backend.tools.tool import ToolError, ToolPlace
from agent_tui.causes import reason, tls_cause
from agent_tui.config.tools import McpConfig
from agent_tui.model.inert import inert_line
from agent_tui.redaction import redacted, secret_arguments
from agent_tui.tls import tls_failure

if TYPE_CHECKING:
    from mcp import Client
    from mcp.shared.dispatcher import ProgressFnT
    from mcp_types import BlobResourceContents, CallToolResult, TextResourceContents, Tool

START_SECONDS = 15.0
CALL_SECONDS = 60.0
CHECK_SECONDS = 5.0  # for a server that did not answer in time to show that it is alive
PAUSE_SECONDS = 10.0  # between two attempts to start
LIST_SECONDS = 1.0  # between two requests for its changed tools
MAX_LISTED = 2_000
MAX_PROGRESS_CHARACTERS = 100
MAX_PAGES = 20
MIN_SECRET_CHARACTERS = 8  # a shorter value is a setting like "info", which errors may contain

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ServerListed:
    """An MCP server as in ``GET /api/tools``."""

    name: str
    status: Literal["idle", "starting", "ready", "failed"]
    tools: int = 0  # that are used
    offered: int = 0
    problem: str = ""  # what is wrong, or how many tools are left out
    fix: str = ""  # what helps


class McpServer:
    """The connection to one server. ``foreign_tools`` is its latest list of tools."""

    def __init__(
        self,
        config: McpConfig,
        *,
        start_seconds: float = START_SECONDS,
        call_seconds: float = CALL_SECONDS,
        check_seconds: float = CHECK_SECONDS,
        pause_seconds: float = PAUSE_SECONDS,
        list_seconds: float = LIST_SECONDS,
    ) -> None:
        self.config = config
        self.call_seconds = call_seconds
        self.foreign_tools: tuple[Tool, ...] = ()
        self._start_seconds = start_seconds
        self._check_seconds = check_seconds
        self._pause_seconds = pause_seconds
        self._list_seconds = list_seconds
        self._tried = -float("inf")
        self._runner: asyncio.Task[None] | None = None
        self._ready: asyncio.Future[Client] | None = None
        self._over = asyncio.Event()
        self._why = ""
        self._failed = ""  # why it ended the last time
        self._fix = ""  # what helps against that
        self._status = HTTPStatus.OK.value  # of the newest answer of a server with an address
        self._is_closed = False
        self._questions = ServerQuestions(config.name, call_seconds)

    async def start(self) -> Client:
        """Start it unless it runs, and wait; raises ``ToolError`` if it cannot, or not again so soon."""
        if self._runner is not None and self._over.is_set():
            await asyncio.wait([self._runner])
        if self._ready is None or self._runner is None or self._runner.done():
            self._begin()
        assert self._ready is not None
        return await asyncio.shield(self._ready)

    def begin(self) -> None:
        """Start the server without waiting, unless it was started before."""
        if self._ready is None and not self._is_closed:
            self._begin()

    @property
    def start_seconds_left(self) -> float:
        """How long the server may still take to start."""
        return self._start_seconds - (0.0 if self._ready is None else time.monotonic() - self._tried)

    def as_listed(self, used: int) -> ServerListed:
        """Return its state; ``used`` is how many of its tools are used."""
        listed = ServerListed(self.config.name, "ready", used, len(self.foreign_tools))
        if self._ready is None:
            return replace(listed, status="idle")
        if not self._ready.done():
            if self.start_seconds_left > 0:
                again = f"it is started again: {self._failed}" if self._failed else ""
                return replace(listed, status="starting", problem=again)
            return replace(listed, status="failed", problem=self._too_slow)  # it is just being ended
        if self._over.is_set():
            return replace(listed, status="failed", problem=self._why or "it ended", fix=self._fix)
        return listed

    async def call(
        self, name: str, arguments: Mapping[str, Any], place: ToolPlace | None = None
    ) -> CallToolResult:
        """Return the answer of the server's tool ``name``; raises ``ToolError`` with the reason. Progress
        and questions for a person go to ``place``.
        """
        place = place or ToolPlace()
        client = await self.start()
        from mcp import MCPError  # as in _load
        from mcp_types import CONNECTION_CLOSED

        runner, over = self._runner, self._over
        try:
            async with asyncio.timeout(self.call_seconds) as limit, self._questions.of_call(place, limit):
                progress = _progress_to(place.tell)
                return await client.call_tool(name, dict(arguments), progress_callback=progress)
        except TimeoutError:
            await self._check(client, over)
            raise ToolError(
                f"{self._named} did not answer within {self.call_seconds:g} s; it is not known whether it"
                " carried this out"
            ) from None
        except Exception as error:  # noqa: BLE001 - foreign code, a tool's side (architecture.md §10)
            is_alive = not over.is_set() and await self._check(client, over)
            if is_alive and isinstance(error, MCPError) and error.code != CONNECTION_CLOSED:
                said = inert_line(error.message, 500) + self._how_answered()
                raise ToolError(f"{self._named} refused: {said}") from None
            if not is_alive and runner is not None:
                await asyncio.wait([runner])
            why = self._why or self._reason(error)
            raise ToolError(
                f"{self._named} broke off: {why}; it is not known whether it carried this out"
            ) from None

    async def read(self, uri: str) -> Sequence[TextResourceContents | BlobResourceContents]:
        """Return one of the server's resources; raises ``ToolError``."""
        client = await self.start()
        try:
            async with asyncio.timeout(self.call_seconds):
                return (await client.read_resource(uri)).contents
        except TimeoutError:
            raise ToolError(f"{self._named} did not answer within {self.call_seconds:g} s") from None
        except Exception as error:  # noqa: BLE001 - foreign code, a tool's side (architecture.md §10)
            raise ToolError(self._reason(error)) from None

    async def aclose(self) -> None:
        """End the server and everything it started."""
        self._is_closed = True
        self._over.set()
        if self._runner is not None:
            if self._ready is not None and not self._ready.done():
                self._ready.set_exception(ToolError(f"{self._named} is closed"))
                self._runner.cancel()  # a start may take its time, but not now
            await asyncio.wait([self._runner])

    @property
    def _named(self) -> str:
        return f"the MCP server {self.config.name}"

    @property
    def _too_slow(self) -> str:
        seconds = f"{self._start_seconds:g}"
        return (
            f"it did not answer within {seconds} s"
            if self.config.url
            else f"it did not start within {seconds} s"
        )

    def _begin(self) -> None:
        if self._is_closed:
            raise ToolError(f"{self._named} is closed")
        wait = self._tried + self._pause_seconds - time.monotonic()
        if wait > 0:
            why = f" ({self._why})" if self._why else ""
            raise ToolError(f"{self._named} does not run{why}; it is started again in {wait:.0f} s at most")
        self._tried = time.monotonic()
        self._failed, self._why, self._fix = self._why, "", ""
        self._status = HTTPStatus.OK.value
        self._over = asyncio.Event()
        self._ready = asyncio.get_running_loop().create_future()
        self._ready.add_done_callback(lambda ready: ready.cancelled() or ready.exception())
        self._runner = asyncio.create_task(self._run(self._ready, self._over))

    async def _run(self, ready: asyncio.Future[Client], over: asyncio.Event) -> None:
        """Hold the connection until it ends, for whatever reason."""
        try:
            await asyncio.to_thread(_load)
            async with asyncio.timeout(self._start_seconds) as limit:
                changed = asyncio.Event()
                async with self._open(over, changed) as client:
                    ended = asyncio.create_task(over.wait())
                    listing = asyncio.create_task(_list_tools(client))
                    following = asyncio.create_task(self._follow(client, changed))
                    try:
                        await asyncio.wait([ended, listing], return_when=asyncio.FIRST_COMPLETED)
                        if listing.done():
                            self.foreign_tools = listing.result()
                            limit.reschedule(None)
                            ready.set_result(client)
                            await ended
                    finally:
                        for task in (ended, listing, following):
                            task.cancel()
                        await asyncio.wait([ended, listing, following])
        except TimeoutError:
            self._why = self._why or self._too_slow
        except Exception as error:  # noqa: BLE001 - foreign code, a tool's side (architecture.md §10)
            self._why = self._why or self._reason(error)
        finally:
            if not ready.done():
                await self._find_fix()
            over.set()
            if not ready.done():
                why = self._why or "it ended at once"
                ready.set_exception(ToolError(f"{self._named} cannot be started: {why}"))
                _log.warning("the MCP server %s cannot be started: %s", self.config.name, why)

    async def _follow(self, client: Client, changed: asyncio.Event) -> None:
        """Request the tools again when the server says that they changed; it may say so all the time."""
        while True:
            await changed.wait()
            changed.clear()
            try:
                async with asyncio.timeout(self.call_seconds):
                    self.foreign_tools = await _list_tools(client)
            except Exception:  # noqa: BLE001 - foreign code, a tool's side (architecture.md §10)
                _log.warning("the MCP server %s did not list its changed tools", self.config.name)
            await asyncio.sleep(self._list_seconds)

    async def _find_fix(self) -> None:
        """Set what helps against a failed start; checks whether the server uses the older transport."""
        where = f"mcp.{self.config.name}"
        if self.config.command:
            self._fix = f"run its command by hand, or correct {where}.command and .args"
        elif await self._is_legacy():
            self._why = "it speaks the older transport of MCP (HTTP with SSE), which is not supported"
            self._fix = f"give {where}.url its streamable HTTP address, often with /mcp in place of /sse"
        elif self._status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
            self._fix = f"put the right token into the variable that {where}.token_env names"
        elif self._status == HTTPStatus.NOT_FOUND:
            self._fix = f"correct the path of {where}.url: there is nothing at this one; often it is /mcp"
        elif self._status >= HTTPStatus.BAD_REQUEST:
            self._fix = f"see what the server logs, or correct {where}.url"
        else:
            self._fix = f"start the server, or correct {where}.url"

    async def _is_legacy(self) -> bool:
        if not HTTPStatus.BAD_REQUEST <= self._status < HTTPStatus.INTERNAL_SERVER_ERROR:
            return False
        from agent_tui.backend.tools.mcp.http import speaks_older_transport  # as in _load

        return await speaks_older_transport(self.config)

    @asynccontextmanager
    async def _open(self, over: asyncio.Event, changed: asyncio.Event) -> AsyncGenerator[Client]:
        from mcp import Client  # as in _load
        from mcp_types import ToolListChangedNotification

        from agent_tui.backend.tools.mcp.http import http_transport
        from agent_tui.backend.tools.mcp.listing import with_valid_tools
        from agent_tui.backend.tools.mcp.stdio import stdio_transport

        def on_end(why: str) -> None:
            self._why = redacted(why, self._secrets())
            over.set()

        def on_status(status: int) -> None:
            self._status = status

        async def on_message(message: object) -> None:
            if isinstance(message, ToolListChangedNotification):
                changed.set()

        logging.getLogger("mcp").setLevel(logging.CRITICAL)  # it would log the server's words
        if self.config.url:
            transport = http_transport(self.config, on_status)
        else:
            inherited = {name: os.environ[name] for name in self.config.env_from if name in os.environ}
            transport = stdio_transport(self.config, {**self.config.env, **inherited}, on_end)
        async with Client(
            with_valid_tools(transport),
            cache=None,
            message_handler=on_message,
            elicitation_callback=self._questions.answer,
        ) as client:
            yield client

    async def _check(self, client: Client, over: asyncio.Event) -> bool:
        """Return whether the server still answers; if not, it counts as ended."""
        try:
            async with asyncio.timeout(self._check_seconds):
                await client.list_tools()
        except Exception:  # noqa: BLE001 - foreign code, a tool's side (architecture.md §10)
            self._why = self._why or "it stopped answering"
            over.set()
            return False
        return True

    def _reason(self, error: BaseException) -> str:
        """Return an error of the package, or the first of a group, in one line."""
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        if (tls := tls_cause(error)) is not None:
            return tls_failure(tls, "the server").title
        text = redacted(reason(error), self._secrets())
        return (inert_line(text, 300) or type(error).__name__) + self._how_answered()

    def _secrets(self) -> tuple[str, ...]:
        """Return the secrets that the server was given and may repeat in an error."""
        names = (*self.config.env_from, self.config.token_env)
        values = (
            *secret_arguments(self.config.args),
            *self.config.env.values(),
            *(os.environ.get(name, "") for name in names if name),
        )
        return tuple(value for value in values if len(value) >= MIN_SECRET_CHARACTERS)

    def _how_answered(self) -> str:
        """Return the HTTP status as an addition to an error text, since the package does not name it."""
        if self._status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
            return f" (status {self._status}: is the token right?)"
        return f" (status {self._status})" if self._status >= HTTPStatus.BAD_REQUEST else ""


def _load() -> None:
    """Import the package, in a thread: it takes a second or more, and most people have no MCP server."""
    importlib.import_module("agent_tui.backend.tools.mcp.http")
    importlib.import_module("agent_tui.backend.tools.mcp.listing")
    importlib.import_module("agent_tui.backend.tools.mcp.stdio")


def _progress_to(tell: Callable[[str], None] | None) -> ProgressFnT | None:
    if tell is None:
        return None

    async def tell_progress(progress: float, total: float | None, message: str | None) -> None:
        amount = f"{progress:g} of {total:g}" if total else f"{progress:g}"
        tell(inert_line(f"{amount}: {message}" if message else amount, MAX_PROGRESS_CHARACTERS))

    return tell_progress


async def _list_tools(client: Client) -> tuple[Tool, ...]:
    tools: list[Tool] = []
    cursor: str | None = None
    for _ in range(MAX_PAGES):
        page = await client.list_tools(cursor=cursor)
        tools += page.tools
        cursor = page.next_cursor
        if cursor is None or len(tools) >= MAX_LISTED:
            break
    return tuple(tools[:MAX_LISTED])
