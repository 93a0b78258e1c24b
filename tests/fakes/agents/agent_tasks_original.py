"""A client of an agent service as the original's, written from protocols.md §3 alone.

It knows the frames that the original knows; what else a service says of its task fails it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
from websockets.asyncio.client import ClientConnection, connect

STREAM_FIELDS: dict[str, dict[str, type | tuple[type, ...]]] = {
    "text": {"content": str},
    "completed": {},
    "error": {"message": str},
    "thinking": {"content": str},
    "tool_use": {"id": str, "name": str, "input": (dict, list, str)},
    "tool_result": {"id": str, "name": str, "content": str, "success": bool},
}
VOICE_TYPES = frozenset({"text", "completed", "error"})
TOTAL_SECONDS = 120.0


class NotTaken(Exception):
    """The POST was answered with an HTTP error."""

    def __init__(self, status: int, body: str) -> None:
        super().__init__(status, body)
        self.status = status


@dataclass(slots=True)
class TaskAnswer:
    """What came of one task; ``error`` is None where it completed."""

    task_id: str
    events: list[dict[str, Any]] = field(default_factory=list)
    error: str | None = None

    @property
    def text(self) -> str:
        """Return all words."""
        return "".join(event["content"] for event in self.events if event["type"] == "text")

    @property
    def types(self) -> list[str]:
        """Return the types of its events, of neighbours with the same one only the first."""
        types = [event["type"] for event in self.events]
        return [one for place, one in enumerate(types) if place == 0 or types[place - 1] != one]

    def take(self, data: dict[str, Any]) -> bool:
        """Take one event to the letter; return whether the task is over."""
        for name, wanted in STREAM_FIELDS[data["type"]].items():
            assert isinstance(data[name], wanted), data
        self.events.append(data)
        self.error = data["message"] if data["type"] == "error" else None
        return data["type"] in ("completed", "error")


@dataclass(slots=True)
class OriginalTasks:
    """One session. ``authorization`` goes with the POST only, as the original does, unless ``on_socket``."""

    base_url: str
    authorization: str = ""
    on_socket: bool = True
    session_id: str = ""

    @asynccontextmanager
    async def socket(self) -> AsyncIterator[ClientConnection]:
        """Open the socket."""
        url = self.base_url.replace("http", "ws", 1) + "/ws/agent"
        headers = {"Authorization": self.authorization} if self.authorization and self.on_socket else {}
        async with connect(
            url, additional_headers=headers, open_timeout=10, close_timeout=5, ping_timeout=10, proxy=None
        ) as opened:
            yield opened

    async def subscribe(self, socket: ClientConnection, session_id: str, task_id: str = "") -> None:
        """Ask for the events of a session or a task."""
        data = {"sessionId": session_id, **({"taskId": task_id} if task_id else {})}
        await socket.send(json.dumps({"event": "subscribe_session", "data": data}))

    async def post(self, prompt: str, *, voice: bool = False, **fields: Any) -> tuple[str, str]:
        """Post a task and return (session id, task id)."""
        engine = "claude_agent_sdk" if voice else "claude_api"
        body = {"prompt": prompt, "engineType": engine, "voiceMode": voice, **fields}
        if self.session_id:
            body["sessionId"] = self.session_id
        headers = {"Authorization": self.authorization} if self.authorization else {}
        async with httpx.AsyncClient(trust_env=False, timeout=30) as client:
            url = f"{self.base_url}/api/v1/agent/tasks"
            answer = await client.post(url, json=body, headers=headers)
        if answer.status_code not in (200, 201):
            raise NotTaken(answer.status_code, answer.text)
        found = answer.json()
        self.session_id = found["sessionId"]
        return found["sessionId"], found["taskId"]

    async def cancel(self, task_id: str) -> int:
        """Cancel a task and return the status of the answer."""
        headers = {"Authorization": self.authorization} if self.authorization else {}
        async with httpx.AsyncClient(trust_env=False) as client:
            url = f"{self.base_url}/api/v1/agent/tasks/{task_id}/cancel"
            return (await client.post(url, headers=headers)).status_code

    async def ask(self, prompt: str, *, voice: bool = False, **fields: Any) -> TaskAnswer:
        """Do all that the original does for one task; return its answer."""
        async with self.socket() as socket:
            if self.session_id:
                await self.subscribe(socket, self.session_id)
            session_id, task_id = await self.post(prompt, voice=voice, **fields)
            await self.subscribe(socket, session_id, task_id)
            answer = await self.read(socket, task_id)
        if answer.error is not None and any(word in answer.error.lower() for word in ("aborted", "exited")):
            self.session_id = ""
        return answer

    async def read(self, socket: ClientConnection, task_id: str) -> TaskAnswer:
        """Read one task to its end; every frame that comes has to be of it."""
        answer = TaskAnswer(task_id)
        async with asyncio.timeout(TOTAL_SECONDS):
            while not await self.next(socket, answer):
                pass
        return answer

    async def read_all(self, socket: ClientConnection, *task_ids: str) -> list[TaskAnswer]:
        """Read several tasks of a session to their ends; their frames may come in any order."""
        answers = {task_id: TaskAnswer(task_id) for task_id in task_ids}
        left = set(task_ids)
        async with asyncio.timeout(TOTAL_SECONDS):
            while left:
                data = json.loads(await socket.recv())["data"]
                if answers[data["taskId"]].take(data):
                    left.remove(data["taskId"])
        return [*answers.values()]

    async def next(self, socket: ClientConnection, answer: TaskAnswer) -> bool:
        """Read one frame of a task; return whether it was the last."""
        frame = json.loads(await socket.recv())
        assert frame["event"] == "stream_event", frame
        assert frame["data"]["taskId"] == answer.task_id, frame
        return answer.take(frame["data"])
