"""Routes that answer by method."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

Answer = Callable[[Request], Awaitable[Response]]


def by_method(path: str, **answers: Answer) -> Route:
    """Return a route that answers each named method with its own function; HEAD like GET."""

    async def answer(request: Request) -> Response:
        return await answers["GET" if request.method == "HEAD" else request.method](request)

    return Route(path, answer, methods=list(answers))
