"""Servers of the rooms protocol (protocols.md §1) on real sockets: an original one, and one with a log.

Written by hand from the protocol, not with our own encoder, so that the two can disagree.
"""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from tests.fakes.http_server import FakeServer, Reply, Request, Responder, answers_json, streams

Event = tuple[str, dict[str, Any]]
S = TypeVar("S", bound=FakeServer)

TASK = "Should sessions live in Redis?"
AGENTS = ("Mika", "Ada")
WORDS = ("Short ", "answer: ", "нет. ", "因为 ", "it loses data.")


def frame(name: str, data: Mapping[str, Any], id_: int | None = None) -> bytes:
    """Return one SSE frame as the protocol frames it."""
    head = "" if id_ is None else f"id: {id_}\n"
    return f"{head}event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n".encode()


def stored(message_id: str, text: str, name: str, round_: int, room_id: str = "r1") -> dict[str, Any]:
    """Return a stored message of an agent."""
    content = {"steps": [{"id": "step-0", "index": 0, "type": "text", "content": text}]}
    return {
        "id": message_id,
        "room_id": room_id,
        "role": "assistant",
        "content": json.dumps(content, ensure_ascii=False),
        "sender_name": name,
        "sender_color": "#10b981",
        "round_number": round_,
        "token_count": len(text) // 4,
        "created_at": "2026-03-01T12:00:00+00:00",
    }


def run_events(
    room_id: str = "r1",
    *,
    agents: Sequence[str] = AGENTS,
    rounds: int = 1,
    words: Sequence[str] = WORDS,
    accumulated: bool = True,
) -> list[Event]:
    """Return a whole run of a sequential room, as the original sends it: no agent ids, no event ids."""
    task = stored("m0", TASK, "用户", 0, room_id) | {"role": "user", "content": json.dumps({"text": TASK})}
    events: list[Event] = [("room_started", {"room_id": room_id, "task": TASK}), ("message", task)]
    for round_ in range(1, rounds + 1):
        events.append(("round_start", {"round": round_, "max_rounds": rounds}))
        for agent in agents:
            events += _turn(f"m-{round_}-{agent}", agent, round_, room_id, words, accumulated)
        events.append(("round_end", {"round": round_}))
    events.append(("room_completed", {"room_id": room_id, "total_rounds": rounds}))
    return events


