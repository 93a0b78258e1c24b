"""A link whose events the test sends one by one, and which notes what the screen asked for."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping
from dataclasses import replace
from typing import Any

from agent_tui.clients.records import (
    PausesSoon,
    ProviderInfo,
    ProviderTest,
    RoomChanges,
    SendResult,
    ToolInfo,
    ToolServer,
)
from agent_tui.model.errors import AgentTuiError, NotFound
from agent_tui.model.events import Event, LinkChanged, QueuedMessage, RoomInfo
from tests.fakes.event_link import EventLink
from tests.fakes.own_backend import OwnBackend


class FakeClient(OwnBackend):
    """The calls a screen makes; ``refuse`` is raised instead of an answer.

    What was asked is in ``asked`` as (words, room id). ``room`` is what calls about a room answer,
    ``changed`` what ``change`` answers instead, once ``may_change`` is set, ``waiting`` the queue, which
    ``say`` and its kin change, ``lacks`` what ``missing`` answers.
    """

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []
        self.keys: list[str] = []  # of each ``say``
        self.refuse: AgentTuiError | None = None
        self.room: RoomInfo | None = None
        self.changed: RoomInfo | None = None
        self.may_change = asyncio.Event()
        self.may_change.set()
        self.waiting: list[QueuedMessage] = []
        self.lacks: dict[str, str] = {}
        self.known_providers = [ProviderInfo("demo", "Demo", "demo", "demo")]
        self.known_models: dict[str, list[str]] = {"demo": ["demo"]}
        reads = ToolInfo("read_file", "Reads a file.", permission="read")
        self.known_tools = [reads, ToolInfo("run_command", permission="ask")]
        self.tools_refused: AgentTuiError | None = None
        self.resume_refused: AgentTuiError | None = None
        self.queued_refused: AgentTuiError | None = None  # changing what waits
        self.news: asyncio.Queue[RoomChanges] = asyncio.Queue()
        self.pausing: asyncio.Queue[PausesSoon | AgentTuiError | None] = asyncio.Queue()
        self.presses = 0

    async def as_known(self, room_id: str) -> RoomInfo:
        if isinstance(self.refuse, NotFound):
            raise self.refuse
        return self.room or RoomInfo(room_id)

    async def attend(
        self, *, give_up_seconds: float | None = None
    ) -> AsyncGenerator[PausesSoon | None, None]:
        """Yield what the test puts into ``pausing``, or raise it."""
        while True:
            told = await self.pausing.get()
            if isinstance(told, AgentTuiError):
                raise told
            yield told

    async def press(self) -> None:
        self.presses += 1

    async def pause(self, room_id: str) -> RoomInfo:
        return self._answer("pause", room_id)

    async def resume(self, room_id: str) -> RoomInfo:
        room = self._answer("resume", room_id)
        if self.resume_refused is not None:
            raise self.resume_refused
        return room

    async def change(self, room_id: str, **fields: Any) -> RoomInfo:
        answer = self._answer(f"change {fields}", room_id)
        await self.may_change.wait()
        return self.changed or answer

    async def create(self, task: str, **fields: Any) -> RoomInfo:
        return self._answer(f"create {task} {fields}", "new")

    async def delete(self, room_id: str) -> None:
        self._answer("delete", room_id)

    async def show(self, room_id: str) -> RoomInfo:
        return replace(self._answer("show", room_id), queue=tuple(self.waiting))

    async def say(
        self, room_id: str, content: str, *, when: str = "next", to: str = "", client_key: str = ""
    ) -> SendResult:
        self.keys.append(client_key)
        self._answer(f"say {when} {f'to {to} ' if to else ''}{content}", room_id)
        message = QueuedMessage(f"said{len(self.keys)}", content, to, when)
        if when == "next":
            self.waiting.append(message)
        return SendResult(message.id, "said" if when == "now" else "queued", tuple(self.waiting))

    async def change_queued(
        self, room_id: str, message_id: str, content: str | None = None, to: str | None = None
    ) -> tuple[QueuedMessage, ...]:
        fields = {name: value for name, value in (("content", content), ("to", to)) if value is not None}
        self._answer(f"change_queued {message_id} {fields}", room_id)
        self.waiting = [replace(m, **fields) if m.id == message_id else m for m in self.waiting]
        return tuple(self.waiting)

    async def drop_queued(self, room_id: str, message_id: str) -> tuple[QueuedMessage, ...]:
        self._answer(f"drop_queued {message_id}", room_id)
        if self.queued_refused is not None:
            raise self.queued_refused
        self.waiting = [message for message in self.waiting if message.id != message_id]
        return tuple(self.waiting)

    async def answer(
        self,
        room_id: str,
        message_id: str,
        step_id: str,
        decision: str,
        pattern: str = "",
        reason: str = "",
        values: Mapping[str, Any] | None = None,
    ) -> None:
        told = "" if values is None else json.dumps(dict(values))
        about = " ".join(word for word in (message_id, step_id, decision, pattern, reason, told) if word)
        self._answer(f"answer {about}", room_id)

    async def stop_agent(self, room_id: str, agent_id: str) -> RoomInfo:
        return self._answer(f"stop {agent_id}", room_id)

    async def skip_agent(self, room_id: str, agent_id: str) -> RoomInfo:
        return self._answer(f"skip {agent_id}", room_id)

    async def retry_agent(self, room_id: str, agent_id: str) -> RoomInfo:
        return self._answer(f"retry {agent_id}", room_id)

    async def continue_agent(self, room_id: str, agent_id: str) -> RoomInfo:
        return self._answer(f"continue {agent_id}", room_id)

    async def changes(self, cursor: str | None, wait_seconds: float) -> RoomChanges:
        """Answer what the test puts into ``news``, one for each call."""
        return await self.news.get()

    async def tools(self) -> tuple[list[ToolInfo], list[ToolServer]]:
        if self.tools_refused is not None:
            raise self.tools_refused
        return self.known_tools, []

    async def providers(self) -> list[ProviderInfo]:
        self._answer("providers", "")
        return self.known_providers

    async def models(self, provider_id: str) -> list[str]:
        self._answer(f"models {provider_id}", "")
        return self.known_models.get(provider_id, [])

    async def test_provider(self, **fields: str) -> ProviderTest:
        self._answer(f"test_provider {fields}", "")
        return ProviderTest(("demo",), 0.25)

    async def missing(self, room_id: str) -> Mapping[str, str]:
        return self.lacks

    async def run_frames(self, room_id: str) -> AsyncGenerator[object, None]:
        self._answer("run", room_id)
        yield LinkChanged("connecting")
        yield "a frame"

    def _answer(self, call: str, room_id: str) -> RoomInfo:
        self.asked.append((call, room_id))
        if self.refuse is not None:
            raise self.refuse
        return self.room or RoomInfo(room_id)


class FakeLink(EventLink[FakeClient]):
    """Stands for ``RoomLink``."""

    def __init__(self) -> None:
        super().__init__(FakeClient())
        self.runs = 0

    async def run(self, room_id: str) -> AsyncGenerator[Event, None]:
        self.runs += 1
        return self.posted()
