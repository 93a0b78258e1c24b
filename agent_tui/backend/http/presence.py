"""The calls by which people's programs say that they are open, and that a key was pressed."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from http import HTTPStatus

from starlette.requests import HTTPConnection, Request
from starlette.responses import Response
from starlette.routing import Route

from agent_tui.backend.engine.unwatched import OpenPrograms, PauseNotice
from agent_tui.backend.http.problem import json_answer
from agent_tui.backend.http.routing import by_method
from agent_tui.backend.http.streaming import KEEP_ALIVE_SECONDS, EventStream
from agent_tui.config.tools import TOOL_HEADER
from agent_tui.wire.content import dump


class Attendance:
    """``/api/presence``: GET stays open as long as the program, and tells it what is about to pause; POST
    reports a key.
    """

    def __init__(self, presence: OpenPrograms, keep_alive_seconds: float = KEEP_ALIVE_SECONDS) -> None:
        self._presence = presence
        self._keep_alive_seconds = keep_alive_seconds

    def routes(self) -> list[Route]:
        return [by_method("/api/presence", GET=self.attend, POST=self.press)]

    async def attend(self, request: Request) -> Response:
        if is_child(request):
            return Response(status_code=HTTPStatus.NO_CONTENT)
        self._presence.press()
        return EventStream(_notice_frames(self._presence.attend()), self._keep_alive_seconds)

    async def press(self, request: Request) -> Response:
        if not is_child(request):
            self._presence.press()
        return json_answer({}, HTTPStatus.ACCEPTED)


def is_child(request: HTTPConnection) -> bool:
    """Return whether the program was started by a tool of ours: it does not count as a person."""
    return TOOL_HEADER in request.headers


async def _notice_frames(notices: AsyncGenerator[PauseNotice, None]) -> AsyncGenerator[bytes, None]:
    async with aclosing(notices):
        async for notice in notices:
            name = "pauses_soon" if notice.id else "goes_on"
            fields = {"id": notice.id, "name": notice.name, "seconds": notice.seconds} if notice.id else {}
            yield f"event: {name}\ndata: {dump(fields)}\n\n".encode()
