"""What all calls share: routes that answer by method, and a room as an answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from http import HTTPStatus

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from agent_tui.backend.http.problem import json_answer
from agent_tui.model.events import RoomInfo
from agent_tui.wire.rooms_encode import room_fields

Answer = Callable[[Request], Awaitable[Response]]


def by_method(path: str, **answers: Answer) -> Route:
    """Return a route that answers each named method with its own function; HEAD like GET."""

    async def answer(request: Request) -> Response:
        return await answers["GET" if request.method == "HEAD" else request.method](request)

    return Route(path, answer, methods=list(answers))


def room_answer(room: RoomInfo, status: int = HTTPStatus.OK) -> Response:
    """Answer with one room."""
    return json_answer(room_fields(room), status)
