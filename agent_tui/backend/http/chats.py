"""The calls about chats (protocols.md §2): the engine's answers and event streams for each request."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractContextManager, ExitStack, aclosing, nullcontext
from dataclasses import asdict
from http import HTTPStatus

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from agent_tui.backend.engine.engine import Engine
from agent_tui.backend.engine.kinds import CHATS
from agent_tui.backend.http import chat_requests, room_requests
from agent_tui.backend.http.body import read_fields
from agent_tui.backend.http.chat_forms import ClientForm, form_of_accept, in_form
from agent_tui.backend.http.chat_requests import MAX_QUESTION_BYTES
from agent_tui.backend.http.conversations import ConversationCalls, Dialect
from agent_tui.backend.http.presence import is_child
from agent_tui.backend.http.problem import json_answer
from agent_tui.backend.http.routing import by_method
from agent_tui.backend.http.streaming import KEEP_ALIVE_SECONDS, EventStream, pieces
from agent_tui.backend.http.workspaces import Workspaces
from agent_tui.backend.hub import Hub, in_dialect
from agent_tui.backend.store.rows import KINDS, StoredFrame
from agent_tui.model.errors import Refused
from agent_tui.wire.chat_encode import TERMINAL, conversation_fields, frame, stored_message_fields

DEFAULT_HITS = 50
MAX_QUERY_CHARACTERS = 1_000


class ChatRoutes:
    """The routes under ``/api/conversations``, and the search in all of them."""

    def __init__(
        self,
        engine: Engine,
        hub: Hub,
        workspaces: Workspaces,
        keep_alive_seconds: float = KEEP_ALIVE_SECONDS,
    ) -> None:
        self._engine = engine
        self._chats = engine.chats
        self._hub = hub
        self._keep_alive_seconds = keep_alive_seconds
        dialect = Dialect(
            kind=CHATS,
            path="/api/conversations",
            read_new=chat_requests.new_conversation,
            read_change=chat_requests.conversation_change,
            fields=conversation_fields,
            message_fields=stored_message_fields,
        )
        self._calls = ConversationCalls(engine, dialect, workspaces)

    def routes(self) -> list[Route]:
        """Return one route for each path, so that a 405 names all its methods."""
        calls = self._calls
        return [
            *calls.routes(get_list=self.list_chats, post_message=self.ask),
            by_method(f"{calls.path}/events", GET=self.events),
            by_method(f"{calls.path}/stop", POST=calls.pause),
            by_method(f"{calls.path}/compact", POST=self.compact),
            by_method("/api/search", GET=self.search),
        ]

    # --- conversations ---------------------------------------------------------------------------------

    async def list_chats(self, request: Request) -> Response:
        archived = room_requests.switch(request, "archived")
        chats = await self._engine.list_all(CHATS, archived=archived)
        return json_answer({"conversations": self._calls.all_fields(chats)})

    async def search(self, request: Request) -> Response:
        words = request.query_params.get("q")
        if words is None:
            raise Refused("q is missing", "It holds the words to search.", status=HTTPStatus.BAD_REQUEST)
        if len(words) > MAX_QUERY_CHARACTERS:
            detail = f"q may have {MAX_QUERY_CHARACTERS:,} characters."
            raise Refused("q is too long", detail, status=HTTPStatus.BAD_REQUEST)
        kinds = tuple(request.query_params.get("kinds", ",".join(CHATS.names)).split(","))
        if strange := [kind for kind in kinds if kind not in KINDS]:
            detail = f"{strange[0][:100]!r} is not one of: {', '.join(KINDS)}."
            raise Refused("kinds is not a list of kinds", detail, status=HTTPStatus.BAD_REQUEST)
        hits = await self._engine.search(words, room_requests.limit(request) or DEFAULT_HITS, kinds)
        return json_answer({"hits": [asdict(hit) for hit in hits]})

    # --- messages and events ---------------------------------------------------------------------------

    async def ask(self, request: Request) -> Response:
        """Answer with the stream of the answer, from its first event or the one after ``Last-Event-ID``; for
        what was said in a voice session (``recorded``), with the id of its message.
        """
        chat_id = self._calls.id(request)
        form = _form(request)
        seen = room_requests.last_event_id(request) or 0
        fields = await read_fields(request, MAX_QUESTION_BYTES)
        if (recorded := fields.object("recorded")) is not None:
            message_id = await self._chats.record(chat_id, chat_requests.recorded(recorded))
            return json_answer({"message_id": message_id}, HTTPStatus.CREATED)
        question = chat_requests.question(fields)
        with ExitStack() as while_open:
            while_open.enter_context(self._attending(chat_id, form))  # before a tool can ask
            answer = await self._chats.ask(chat_id, question)
            counts = not is_child(request)
            if counts:
                while_open.enter_context(self._engine.runs.wait_for(chat_id))
            batches = in_dialect(self._hub.read(chat_id, answer.after, counts=counts), frame)
            frames = in_form(batches, form, seen, lambda stored: stored.name in TERMINAL)
            body = pieces(frames, None)
            return EventStream(body, self._keep_alive_seconds, while_open.pop_all(), is_run=True)

    async def compact(self, request: Request) -> Response:
        """Begin a summary of what was said; answer with the chat after that."""
        chat_id = self._calls.id(request)
        fields = await read_fields(request)
        await self._chats.compact(chat_id, fields.text("keep") or "")
        chat = await self._engine.show(CHATS, chat_id)
        return json_answer(conversation_fields(chat), HTTPStatus.ACCEPTED)

    async def events(self, request: Request) -> Response:
        """Stream what comes after an event: to the end of that answer, or with ``follow`` forever. Without an
        event, stream the newest answer, or with ``follow`` everything.
        """
        chat_id = self._calls.id(request)
        form = _form(request)
        follow = room_requests.switch(request, "follow")
        after = room_requests.last_event_id(request)
        if after is None:
            after = room_requests.number(request, "after")
        chat = await self._engine.show(CHATS, chat_id)
        if after is None:
            after = 0 if follow else await self._hub.answer_start(chat_id, chat.last_event_id) - 1
        after = min(max(after, 0), chat.last_event_id)  # there are no later events
        is_idle = chat.status != "running" and not follow
        if is_idle and after == chat.last_event_id:
            return Response(status_code=HTTPStatus.NO_CONTENT)
        start = await self._hub.answer_start(chat_id, after) if form is ClientForm.PLAIN else after + 1
        ends = _never if follow else _end_after(after, chat.last_event_id if is_idle else None)
        read = self._hub.read(chat_id, max(start - 1, 0), counts=not is_child(request))
        batches = in_dialect(read, frame)
        body = pieces(in_form(batches, form, after, ends), None)
        if is_idle and request.method != "HEAD":  # the stored events may have nothing in this form
            first = await anext(body, None)
            if first is None:
                return Response(status_code=HTTPStatus.NO_CONTENT)
            body = _from_first(first, body)
        return EventStream(body, self._keep_alive_seconds, self._attending(chat_id, form))

    def _attending(self, chat_id: str, form: ClientForm) -> AbstractContextManager[None]:
        """Count a client that reads everything: it can answer what tools ask."""
        return self._chats.attend(chat_id) if form is ClientForm.FULL else nullcontext()


def _form(request: Request) -> ClientForm:
    return form_of_accept(",".join(request.headers.getlist("accept")))


def _never(_: StoredFrame) -> bool:
    return False


def _end_after(after: int, last: int | None) -> Callable[[StoredFrame], bool]:
    """Return whether a frame ends an answer after ``after``, or is the ``last`` one, as a function."""

    def ends(stored: StoredFrame) -> bool:
        return stored.seq > after and (stored.name in TERMINAL or stored.seq == last)

    return ends


async def _from_first(first: bytes, rest: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    async with aclosing(rest):
        yield first
        async for piece in rest:
            yield piece
