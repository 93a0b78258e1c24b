"""What tools about rooms may do with the engine."""

from __future__ import annotations

from agent_tui.backend.engine.engine import Engine
from agent_tui.backend.engine.kinds import ROOMS
from agent_tui.model.events import RoomInfo


class RoomCommands:
    """``tools.rooms.Rooms`` for one engine; raises the same errors."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def rooms(self) -> list[RoomInfo]:
        """Return the rooms that are not archived."""
        return await self._engine.list_all(ROOMS)

    async def pause(self, room_id: str) -> RoomInfo:
        """Ask a room to pause."""
        return await self._engine.pause(ROOMS, room_id)

    async def resume(self, room_id: str) -> RoomInfo:
        """Start or resume a room."""
        await self._engine.rooms.run(room_id)
        return await self._engine.show(ROOMS, room_id)

    async def begin(self, task: str) -> RoomInfo:
        """Make a room with the default agents and start it."""
        made = await self._engine.create(ROOMS, {"task": task})
        return await self.resume(made.id)
