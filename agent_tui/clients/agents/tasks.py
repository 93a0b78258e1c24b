"""The client of an agent service (protocols.md §3): POST a task, read its answer from a WebSocket."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing, suppress
from typing import Final

from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed

from agent_tui.clients.announced import AnnouncedFrame, AnswerLeft
from agent_tui.clients.clock import SYSTEM_CLOCK, Clock
from agent_tui.clients.http import Net
from agent_tui.clients.websocket import closed_error, open_socket, socket_url
from agent_tui.model.errors import (
    AgentTuiError,
    ConnectFailed,
    ModelError,
    ProtocolError,
    Refused,
    StreamLost,
    TimedOut,
    TransportError,
    Unauthorized,
)
from agent_tui.model.events import Event, RunFailed, TurnDone
from agent_tui.wire.agent_tasks import (
    AgentTask,
    AgentTaskDecoder,
    Id,
    accepted,
    ends_session,
    subscribe,
)

TASKS_PATH: Final = "/api/v1/agent/tasks"
SOCKET_PATH: Final = "/ws/agent"
ANSWER_SECONDS: Final = 30.0  # of the POST
TOTAL_SECONDS: Final = 120.0  # of a whole task; silence within it is not an error
CANCEL_SECONDS: Final = 3.0
RETRY_SECONDS: Final = (1.0, 3.0)

log = logging.getLogger(__name__)


class AgentTasksClient:
    """One session with an agent service: one task after the other, each an answer.

    ``session_id`` lasts from the first task, or from an earlier client, until the service says that it is
    gone. ``authorization`` is the whole header; it is sent with the POST and, unlike the original's, with the
    WebSocket. ``answer_seconds`` limits the POST, ``total_seconds`` a whole task; silence within it is not an
    error. After ``give_up_seconds`` nothing is tried again. ``on_not_cancelled`` gets the reason why a task
    that was given up could not be cancelled.
    """

    def __init__(
        self,
        base_url: str,
        authorization: str = "",
        *,
        session_id: str = "",
        answer_seconds: float = ANSWER_SECONDS,
        total_seconds: float = TOTAL_SECONDS,
        retries: Sequence[float] = RETRY_SECONDS,
        give_up_seconds: float = math.inf,
        on_not_cancelled: Callable[[Exception], object] = lambda _: None,
        clock: Clock = SYSTEM_CLOCK,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self._session_id: Id = session_id
        self._net = Net(base_url, timeout=answer_seconds, environ=environ, authorization=authorization)
        self._socket_url = socket_url(self._net.base_url, SOCKET_PATH)
        self._authorization = authorization
        self._total_seconds = total_seconds
        self._retries = tuple(retries)
        self._give_up_seconds = give_up_seconds
        self._clock = clock
        self._environ = environ
        self._turn = asyncio.Lock()  # one task at a time: one socket carries the tasks of a session
        self._injections = 0
        self._socket: ClientConnection | None = None  # of the current task
        self._task_id: Id = ""  # its id
        self._is_left = False
        self._on_not_cancelled = on_not_cancelled
        self._cancelling: set[asyncio.Task[None]] = set()

    @property
    def session_id(self) -> str:
        """The id of the session, "" while there is none."""
        return str(self._session_id)

    @property
    def task_id(self) -> str:
        """The id of the current task, "" if there is none."""
        return str(self._task_id)

    async def aclose(self) -> None:
        """Cancel the current task, wait briefly until tasks that were given up are cancelled, then close
        every connection.
        """
        if self.task_id:
            self._in_background(self.cancel(self.task_id))
            self._task_id = ""
        if self._cancelling:
            _, unfinished = await asyncio.wait(self._cancelling, timeout=CANCEL_SECONDS)
            for task in unfinished:
                task.cancel()
        await self._net.aclose()

    async def connect(self) -> None:
        """Check that the service accepts a socket. Raises what a handshake of ``ask`` does."""
        async with open_socket(self._socket_url, self._authorization, self._environ):
            pass

    async def leave(self) -> None:
        """Give up the current answer: it raises ``AnswerLeft``, and its task is cancelled."""
        if self._socket is not None:
            self._is_left = True
            await self._socket.close()

    async def ask(
        self, task: AgentTask, *, turn_id: str = "", on_taken: Callable[[], object] = lambda: None
    ) -> AsyncGenerator[Event, None]:
        """Yield the answer to ``task``: its steps, and last ``TurnDone`` or ``RunFailed``. See ``answer``.
        ``on_taken`` is called when the service has the task.
        """
        async with aclosing(self.answer(task, turn_id=turn_id)) as answer:
            async for frame in answer:
                if not frame.name:
                    on_taken()
                for event in frame.events:
                    yield event

    async def answer(self, task: AgentTask, *, turn_id: str = "") -> AsyncGenerator[AnnouncedFrame, None]:
        """Yield the frames of the answer to ``task`` that the protocol knows, with their events.

        These belong to the turn ``turn_id``, by default the service's id of the task. A task without words
        and files is not sent. Failures before the service took the task are tried again after 1 s and 3 s:
        nothing answered, too late, a refused handshake; the error's ``attempts`` says so. A task that is
        given up (the generator is closed) is cancelled at the service. Raises ``TransportError``
        (``StreamLost`` when the stream was lost, ``TimedOut`` 120 s after the start), ``Unauthorized``,
        ``ModelError`` for a task that the service does not take, ``Refused`` for a handshake or
        ``ProtocolError``.
        """
        if not task.prompt and not task.attachments:
            return
        async with self._turn:
            waits = list(self._retries)
            give_up_at = asyncio.get_running_loop().time() + self._give_up_seconds
            while True:
                try:
                    async with aclosing(self._answer(task, turn_id)) as answer:
                        async for frame in answer:
                            yield frame
                    return
                except _NotTaken as not_taken:
                    if not_taken.is_retryable:
                        not_taken.error.attempts = 1 + len(self._retries) - len(waits)
                    is_too_late = asyncio.get_running_loop().time() >= give_up_at
                    if not waits or not not_taken.is_retryable or is_too_late:
                        raise not_taken.error from not_taken.error.__cause__
                await self._clock.sleep(waits.pop(0))

    async def inject(
        self, task: AgentTask, *, turn_id: str = "", on_taken: Callable[[], object] = lambda: None
    ) -> AsyncGenerator[Event, None]:
        """Ask in the same session while a conversation is running there. Until it is over, the session is its
        own: an error of another task does not end it.
        """
        self._injections += 1
        try:
            async with aclosing(self.ask(task, turn_id=turn_id, on_taken=on_taken)) as answer:
                async for event in answer:
                    yield event
        finally:
            self._injections -= 1

    async def _answer(self, task: AgentTask, turn_id: str) -> AsyncGenerator[AnnouncedFrame, None]:
        deadline = asyncio.get_running_loop().time() + self._total_seconds
        async with AsyncExitStack() as exit_stack:
            try:
                async with asyncio.timeout_at(deadline):
                    socket, task_id = await self._begin(exit_stack, task)
            except TimeoutError as error:
                raise self._too_late() from error
            self._socket, self._task_id, self._is_left, is_over = socket, task_id, False, False
            decoder = AgentTaskDecoder(task_id, turn_id)
            try:
                yield AnnouncedFrame()
                while not is_over:
                    try:
                        async with asyncio.timeout_at(deadline):
                            frame = await socket.recv()
                    except TimeoutError as error:
                        raise self._too_late() from error
                    data = decoder.own(frame)
                    events = decoder.events(data)
                    for event in events:
                        is_over = is_over or isinstance(event, TurnDone | RunFailed)
                        if isinstance(event, RunFailed):
                            self._note_end(event.content)
                    if events:
                        yield AnnouncedFrame(data["type"], data, events)
            except ConnectionClosed as error:
                given_up = AnswerLeft("the answer was given up")
                raise (given_up if self._is_left else closed_error(error, may_be_busy=False)) from error
            finally:
                if not is_over and self.task_id:
                    self._in_background(self.cancel(task_id))
                self._socket, self._task_id = None, ""

    def _too_late(self) -> TimedOut:
        return TimedOut("the agent took too long", f"{self._total_seconds:g} s passed", retryable=False)

    async def _begin(self, exit_stack: AsyncExitStack, task: AgentTask) -> tuple[ClientConnection, Id]:
        """Open the socket, subscribe, hand over the task, subscribe to it; return the socket and its id.

        Raises ``_NotTaken``.
        """
        opening = open_socket(self._socket_url, self._authorization, self._environ)
        try:
            socket = await exit_stack.enter_async_context(opening)
            if self.session_id:
                await socket.send(subscribe(self._session_id))
        except ConnectionClosed as error:
            raise _NotTaken(closed_error(error), is_retryable=True) from error
        except (TransportError, Refused) as error:
            is_lasting = isinstance(error, Unauthorized) or not getattr(error, "retryable", True)
            raise _NotTaken(error, is_retryable=not is_lasting) from error
        except AgentTuiError as error:
            raise _NotTaken(error, is_retryable=False) from error
        try:
            self._session_id, task_id = accepted(await self._post(task))
        except (ConnectFailed, StreamLost, TimedOut) as error:
            raise _NotTaken(error, is_retryable=error.retryable) from error
        except Refused as error:  # an answer, so there is no retry; it is a refusal only for a token
            refusal = error if isinstance(error, Unauthorized) else _not_accepted(error)
            raise _NotTaken(refusal, is_retryable=False) from error
        except AgentTuiError as error:
            raise _NotTaken(error, is_retryable=False) from error
        except ValueError as error:
            raise ProtocolError("the agent service's answer names no task") from error
        with suppress(ConnectionClosed):  # what was sent before may still be read, and says why
            await socket.send(subscribe(self._session_id, task_id))
        return socket, task_id

    async def _post(self, task: AgentTask) -> object:
        """Return the answer to the POST. If the caller gives up, its answer is still awaited, so that its
        task can be cancelled.
        """
        posting = asyncio.create_task(self._net.call("POST", TASKS_PATH, json=task.json(self._session_id)))
        try:
            return await asyncio.shield(posting)
        except asyncio.CancelledError:
            self._in_background(self._cancel_posted(posting))
            raise

    async def _cancel_posted(self, posting: asyncio.Task[object]) -> None:
        with suppress(AgentTuiError, ValueError):
            _, task_id = accepted(await posting)
            await self.cancel(task_id)

    def _note_end(self, message: str) -> None:
        if ends_session(message) and not self._injections:
            self._session_id = ""

    def _in_background(self, work: Coroutine[None, None, None]) -> None:
        cancelling = asyncio.create_task(work)
        self._cancelling.add(cancelling)
        cancelling.add_done_callback(self._cancelling.discard)

    async def cancel(self, task_id: Id) -> None:
        """Ask the service to end a task that was given up; the original has no such call."""
        try:
            async with asyncio.timeout(CANCEL_SECONDS):
                await self._net.call("POST", f"{TASKS_PATH}/{task_id}/cancel")
        except (AgentTuiError, TimeoutError) as error:
            log.info("the task could not be cancelled: %s", type(error).__name__)
            self._on_not_cancelled(error)


def _not_accepted(error: Refused) -> ModelError:
    return ModelError("the agent service did not take the task", str(error), status=error.status)


class _NotTaken(Exception):
    """The service did not take the task."""

    def __init__(self, error: AgentTuiError, *, is_retryable: bool) -> None:
        super().__init__(error)
        self.error = error
        self.is_retryable = is_retryable
