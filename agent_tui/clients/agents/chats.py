"""Agents that other people run (protocols.md §3 and §4), used like the chats of a server.

Such a server has no list, no history, no versions and no settings: every call that is not about one answer
raises the same error as other chat servers that lack it.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing, suppress
from dataclasses import replace
from math import inf
from pathlib import Path, PurePosixPath
from typing import Any, Final, NoReturn, cast
from uuid import uuid4

from agent_tui.clients.agents.files import AgentFiles
from agent_tui.clients.agents.link import SocketHooks, SocketTimes
from agent_tui.clients.agents.socket import (
    CHAT_PATH,
    DEFAULT_CHAT,
    FILE_REFUSED,
    NO_WORKSPACE,
    AgentSocketClient,
    save_file,
)
from agent_tui.clients.agents.tasks import AgentTasksClient
from agent_tui.clients.agents.tools import ClientTools
from agent_tui.clients.announced import AnnouncedFrame, AnswerLeft, announced
from agent_tui.clients.backend import BackendClient
from agent_tui.clients.chat import ChatClient, Question
from agent_tui.clients.http import Net, checked_token
from agent_tui.config.file import TASKS, BackendConfig, downloads_path
from agent_tui.model.errors import AgentTuiError, NotOffered, Refused, StreamLost, TimedOut
from agent_tui.model.events import (
    LOCAL_ID,
    Attachment,
    ConversationChanged,
    ConversationInfo,
    ConversationLoaded,
    Event,
    LinkChanged,
    RunFailed,
    ToolStatusChanged,
    TurnNoted,
)
from agent_tui.model.images import image_data, is_image
from agent_tui.model.inert import inert_line
from agent_tui.redaction import redact, redacted, redacted_values, secrets_of
from agent_tui.wire.agent_socket import (
    FILE_OFFERED,
    PARSE_ERROR,
    SEND_FILE,
    SocketFrame,
    orphan_line,
)
from agent_tui.wire.agent_tasks import AgentTask

ORPHAN: Final = "orphan"  # ``TurnNoted`` of no turn, about a frame that no question asked for
UNREADABLE: Final = "unreadable"  # ``TurnNoted`` of no turn, about what was sent that is not JSON
AGENT_LEFT: Final = "agent_left"  # ``TurnNoted`` of no turn, about why the connection ended
NOT_CANCELLED: Final = "not_cancelled"  # ``TurnNoted`` of no turn, about why a task continues
STOPPED: Final = "Stopped"  # the failure of an answer that a person stopped
MAX_NOTE_CHARACTERS: Final = 300
MAX_NOTES: Final = 100  # that wait to be shown

Note = Callable[[TurnNoted], None]
Reach = Callable[[], Awaitable[BackendClient]]  # returns the client of our own backend


def authorization_of(token: str) -> str:
    """Return the whole header for a token; two words, like "Basic c2VjcmV0", are the whole header.

    Raises ``ConfigError`` for text that cannot be sent.
    """
    words = [checked_token(word) for word in token.split()]
    return f"Bearer {words[0]}" if len(words) == 1 else " ".join(words)


class _Session:
    """A session of an agent service; ``id`` and ``task_id`` (of the current task) are empty until the service
    has named them.
    """

    def __init__(
        self,
        backend: BackendConfig,
        session_id: str,
        note: Note,
        give_up_seconds: float,
        system_prompt: str,
    ) -> None:
        self._engine_type = backend.engine_type
        self._system_prompt = system_prompt
        self._client = AgentTasksClient(
            backend.url,
            authorization_of(backend.token),
            session_id=session_id,
            answer_seconds=backend.timeout,
            total_seconds=backend.total_timeout,
            give_up_seconds=give_up_seconds,
            on_not_cancelled=lambda error: note(TurnNoted("", NOT_CANCELLED, about=str(error))),
        )
        self.connect, self.leave = self._client.connect, self._client.leave
        self.cancel, self.aclose = self._client.cancel, self._client.aclose

    @property
    def id(self) -> str:
        return self._client.session_id

    @property
    def task_id(self) -> str:
        return self._client.task_id

    @property
    def title(self) -> str:
        return f"session {self.id}" if self.id else "new session"

    def answer(
        self, text: str, attachments: Sequence[Attachment], files: Sequence[Path], turn_id: str
    ) -> AsyncGenerator[AnnouncedFrame, None]:
        task = AgentTask(text, self._engine_type, system_prompt=self._system_prompt, attachments=attachments)
        return self._client.answer(task, turn_id=turn_id)

    async def linger(self) -> None:
        pass  # each task has its own socket

    async def give_decision(self, step_id: str, *details: Any, **named: Any) -> None:
        raise NotOffered("an agent service asks for no tools of this machine")


class _SocketChat:
    """A chat of an agent socket."""

    task_id = ""

    def __init__(
        self,
        backend: BackendConfig,
        chat_id: str,
        note: Note,
        files: Callable[[Path], AgentFiles],
        reach: Reach | None,
    ) -> None:
        self._calls: dict[str, str] = {}  # step id → the call that asked
        self._tools: ClientTools | None = None
        if backend.workspace and reach is not None:
            self._tools = ClientTools(reach, f"{backend.name}/{chat_id}", backend.workspace)
        hooks = SocketHooks(
            on_orphan=self._on_orphan,
            on_error=self._on_error,
            on_disconnect=self._on_disconnect,
            client_tools=self._tools.run if self._tools is not None else None,
        )
        self.id = chat_id
        self.title = f"chat {chat_id}"
        self._note = note
        self._files = files(Path(backend.workspace)) if backend.workspace else None
        self._saving: set[asyncio.Task[None]] = set()  # files that were offered outside of answers
        self._is_answering = False
        self._client = AgentSocketClient(
            backend.url,
            chat_id,
            chat_path=CHAT_PATH if backend.chat_path is None else backend.chat_path,
            authorization=authorization_of(backend.token),
            files=self._files,
            hooks=hooks,
            times=SocketTimes(silence=backend.timeout),
        )
        self.connect, self.leave = self._client.connect, self._client.leave

    async def linger(self) -> None:
        await self._client.linger()
        await self._wait_until_saved()

    async def aclose(self) -> None:
        await self._client.aclose()
        await self._wait_until_saved()

    async def answer(
        self, text: str, attachments: Sequence[Attachment], files: Sequence[Path], turn_id: str
    ) -> AsyncGenerator[AnnouncedFrame, None]:
        """Ask; attachments are sent as files, since the agent reads nothing else."""
        self._is_answering = True
        try:
            with tempfile.TemporaryDirectory(prefix="agent-tui-") as folder:
                paths = [*files, *await asyncio.to_thread(_write_files, attachments, Path(folder))]
                async with aclosing(self._client.answer(text, paths, turn_id=turn_id)) as answer:
                    async for frame in answer:
                        for event in frame.events if frame.call_id else ():
                            if isinstance(event, ToolStatusChanged):
                                self._calls[event.step_id] = frame.call_id
                        yield frame
        finally:
            self._is_answering = False
            self._calls.clear()

    async def give_decision(self, step_id: str, *details: Any, **named: Any) -> None:
        if self._tools is None or step_id not in self._calls:
            raise Refused("The call no longer needs approval", status=409)
        await self._tools.answer(self._calls[step_id], *details, **named)

    async def cancel(self, task_id: str) -> None:
        pass  # a socket has no tasks: closing it gives up its answer

    def _on_orphan(self, frame: SocketFrame) -> None:
        if frame.type == SEND_FILE and (path := frame.text("path")):
            saving = asyncio.create_task(self._save(path))
            self._saving.add(saving)
            saving.add_done_callback(self._saving.discard)
        else:
            self._note(TurnNoted("", ORPHAN, about=inert_line(orphan_line(frame), MAX_NOTE_CHARACTERS)))

    async def _save(self, path: str) -> None:
        self._note(TurnNoted("", FILE_OFFERED, about=path))
        self._note(_not_saved("", path) if self._files is None else await save_file(self._files, "", path))

    async def _wait_until_saved(self) -> None:
        if self._saving:
            await asyncio.wait(self._saving)

    def _on_error(self, code: str, details: str) -> None:
        """Note what cannot be read. Other faults are raised, or their frames are in an answer or orphans."""
        if code == PARSE_ERROR and self._client.is_connected:
            self._note(TurnNoted("", UNREADABLE, about=inert_line(details, MAX_NOTE_CHARACTERS)))

    def _on_disconnect(self, reason: AgentTuiError | None) -> None:
        if reason is not None and not self._is_answering:
            self._note(TurnNoted("", AGENT_LEFT, about=str(reason)))


class AgentChats:
    """One conversation with the agent of ``backend``; its ``token`` is the one to use.

    Has the methods of ``ChatClient``: what an agent does not offer raises ``NotOffered``. ``note`` gets what
    does not belong to an answer; without it ``follow`` yields that. ``wanted`` is the id of a session or
    chat, "" for a new session or chat 0. A task that was not taken after ``give_up_seconds`` is not tried
    again. Offered files are saved in ``subfolders`` of ``downloads``, by default the person's own folder of
    that name. Every task has the ``system_prompt``; a socket has no field for it. With ``reach``, which
    returns the client of our own backend, a socket is offered the tools of this machine, if its
    ``workspace`` is known.
    """

    def __init__(
        self,
        backend: BackendConfig,
        wanted: str = "",
        note: Note | None = None,
        *,
        give_up_seconds: float = inf,
        downloads: Path | None = None,
        subfolders: Sequence[str] = (),
        system_prompt: str = "",
        reach: Reach | None = None,
    ) -> None:
        self._backend = backend
        self._reach = reach
        self._give_up_seconds = give_up_seconds
        self._downloads, self._subfolders = downloads or downloads_path(), subfolders
        self._system_prompt = system_prompt
        self._secrets = secrets_of(authorization_of(backend.token))
        self._notes: asyncio.Queue[Event] = asyncio.Queue(MAX_NOTES)
        self._take_note = note or self._queue_note
        self._agent = self._agent_for(wanted)
        self._refusing = ChatClient(cast("Net", _NoApi()))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._refusing, name)

    def _agent_for(self, wanted: str) -> _Session | _SocketChat:
        if self._backend.kind == TASKS:
            return _Session(self._backend, wanted, self._note, self._give_up_seconds, self._system_prompt)
        return _SocketChat(self._backend, wanted or DEFAULT_CHAT, self._note, self._files, self._reach)

    def _files(self, workspace: Path) -> AgentFiles:
        return AgentFiles(workspace, self._downloads, self._subfolders)

    def _note(self, noted: TurnNoted) -> None:
        self._take_note(replace(noted, about=redacted(noted.about, self._secrets)))

    def _queue_note(self, noted: TurnNoted) -> None:
        with suppress(asyncio.QueueFull):
            self._notes.put_nowait(noted)

    @property
    def agent_id(self) -> str:
        """The id of the session or chat at its server, "" if it has none yet."""
        return self._agent.id

    @property
    def task_id(self) -> str:
        """The id of the current task, "" if there is none or the server does not name it."""
        return self._agent.task_id

    async def cancel(self, task_id: str) -> None:
        """Cancel a task of an earlier program, if it is still running. Never raises."""
        await self._agent.cancel(task_id)

    @property
    def info(self) -> ConversationInfo:
        """The conversation as a screen shows it; its id contains the server's name."""
        id_ = f"{self._backend.name}/{self._agent.id or f'{LOCAL_ID}session'}"
        return ConversationInfo(id_, title=self._agent.title, model=self._backend.name)

    async def open(self, wanted: str) -> ConversationInfo:
        """Choose the session or chat, "" for a new session or chat 0, and connect to its server.

        Raises what the client's ``connect`` raises.
        """
        if wanted and wanted != self._agent.id:
            await self._agent.aclose()
            self._agent = self._agent_for(wanted)
        try:
            await self._agent.connect()
        except AgentTuiError as error:
            redact(error, self._secrets)
            raise
        return self.info

    async def answer_frames(
        self, text: str, attachments: Sequence[Attachment], files: Sequence[Path], turn_id: str
    ) -> AsyncGenerator[AnnouncedFrame, None]:
        """Ask, and yield the answer frame by frame; ``files`` are for sockets. An offered file that cannot be
        saved is noted. Raises as the clients of the two protocols do.
        """
        async with aclosing(
            self._redact_errors(self._agent.answer(text, attachments, files, turn_id))
        ) as answer:
            async for frame in answer:
                yield frame
                match frame.events:
                    case [TurnNoted(note=note, about=path)] if note == FILE_OFFERED:
                        # Otherwise a second note says where the client saved it, or why not.
                        yield AnnouncedFrame(frame.name, {}, [_not_saved(turn_id, path)])

    async def _redact_errors(
        self, answer: AsyncGenerator[AnnouncedFrame, None]
    ) -> AsyncGenerator[AnnouncedFrame, None]:
        """Yield an answer whose errors do not repeat what the server was sent."""
        try:
            async with aclosing(answer):
                async for frame in answer:
                    if any(isinstance(event, RunFailed) for event in frame.events):
                        frame = self._redacted_failure(frame)
                    yield frame
        except AgentTuiError as error:
            redact(error, self._secrets)
            raise

    def _redacted_failure(self, frame: AnnouncedFrame) -> AnnouncedFrame:
        events = [
            RunFailed(redacted(event.content, self._secrets)) if isinstance(event, RunFailed) else event
            for event in frame.events
        ]
        data = redacted_values(dict(frame.data), self._secrets)
        return replace(frame, data=data, events=events)

    def ask(self, conversation_id: str, question: Question) -> AsyncGenerator[Event, None]:
        """Ask; yield the question, the answer, and how it ended. Raises as ``ChatClient.ask``; an error after
        the answer began ends the answer.
        """
        turn_id = f"{LOCAL_ID}answer-{uuid4().hex}"
        return announced(
            self._events(question.content, question.attachments, turn_id),
            turn_id,
            question.content,
            question.attachments,
            conversation_id=conversation_id,
            agent_name=self._backend.name,
        )

    async def _events(
        self, content: str, attachments: Sequence[Attachment], turn_id: str
    ) -> AsyncGenerator[Event, None]:
        is_taken = False
        try:
            async with aclosing(self.answer_frames(content, attachments, (), turn_id)) as answer:
                async for frame in answer:
                    if not frame.name:
                        is_taken = True
                        yield LinkChanged("live")
                        yield ConversationChanged(self.info)
                    for event in frame.events:
                        yield event
        except AnswerLeft:
            yield RunFailed(STOPPED)
        except (StreamLost, TimedOut) as error:
            if is_taken:
                self._note(TurnNoted("", AGENT_LEFT, about=str(error)))
            raise
        except AgentTuiError as error:
            if not is_taken:
                raise
            yield RunFailed(str(error))

    async def answer(self, _: str, __: str, step_id: str, decision: str, *details: Any, **named: Any) -> None:
        """Allow or deny a tool on this machine: see ``ChatClient.answer``."""
        await self._agent.give_decision(step_id, decision, *details, **named)

    async def stop(self, _: str) -> ConversationInfo:
        """Stop the current answer and keep its words: a task is cancelled, a socket's answer is given up."""
        await self._agent.leave()
        return self.info

    async def follow(self, conversation_id: str, **_: object) -> AsyncGenerator[Event, None]:
        """Yield an empty conversation, then notes that do not belong to answers."""
        yield ConversationLoaded(self.info, ())
        yield LinkChanged("ended")
        while True:
            yield await self._notes.get()

    async def linger(self) -> None:
        """Listen for a moment to what follows the end of an answer."""
        await self._agent.linger()

    async def aclose(self) -> None:
        """Cancel tasks that were given up, and close the connection."""
        await self._agent.aclose()


class _NoApi:
    """Stands for the HTTP API that such a server does not have."""

    async def call(self, *_: object, **__: object) -> NoReturn:
        raise NotOffered("an agent offers nothing but answers")

    async def methods(self, _: str) -> frozenset[str]:
        return frozenset()

    async def aclose(self) -> None:
        pass


def _not_saved(turn_id: str, path: str) -> TurnNoted:
    why = f"{inert_line(path, MAX_NOTE_CHARACTERS)} was not saved: {NO_WORKSPACE}"
    return TurnNoted(turn_id, FILE_REFUSED, about=why)


def _write_files(attachments: Sequence[Attachment], folder: Path) -> list[Path]:
    paths = []
    for number, file in enumerate(attachments):
        place = folder / str(number)
        place.mkdir()
        path = place / (PurePosixPath(file.name.replace("\0", "")).name or "file")
        data = image_data(file) if is_image(file) else file.content.encode("utf-8", "replace")
        path.write_bytes(data)
        paths.append(path)
    return paths
