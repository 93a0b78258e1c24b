"""The calls about rooms (cli.md, «Backend, HTTP»): the engine's answer to each request."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import nullcontext
from http import HTTPStatus
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from agent_tui.backend.engine.engine import Engine
from agent_tui.backend.engine.kinds import ROOMS
from agent_tui.backend.http import room_requests
from agent_tui.backend.http.body import read_fields
from agent_tui.backend.http.conversations import ConversationCalls, Dialect
from agent_tui.backend.http.presence import is_child
from agent_tui.backend.http.problem import json_answer
from agent_tui.backend.http.routing import by_method
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
from agent_tui.model.events import QueuedMessage
from agent_tui.wire.rooms_encode import (
    frame,
    listed_message_fields,
    own_frame,
    queued_fields,
    room_fields,
)


class RoomRoutes:
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
        self._keep_alive_seconds = keep_alive_seconds
        dialect = Dialect(
            kind=ROOMS,
            path="/api/rooms",
            read_new=room_requests.new_room,
            read_change=room_requests.room_change,
            fields=room_fields,
            message_fields=listed_message_fields,
        )
        self._calls = ConversationCalls(engine, dialect, workspaces)

    def routes(self) -> list[Route]:
        """Return one route for each path, so that a 405 names all its methods."""
        calls, rooms = self._calls, self._engine.rooms
        acts = {
            "stop": rooms.stop_agent,
            "skip": rooms.skip_agent,
            "retry": rooms.retry_agent,
            "continue": rooms.continue_agent,
        }
        agent = f"{calls.path}/agents/{{agent_id}}"
        queued = f"{calls.path}/queue/{{message_id}}"
        return [
            *calls.routes(get_list=self.list_rooms, post_message=self.say),
            by_method(f"{calls.path}/run", POST=self.run),
            by_method(f"{calls.path}/events", GET=self.events),
            by_method(f"{calls.path}/pause", POST=calls.pause),
            by_method(f"{calls.path}/resume", POST=calls.act(rooms.resume)),
            by_method(f"{calls.path}/queue", GET=self.queue),
            by_method(queued, PATCH=self.change_queued, DELETE=self.drop_queued),
            *(by_method(f"{agent}/{word}", POST=calls.act(act, "agent")) for word, act in acts.items()),
        ]

    async def list_rooms(self, request: Request) -> Response:
        if "after" in request.query_params or "wait" in request.query_params:
            return await self._wait_for_changes(request)
        cursor = self._engine.cursor  # before they are read: what changes meanwhile is sent again
        rooms = await self._engine.list_all(ROOMS, archived=room_requests.switch(request, "archived"))
        return json_answer({"rooms": self._calls.all_fields(rooms), "cursor": cursor})

    async def _wait_for_changes(self, request: Request) -> Response:
        """Answer a long poll; it ends at once if its client has left."""
        after, seconds = request.query_params.get("after", ""), room_requests.wait_seconds(request)
        waiting = asyncio.create_task(self._engine.changes(after, seconds))
        leaving = asyncio.create_task(until_left(request.receive))
        try:
            await asyncio.wait({waiting, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if not waiting.done():
                return json_answer({})  # its client has left
            news = waiting.result()
        finally:
            waiting.cancel()
            leaving.cancel()
        return json_answer(
            {
                "rooms": self._calls.all_fields(news.rooms),
                "removed": list(news.removed),
                "cursor": news.cursor,
                "all": news.is_all,
            }
        )

    async def run(self, request: Request) -> Response:
        room_id = self._calls.id(request)
        after = room_requests.last_event_id(request) or 0
        start = await self._engine.rooms.run(room_id)
        counts = not is_child(request)
        batches = in_dialect(self._hub.read(room_id, start - 1, counts=counts), frame)
        frames = run_frames(batches, after)
        while_open = self._engine.runs.wait_for(room_id) if counts else nullcontext()
        body = pieces(frames, self._accumulator(request))
        return EventStream(body, self._keep_alive_seconds, while_open, is_run=True)

    async def events(self, request: Request) -> Response:
        room_id = self._calls.id(request)
        after = room_requests.last_event_id(request)
        if after is None:
            after = room_requests.number(request, "after") or 0
        await self._engine.show(ROOMS, room_id)
        dialect = own_frame if room_requests.switch(request, "queue") else frame
        frames = in_dialect(self._hub.read(room_id, after, counts=not is_child(request)), dialect)
        can_answer = room_requests.switch(request, "asks")
        while_open = self._engine.asks.attend(room_id) if can_answer else nullcontext()
        return EventStream(pieces(frames, self._accumulator(request)), self._keep_alive_seconds, while_open)

    # --- what a person says ----------------------------------------------------------------------------

    async def say(self, request: Request) -> Response:
        room_id = self._calls.id(request)
        fields = await read_fields(request)
        message_id, status, queue = await self._engine.rooms.say(
            room_id,
            fields.needed_text("content"),
            when=room_requests.when(fields),
            to=fields.text("to") or "",
            client_key=fields.text("client_key") or "",
        )
        answer = {"id": message_id, "status": status, **_queue_fields(queue)}
        return json_answer(answer, HTTPStatus.ACCEPTED)

    async def queue(self, request: Request) -> Response:
        return json_answer(_queue_fields(await self._engine.rooms.queue(self._calls.id(request))))

    async def change_queued(self, request: Request) -> Response:
        room_id, message_id = self._calls.id(request), room_requests.path_id(request, "message_id", "message")
        fields = await read_fields(request)
        content, to = fields.text("content"), fields.text("to")
        queue = await self._engine.rooms.change_queued(room_id, message_id, content, to)
        return json_answer(_queue_fields(queue))

    async def drop_queued(self, request: Request) -> Response:
        room_id, message_id = self._calls.id(request), room_requests.path_id(request, "message_id", "message")
        return json_answer(_queue_fields(await self._engine.rooms.drop_queued(room_id, message_id)))

    def _accumulator(self, request: Request) -> Accumulator | None:
        return None if request.query_params.get("accumulated") == "0" else Accumulator(self._hub.text_before)


def _queue_fields(queue: Sequence[QueuedMessage]) -> dict[str, Any]:
    return {"queue": [queued_fields(queued) for queued in queue]}
