"""The calls with which a person takes part: words into a room, what waits there, acts on one agent."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from agent_tui.backend.engine.engine import Engine
from agent_tui.backend.http import room_requests as asked
from agent_tui.backend.http.body import read_fields
from agent_tui.backend.http.chat_requests import word_of
from agent_tui.backend.http.problem import json_answer
from agent_tui.backend.http.routing import by_method, room_answer
from agent_tui.model.events import QueuedMessage
from agent_tui.wire.rooms_encode import queued_fields


class RoomActs:
    """The routes ``/api/rooms/{id}/queue``, ``…/agents``, ``…/asks``, and what answers POST messages."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def routes(self) -> list[Route]:
        """Return one route for each path, so that a 405 names all its methods."""
        room = "/api/rooms/{room_id}"
        agent = f"{room}/agents/{{agent_id}}"
        return [
            by_method(f"{room}/queue", GET=self.queue),
            by_method(f"{room}/queue/{{message_id}}", PATCH=self.change_queued, DELETE=self.drop_queued),
            by_method(f"{agent}/stop", POST=self.stop),
            by_method(f"{agent}/skip", POST=self.skip),
            by_method(f"{agent}/retry", POST=self.retry),
            by_method(f"{agent}/continue", POST=self.go_on),
            by_method(f"{room}/asks/{{message_id}}/{{step_id}}", POST=self.answer),
        ]

    async def say(self, request: Request) -> Response:
        room_id = asked.room_id(request)
        fields = await read_fields(request)
        message_id, status, queue = await self._engine.say(
            room_id,
            fields.needed_text("content"),
            when=asked.when(fields),
            to=fields.text("to") or "",
            client_key=fields.text("client_key") or "",
        )
        said = {"id": message_id, "status": status, "queue": [queued_fields(queued) for queued in queue]}
        return json_answer(said, HTTPStatus.ACCEPTED)

    async def queue(self, request: Request) -> Response:
        return _queue_answer(await self._engine.queue(asked.room_id(request)))

    async def change_queued(self, request: Request) -> Response:
        room_id, message_id = asked.room_id(request), asked.message_id(request)
        fields = await read_fields(request)
        content, to = fields.text("content"), fields.text("to")
        return _queue_answer(await self._engine.change_queued(room_id, message_id, content, to))

    async def drop_queued(self, request: Request) -> Response:
        room_id, message_id = asked.room_id(request), asked.message_id(request)
        return _queue_answer(await self._engine.drop_queued(room_id, message_id))

    async def stop(self, request: Request) -> Response:
        room = await self._engine.stop_agent(asked.room_id(request), asked.agent_id(request))
        return room_answer(room, HTTPStatus.ACCEPTED)

    async def skip(self, request: Request) -> Response:
        room = await self._engine.skip_agent(asked.room_id(request), asked.agent_id(request))
        return room_answer(room, HTTPStatus.ACCEPTED)

    async def retry(self, request: Request) -> Response:
        room = await self._engine.retry_agent(asked.room_id(request), asked.agent_id(request))
        return room_answer(room, HTTPStatus.ACCEPTED)

    async def go_on(self, request: Request) -> Response:
        room = await self._engine.continue_agent(asked.room_id(request), asked.agent_id(request))
        return room_answer(room, HTTPStatus.ACCEPTED)

    async def answer(self, request: Request) -> Response:
        room_id, message_id = asked.room_id(request), asked.message_id(request)
        step_id = asked.path_id(request, "step_id", "call")
        await self._engine.answer(room_id, message_id, step_id, word_of(await read_fields(request)))
        return json_answer({}, HTTPStatus.ACCEPTED)


def _queue_answer(queue: Sequence[QueuedMessage]) -> Response:
    return json_answer({"queue": [queued_fields(queued) for queued in queue]})
