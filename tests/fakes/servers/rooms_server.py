"""Servers of the rooms protocol (protocols.md §1) on real sockets: an original one, and one with a log.

Written by hand from the protocol, not with our own encoder, so that the two can disagree.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from tests.fakes.servers.http_server import FakeServer, Reply, Request, Responder, answers_json
from tests.fakes.servers.original_server import OriginalServer
from tests.fakes.servers.room_frames import AGENTS as AGENTS
from tests.fakes.servers.room_frames import TASK, person
from tests.fakes.servers.room_frames import WORDS as WORDS
from tests.fakes.servers.room_frames import Event as Event
from tests.fakes.servers.room_frames import frame as frame
from tests.fakes.servers.room_frames import run_events as run_events
from tests.fakes.servers.room_frames import stored as stored

S = TypeVar("S", bound=FakeServer)


class OriginalRoomsServer(OriginalServer):
    """A server of the original system: ``POST …/run`` and nothing else. Every room id is a room."""

    STREAM = r"/api/rooms/[^/]+/run"

    def __init__(self, events: Sequence[Event] | None = None, **broken: Any) -> None:
        super().__init__(run_events() if events is None else events, **broken)


@dataclass
class LogRoom:
    """A room with an event log: what a backend of ours keeps, in its barest form."""

    id: str
    log: list[tuple[int, str, dict[str, Any]]] = field(default_factory=list)
    messages: list[dict[str, Any]] = field(default_factory=list)
    status: str = "idle"
    agents: list[dict[str, Any]] = field(default_factory=list)
    next_id: int = 1
    queue: list[dict[str, Any]] = field(default_factory=list)
    fields: dict[str, Any] = field(default_factory=dict)  # what PATCH changed, and whatever else is shown
    keys: dict[str, dict[str, Any]] = field(default_factory=dict)  # answers by client_key
    version: int = 0

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
            "queue": self.queue,
            **self.fields,
        }


class LogRoomsServer(FakeServer):
    """A server with ids, ``/events`` and stored messages, driven by the test through ``publish``.

    ``page_size`` splits the messages where no limit is asked for. What ``on`` names is answered that
    way instead, once for each responder but the last; ``calm()`` ends that. An ``original`` one answers
    to GET and ``run`` alone.
    """

    def __init__(self, *rooms: LogRoom, page_size: int = 1000, original: bool = False) -> None:
        super().__init__()
        self.original = original
        self.removed: dict[str, int] = {}  # when each room went
        self.version = 0
        self.rooms = {room.id: room for room in rooms}
        self.providers = [{"id": "demo", "name": "Demo", "kind": "demo", "model": "demo"}]
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
        self.touch(room)
        return id_

    def touch(self, room: LogRoom) -> None:
        """Let those who ask for changes learn of the room."""
        self.version += 1
        room.version = self.version
        self.wake()

    def wake(self) -> None:
        """Let the streams look again."""
        self._more.set()
        self._more = asyncio.Event()

    def responder(self, request: Request) -> Responder:
        if (request.method, request.path) in self._routes:
            return super().responder(request)
        calls = self._calls(request)
        if self.original:
            calls = {m: r for m, r in calls.items() if m == "GET" or request.path.endswith("/run")}
        if not calls:
            return answers_json({"title": "No such room"}, 404, kind="application/problem+json")
        if request.method not in calls:
            return answers_json({"title": "Not allowed"}, 405, {"Allow": ", ".join(calls)})
        return calls[request.method]()

    def _calls(self, request: Request) -> Mapping[str, Callable[[], Responder]]:
        """Return what may be asked at that path, by method."""
        match request.path.removeprefix("/api/").split("/"):
            case ["rooms"]:
                return {"GET": lambda: self._listed(request), "POST": lambda: self._make(request)}
            case ["providers"]:
                return {"GET": lambda: answers_json({"providers": self.providers})}
            case ["providers", "test"]:
                return {"POST": lambda: answers_json({"models": ["demo"], "answer_seconds": 0.25})}
            case ["providers", _, "models"]:
                return {"GET": lambda: answers_json({"models": [{"id": "demo"}]})}
            case ["rooms", room_id, *inner] if room_id in self.rooms:
                return self._room_calls(request, self.rooms[room_id], inner)
        return {}

    def _listed(self, request: Request) -> Responder:
        if "wait" in request.query:
            return self._changes(request.query.get("after", ""))
        shown = [r.shown() for r in self.rooms.values() if not r.fields.get("archived") or request.query]
        return answers_json({"rooms": shown, "cursor": str(self.version)})

    def _changes(self, after: str) -> Responder:
        """Answer as soon as anything is newer than ``after``; a test never waits for the time to pass."""

        async def respond(request: Request, reply: Reply) -> None:
            known = int(after) if after.isdigit() else -1
            while self.version <= known:
                await self._more.wait()
            rooms = [room.shown() for room in self.rooms.values() if room.version > known]
            removed = [id_ for id_, version in self.removed.items() if version > known]
            answer = {"rooms": rooms, "removed": removed, "cursor": str(self.version), "all": known < 0}
            await answers_json(answer)(request, reply)

        return respond

    def _make(self, request: Request) -> Responder:
        room = LogRoom(f"new{len(self.rooms)}", fields=json.loads(request.body))
        self.rooms[room.id] = room
        self.touch(room)
        return answers_json(room.shown(), 201)

    def _room_calls(
        self, request: Request, room: LogRoom, inner: Sequence[str]
    ) -> Mapping[str, Callable[[], Responder]]:
        match inner:
            case []:
                return {
                    "GET": lambda: answers_json(room.shown()),
                    "PATCH": lambda: self._change(room, request),
                    "DELETE": lambda: self._delete(room),
                }
            case ["messages"]:
                return {
                    "GET": lambda: self._messages(room, request),
                    "POST": lambda: self._say(room, request),
                }
            case ["events"]:
                after = request.headers.get("last-event-id") or request.query.get("after", "0")
                return {"GET": lambda: self._follows(room, int(after), endless=True)}
            case ["run"]:
                return {"POST": lambda: self._run(room)}
            case ["pause" | "resume" as call]:
                status = "paused" if call == "pause" else "running"
                return {"POST": lambda: self._stands(room, status)}
            case ["queue"]:
                return {"GET": lambda: answers_json({"queue": room.queue})}
            case ["queue", message_id]:
                return {m: lambda: self._requeue(room, request, message_id) for m in ("PATCH", "DELETE")}
            case ["agents", agent_id, "stop" | "skip" | "retry" | "continue" as act]:
                return {"POST": lambda: self._act(room, agent_id, act)}
            case _:
                return {}

    def _run(self, room: LogRoom) -> Responder:
        room.status = "running"
        return self._follows(room, 0, endless=False)

    def _stands(self, room: LogRoom, status: str) -> Responder:
        room.status = status
        self.touch(room)
        return answers_json(room.shown(), 202)

    def _messages(self, room: LogRoom, request: Request) -> Responder:
        limit = int(request.query.get("limit", self.page_size))
        return answers_json(self._page(room, request.query.get("after"), limit))

    def _change(self, room: LogRoom, request: Request) -> Responder:
        changed: dict[str, Any] = json.loads(request.body)
        agents = changed.pop("agents", None)
        if agents is not None:
            known = {agent["id"]: agent for agent in room.agents}
            made = enumerate(agents, len(self.requests))
            room.agents = [known.get(a.get("id"), {"id": f"agent{n}"}) | a for n, a in made]
        room.fields |= changed
        self.touch(room)
        return answers_json(room.shown())

    def _delete(self, room: LogRoom) -> Responder:
        del self.rooms[room.id]
        self.touch(room)
        self.removed[room.id] = self.version
        return answers_json(room.shown())

    def _say(self, room: LogRoom, request: Request) -> Responder:
        """Queue a person's words, or with "now" say them at once; the same key gets the same answer."""
        said: dict[str, Any] = json.loads(request.body)
        key = said.get("client_key", "")
        if room.status == "completed":
            return answers_json({"title": "The room is completed", "detail": "Add a round first."}, 409)
        if said.get("to") and said["to"] not in [agent["id"] for agent in room.agents]:
            return answers_json({"title": "There is no such agent"}, 422)
        if key not in room.keys:
            number = len(room.keys)
            id_ = f"said{number}"
            words = {"id": id_, "content": said["content"], "to": said.get("to", ""), "when": said["when"]}
            is_now = said["when"] == "now"
            room.keys[key or f"none{number}"] = {"id": id_, "status": "said" if is_now else "queued"}
            key = key or f"none{number}"
            if is_now:
                self.publish(room.id, "message", person(words, room.id))
            else:
                room.queue.append(words)
                self.touch(room)
        return answers_json(room.keys[key] | {"queue": room.queue}, 202)

    def say_queued(self, room_id: str) -> None:
        """Let everything that waits be said, as it is before a turn."""
        room = self.rooms[room_id]
        while room.queue:
            self.publish(room_id, "message", person(room.queue.pop(0), room_id))

    def _requeue(self, room: LogRoom, request: Request, message_id: str) -> Responder:
        waiting = next((words for words in room.queue if words["id"] == message_id), None)
        if waiting is None:
            known = message_id in [answer["id"] for answer in room.keys.values()]
            return answers_json(
                {"title": "It was said" if known else "No such message"}, 409 if known else 404
            )
        if request.method == "DELETE":
            room.queue.remove(waiting)
        else:
            waiting |= json.loads(request.body)
        self.touch(room)
        return answers_json({"queue": room.queue})

    def _act(self, room: LogRoom, agent_id: str, act: str) -> Responder:
        agent = next((agent for agent in room.agents if agent["id"] == agent_id), None)
        if agent is None:
            return answers_json({"title": "No such agent"}, 404, kind="application/problem+json")
        if act == "skip":
            agent["skip_next"] = not agent.get("skip_next", False)
        self.touch(room)
        return answers_json(room.shown(), 202)

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
