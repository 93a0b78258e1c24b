"""The rooms of a list, as ``tui.screens.listing`` wants to know them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from agent_tui.events import RoomInfo
from agent_tui.inert import inert_line
from tui.screens.listing import MAX_NAME_CHARACTERS, Listing

_STATUS_ORDER: Final = {"running": 0, "error": 1, "paused": 2, "idle": 3, "completed": 4}


def name_of(room: RoomInfo) -> str:
    """Return what a room is called in one harmless line: its name, or what it is about."""
    return inert_line(room.name, MAX_NAME_CHARACTERS) or inert_line(room.task, MAX_NAME_CHARACTERS)


class RoomListing(Listing[RoomInfo]):
    """Rooms, by their names, tasks, states and agents."""

    def name_of(self, item: RoomInfo) -> str:
        """Return its name, or what it is about."""
        return name_of(item)

    def words_of(self, item: RoomInfo) -> Iterable[str]:
        """Return its name, its task, its state and who is in it."""
        return (item.name, item.task, item.status, *(agent.name for agent in item.agents))

    def rank_of(self, item: RoomInfo) -> int:
        """Return where its status stands: what runs comes first, what is done last."""
        return _STATUS_ORDER.get(item.status, 5)
