"""One connection to an agent socket (protocols.md §4): reads, sends, and runs the client's own tools."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from functools import partial

from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed

from agent_tui.clients.frame_queue import FrameQueue
from agent_tui.clients.websocket import RESTARTS, closed_error
from agent_tui.model.errors import AgentBusy, AgentTuiError, ProtocolError, StreamLost, TimedOut
from agent_tui.model.events import ToolStatusChanged
from agent_tui.model.inert import inert_line
from agent_tui.wire.agent_socket import (
    CHAT_BUSY,
    CLIENT_TOOL_STATUS,
    CONNECTION_ERROR,
    PARSE_ERROR,
    TERMINAL,
    TIMEOUT,
    UNEXPECTED_MSG_TYPE,
    ClientToolCall,
    ClientToolResult,
    SocketFrame,
    client_tool_call,
    error_parts,
    parse_frame,
)

log = logging.getLogger(__name__)

# Runs a call; the states that it reports meanwhile are part of the answer.
Tell = Callable[[ToolStatusChanged], None]
ClientTools = Callable[[ClientToolCall, Tell], Awaitable[ClientToolResult]]


@dataclass(frozen=True, slots=True)
class SocketTimes:
    """How long to wait, in seconds. ``silence``: between two frames of an answer, unless a tool is running;
    then, and for ``None``, as long as the server answers pings. ``drain``: for the end of an answer that was
    given up, before the next question. ``catch_up``: for the first pong.
    """

    status: float = 5.0
    catch_up: float = 0.5
    heartbeat: float = 30.0
    pong: float = 10.0
    close: float = 2.0
    send: float = 10.0
    drain: float = 10.0
    reconnect: float = 1.0  # after a server said that it stops
    silence: float | None = None


@dataclass(frozen=True, slots=True)
class SocketHooks:
    """Callbacks for everything besides answers; none of them may raise.

    ``on_orphan``: a frame that belongs to no question. ``on_error``: code and details, of the server's
    ``ERROR`` and of faults that are found here. ``on_disconnect``: once for each connection, with ``None`` if
    this side closed it. ``client_tools`` runs a tool on this machine, after a person allowed it; only with it
    the client announces that it can.
    """

    on_orphan: Callable[[SocketFrame], None] = lambda _: None
    on_error: Callable[[str, str], None] = lambda _, __: None
    on_disconnect: Callable[[AgentTuiError | None], None] = lambda _: None
    client_tools: ClientTools | None = None


class AgentLink:
    """One open connection, which reads everything at once. ``request`` takes the frames of the current
    question; ``is_drained``: no answer is coming that was given up; ``farewell`` is why it will close,
    ``reason`` why it closed. ``on_restart`` is called if the server said that it will be back soon.
    """

    def __init__(
        self,
        socket: ClientConnection,
        exit_stack: AsyncExitStack,
        hooks: SocketHooks,
        times: SocketTimes,
        on_restart: Callable[[], None],
    ) -> None:
        self.request: FrameQueue | None = None
        self.is_drained = asyncio.Event()
        self.is_drained.set()
        self.is_over = asyncio.Event()
        self.farewell: AgentTuiError | None = None
        self.reason: AgentTuiError | None = None
        self._socket = socket
        self._exit_stack = exit_stack
        self._hooks = hooks
        self._times = times
        self._on_restart = on_restart
        self._is_closing = False
        self._tools: dict[str, asyncio.Task[ClientToolResult]] = {}  # by the id of the call
        self._answers: set[asyncio.Task[None]] = set()  # of tools, being sent
        self._reader = asyncio.create_task(self._read())

    async def catch_up(self) -> None:
        """Wait until everything was read that the server sent before it was asked anything.

        Its pong comes behind that. A server that sends none is soon asked nevertheless: if it is dead, the
        heartbeat shows that later.
        """
        with suppress(TimeoutError, ConnectionClosed):
            async with asyncio.timeout(self._times.catch_up):
                await (await self._socket.ping())

    async def close(self, farewell: AgentTuiError | None = None) -> None:
        """Close it with this reason; the current answer ends with ``StreamLost``."""
        self.farewell, self._is_closing = farewell or self.farewell, True
        await self._socket.close()
        await asyncio.wait({self._reader})

    def leave(self, request: FrameQueue) -> None:
        """Give up the rest of an answer: it is read and dropped."""
        if self.request is request:
            self.request = None
            self.is_drained.clear()
            self._end_tools()

    def _finish(self) -> None:
        self.request = None
        self.is_drained.set()
        self._end_tools()

    def _end_tools(self) -> None:
        for task in self._tools.values():
            task.cancel()

    # --- reading ---------------------------------------------------------------------------------------

    async def _read(self) -> None:
        """Take every frame at once, until the connection ends."""
        reason: AgentTuiError | None = None
        try:
            while self.farewell is None:
                raw = await self._socket.recv()
                try:
                    frame = parse_frame(raw)
                except ValueError as error:
                    report(self._hooks, PARSE_ERROR, not_json(error))
                    continue
                await self._take(frame, len(raw))
            reason = self.farewell
        except ConnectionClosed as error:
            reason = self._why(error)
        except ProtocolError as error:  # too many frames are waiting
            reason = error
        finally:
            self._end(reason)
            await self._exit_stack.aclose()

    def _why(self, closed: ConnectionClosed) -> AgentTuiError | None:
        if self.farewell is not None or self._is_closing:
            return self.farewell
        if is_restart(closed):
            self._on_restart()
        return closed_error(closed, may_be_busy=self.request is None or not self.request.received)

    def _end(self, reason: AgentTuiError | None) -> None:
        request, self.reason = self.request, reason
        self._finish()
        self.is_over.set()
        if reason is not None and reason is not self.farewell:
            report(self._hooks, CHAT_BUSY if isinstance(reason, AgentBusy) else CONNECTION_ERROR, reason)
        if request is not None:
            request.fail(reason or StreamLost("this connection was closed"))
        self._hooks.on_disconnect(reason)

    async def _take(self, frame: SocketFrame, characters: int) -> None:
        request, is_wanted = self.request, self.is_drained.is_set()
        match frame.type:
            case "STATUS":
                return
            case "GRACEFUL_DISCONNECT":
                self.farewell = StreamLost("the agent is about to stop", "It closed the connection itself.")
                self._on_restart()
                await self._socket.close()
                return
            case "ERROR":
                code, details = error_parts(frame)
                self._hooks.on_error(code, details)
            case "AGENT_EVENT_CLIENT_TOOL_CALL":
                self._call_tool(frame)
            case "":
                self._hooks.on_error(UNEXPECTED_MSG_TYPE, inert_line(frame.json()))
            case _:
                pass
        if request is not None:
            request.put(frame, characters)
        elif is_wanted:
            self._hooks.on_orphan(frame)
        if frame.type in TERMINAL:
            self._finish()

    async def send(self, frame: SocketFrame) -> None:
        """Send a frame; raises ``TimedOut`` if the server takes none, or the reason why the connection is
        over.
        """
        seconds = self._times.send
        try:
            async with asyncio.timeout(seconds):
                await self._socket.send(frame.json())
        except TimeoutError as error:
            self._socket.transport.abort()  # half a message may be sent, and a close would wait for it
            timed_out = TimedOut("the agent takes no message", f"{seconds:g} s passed", retryable=False)
            raise report(self._hooks, TIMEOUT, timed_out) from error
        except ConnectionClosed as error:
            await self.is_over.wait()
            raise self.reason or StreamLost("this connection was closed") from error

    # --- tools that run here ---------------------------------------------------------------------------

    def _call_tool(self, frame: SocketFrame) -> None:
        """Start the tool that the server asks for; if it cannot be run, that is answered at once."""
        call = client_tool_call(frame)
        if call is None or call.call_id in self._tools:
            self._hooks.on_error(UNEXPECTED_MSG_TYPE, inert_line(frame.json()))
            return
        running = asyncio.create_task(self._tool_result(call, self.request))
        self._tools[call.call_id] = running
        running.add_done_callback(partial(self._tool_ended, call.call_id, self.request))

    async def _tool_result(self, call: ClientToolCall, request: FrameQueue | None) -> ClientToolResult:
        run = self._hooks.client_tools
        if run is None:
            return ClientToolResult(call.call_id, error="this client runs no tools")
        if request is None:
            return ClientToolResult(call.call_id, error="nobody waits for this answer")

        def tell(status: ToolStatusChanged) -> None:
            if self.request is request:
                request.put(SocketFrame(CLIENT_TOOL_STATUS, {"call_id": call.call_id}, status), 0)

        try:
            return await run(call, tell)
        except Exception as error:  # noqa: BLE001 - a tool is foreign code
            log.warning("a tool of the client failed: %s", type(error).__name__)
            return ClientToolResult(call.call_id, error=f"the tool failed: {type(error).__name__}")

    def _tool_ended(
        self, call_id: str, request: FrameQueue | None, task: asyncio.Task[ClientToolResult]
    ) -> None:
        del self._tools[call_id]
        if self.is_over.is_set():
            return
        given_up = ClientToolResult(call_id, error="nobody waits for this answer any more")
        result = given_up if task.cancelled() else task.result()
        answer = asyncio.create_task(self._answer(result.frame(), request))
        self._answers.add(answer)
        answer.add_done_callback(self._answers.discard)

    async def _answer(self, frame: SocketFrame, request: FrameQueue | None) -> None:
        with suppress(AgentTuiError):  # the reading task reports it
            if request is not None and self.request is request:
                request.put(frame, len(frame.json()))
            await self.send(frame)


def report(hooks: SocketHooks, code: str, error: AgentTuiError) -> AgentTuiError:
    """Report a fault that was found here, and return it."""
    hooks.on_error(code, str(error))
    return error


def is_restart(closed: ConnectionClosed) -> bool:
    """Return whether the server closed because it will restart soon."""
    return closed.rcvd is not None and closed.rcvd.code in RESTARTS


def not_json(error: ValueError) -> ProtocolError:
    """Return the error for a frame that is not JSON."""
    return ProtocolError("the agent sent something that is not JSON", inert_line(str(error)))
