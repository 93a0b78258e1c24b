"""Which room a screen opens first."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent_tui.model.errors import NotFound, NotOffered
from agent_tui.model.events import RoomInfo
from tui.cli.commands.pick import find_room
from tui.language import short_language
from tui.link import RoomLink
from tui.screens.words import say


@dataclass(frozen=True, slots=True)
class RoomToOpen:
    """A room to open; ``start`` for a new one that begins at once."""

    room_id: str
    start: bool = False


async def first_room(link: RoomLink, wanted: str | None) -> RoomToOpen | list[RoomInfo]:
    """Return the wanted room, else the only one, else all to choose from, else a new demo room. Raises what
    the server and ``find_room`` raise; ``NotOffered`` if the server has no list and no room was named.
    """
    client = await link.client()
    try:
        rooms = await client.list_all(archived=wanted is not None)
    except (NotFound, NotOffered) as error:
        if wanted is None:
            raise NotOffered(say("rooms.not_offered")) from error
        return RoomToOpen(wanted)
    if wanted is not None:
        return RoomToOpen(find_room(rooms, wanted))
    if len(rooms) == 1:
        return RoomToOpen(rooms[0].id)
    if rooms or await client.list_all(archived=True):
        return rooms
    room = await client.create(**demo_room())
    return RoomToOpen(room.id, start=True)


def demo_room() -> dict[str, Any]:
    """Return the room that a first start opens, as ``POST /api/rooms`` takes it, in the language of the
    screens. Its agents cost nothing, whatever is configured.
    """
    rooms = tomllib.loads(Path(__file__).with_name("demo.toml").read_text(encoding="utf-8"))
    demo: dict[str, Any] = rooms[short_language()]
    return demo
