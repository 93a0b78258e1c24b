"""Which room a screen opens first."""

from __future__ import annotations

from dataclasses import dataclass

from agent_tui.model.errors import NotFound, NotOffered
from agent_tui.model.events import RoomInfo
from tui.cli.commands.pick import find_room
from tui.demo import demo_room
from tui.link import RoomLink
from tui.screens.words import say


@dataclass(frozen=True, slots=True)
class Found:
    """A room to open; ``start`` for a new one that begins at once."""

    room_id: str
    start: bool = False


async def first_room(link: RoomLink, wanted: str | None) -> Found | list[RoomInfo]:
    """Return the wanted room, else the only one, else all to choose from, else a new demo room. Raises what
    the server and ``find_room`` raise; ``NotOffered`` if the server has no list and no room was named.
    """
    client = await link.client()
    try:
        rooms = await client.listed()
    except (NotFound, NotOffered) as error:
        if wanted is None:
            raise NotOffered(say("rooms.not_offered")) from error
        return Found(wanted)
    if wanted is not None:
        return Found(find_room(rooms, wanted))
    if len(rooms) == 1:
        return Found(rooms[0].id)
    if rooms or await client.listed(archived=True):
        return rooms
    demo = demo_room()
    room = await client.create(
        task=demo.task,
        name=demo.name,
        execution_mode=demo.execution_mode,
        max_rounds=demo.max_rounds,
        synthesis=demo.synthesis,
        agents=demo.agent_fields(),
    )
    return Found(room.id, start=True)
