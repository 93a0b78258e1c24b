"""Another program's agent as a ``Model``: it lives on an agent service or an agent socket (protocols.md §3
and §4), keeps a conversation of its own and runs its own tools.

Its provider is ``backend:NAME``, for the ``[backends.NAME]`` of the config file. The clients, and everything
that they import, are loaded at its first turn.
"""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
from collections.abc import AsyncGenerator, Coroutine, Iterator
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol
from urllib.parse import urlsplit

from agent_tui.backend.models.agent_prompts import AgentPrompt, next_prompt
from agent_tui.backend.models.model import (
    AgentSession,
    ApartPiece,
    Member,
    ModelRequest,
    NotePiece,
    Piece,
    StepPiece,
    TextPiece,
    ThinkingPiece,
    UsagePiece,
)
from agent_tui.backend.models.prices import Terms
from agent_tui.config.file import AGENT_PROVIDER, SOCKET, TASKS, BackendConfig
from agent_tui.model import events as ev
from agent_tui.model.errors import (
    AgentBusy,
    AgentTuiError,
    ConnectFailed,
    ModelError,
    StreamLost,
    TimedOut,
    TransportError,
)
from agent_tui.redaction import redacted

if TYPE_CHECKING:
    from agent_tui.clients.agents.chats import AgentChats

# The client notices when an agent is silent for too long: a tool that it runs may take time.
SILENCE_SECONDS: Final = 24 * 60 * 60.0
MAX_CHAT_ID: Final = 2**31 - 1  # a number, like chat ids elsewhere
RECEIVED: Final = "received"  # the folder of the working folder for files that agents offer

log = logging.getLogger(__name__)


class Sessions(Protocol):
    """The store of the agents' sessions (store/agent_sessions.py)."""

    async def get(self, member: Member) -> AgentSession | None:
        """Return what is stored about the agent's own conversation."""
        ...

    async def put(self, member: Member, session: AgentSession) -> None:
        """Store it."""
        ...


def backend_named(provider_id: str) -> str:
    """Return NAME of "backend:NAME", empty for other providers."""
    return provider_id.removeprefix(AGENT_PROVIDER) if provider_id.startswith(AGENT_PROVIDER) else ""


def agent_terms(backend: BackendConfig) -> Terms:
    """Return the terms of a backend's agents: their cost is unknown."""
    return Terms(kind=backend.kind, base_url=backend.url, silence_seconds=SILENCE_SECONDS, acts=True)


class RemoteAgents:
    """The agents on other servers that speak here. Each finishes its last call before it is asked again."""

    def __init__(self, sessions: Sessions) -> None:
        self.sessions = sessions
        self._leaving: dict[str, asyncio.Task[None]] = {}  # by agent id: connections that are still closing

    def model(self, backend: BackendConfig) -> AgentModel:
        """Return the model for agents of this backend; raises ``ModelError`` if there is none."""
        if backend.kind not in (TASKS, SOCKET):
            kinds = f'kind = "{TASKS}" or "{SOCKET}"'
            raise ModelError(
                f"backends.{backend.name} is not an agent", f"Agents speak on backends of {kinds}."
            )
        token = os.environ.get(backend.token_env, "") or backend.token
        if backend.token_env and not token:
            raise ModelError(
                f"the environment variable {backend.token_env} is not set",
                f"backends.{backend.name} takes its token from it: set it and start the backend again;"
                " agent-tui backend stop ends it",
            )
        return AgentModel(self, replace(backend, token=token))

    def leave(self, member: Member, work: Coroutine[None, None, None]) -> None:
        """Release an agent without waiting: ``work`` closes its connection."""
        leaving = asyncio.create_task(work)
        self._leaving[member.agent_id] = leaving
        leaving.add_done_callback(lambda task: self._on_left(member.agent_id, task))

    def _on_left(self, agent_id: str, task: asyncio.Task[None]) -> None:
        if self._leaving.get(agent_id) is task:
            del self._leaving[agent_id]
        if not task.cancelled() and (error := task.exception()) is not None:
            log.warning("an agent's connection did not close: %s", type(error).__name__)

    async def wait_until_left(self, member: Member) -> None:
        """Wait until the agent's last turn is completely over."""
        if (leaving := self._leaving.get(member.agent_id)) is not None:
            await asyncio.wait({leaving})

    async def aclose(self) -> None:
        """Wait until every interrupted task is cancelled."""
        if self._leaving:
            await asyncio.wait(set(self._leaving.values()))