def _turn(
    message_id: str, agent: str, round_: int, room_id: str, words: Sequence[str], accumulated: bool
) -> Iterator[Event]:
    message = stored(message_id, "".join(words), agent, round_, room_id)
    start = ("id", "room_id", "role", "sender_name", "sender_color", "round_number")
    yield "message_start", {name: message[name] for name in start}
    text = ""
    for word in words:
        text += word
        whole = {"accumulated": text} if accumulated else {}
        yield "message_chunk", {"id": message_id, "content": word, **whole}
    yield "message_end", {"id": message_id, "content": text, "token_count": len(text) // 4}
    yield "message", message


class OriginalRoomsServer(FakeServer):
    """A server of the original system: ``POST …/run`` and nothing else. Every room id is a room.

    The run sends ``events``; with ``stop_after`` it sends only so many of them and then does ``then``:
    ``drop`` or ``reset`` the connection, ``end`` it cleanly, or ``stay`` silent until the client leaves.
    Each POST begins the run anew, which is why nobody may repeat one: ``posts`` counts them.
    """

    def __init__(
        self, events: Sequence[Event] | None = None, *, stop_after: int | None = None, then: str = "drop"
    ) -> None:
        super().__init__()
        self.events = list(events if events is not None else run_events())
        self.stop_after = stop_after
        self.then = then

    @property
    def posts(self) -> int:
        """How many runs were asked for."""
        return sum(request.method == "POST" for request in self.requests)

    def responder(self, request: Request) -> Responder:
        if request.method == "POST" and re.fullmatch(r"/api/rooms/[^/]+/run", request.path):
            frames = [frame(name, data) for name, data in self.events]
            if self.stop_after is None:
                return streams(*frames)
            return streams(*frames[: self.stop_after], then=self.then)
        return super().responder(request)


@dataclass
class LogRoom:
    """A room with an event log: what a backend of ours keeps, in its barest form."""

    id: str
    log: list[tuple[int, str, dict[str, Any]]] = field(default_factory=list)
    messages: list[dict[str, Any]] = field(default_factory=list)
    status: str = "idle"
    agents: list[dict[str, Any]] = field(default_factory=list)
    next_id: int = 1

    @property
    def last_event_id(self) -> int:
        return self.next_id - 1

    def shown(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "name": f"room {self.id}",
            "task": TASK,
            "status": self.status,
            "execution_mode": "sequential",
            "current_round": 1,
            "max_rounds": 3,
            "turn_order": [agent["id"] for agent in self.agents],
            "agents": self.agents,
            "last_event_id": self.last_event_id,
            "created_at": "2026-03-01T12:00:00+00:00",
            "updated_at": "2026-03-01T12:00:00+00:00",
        }


class LogRoomsServer(FakeServer):
    """A server with ids, ``/events`` and stored messages, driven by the test through ``publish``.

    ``page_size`` splits the messages where no limit is asked for. What ``on`` names is answered that
    way instead, once for each responder but the last; ``calm()`` ends that.
    """

    def __init__(self, *rooms: LogRoom, page_size: int = 1000) -> None:
        super().__init__()
        self.rooms = {room.id: room for room in rooms}
        self.page_size = page_size
        self._more = asyncio.Event()

    def calm(self) -> None:
        """Forget everything that ``on`` said."""
        self._routes.clear()

    def publish(self, room_id: str, name: str, data: dict[str, Any] | None = None) -> int:
        """Append one event to the room's log and give it to everybody who reads it; return its id."""
        room = self.rooms[room_id]
        id_, room.next_id = room.next_id, room.next_id + 1
        room.log.append((id_, name, data if data is not None else {"room_id": room_id}))
        self.wake()
        return id_

    def wake(self) -> None:
        """Let the streams look again."""
        self._more.set()
        self._more = asyncio.Event()

    def responder(self, request: Request) -> Responder:
        if (request.method, request.path) in self._routes:
            return super().responder(request)
        if request.path == "/api/rooms":
            return self._rooms(request)
        match = re.fullmatch(r"/api/rooms/([^/]+)(?:/(\w+))?", request.path)
        room = self.rooms.get(match[1]) if match else None
        if match is None or room is None:
            return answers_json({"title": "No such room"}, 404, kind="application/problem+json")
        return self._room_call(request, room, match[2] or "")

    def _rooms(self, request: Request) -> Responder:
        if request.method == "POST":
            room = LogRoom(f"new{len(self.rooms)}")
            self.rooms[room.id] = room
            return answers_json(room.shown(), 201)
        return answers_json({"rooms": [room.shown() for room in self.rooms.values()]})

    def _room_call(self, request: Request, room: LogRoom, call: str) -> Responder:
        match request.method, call:
            case "GET", "":
                return answers_json(room.shown())
            case "PATCH", "":
                return answers_json(room.shown() | json.loads(request.body))
            case "DELETE", "":
                del self.rooms[room.id]
                return answers_json(room.shown())
            case "GET", "messages":
                limit = int(request.query.get("limit", self.page_size))
                return answers_json(self._page(room, request.query.get("after"), limit))
            case "GET", "events":
                after = request.headers.get("last-event-id") or request.query.get("after", "0")
                return self._follows(room, int(after), endless=True)
            case "POST", "run":
                room.status = "running"
                return self._follows(room, 0, endless=False)
            case "POST", "pause" | "resume":
                room.status = "paused" if call == "pause" else "running"
                return answers_json(room.shown(), 202)
            case _:
                return answers_json({"title": "Not allowed"}, 405)

    def _page(self, room: LogRoom, after: str | None, limit: int) -> dict[str, Any]:
        ids = [message["id"] for message in room.messages]
        start = ids.index(after) + 1 if after else 0
        page = room.messages[start : start + limit]
        more = start + limit < len(ids)
        as_of = room.last_event_id
        return {"messages": page, "next": page[-1]["id"] if more else None, "as_of": as_of}

    def _follows(self, room: LogRoom, after: int, *, endless: bool) -> Responder:
        async def respond(request: Request, reply: Reply) -> None:
            sent = after
            await reply.head(200, {"Content-Type": "text/event-stream"})
            await reply.send(b": hello\n\n")
            while True:
                more = self._more
                for id_, name, data in [entry for entry in room.log if entry[0] > sent]:
                    await reply.send(frame(name, data, id_))
                    sent = id_
                    if not endless and name in ("room_completed", "room_paused", "error"):
                        await reply.end()
                        return
                await more.wait()

        return respond


@contextmanager
def in_thread(server: S) -> Iterator[S]:
    """Run ``server`` in a thread of its own, for tests that block: those that wait for a process."""
    loop = asyncio.new_event_loop()
    loop.run_until_complete(server.start())
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield server
    finally:
        asyncio.run_coroutine_threadsafe(server.stop(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()
