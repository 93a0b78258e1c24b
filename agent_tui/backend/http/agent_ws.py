"""The agent socket (protocols.md §4): one WebSocket per chat, one client and one question at a time.

A chat id is a chat of ours, which is made with its first question and lasts. Its attachments, and the files
that tools wrote, are in the workspace of that chat.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, nullcontext, suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path

from starlette.routing import BaseRoute, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from agent_tui.backend.engine.chats.acts import AnswerStart
from agent_tui.backend.engine.chats.fields import MAX_ATTACHMENTS, QuestionFields
from agent_tui.backend.engine.engine import Engine
from agent_tui.backend.engine.kinds import ANSWER_RUNNING, CHATS
from agent_tui.backend.http.presence import is_child
from agent_tui.backend.http.problem import problem
from agent_tui.backend.http.room_requests import ID
from agent_tui.backend.http.workspaces import Workspaces
from agent_tui.backend.hub import Hub
from agent_tui.backend.store.rows import StoredFrame
from agent_tui.backend.tools.tool import ToolError, ToolPlace
from agent_tui.backend.tools.workspace import Workspace
from agent_tui.model import events as ev
from agent_tui.model.errors import AgentTuiError, Refused
from agent_tui.model.images import attached_image
from agent_tui.model.inert import inert_line
from agent_tui.model.settings import Values
from agent_tui.wire.agent_socket import (
    CHAT_BUSY,
    FILE_OFFERED,
    GRACEFUL_DISCONNECT,
    PARSE_ERROR,
    STATUS,
    TERMINAL,
    UNEXPECTED_MSG_TYPE,
    SocketFrame,
    UserMessage,
    client_frame,
    parse_frame,
)
from agent_tui.wire.agent_socket_encode import AgentSocketEncoder, error_frame
from agent_tui.wire.content import json_object

WRITERS = frozenset({"write_file", "patch_file"})  # tools whose result is a file
MAX_FILE_BYTES = 1024 * 1024
MAX_FAULTS = 100  # frames of one connection that do not belong to the protocol
LAST_SECONDS = 0.3  # for the end of an answer, when the backend stops


class AgentSockets:
    """The route of the agent socket, and the chats in use."""

    def __init__(self, engine: Engine, hub: Hub, workspaces: Workspaces) -> None:
        self._engine = engine
        self._hub = hub
        self._workspaces = workspaces
        self._in_use: set[str] = set()

    def routes(self) -> list[BaseRoute]:
        """Return the one route."""
        return [WebSocketRoute("/v1/agent_ws/{chat_id}/", self.connect)]

    async def connect(self, socket: WebSocket) -> None:
        """Serve one client, or refuse it if another one uses the chat."""
        chat_id: str = socket.path_params["chat_id"]
        if not ID.fullmatch(chat_id):
            await socket.send_denial_response(problem(HTTPStatus.NOT_FOUND, "There is no such chat"))
            return
        if chat_id in self._in_use:
            # As the original's client expects it: not accepted, with 403.
            detail = "Another client holds it."
            busy = problem(HTTPStatus.FORBIDDEN, "The chat is busy", detail, code=CHAT_BUSY)
            await socket.send_denial_response(busy)
            return
        self._in_use.add(chat_id)
        try:
            new = {"workspace": self._workspaces.default, "client_key": f"agent_ws:{chat_id}"}
            await _Connection(self._engine, self._hub, socket, new).serve()
        finally:
            self._in_use.discard(chat_id)


class _Connection:
    """One client."""

    def __init__(self, engine: Engine, hub: Hub, socket: WebSocket, new: Values) -> None:
        self._engine = engine
        self._hub = hub
        self._socket = socket
        self._new = new
        self._answering: asyncio.Task[None] | None = None
        self._current: AnswerStart | None = None
        self._is_left = False

    async def serve(self) -> None:
        """Answer questions until the client leaves or the backend stops. When a client leaves, its answer is
        stopped; what it said is kept.
        """
        await self._socket.accept()
        await self._send(SocketFrame(STATUS))
        async with asyncio.TaskGroup() as tasks:
            listening = tasks.create_task(self._listen(tasks))
            stopping = tasks.create_task(self._hub.wait_closed())
            try:
                await asyncio.wait({listening, stopping}, return_when=asyncio.FIRST_COMPLETED)
                if not listening.done():
                    await self._say_goodbye()
            finally:
                listening.cancel()
                stopping.cancel()
                await self._leave()

    async def _listen(self, tasks: asyncio.TaskGroup) -> None:
        faults = 0
        while faults < MAX_FAULTS:
            message = await self._socket.receive()
            if message["type"] == "websocket.disconnect":
                return
            try:
                question = _user_message(message.get("text"))
            except _Fault as fault:
                faults += 1
                await self._send(error_frame(str(fault), fault.code))
                continue
            if self._answering is not None and not self._answering.done():
                await self._send(error_frame("A question is being answered", CHAT_BUSY))
            else:
                self._current = None
                self._answering = tasks.create_task(self._answer(question))
        await self._socket.close(1008, "too many frames that are not of the protocol")

    async def _answer(self, message: UserMessage) -> None:
        try:
            chat = await self._engine.create(CHATS, self._new)
            files = await asyncio.to_thread(_attachments, chat.workspace, message.attachments)
            question = QuestionFields(content=message.text, attachments=files, is_alone=True)
            counts = not is_child(self._socket)
            with self._engine.runs.wait_for(chat.id) if counts else nullcontext():
                self._current = answer = await self._engine.chats.ask(chat.id, question)
                if self._is_left:
                    await self._engine.chats.stop_answer(answer.message_id)
                    return
                offers = _Offers(answer.message_id, chat.workspace)
                async with aclosing(self._hub.read(chat.id, answer.after, counts=counts)) as batches:
                    await self._send_answer(batches, AgentSocketEncoder(), offers)
        except Refused as error:
            await self._send(error_frame(str(error), CHAT_BUSY if error.code == ANSWER_RUNNING else ""))
        except (AgentTuiError, ToolError) as error:
            await self._send(error_frame(str(error)))

    async def _send_answer(
        self, batches: AsyncGenerator[list[StoredFrame], None], encoder: AgentSocketEncoder, offers: _Offers
    ) -> None:
        async for batch in batches:
            for event in [stored.event for stored in batch if stored.message_id == offers.turn_id]:
                for sent in (event, *await offers.made_by(event)):
                    for frame in encoder.encode(sent):
                        await self._send(frame)
                        if frame.type in TERMINAL:
                            return
        await self._send(error_frame("The conversation was deleted"))

    async def _say_goodbye(self) -> None:
        if self._answering is not None:
            await asyncio.wait({self._answering}, timeout=LAST_SECONDS)
        await self._send(SocketFrame(GRACEFUL_DISCONNECT))
        with suppress(WebSocketDisconnect, RuntimeError):  # the client has gone
            await self._socket.close(1001)

    async def _leave(self) -> None:
        """Stop an answer whose client has left."""
        self._is_left = True
        answering = self._answering
        if answering is None or answering.done():
            return
        if self._current is not None:
            await self._engine.chats.stop_answer(self._current.message_id)
            answering.cancel()
        await asyncio.wait({answering})  # one that is just being stored stops then

    async def _send(self, frame: SocketFrame) -> None:
        with suppress(WebSocketDisconnect, RuntimeError):  # it has gone: ``_listen`` notices that
            await self._socket.send_text(frame.json())


class _Fault(Exception):
    """A client's message does not fit the protocol; the text is for the client."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code