@dataclass(frozen=True, slots=True)
class AgentModel:
    """The agents of one backend."""

    agents: RemoteAgents
    backend: BackendConfig = field(repr=False)

    @property
    def name(self) -> str:
        return self.backend.name

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Piece]:
        """Yield the answer of the agent ``request.member``; see ``Model.stream``."""
        member = request.member
        if member is None:
            raise ModelError("an agent speaks in a conversation only", "It keeps its own.")
        await self.agents.wait_until_left(member)
        previous = await self.agents.sessions.get(member)
        if previous is None or previous.backend != self.backend.name:
            previous = AgentSession(self.backend.name)
        prompt = next_prompt(request, previous)
        turn = _AgentTurn(self, member, request.speaker, previous, prompt, prompt.session, prompt.text)
        async with aclosing(turn.pieces(is_apart=bool(request.continues))) as pieces:
            async for piece in pieces:
                yield piece


@dataclass(slots=True)
class _AgentTurn:
    """One question to an agent, and its answer. ``previous`` is its session before it."""

    model: AgentModel
    member: Member
    name: str  # of the agent, "" for that of a chat
    previous: AgentSession
    prompt: AgentPrompt
    session: AgentSession  # after it got the question
    text: str
    is_taken: bool = False
    has_spoken: bool = False
    words: dict[str, type[TextPiece] | type[ThinkingPiece]] = field(default_factory=dict)  # by step
    remarks: list[ev.TurnNoted] = field(default_factory=list)  # notes that belong to no answer
    added_steps: int = 0  # steps that do not come from the agent
    task_id: str = ""  # of the current task

    async def pieces(self, *, is_apart: bool) -> AsyncGenerator[Piece]:
        """Yield the answer; raises ``ModelError``."""
        client_class = await asyncio.to_thread(_client_class)
        backend = self.model.backend
        if self.prompt.is_new and backend.kind == SOCKET:
            self.session = replace(self.session, id=str(1 + secrets.randbelow(MAX_CHAT_ID)))
        workspace = Path(self.member.workspace) if self.member.workspace else None
        if workspace is None:
            backend = replace(backend, workspace="")  # there is no place to save what the agent offers
        role = self.prompt.role
        agent = client_class(
            backend,
            self.session.id,
            self.remarks.append,
            downloads=workspace,
            subfolders=(RECEIVED, self.name or backend.name),  # not among the person's own files
            system_prompt=role,
        )
        if self.prompt.is_new and role and backend.kind == SOCKET:
            self.text = f"{role}\n\n{self.text}"  # a socket has no other field for it
        try:
            if self.previous.task_id:  # our process was killed during this task
                await agent.cancel(self.previous.task_id)
            await self._keep(replace(self.session, is_sure=False))
            async with aclosing(self._answer(agent, is_apart=is_apart)) as pieces:
                async for piece in pieces:
                    yield piece
        except AgentTuiError as error:
            raise await self._model_error(error) from error
        finally:
            self.model.agents.leave(self.member, self._leave(agent))

    async def _leave(self, agent: AgentChats) -> None:
        """Close the connection, which cancels a task that is still running."""
        await agent.aclose()
        if self.task_id:
            await self._keep(self.session)

    async def _answer(self, agent: AgentChats, *, is_apart: bool) -> AsyncGenerator[Piece]:
        async with aclosing(agent.answer_frames(self.text, (), (), "")) as answer:
            async for frame in answer:
                if not frame.name:
                    self.is_taken, self.task_id = True, agent.task_id
                    self.session = replace(self.session, id=agent.agent_id)
                    await self._keep(replace(self.session, task_id=self.task_id))
                    if is_apart:
                        yield ApartPiece()
                for event in (*self._take_remarks(), *frame.events):
                    if isinstance(event, ev.RunFailed):
                        raise await self._failure(agent, event.content)
                    for piece in self._pieces(event):
                        self.has_spoken = True
                        yield piece
        self.task_id = ""
        await self._keep(self.session)

    def _take_remarks(self) -> list[ev.TurnNoted]:
        remarks, self.remarks[:] = list(self.remarks), []
        return remarks

    def _pieces(self, event: ev.Event) -> Iterator[Piece]:
        match event:
            case ev.StepSet(_, step) if step.type in _WORDS:
                self.words[step.id] = _WORDS[step.type]
                if step.content:
                    yield self.words[step.id](step.content)
            case ev.StepAdded(_, step_id, content) if step_id in self.words:
                yield self.words[step_id](content)
            case ev.StepSet() | ev.StepAdded() | ev.ToolStatusChanged():
                yield StepPiece(event)
            case ev.TurnNoted(_, "progress", about=line, agent_name=who):
                yield NotePiece("progress", about=": ".join(filter(None, (who, line))))
            case ev.TurnNoted(_, note, about=about):
                yield self._shared_file_step(note, about)
            case ev.Unknown(name=name):
                yield self._shared_file_step("unknown", name)
            case ev.TurnDone(token_count=tokens) if tokens:
                yield UsagePiece(0, tokens)
            case _:
                pass

    def _shared_file_step(self, kind: str, about: str) -> StepPiece:
        self.added_steps += 1
        return StepPiece(ev.StepSet("", ev.Step(f"{kind} {self.added_steps}", type=kind, name=about)))

    async def _keep(self, session: AgentSession) -> None:
        await self.model.agents.sessions.put(self.member, session)

    async def _failure(self, agent: AgentChats, why: str) -> ModelError:
        """Return the error for an answer that the agent itself ended; a session that is gone is forgotten."""
        is_gone, self.task_id = not agent.agent_id, ""
        await self._keep(AgentSession(self.session.backend) if is_gone else self.session)
        return ModelError(
            "the agent failed", self._without_secrets(why), retryable=is_gone and not self.has_spoken
        )

    async def _model_error(self, error: AgentTuiError) -> ModelError:
        """Return the error in place of a client's. A question that was surely not taken may be repeated."""
        if isinstance(error, ModelError) and self.is_taken:
            return error
        is_unsure = isinstance(error, StreamLost | TimedOut)
        if not self.is_taken and not is_unsure:
            await self._keep(replace(self.previous, task_id=""))
        is_retryable = isinstance(error, AgentBusy) or (isinstance(error, ConnectFailed) and error.retryable)
        return ModelError(
            self._without_secrets(error.title),
            self._without_secrets(error.detail),
            retryable=is_retryable and not self.is_taken and error.attempts == 1,
            retry_after=error.retry_after if isinstance(error, TransportError) else None,
        )

    def _without_secrets(self, text: str) -> str:
        """Return a text without the agent's address and token, since it goes into the conversation's log."""
        backend = self.model.backend
        for address in _addresses(backend.url):
            text = text.replace(address, f"backends.{backend.name}")
        return redacted(text, (backend.token, *backend.token.split()))


_WORDS: Final[dict[str, type[TextPiece] | type[ThinkingPiece]]] = {
    "text": TextPiece,
    "thinking": ThinkingPiece,
}


def _addresses(url: str) -> list[str]:
    """Return the forms in which an address may occur in an error, the longest first."""
    parts = urlsplit(url)
    is_secure = parts.scheme in ("https", "wss")
    schemes = ("https", "wss") if is_secure else ("http", "ws")
    addresses = [
        f"{scheme}://{rest}" for scheme in schemes for rest in (parts.netloc + parts.path, parts.netloc)
    ]
    return sorted({*addresses, parts.netloc}, key=len, reverse=True)


def _client_class() -> type[AgentChats]:
    # Here, not at the top: a third of a second that a backend without such agents never needs.
    from agent_tui.clients.agents.chats import AgentChats

    return AgentChats
