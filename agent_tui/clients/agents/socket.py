"""The client of an agent socket (protocols.md §4): one WebSocket per chat, one question at a time."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing, suppress
from pathlib import Path
from typing import Final
from urllib.parse import quote, urljoin, urlsplit
from uuid import uuid4

from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed

from agent_tui.clients.agents.files import AgentFiles
from agent_tui.clients.agents.link import AgentLink, SocketHooks, SocketTimes, is_restart, not_json, report
from agent_tui.clients.announced import AnnouncedFrame, AnswerLeft
from agent_tui.clients.clock import SYSTEM_CLOCK, Clock
from agent_tui.clients.frame_queue import FrameQueue
from agent_tui.clients.websocket import closed_error, open_socket
from agent_tui.model import events as ev
from agent_tui.model.errors import (
    AgentBusy,
    AgentTuiError,
    ConfigError,
    ConnectFailed,
    NotFound,
    ProtocolError,
    StreamLost,
    TimedOut,
    Unauthorized,
)
from agent_tui.model.inert import inert_line
from agent_tui.wire.agent_socket import (
    CHAT_BUSY,
    CONNECTION_ERROR,
    ERROR,
    INVALID_STATUS,
    NOT_CONNECTED,
    PARSE_ERROR,
    SEND_FILE,
    STATUS,
    TERMINAL,
    TIMEOUT,
    UNEXPECTED_MSG_TYPE,
    AgentSocketDecoder,
    SocketFrame,
    UserMessage,
    error_line,
    error_parts,
    parse_frame,
)

CHAT_PATH: Final = "v1/agent_ws/{chat_id}/"
DEFAULT_CHAT: Final = "0"
LINGER_SECONDS: Final = 0.2  # how long a client that asks once listens after the end
FILE_SAVED: Final = "file_saved"  # ``TurnNoted``, about its path
FILE_REFUSED: Final = "file_refused"  # ``TurnNoted``, about why it was not saved
NO_WORKSPACE: Final = (
    "Set workspace = DIR of this backend to where the agent's /workspace is on this machine."
)
_FORBIDDEN: Final = 403
_BUSY_CODES: Final = frozenset({CHAT_BUSY, "BUSY", "AGENT_BUSY"})

log = logging.getLogger(__name__)


class AgentSocketClient:
    """One chat with one agent. Connects when it is asked something; nothing is ever sent twice automatically.

    ``chat_path`` is joined to ``base_url`` as ``urljoin`` does, so a base without trailing slash loses its
    last part; empty: ``base_url`` is used as it is, which is also tried if the path answers 404.
    ``authorization`` is the whole header. ``files``: where the agent's workspace is on this machine.
    """

    def __init__(
        self,
        base_url: str,
        chat_id: str = DEFAULT_CHAT,
        *,
        chat_path: str = CHAT_PATH,
        authorization: str = "",
        files: AgentFiles | None = None,
        hooks: SocketHooks | None = None,
        times: SocketTimes | None = None,
        clock: Clock = SYSTEM_CLOCK,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self._hooks = hooks or SocketHooks()
        self._times = times or SocketTimes()
        announces = self._hooks.client_tools is not None
        self._urls = socket_urls(base_url, chat_id, chat_path, client_tools=announces)
        self._authorization = authorization
        self._files = files
        self._clock = clock
        self._environ = environ
        self._link: AgentLink | None = None
        self._opening = asyncio.Lock()
        self._is_asking = False
        self._is_closed = False
        self._not_before = 0.0  # of the clock: no connection is opened before

    @property
    def is_connected(self) -> bool:
        """Whether the server can be asked without a new connection."""
        link = self._link
        return link is not None and link.farewell is None and not link.is_over.is_set()

    async def connect(self) -> None:
        """Open the connection, if there is none, wait for its ``STATUS``, and read what was sent with it:
        that belongs to no question.

        Raises ``AgentBusy`` for a chat that another client uses (close code 1008, HTTP 403 or 409),
        ``ConnectFailed`` also if no ``STATUS`` comes, ``Refused``, ``ProtocolError`` for another first frame,
        or another ``TransportError``.
        """
        async with self._opening:
            if self.is_connected:
                return
            if self._is_closed:
                raise report(self._hooks, NOT_CONNECTED, ConnectFailed("this connection was closed"))
            if self._link is not None:
                await self._link.is_over.wait()
            if (wait := self._not_before - self._clock.time()) > 0:
                await self._clock.sleep(wait)
            self._link = await self._connect_to_any()
            await self._link.catch_up()

    async def aclose(self) -> None:
        """Close the connection; the current answer ends with ``StreamLost``."""
        self._is_closed = True
        async with self._opening:
            if self._link is not None:
                await self._link.close()

    async def answer(
        self, text: str, attachments: Sequence[Path] = (), *, turn_id: str = ""
    ) -> AsyncGenerator[AnnouncedFrame, None]:
        """Ask, and yield the frames of the answer with their events of the turn ``turn_id``.

        The last is ``AGENT_EVENT_END`` or ``ERROR``; results of tools that ran here are among them, as they
        were sent. An offered file is noted and, if the agent's workspace is known, saved, which is noted,
        too. If the generator is closed early, the rest is read and dropped, and the next question waits for
        that. Raises ``AgentBusy`` while another question is answered, what ``connect`` raises,
        ``ConfigError`` for a file that cannot be attached, ``StreamLost`` for an answer that was interrupted,
        ``TimedOut`` and ``ProtocolError``.
        """
        decoder = AgentSocketDecoder(turn_id or f"{ev.LOCAL_ID}{uuid4().hex}")
        if self._files is not None:
            self._files.answer()
        async with aclosing(self._ask(text, attachments)) as frames:
            async for frame in frames:
                if frame is None:
                    yield AnnouncedFrame()
                    continue
                events = decoder.decode(frame)
                if frame.type == SEND_FILE and self._files is not None and (path := frame.text("path")):
                    events.append(await save_file(self._files, decoder.turn_id, path))
                if frame.status is not None:  # it never was on the wire
                    yield AnnouncedFrame(frame.type, {}, events, frame.text("call_id"))
                else:
                    yield AnnouncedFrame(frame.type or UNEXPECTED_MSG_TYPE, frame.data(), events)

    async def leave(self) -> None:
        """Give up the current answer: it raises ``AnswerLeft``, and the rest is read and dropped."""
        if self._link is not None and (request := self._link.request) is not None:
            self._link.leave(request)
            request.fail(AnswerLeft("the answer was given up"))

    async def linger(self, seconds: float = LINGER_SECONDS) -> None:
        """Listen for orphans until the connection closes, at most this long."""
        if self._link is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._link.is_over.wait()

    # --- opening and closing ---------------------------------------------------------------------------

    async def _connect_to_any(self) -> AgentLink:
        first, *others = self._urls
        try:
            return await self._connect_to(first)
        except NotFound as error:
            missing = error
        try:
            if others:
                return await self._connect_to(others[0])
        except (ProtocolError, NotFound) as error:
            log.info("nor is the base address an agent socket: %s", type(error).__name__)
        raise report(self._hooks, CONNECTION_ERROR, missing)

    async def _connect_to(self, url: str) -> AgentLink:
        async with AsyncExitStack() as exit_stack:
            opening = open_socket(
                url,
                self._authorization,
                self._environ,
                ping_seconds=self._times.heartbeat,
                pong_seconds=self._times.pong,
                close_seconds=self._times.close,
            )
            try:
                socket = await exit_stack.enter_async_context(opening)
            except Unauthorized as error:
                if error.status != _FORBIDDEN:
                    raise report(self._hooks, CONNECTION_ERROR, error) from error
                # How a close before the handshake arrives: protocols.md §4. Our backend says which of both.
                if error.code == CHAT_BUSY:
                    busy = AgentBusy("the chat is busy", error.detail, status=_FORBIDDEN)
                else:
                    busy = AgentBusy("the chat is busy, or not allowed", error.title, status=_FORBIDDEN)
                raise report(self._hooks, CHAT_BUSY, busy) from error
            except NotFound:
                raise
            except AgentTuiError as error:
                if isinstance(error, AgentBusy):
                    busy = AgentBusy("the chat is busy", error.title, status=error.status)
                    raise report(self._hooks, CHAT_BUSY, busy) from error
                raise report(self._hooks, CONNECTION_ERROR, error) from error
            await self._status(socket)
            closing = exit_stack.pop_all()
        return AgentLink(socket, closing, self._hooks, self._times, self._wait_before_connecting)

    async def _status(self, socket: ClientConnection) -> None:
        seconds = self._times.status
        try:
            async with asyncio.timeout(seconds):
                frame = parse_frame(await socket.recv())
        except TimeoutError as error:
            late = ConnectFailed("the agent does not say that it is ready", f"no STATUS within {seconds:g} s")
            raise report(self._hooks, TIMEOUT, late) from error
        except ConnectionClosed as error:
            raise self._why_unready(error) from error
        except ValueError as error:
            raise report(self._hooks, PARSE_ERROR, not_json(error)) from error
        if frame.type == ERROR:
            code, _ = error_parts(frame)
            title, why = "the agent refused the chat", inert_line(error_line(frame))
            is_busy = code in _BUSY_CODES
            raise report(self._hooks, code, AgentBusy(title, why) if is_busy else ProtocolError(title, why))
        if frame.type != STATUS:
            frame_type = inert_line(frame.type) or "a frame without a type"
            raise report(
                self._hooks, INVALID_STATUS, ProtocolError("the agent did not begin with STATUS", frame_type)
            )

    def _why_unready(self, error: ConnectionClosed) -> AgentTuiError:
        closed = closed_error(error)
        if isinstance(closed, AgentBusy):
            return report(self._hooks, CHAT_BUSY, AgentBusy("the chat is busy", closed.detail))
        if is_restart(error):
            self._wait_before_connecting()
        is_retryable = isinstance(closed, StreamLost) and closed.retryable
        failed = ConnectFailed(closed.title, closed.detail, retryable=is_retryable)
        return report(self._hooks, CONNECTION_ERROR, failed)

    def _wait_before_connecting(self) -> None:
        self._not_before = self._clock.time() + self._times.reconnect

    # --- asking ----------------------------------------------------------------------------------------

    async def _ask(self, text: str, attachments: Sequence[Path]) -> AsyncGenerator[SocketFrame | None, None]:
        """Ask; yield ``None`` when the question was sent, then the frames of the answer."""
        if self._is_asking:
            raise AgentBusy("this chat is answering already", "It takes one question at a time.")
        self._is_asking = True
        request = FrameQueue()
        link: AgentLink | None = None
        try:
            if attachments and self._files is None:
                raise ConfigError("files cannot be attached here", NO_WORKSPACE)
            await self._drain()
            await self.connect()
            link = self._link
            assert link is not None
            paths = await self._put_files(attachments)  # nothing is copied for an agent that is not there
            link.request = request
            await link.send(UserMessage(text, paths).frame())
            yield None
            while True:
                yield (frame := await self._next(request))
                if frame.type in TERMINAL:
                    return
        finally:
            self._is_asking = False
            if link is not None:
                link.leave(request)

    async def _put_files(self, files: Sequence[Path]) -> tuple[str, ...]:
        if self._files is None:
            return ()
        return tuple([await asyncio.to_thread(self._files.put, file) for file in files])

    async def _drain(self) -> None:
        """Wait until an answer that was given up is over; if it takes too long, close its connection."""
        if self._link is None:
            return
        try:
            async with asyncio.timeout(self._times.drain):
                await self._link.is_drained.wait()
        except TimeoutError:
            log.info("an answer that was left goes on; its connection is closed")
            await self._link.close(StreamLost("this connection was closed", "Its answer went on too long."))
            self._wait_before_connecting()  # until the server releases the chat

    async def _next(self, request: FrameQueue) -> SocketFrame:
        seconds = None if request.is_in_tool else self._times.silence
        try:
            async with asyncio.timeout(seconds):
                return await request.get()
        except TimeoutError as error:
            late = TimedOut("the answer stopped coming", f"{seconds:g} s without a frame", retryable=False)
            raise report(self._hooks, TIMEOUT, late) from error


async def save_file(files: AgentFiles, turn_id: str, path: str) -> ev.TurnNoted:
    """Copy an offered file to the downloads, and return a note about it."""
    try:
        saved = await asyncio.to_thread(files.take, path)
    except ConfigError as error:
        return ev.TurnNoted(turn_id, FILE_REFUSED, about=str(error))
    return ev.TurnNoted(turn_id, FILE_SAVED, about=str(saved))


def socket_urls(
    base_url: str, chat_id: str = DEFAULT_CHAT, chat_path: str = CHAT_PATH, *, client_tools: bool = False
) -> tuple[str, ...]:
    """Return the addresses to try: of the chat, then of a server with a single chat.

    http becomes ws, https wss. Raises ``ConfigError`` for anything but an address of a server.
    """
    parts = urlsplit(base_url.strip())
    scheme = {"http": "ws", "https": "wss"}.get(parts.scheme, parts.scheme)
    if scheme not in ("ws", "wss") or not parts.hostname:
        raise ConfigError("that is not the address of an agent", "It should look like ws://host:port/.")
    if parts.username is not None or parts.password is not None:
        raise ConfigError("the address holds a name or password", "Use AGENT_TUI_TOKEN instead.")
    base = parts._replace(scheme=scheme, fragment="").geturl()
    if not chat_path:
        return (base,)
    chat = urljoin(base, chat_path.replace("{chat_id}", quote(chat_id, safe="")))
    if client_tools:
        chat += f"{'&' if '?' in chat else '?'}client_tools=1"
    return chat, base
