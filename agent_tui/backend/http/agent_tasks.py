"""The agent service (protocols.md §3): tasks are posted, and their answers sent to subscribers.

A session is a chat of ours, a task one of its questions: the id of a task is that of its answer. So both are
stored, and what a subscriber missed is in the log. An unknown session begins anew under its name: a client
forgets a session only when it is told that it ended.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from contextlib import aclosing, nullcontext, suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from uuid import uuid4

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from agent_tui.backend.engine.chats.fields import QuestionFields, id_of
from agent_tui.backend.engine.engine import Engine
from agent_tui.backend.engine.kinds import ANSWER_RUNNING, CHATS
from agent_tui.backend.http.body import Fields, read_fields, wrong_field
from agent_tui.backend.http.chat_requests import MAX_QUESTION_BYTES
from agent_tui.backend.http.presence import is_child
from agent_tui.backend.http.problem import json_answer
from agent_tui.backend.http.room_requests import path_id
from agent_tui.backend.http.routing import by_method
from agent_tui.backend.http.workspaces import Workspaces
from agent_tui.backend.hub import Hub
from agent_tui.backend.store.rows import StoredFrame
from agent_tui.model.errors import AgentTuiError, NotFound, Refused
from agent_tui.model.events import Attachment
from agent_tui.wire.agent_tasks_encode import (
    MAX_ID_CHARACTERS,
    UNKNOWN_TASK,
    AgentTaskEncoder,
    error_event,
    parse_subscription,
    prompt_of,
    session_ended,
    task_id_of,
)

STOPPED = "Stopped"  # the same word as for a chat
MAX_SUBSCRIPTIONS = 100  # of one socket
MAX_QUEUED_TASKS = 20  # of one session
MAX_LOST_TASKS = 1_000  # remembered: tasks that failed before they were stored

log = logging.getLogger(__name__)


@dataclass(slots=True)
class _QueuedTask:
    """A task that waits for the end of the one before."""

    task_id: str
    question: QuestionFields
    is_being_stored: bool = False
    is_cancelled: bool = False


@dataclass(slots=True)
class _Subscription:
    """What one socket receives of one session: about ``tasks``, ``None``: about all. ``seen`` is the newest
    event that was read, ``sent`` the newest that was sent for each task.
    """

    session_id: str
    chat_id: str = ""  # empty: the session does not exist yet
    seen: int = 0
    tasks: set[str] | None = None
    sent: dict[str, int] = field(default_factory=dict)
    encoders: dict[str, AgentTaskEncoder] = field(default_factory=dict)  # of tasks that have not ended
    reader: asyncio.Task[None] | None = None
    unsent: deque[str] = field(default_factory=deque)  # frames that a cancelled reader did not send

    def wants(self, task_id: str) -> bool:
        """Return whether the subscription includes the task."""
        return self.tasks is None or task_id in self.tasks

    def name(self, task_id: str) -> None:
        """Subscribe to this task, instead of the whole session."""
        self.tasks = {task_id, *(self.tasks or ())}

    def frames(self, frame: StoredFrame) -> list[str]:
        """Return the frames of one event that were not sent before."""
        self.seen = max(self.seen, frame.seq)
        task_id = frame.message_id
        if not task_id or not self.wants(task_id) or frame.seq <= self.sent.get(task_id, 0):
            return []
        encoder = self.encoders.get(task_id)
        if encoder is None:
            if frame.name != "turn_started":
                return []  # a question, or the rest of a finished task
            encoder = self.encoders[task_id] = AgentTaskEncoder(task_id)
        self.sent[task_id] = frame.seq
        if frame.name in ("turn_done", "run_failed"):
            del self.encoders[task_id]
        return encoder.encode(frame.event)


class AgentService:
    """The routes of the agent service."""

    def __init__(self, engine: Engine, hub: Hub, workspaces: Workspaces) -> None:
        self._engine = engine
        self._hub = hub
        self._workspaces = workspaces
        self._listeners: set[_Listener] = set()
        self._queues: dict[str, deque[_QueuedTask]] = {}  # by chat, while tasks are being worked on
        self._workers: set[asyncio.Task[None]] = set()
        self._lost: dict[str, str] = {}  # task id → why it did not begin

    def routes(self) -> list[BaseRoute]:
        """Return the routes of tasks and of the socket."""
        return [
            by_method("/api/v1/agent/tasks", POST=self.post),
            by_method("/api/v1/agent/tasks/{task_id}/cancel", POST=self.cancel),
            WebSocketRoute("/ws/agent", self.listen),
        ]

    # --- tasks -----------------------------------------------------------------------------------------

    async def post(self, request: Request) -> Response:
        """Begin a task, or queue it behind the current one; answer with the ids."""
        fields = await read_fields(request, MAX_QUESTION_BYTES)
        question = _question(fields)
        session_id, chat_id = await self._session(fields.text("sessionId") or "")
        task_id = question.answer_id
        if not await self._try_to_ask(chat_id, question):
            self._queue(chat_id, _QueuedTask(task_id, question))
        return json_answer({"sessionId": session_id, "taskId": task_id}, HTTPStatus.CREATED)

    async def cancel(self, request: Request) -> Response:
        """Stop a running or waiting task."""
        task_id = path_id(request, "task_id", "task")
        for chat_id, queue in self._queues.items():
            for queued in queue:
                if queued.task_id == task_id:
                    queued.is_cancelled = True
                    if not queued.is_being_stored:
                        queue.remove(queued)
                        self._lose(chat_id, task_id, STOPPED)
                    return json_answer({})
        if not await self._engine.chats.stop_answer(task_id):
            raise NotFound("There is no such task under way")
        return json_answer({})

    async def chat_of(self, session_id: str) -> str:
        """Return the id of the session's chat, empty for an unknown session."""
        for chat_id in (session_id, id_of(_key(session_id))):
            with suppress(NotFound):
                if (await self._engine.show(CHATS, chat_id)).kind == "chat":
                    return chat_id
        return ""

    async def _session(self, session_id: str) -> tuple[str, str]:
        """Return (session id, chat id), making the chat of a new or unknown session."""
        if len(session_id) > MAX_ID_CHARACTERS:
            raise wrong_field("sessionId", f"may have {MAX_ID_CHARACTERS} characters")
        chat_id = await self.chat_of(session_id) if session_id else ""
        if not chat_id:
            key = _key(session_id) if session_id else ""
            new = {"workspace": self._workspaces.default, "client_key": key}
            chat_id = (await self._engine.create(CHATS, new)).id
            for listener in self._listeners:
                listener.session_made(session_id, chat_id)
        return session_id or chat_id, chat_id

    async def _try_to_ask(self, chat_id: str, question: QuestionFields) -> bool:
        """Ask; return False if another answer comes first."""
        if chat_id in self._queues:
            return False
        try:
            await self._engine.chats.ask(chat_id, question)
        except Refused as error:
            if error.code != ANSWER_RUNNING:
                raise
            return False
        return True

    def _queue(self, chat_id: str, queued: _QueuedTask) -> None:
        queue = self._queues.get(chat_id)
        if queue is None:
            queue = self._queues[chat_id] = deque()
            worker = asyncio.create_task(self._work(chat_id, queue))
            self._workers.add(worker)
            worker.add_done_callback(self._workers.discard)
        if len(queue) >= MAX_QUEUED_TASKS:
            detail = f"{MAX_QUEUED_TASKS} tasks of a session may wait."
            raise Refused("Too many tasks are queued", detail, status=HTTPStatus.TOO_MANY_REQUESTS)
        queue.append(queued)

    async def _work(self, chat_id: str, queue: deque[_QueuedTask]) -> None:
        try:
            while queue:
                await self._engine.chats.wait_for_answer(chat_id)
                if queue and await self._try_to_ask_queued(chat_id, queue[0]):
                    queue.popleft()
        finally:
            del self._queues[chat_id]

    async def _try_to_ask_queued(self, chat_id: str, queued: _QueuedTask) -> bool:
        """Ask a queued task; return False if another answer comes first."""
        queued.is_being_stored = True
        try:
            await self._engine.chats.ask(chat_id, queued.question)
        except AgentTuiError as error:
            if isinstance(error, Refused) and error.code == ANSWER_RUNNING and not queued.is_cancelled:
                queued.is_being_stored = False
                return False
            self._lose(chat_id, queued.task_id, STOPPED if queued.is_cancelled else str(error))
        if queued.is_cancelled:  # while it was being stored
            await self._engine.chats.stop_answer(queued.task_id)
        return True

    def _lose(self, chat_id: str, task_id: str, why: str) -> None:
        self._lost[task_id] = why
        while len(self._lost) > MAX_LOST_TASKS:
            del self._lost[next(iter(self._lost))]
        for listener in self._listeners:
            listener.task_lost(chat_id, task_id, why)

    # --- the socket ------------------------------------------------------------------------------------

    async def listen(self, socket: WebSocket) -> None:
        """Send a socket the events of the sessions and tasks that it subscribes to."""
        await socket.accept()
        async with asyncio.TaskGroup() as tasks:
            listener = _Listener(self, self._engine, self._hub, socket, tasks)
            self._listeners.add(listener)
            try:
                while True:
                    message = await socket.receive()
                    if message["type"] == "websocket.disconnect":
                        break
                    wanted = parse_subscription(message.get("text") or "")
                    if wanted is not None:
                        await listener.subscribe(*wanted)
            except WebSocketDisconnect:
                pass
            except AgentTuiError as error:
                log.error("a subscription failed: %s", error)
                await socket.close(1011)
            finally:
                self._listeners.discard(listener)
                listener.leave()

    def why_lost(self, task_id: str) -> str | None:
        """Return why a task is not stored and will not be; ``None`` for one that waits."""
        if any(queued.task_id == task_id for queue in self._queues.values() for queued in queue):
            return None
        return self._lost.get(task_id, UNKNOWN_TASK)


