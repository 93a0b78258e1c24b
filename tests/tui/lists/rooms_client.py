"""A server of rooms for the list, in memory: answers calls, notes them, and tells changes when asked to."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from agent_tui.clients.records import ProviderInfo, RoomChanges, ToolInfo, ToolServer
from agent_tui.model.errors import AgentTuiError, NotOffered
from agent_tui.model.events import AgentInfo, RoomInfo
from tests.fakes.own_backend import OwnBackend


class ListedClient(OwnBackend):
    """The calls that the list and the form of a new room make; ``refuse`` is raised instead of an answer. A
    room is made once ``may_make`` is set, and rooms are listed once ``may_list`` is.
    """

    def __init__(self, rooms: list[RoomInfo], *, tells_changes: bool = True) -> None:
        self.rooms = {room.id: room for room in rooms}
        self.asked: list[tuple[str, str]] = []
        self.refuse: AgentTuiError | None = None
        self.no_models: AgentTuiError | None = None  # raised where a provider is asked for its models
        self.servers: list[ToolServer] = []  # MCP servers of tools
        self.no_tools: AgentTuiError | None = None  # raised where it is asked for its tools
        self.lost: list[AgentTuiError] = []  # raised by the next questions for changes
        self.lacks: Mapping[str, str] = {}
        self.known_providers = [
            ProviderInfo("demo", "Demo", "demo", "demo"),
            ProviderInfo("local", "Local", "openai", "big"),
        ]
        self.made: list[dict[str, Any]] = []
        self.may_make = asyncio.Event()
        self.may_list = asyncio.Event()
        for event in (self.may_make, self.may_list):
            event.set()
        self._tells_changes = tells_changes
        self._news: asyncio.Queue[RoomChanges] = asyncio.Queue()
        self.questions = 0

    # --- the list ---

    async def list_all(self, archived: bool = False) -> list[RoomInfo]:
        return [room for room in self.rooms.values() if archived or not room.archived]

    async def changes(self, cursor: str | None, wait_seconds: float) -> RoomChanges:
        if not self._tells_changes:
            raise NotOffered("this server does not say what changed")
        self.questions += 1
        if self.lost:
            raise self.lost.pop(0)
        await self.may_list.wait()
        if cursor is None:
            return RoomChanges(tuple(await self.list_all(archived=True)), (), "c0", True)
        return await self._news.get()

    def tell(self, *rooms: RoomInfo, removed: tuple[str, ...] = ()) -> None:
        """Have the list told that these changed."""
        for room in rooms:
            self.rooms[room.id] = room
        self._news.put_nowait(RoomChanges(rooms, removed, "c1", False))

    @property
    def is_told(self) -> bool:
        return self._news.empty()

    # --- acts ---

    async def missing(self, room_id: str) -> Mapping[str, str]:
        return self.lacks

    async def show(self, room_id: str) -> RoomInfo:
        return self.rooms[room_id]

    async def pause(self, room_id: str) -> RoomInfo:
        return self._changed("pause", room_id, status="paused", interrupted="pause")

    async def resume(self, room_id: str) -> RoomInfo:
        return self._changed("resume", room_id, status="running")

    async def change(self, room_id: str, **fields: Any) -> RoomInfo:
        return self._changed(f"change {fields}", room_id, **fields)

    async def delete(self, room_id: str) -> None:
        self._note("delete", room_id)
        self.rooms.pop(room_id, None)

    async def create(self, task: str, **fields: Any) -> RoomInfo:
        self._note("create", task)
        await self.may_make.wait()
        self.made.append({"task": task, **fields})
        known = {name: value for name, value in fields.items() if name != "agents"}
        agents = tuple(
            AgentInfo(f"a{place}", agent["name"]) for place, agent in enumerate(fields.get("agents", ()))
        )
        room_id = f"made{len(self.made)}"
        room = RoomInfo(room_id, task=task, agents=agents, created_at="2026-11-21T12:00:00+00:00", **known)
        self.rooms[room.id] = room
        return room

    async def run_frames(self, room_id: str) -> AsyncGenerator[object, None]:
        self._note("run", room_id)
        yield "a frame"

    async def providers(self) -> Sequence[ProviderInfo]:
        return self.known_providers

    async def models(self, provider_id: str) -> Sequence[str]:
        if self.no_models is not None:
            raise self.no_models
        return ["big", "small"]

    async def tools(self) -> tuple[Sequence[ToolInfo], Sequence[ToolServer]]:
        if self.no_tools is not None:
            raise self.no_tools
        return [ToolInfo("clock", "Say the time."), ToolInfo("calculator", "Calculate.")], self.servers

    def _changed(self, call: str, room_id: str, **fields: Any) -> RoomInfo:
        self._note(call, room_id)
        room = self.rooms[room_id] = replace(self.rooms[room_id], **fields)
        return room

    def _note(self, call: str, subject: str) -> None:
        if self.refuse is not None:
            raise self.refuse
        self.asked.append((call, subject))
