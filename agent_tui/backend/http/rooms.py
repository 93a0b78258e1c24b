"""The calls about rooms (cli.md, «Backend, HTTP»): requests in, the engine's answers out."""

from __future__ import annotations

import asyncio
from contextlib import nullcontext
from http import HTTPStatus

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from agent_tui.backend.engine.engine import Engine
from agent_tui.backend.http import room_requests as asked
from agent_tui.backend.http.body import read_fields
from agent_tui.backend.http.presence import is_child
from agent_tui.backend.http.problem import json_answer
from agent_tui.backend.http.room_acts import RoomActs
from agent_tui.backend.http.routing import by_method, room_answer
from agent_tui.backend.http.streaming import (
    KEEP_ALIVE_SECONDS,
    Accumulator,
    EventStream,
    pieces,
    run_frames,
    until_left,
)
from agent_tui.backend.http.workspaces import Workspaces
from agent_tui.backend.hub import Hub, in_dialect
from agent_tui.model.errors import NotFound
from agent_tui.wire.rooms_encode import frame, listed_message_fields, room_fields


class Rooms:
    """The routes under ``/api/rooms``."""

    def __init__(
        self,
        engine: Engine,
        hub: Hub,
        keep_alive_seconds: float = KEEP_ALIVE_SECONDS,
        workspaces: Workspaces = Workspaces(None),  # noqa: B008 - never changes
    ) -> None:
        self._engine = engine
        self._hub = hub
        self._workspaces = workspaces
        self._keep_alive_seconds = keep_alive_seconds

    def routes(self) -> list[Route]:
        """Return one route for each path, so that a 405 names all its methods."""
        room = "/api/rooms/{room_id}"
        acts = RoomActs(self._engine)
        return [
            by_method("/api/rooms", GET=self.listed, POST=self.create),
            by_method(room, GET=self.show, PATCH=self.change, DELETE=self.delete),
            by_method(f"{room}/messages", GET=self.messages, POST=acts.say),
            by_method(f"{room}/run", POST=self.run),
            by_method(f"{room}/events", GET=self.events),
            by_method(f"{room}/pause", POST=self.pause),
            by_method(f"{room}/resume", POST=self.resume),
            *acts.routes(),
        ]

    async def listed(self, request: Request) -> Response:
        if "after" in request.query_params or "wait" in request.query_params:
            return await self._changed(request)
        news = await self._engine.rooms_now(archived=asked.switch(request, "archived"))
        return json_answer({"rooms": [room_fields(room) for room in news.rooms], "cursor": news.cursor})

    async def _changed(self, request: Request) -> Response:
        """Answer a long poll; one whose client has left ends at once."""
        after, seconds = request.query_params.get("after", ""), asked.wait_seconds(request)
        waiting = asyncio.create_task(self._engine.changes(after, seconds))
        leaving = asyncio.create_task(until_left(request.receive))
        try:
            await asyncio.wait({waiting, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if not waiting.done():
                return json_answer({})  # to nobody
            news = waiting.result()
        finally:
            waiting.cancel()
            leaving.cancel()
        return json_answer(
            {
                "rooms": [room_fields(room) for room in news.rooms],
                "removed": list(news.removed),
                "cursor": news.cursor,
                "all": news.is_all,
            }
        )

    async def create(self, request: Request) -> Response:
        room = await self._engine.create_room(asked.new_room(await read_fields(request), self._workspaces))
        return room_answer(room, HTTPStatus.CREATED)

    async def show(self, request: Request) -> Response:
        return room_answer(await self._engine.room(asked.room_id(request)))

    async def change(self, request: Request) -> Response:
        room_id = asked.room_id(request)
        change = asked.room_change(await read_fields(request), self._workspaces)
        return room_answer(await self._engine.change_room(room_id, change))

    async def delete(self, request: Request) -> Response:
        return room_answer(await self._engine.delete_room(asked.room_id(request)))

    async def messages(self, request: Request) -> Response:
        room_id = asked.room_id(request)
        after = request.query_params.get("after")
        if after is not None and not asked.ID.fullmatch(after):
            raise NotFound("There is no such message", "after: the id of a message of this room.")
        page = await self._engine.messages(room_id, after, asked.limit(request))
        listed = [listed_message_fields(message) for message in page.messages]
        return json_answer({"messages": listed, "next": page.next, "as_of": page.as_of})

    async def run(self, request: Request) -> Response:
        room_id = asked.room_id(request)
        after = asked.last_event_id(request) or 0
        start = await self._engine.run(room_id)
        counts = not is_child(request)
        said = in_dialect(self._hub.read(room_id, start - 1, counts=counts), frame)
        frames = run_frames(said, after)
        there = self._engine.wait_for(room_id) if counts else nullcontext()
        body = pieces(frames, self._accumulator(request))
        return EventStream(body, self._keep_alive_seconds, there, is_run=True)

    async def events(self, request: Request) -> Response:
        room_id = asked.room_id(request)
        after = asked.last_event_id(request)
        if after is None:
            after = asked.number(request, "after") or 0
        await self._engine.room(room_id)
        frames = in_dialect(self._hub.read(room_id, after, counts=not is_child(request)), frame)
        # Who says so can answer what tools ask.
        there = self._engine.attend(room_id) if asked.switch(request, "asks") else nullcontext()
        return EventStream(pieces(frames, self._accumulator(request)), self._keep_alive_seconds, there)

    async def pause(self, request: Request) -> Response:
        return room_answer(await self._engine.pause(asked.room_id(request)), HTTPStatus.ACCEPTED)

    async def resume(self, request: Request) -> Response:
        return room_answer(await self._engine.resume(asked.room_id(request)), HTTPStatus.ACCEPTED)

    def _accumulator(self, request: Request) -> Accumulator | None:
        return None if request.query_params.get("accumulated") == "0" else Accumulator(self._hub)
