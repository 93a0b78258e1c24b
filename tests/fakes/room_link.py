"""A link whose events the test sends one by one, and which notes what the screen asked for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

from agent_tui.errors import AgentTuiError
from agent_tui.events import Event, LinkChanged, RoomInfo


class FakeClient:
    """The calls a screen makes; ``refuse`` is raised instead of an answer."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []
        self.refuse: AgentTuiError | None = None

    async def pause(self, room_id: str) -> RoomInfo:
        return self._answer("pause", room_id)

    async def resume(self, room_id: str) -> RoomInfo:
        return self._answer("resume", room_id)

    async def change(self, room_id: str, **fields: Any) -> RoomInfo:
        return self._answer(f"change {fields}", room_id)

    async def run_frames(self, room_id: str) -> AsyncGenerator[object, None]:
        self._answer("run", room_id)
        yield LinkChanged("connecting")
        yield "a frame"

    def _answer(self, call: str, room_id: str) -> RoomInfo:
        self.asked.append((call, room_id))
        if self.refuse is not None:
            raise self.refuse
        return RoomInfo(room_id)


class FakeLink:
    """Stands for ``RoomLink``: ``send`` hands an event to the screen, ``fail`` ends its stream."""

    def __init__(self) -> None:
        self.calls = FakeClient()
        self.runs = 0
        self._events: asyncio.Queue[Event | AgentTuiError | None] = asyncio.Queue()
        self._run_events: asyncio.Queue[Event | AgentTuiError | None] = asyncio.Queue()

    @property
    def is_drained(self) -> bool:
        """Whether the screen has taken everything that was sent."""
        return self._events.empty() and self._run_events.empty()

    async def client(self) -> FakeClient:
        return self.calls

    async def close(self) -> None:
        pass

    def send(self, *events: Event) -> None:
        for event in events:
            self._events.put_nowait(event)

    def end(self, error: AgentTuiError | None = None) -> None:
        self._events.put_nowait(error)

    def send_run(self, *events: Event | AgentTuiError | None) -> None:
        for event in events:
            self._run_events.put_nowait(event)

    async def follow(self, room_id: str) -> AsyncGenerator[Event, None]:
        async for event in _drain(self._events):
            yield event

    async def run(self, room_id: str) -> AsyncGenerator[Event, None]:
        self.runs += 1
        async for event in _drain(self._run_events):
            yield event


async def _drain(queue: asyncio.Queue[Event | AgentTuiError | None]) -> AsyncGenerator[Event, None]:
    while (item := await queue.get()) is not None:
        if isinstance(item, AgentTuiError):
            raise item
        yield item
