"""The HTTP API of the backend: access control, the calls, and the form of every error."""

from __future__ import annotations

import math
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass
from http import HTTPStatus

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Receive, Scope, Send

from agent_tui import BACKEND_PROTOCOL, __version__
from agent_tui.backend.engine.engine import Engine
from agent_tui.backend.http.auth import Guard, KnownHosts
from agent_tui.backend.http.problem import ERROR_ANSWERS, json_answer, problem
from agent_tui.backend.http.providers import Providers
from agent_tui.backend.http.rooms import RoomRoutes
from agent_tui.backend.http.routing import by_method
from agent_tui.backend.http.streaming import KEEP_ALIVE_SECONDS, EventStream
from agent_tui.backend.http.workspaces import Workspaces
from agent_tui.backend.hub import Hub
from agent_tui.backend.models.providers import Models
from agent_tui.backend.store.rows import CHATS, ROOM


@dataclass(slots=True)
class Traffic:
    """The current requests (including streams), and whether new ones are still accepted."""

    under_way: int = 0
    last_seconds: float = 0.0  # monotonic: when the last request began or ended
    closed: bool = False


class Door:
    """ASGI middleware that counts the requests, and refuses new ones while the backend is stopping."""

    def __init__(self, app: ASGIApp, traffic: Traffic) -> None:
        self._app = app
        self._traffic = traffic

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        traffic = self._traffic
        if traffic.closed:
            refusal = problem(
                HTTPStatus.SERVICE_UNAVAILABLE, "The backend is stopping", headers={"retry-after": "1"}
            )
            await refusal(scope, receive, send)
            return
        traffic.under_way += 1
        traffic.last_seconds = time.monotonic()
        try:
            await self._app(scope, receive, send)
        finally:
            traffic.under_way -= 1
            traffic.last_seconds = time.monotonic()


@dataclass(frozen=True, slots=True)
class Api:
    """Whom the HTTP API admits, and what it says about itself.

    With ``token`` ``None``, Host and Origin alone decide; then ``stop`` is not allowed.
    """

    hosts: KnownHosts
    token: str | None
    instance: str
    stop: Callable[[], None]
    keep_alive_seconds: float = KEEP_ALIVE_SECONDS
    voice_rooms: Callable[[], int] = lambda: 0  # how many voice rooms are in use
    programs: Callable[[], int] = lambda: 0  # how many programs of people are open


def build_app(
    engine: Engine,
    hub: Hub,
    api: Api,
    traffic: Traffic,
    models: Models | None = None,
    more: Sequence[BaseRoute] = (),
    workspaces: Workspaces = Workspaces(None),  # noqa: B008 - never changes
) -> Starlette:
    """Return the ASGI app with the routes for rooms and those of ``more``; the routes for providers need
    ``models``.
    """
    routes = _own_routes(engine, hub, api, traffic)
    routes += RoomRoutes(engine, hub, api.keep_alive_seconds, workspaces).routes()
    if models is not None:
        routes += Providers(models).routes()
    routes += more
    middleware = [Middleware(Guard, hosts=api.hosts, token=api.token), Middleware(Door, traffic=traffic)]
    app = Starlette(routes=routes, middleware=middleware, exception_handlers=ERROR_ANSWERS)
    app.router.redirect_slashes = False
    app.router.default = problem(HTTPStatus.NOT_FOUND)  # Starlette's is 403 for a WebSocket, which means busy
    return app


def _own_routes(engine: Engine, hub: Hub, api: Api, traffic: Traffic) -> list[BaseRoute]:
    async def health(_request: Request) -> Response:
        about = {"version": __version__, "protocol": BACKEND_PROTOCOL, "instance": api.instance}
        return json_answer({"status": "ok", **about})

    def under_way() -> dict[str, int]:
        return {
            "rooms_running": engine.runs.number(ROOM),
            "answers_running": engine.runs.number(CHATS),
            "voice_rooms": api.voice_rooms(),
        }

    async def backend(_request: Request) -> Response:
        return json_answer({**under_way(), "programs_open": api.programs(), "in_use": is_in_use()})

    def is_in_use() -> bool:
        return traffic.under_way > 1  # besides the request that asks

    async def use(_request: Request) -> Response:
        return EventStream(_open_until(hub), math.inf)  # its reader waits for nothing

    async def stop(request: Request) -> Response:
        broken_off = under_way()
        if request.query_params.get("if_idle") and any(broken_off.values()):
            return problem(HTTPStatus.CONFLICT, "The backend is at work")
        if request.query_params.get("if_unused") and is_in_use():
            return problem(HTTPStatus.CONFLICT, "The backend is in use")
        traffic.closed = True  # at once: nobody else begins to use it
        api.stop()
        return json_answer({"status": "stopping", **broken_off}, HTTPStatus.ACCEPTED)

    routes: list[BaseRoute] = [
        by_method("/health", GET=health),
        by_method("/api/backend", GET=backend),
        by_method("/api/backend/use", GET=use),
    ]
    if api.token is not None:
        routes.append(by_method("/api/backend/stop", POST=stop))
    return routes


async def _open_until(hub: Hub) -> AsyncGenerator[bytes, None]:
    await hub.wait_closed()
    yield b": stopping\n\n"