def _user_message(text: str | None) -> UserMessage:
    if text is None:
        raise _Fault(PARSE_ERROR, "binary frames are not of this protocol")
    try:
        frame = parse_frame(text)
    except ValueError as error:
        raise _Fault(PARSE_ERROR, str(error)) from None
    try:
        message = client_frame(frame)
    except ValueError as error:
        raise _Fault(UNEXPECTED_MSG_TYPE, str(error)) from None
    if not isinstance(message, UserMessage):
        raise _Fault(UNEXPECTED_MSG_TYPE, "no tool of the client was called")
    return message


def _attachments(workspace: str, paths: tuple[str, ...]) -> tuple[ev.Attachment, ...]:
    """Return the files at ``paths`` of the workspace; raises ``ToolError`` for unreadable ones."""
    if len(paths) > MAX_ATTACHMENTS:
        raise ToolError(f"at most {MAX_ATTACHMENTS} attachments")
    if not paths:
        return ()
    files = Workspace.of(ToolPlace(Path(workspace) if workspace else None))
    attachments = []
    for path in paths:
        data = files.read(path, MAX_FILE_BYTES)
        try:
            attachments.append(attached_image(path, data) or ev.Attachment(path, data.decode("utf-8")))
        except UnicodeDecodeError:
            raise ToolError(f"{inert_line(path, 200)}: is not text") from None
    return tuple(attachments)


@dataclass(slots=True)
class _Offers:
    """Offers the files that the tools of one answer wrote."""

    turn_id: str
    workspace: str
    _paths: dict[str, str] = field(default_factory=dict)  # call → the path that it writes to

    async def made_by(self, event: ev.Event) -> list[ev.TurnNoted]:
        """Return the offer for the file that an event says was written, if it does."""
        if not isinstance(event, ev.StepSet) or event.step.name not in WRITERS or not self.workspace:
            return []
        step = event.step
        if step.type == "tool_call" and step.arguments:
            self._paths[step.id] = _path_in(step.arguments)
        path = self._paths.pop(step.id_ref, "") if step.type == "tool_result" and step.success else ""
        real = await asyncio.to_thread(self._real, path) if path else ""
        return [ev.TurnNoted(self.turn_id, FILE_OFFERED, about=real)] if real else []

    def _real(self, path: str) -> str:
        """Return the path relative to the workspace and without links, empty if there is no such file."""
        try:
            with Workspace(Path(self.workspace)).find(path) as found:
                return found.path if found.status is not None else ""
        except ToolError:
            return ""


def _path_in(arguments: str) -> str:
    path = json_object(arguments).get("path")
    return path if isinstance(path, str) else ""