class _Listener:
    """One open socket and its subscriptions."""

    def __init__(
        self, service: AgentService, engine: Engine, hub: Hub, socket: WebSocket, tasks: asyncio.TaskGroup
    ) -> None:
        self._service = service
        self._engine = engine
        self._hub = hub
        self._socket = socket
        self._tasks = tasks
        self._subscriptions: dict[str, _Subscription] = {}  # by the session's id

    async def subscribe(self, session_id: str, task_id: str) -> None:
        """Send from now on the events of a session, or of this task in it from its first event on."""
        subscription = self._subscriptions.get(session_id)
        if subscription is None:
            if len(self._subscriptions) >= MAX_SUBSCRIPTIONS:
                await self._socket.close(1008, f"at most {MAX_SUBSCRIPTIONS} sessions")
                raise WebSocketDisconnect(1008)
            subscription = self._subscriptions[session_id] = _Subscription(session_id)
            chat_id = await self._service.chat_of(session_id)
            seen = await self._newest_event(chat_id) if chat_id else 0
            if chat_id and not subscription.chat_id:  # otherwise it was made meanwhile
                subscription.chat_id, subscription.seen = chat_id, seen
        if task_id:
            await self._name(subscription, task_id)
        if subscription.chat_id and subscription.reader is None:
            self._read(subscription)

    def session_made(self, session_id: str, chat_id: str) -> None:
        """Take the chat of a session that was subscribed to before it existed."""
        subscription = self._subscriptions.get(session_id)
        if subscription is not None and subscription.reader is None:
            subscription.chat_id, subscription.seen = chat_id, 0
            self._read(subscription)

    def task_lost(self, chat_id: str, task_id: str, why: str) -> None:
        """Report the end of a task that was not stored; a client that does not read delays no other."""
        for subscription in self._subscriptions.values():
            if subscription.chat_id == chat_id and subscription.wants(task_id):
                self._tasks.create_task(self._send([error_event(task_id, why)]))

    def leave(self) -> None:
        """Stop all reading."""
        for subscription in self._subscriptions.values():
            if subscription.reader is not None:
                subscription.reader.cancel()

    async def _newest_event(self, chat_id: str) -> int:
        """Return the event after which a new subscriber gets events: before the current task, if there is
        one.
        """
        chat = await self._engine.show(CHATS, chat_id)
        if chat.status != "running":
            return chat.last_event_id
        return max(await self._hub.answer_start(chat_id, chat.last_event_id) - 1, 0)

    async def _name(self, subscription: _Subscription, task_id: str) -> None:
        """Read the task from its beginning, without what was sent already."""
        subscription.name(task_id)
        first = await self._engine.chats.first_event(subscription.chat_id, task_id)
        if first is None:
            if (why := self._service.why_lost(task_id)) is not None:
                await self._send([error_event(task_id, why)])
        elif first <= subscription.seen:
            if subscription.reader is not None:
                subscription.reader.cancel()
                subscription.reader = None
            subscription.seen = first - 1

    def _read(self, subscription: _Subscription) -> None:
        subscription.reader = self._tasks.create_task(self._tell(subscription))

    async def _tell(self, subscription: _Subscription) -> None:
        counts = not is_child(self._socket)
        waiting = self._engine.runs.wait_for(subscription.chat_id) if counts else nullcontext()
        try:
            with waiting:
                async with aclosing(
                    self._hub.read(subscription.chat_id, subscription.seen, counts=counts)
                ) as batches:
                    async for batch in batches:
                        for frame in batch:
                            subscription.unsent += subscription.frames(frame)
                            await self._send_rest(subscription)
            if not await self._service.chat_of(subscription.session_id):  # otherwise the backend stops
                open_tasks = list(subscription.encoders)
                subscription.encoders.clear()
                subscription.reader = None
                await self._send([session_ended(task_id) for task_id in open_tasks])
        except AgentTuiError as error:
            log.error("a session cannot be read: %s", error)
            await self._send([error_event(task_id, str(error)) for task_id in subscription.encoders])
            subscription.reader = None

    async def _send_rest(self, subscription: _Subscription) -> None:
        with suppress(WebSocketDisconnect, RuntimeError):
            while subscription.unsent:
                await self._socket.send_text(subscription.unsent[0])  # waits before it sends, never after
                subscription.unsent.popleft()

    async def _send(self, frames: list[str]) -> None:
        with suppress(WebSocketDisconnect, RuntimeError):  # it has gone: ``listen`` notices that
            for frame in frames:
                await self._socket.send_text(frame)


def _question(fields: Fields) -> QuestionFields:
    files = tuple(_file(file, place) for place, file in enumerate(fields.objects("attachments") or (), 1))
    prompt = prompt_of(fields.text("prompt") or "", has_files=bool(files))
    if not prompt.strip() and not files:
        raise wrong_field("prompt", "is empty")
    task_id = task_id_of(uuid4().hex, voice_mode=fields.flag("voiceMode") or False)
    return QuestionFields(
        content=prompt,
        attachments=files,
        system_prompt=fields.text("systemPrompt") or None,
        answer_id=task_id,
        is_alone=True,
    )


def _file(fields: Fields, place: int) -> Attachment:
    """Return a file of a task; its fields are not specified anywhere."""
    names = ("name", "filename", "fileName")
    name = next((found for key in names if (found := fields.text(key))), f"attachment {place}")
    types = ("type", "mimeType", "mime_type")
    type_ = next((found for key in types if (found := fields.text(key))), "text/plain")
    content = next((found for key in ("text", "data") if (found := fields.text(key)) is not None), None)
    return Attachment(name, fields.needed_text("content") if content is None else content, type_)


def _key(session_id: str) -> str:
    return f"agent_tasks:{session_id}"
