"""The calls that rooms and chats have in common: list, make, show, change and delete a conversation, read its
messages, answer what its tools ask, undo their changes. A dialect (``rooms``, ``chats``) adds its paths,
words and streams.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import asdict, dataclass
from http import HTTPStatus
from typing import Any, Generic

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from agent_tui.backend.engine.engine import Engine
from agent_tui.backend.engine.kinds import EngineKind, Info
from agent_tui.backend.http.body import Fields, read_fields
from agent_tui.backend.http.chat_requests import decision_of
from agent_tui.backend.http.problem import json_answer
from agent_tui.backend.http.room_requests import ID, limit, path_id
from agent_tui.backend.http.routing import Answer, by_method
from agent_tui.backend.http.workspaces import Workspaces
from agent_tui.model.errors import NotFound
from agent_tui.model.events import Message
from agent_tui.model.settings import Values


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect(Generic[Info]):
    """How the conversations of one dialect are named and answered."""

    kind: EngineKind[Info]
    path: str  # of the list; a conversation's path is this and its id
    read_new: Callable[[Fields, Workspaces], Values]
    read_change: Callable[[Fields, Workspaces], Values]
    fields: Callable[[Info], dict[str, Any]]
    message_fields: Callable[[Message], dict[str, Any]]


class ConversationCalls(Generic[Info]):
    """The calls about the conversations of one dialect, which the engine carries out."""

    def __init__(self, engine: Engine, dialect: Dialect[Info], workspaces: Workspaces) -> None:
        self._engine = engine
        self._kind = dialect.kind
        self._dialect = dialect
        self._workspaces = workspaces
        self.path = f"{dialect.path}/{{conversation_id}}"  # of a single conversation

    def routes(self, *, get_list: Answer, post_message: Answer) -> list[Route]:
        """Return the routes of both dialects. A path is one route, so that a 405 names all its methods."""
        return [
            by_method(self._dialect.path, GET=get_list, POST=self.create),
            by_method(self.path, GET=self.show, PATCH=self.change, DELETE=self.delete),
            by_method(f"{self.path}/messages", GET=self.messages, POST=post_message),
            by_method(f"{self.path}/asks/{{message_id}}/{{step_id}}", POST=self.answer),
            by_method(f"{self.path}/changes", GET=self.changes),
            by_method(f"{self.path}/changes/undo", POST=self.undo),
        ]

    def id(self, request: Request) -> str:
        """Return the id in the path; raises ``NotFound`` for an invalid one."""
        return path_id(request, "conversation_id", self._kind.noun)

    def all_fields(self, conversations: Iterable[Info]) -> list[dict[str, Any]]:
        """Return conversations as in a list."""
        return [self._dialect.fields(conversation) for conversation in conversations]

    def act(self, act: Callable[..., Awaitable[Info]], *names: str) -> Answer:
        """Return a handler that does ``act`` to the conversation (and to what else the path ``names``), and
        answers 202 with the conversation.
        """

        async def answer(request: Request) -> Response:
            ids = [self.id(request), *(path_id(request, f"{name}_id", name) for name in names)]
            return self._answer_with(await act(*ids), HTTPStatus.ACCEPTED)

        return answer

    async def create(self, request: Request) -> Response:
        new = self._dialect.read_new(await read_fields(request), self._workspaces)
        return self._answer_with(await self._engine.create(self._kind, new), HTTPStatus.CREATED)

    async def pause(self, request: Request) -> Response:
        return self._answer_with(await self._engine.pause(self._kind, self.id(request)), HTTPStatus.ACCEPTED)

    async def show(self, request: Request) -> Response:
        return self._answer_with(await self._engine.show(self._kind, self.id(request)))

    async def change(self, request: Request) -> Response:
        id_ = self.id(request)
        change = self._dialect.read_change(await read_fields(request), self._workspaces)
        return self._answer_with(await self._engine.change(self._kind, id_, change))

    async def delete(self, request: Request) -> Response:
        return self._answer_with(await self._engine.delete(self._kind, self.id(request)))

    async def messages(self, request: Request) -> Response:
        id_, after = self.id(request), request.query_params.get("after")
        if after is not None and not ID.fullmatch(after):
            detail = f"after: the id of a message of this {self._kind.noun}."
            raise NotFound("There is no such message", detail)
        page = await self._engine.messages(self._kind, id_, after, limit(request))
        messages = [self._dialect.message_fields(message) for message in page.messages]
        return json_answer({"messages": messages, "next": page.next, "as_of": page.as_of})

    async def answer(self, request: Request) -> Response:
        id_, message_id = self.id(request), path_id(request, "message_id", "message")
        step_id = path_id(request, "step_id", "call")
        decision = decision_of(await read_fields(request))
        await self._engine.answer(self._kind, id_, message_id, step_id, decision)
        return json_answer({}, HTTPStatus.ACCEPTED)

    async def changes(self, request: Request) -> Response:
        """Answer with the files that tools changed, the newest change first."""
        changes = await self._engine.files.list_changes(self._kind, self.id(request))
        return json_answer({"changes": [asdict(change) for change in changes]})

    async def undo(self, request: Request) -> Response:
        """Undo the change of a call, or without ``step_id`` all changes of an answer; the response says what
        could not be undone.
        """
        id_, fields = self.id(request), await read_fields(request)
        message_id, step_id = fields.needed_text("message_id"), fields.text("step_id") or ""
        done = await self._engine.files.undo(self._kind, id_, message_id, step_id)
        return json_answer(asdict(done))

    def _answer_with(self, conversation: Info, status: int = HTTPStatus.OK) -> Response:
        return json_answer(self._dialect.fields(conversation), status)
