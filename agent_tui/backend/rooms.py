"""The calls about rooms (cli.md, «Backend, HTTP»): requests in, the engine's answers out."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from http import HTTPStatus

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from agent_tui import events as ev
from agent_tui.backend.body import Fields, read_fields
from agent_tui.backend.engine.engine import Engine, NewAgent, NewRoom, RoomChange
from agent_tui.backend.hub import Hub
from agent_tui.backend.problem import json_answer
from agent_tui.backend.streaming import KEEP_ALIVE_SECONDS, Accumulator, EventStream, pieces, run_frames
from agent_tui.errors import NotFound, Refused
from agent_tui.wire.rooms_encode import listed_message_fields, room_fields

DEFAULT_ROUNDS = 3

_ID = re.compile(r"[A-Za-z0-9_.~-]{1,200}")
_WHOLE = re.compile(r"[0-9]{1,18}")  # fits 63 bits; int() alone would take " 1_0" and "٣"

Answer = Callable[[Request], Awaitable[Response]]


class Rooms:
    """The routes under ``/api/rooms``."""

    def __init__(self, engine: Engine, hub: Hub, keep_alive_seconds: float = KEEP_ALIVE_SECONDS) -> None:
        self._engine = engine
        self._hub = hub
        self._keep_alive_seconds = keep_alive_seconds

    def routes(self) -> list[Route]:
        """Return one route for each path, so that a 405 names all its methods."""
        room = "/api/rooms/{room_id}"
        return [
            by_method("/api/rooms", GET=self.listed, POST=self.create),
            by_method(room, GET=self.show, PATCH=self.change, DELETE=self.delete),
            by_method(f"{room}/messages", GET=self.messages),
            by_method(f"{room}/run", POST=self.run),
            by_method(f"{room}/events", GET=self.events),
            by_method(f"{room}/pause", POST=self.pause),
            by_method(f"{room}/resume", POST=self.resume),
        ]

    async def listed(self, _request: Request) -> Response:
        rooms = await self._engine.rooms()
        return json_answer({"rooms": [room_fields(room) for room in rooms]})

    async def create(self, request: Request) -> Response:
        room = await self._engine.create_room(_new_room(await read_fields(request)))
        return room_answer(room, HTTPStatus.CREATED)

    async def show(self, request: Request) -> Response:
        return room_answer(await self._engine.room(_room_id(request)))

    async def change(self, request: Request) -> Response:
        room_id = _room_id(request)
        return room_answer(await self._engine.change_room(room_id, _change(await read_fields(request))))

    async def delete(self, request: Request) -> Response:
        return room_answer(await self._engine.delete_room(_room_id(request)))

    async def messages(self, request: Request) -> Response:
        room_id = _room_id(request)
        after = request.query_params.get("after")
        if after is not None and not _ID.fullmatch(after):
            raise NotFound("There is no such message", "after: the id of a message of this room.")
        page = await self._engine.messages(room_id, after, _limit(request))
        listed = [listed_message_fields(message) for message in page.messages]
        return json_answer({"messages": listed, "next": page.next, "as_of": page.as_of})

    async def run(self, request: Request) -> Response:
        room_id = _room_id(request)
        after = _last_event_id(request) or 0
        start = await self._engine.run(room_id)
        frames = run_frames(self._hub.read(room_id, start - 1), after)
        return EventStream(pieces(frames, self._accumulator(request)), self._keep_alive_seconds)

    async def events(self, request: Request) -> Response:
        room_id = _room_id(request)
        after = _last_event_id(request)
        if after is None:
            after = _number(request, "after") or 0
        await self._engine.room(room_id)
        frames = self._hub.read(room_id, after)
        return EventStream(pieces(frames, self._accumulator(request)), self._keep_alive_seconds)

    async def pause(self, request: Request) -> Response:
        return room_answer(await self._engine.pause(_room_id(request)), HTTPStatus.ACCEPTED)

    async def resume(self, request: Request) -> Response:
        return room_answer(await self._engine.resume(_room_id(request)), HTTPStatus.ACCEPTED)

    def _accumulator(self, request: Request) -> Accumulator | None:
        return None if request.query_params.get("accumulated") == "0" else Accumulator(self._hub)


def by_method(path: str, **answers: Answer) -> Route:
    """Return a route that answers each named method with its own function; HEAD like GET."""

    async def answer(request: Request) -> Response:
        return await answers["GET" if request.method == "HEAD" else request.method](request)

    return Route(path, answer, methods=list(answers))


def room_answer(room: ev.RoomInfo, status: int = HTTPStatus.OK) -> Response:
    """Answer with one room."""
    return json_answer(room_fields(room), status)


def _room_id(request: Request) -> str:
    room_id: str = request.path_params["room_id"]
    if not _ID.fullmatch(room_id):
        raise NotFound("There is no such room")
    return room_id


def _whole(text: str, name: str) -> int:
    if not _WHOLE.fullmatch(text):
        raise Refused(f"{name} must be a whole number", status=HTTPStatus.BAD_REQUEST)
    return int(text)


def _number(request: Request, name: str) -> int | None:
    text = request.query_params.get(name)
    return None if text is None else _whole(text, name)


def _limit(request: Request) -> int | None:
    limit = _number(request, "limit")
    if limit == 0:
        raise Refused("limit must be at least 1", status=HTTPStatus.BAD_REQUEST)
    return limit


def _last_event_id(request: Request) -> int | None:
    """Return the ``Last-Event-ID`` header; an empty one says nothing, as in the SSE specification."""
    text = request.headers.get("last-event-id", "")
    return _whole(text, "Last-Event-ID") if text else None


def _new_room(fields: Fields) -> NewRoom:
    rounds = fields.number("max_rounds")
    agents = fields.objects("agents")
    return NewRoom(
        task=fields.needed_text("task"),
        name=fields.text("name") or "",
        execution_mode=fields.text("execution_mode") or "sequential",
        max_rounds=DEFAULT_ROUNDS if rounds is None else rounds,
        agents=None if agents is None else tuple(_new_agent(agent) for agent in agents),
        keep_running=fields.flag("keep_running") or False,
    )


def _new_agent(fields: Fields) -> NewAgent:
    return NewAgent(
        name=fields.needed_text("name"),
        color=fields.text("color") or "",
        system_prompt=fields.text("system_prompt") or "",
        model=fields.text("model") or "",
        provider_id=fields.text("provider_id") or "",
    )


def _change(fields: Fields) -> RoomChange:
    return RoomChange(
        name=fields.text("name"),
        task=fields.text("task"),
        max_rounds=fields.number("max_rounds"),
        execution_mode=fields.text("execution_mode"),
        keep_running=fields.flag("keep_running"),
    )
