"""Which room the user means: ROOM is an id, a name, or the beginning of either."""

from __future__ import annotations

from collections.abc import Sequence

from agent_tui.errors import ConfigError, NotFound
from agent_tui.events import RoomInfo
from agent_tui.inert import inert_line

MAX_CANDIDATES_NAMED = 5
MAX_NAME_CHARACTERS = 60


def find_room(rooms: Sequence[RoomInfo], wanted: str) -> str:
    """Return the id of the room that ``wanted`` means: its id, else its name, else the only one it begins.

    Raises ``NotFound`` when there is none and ``ConfigError`` naming the candidates when it fits several.
    """
    found = (
        [room for room in rooms if room.id == wanted]
        or [room for room in rooms if room.name == wanted]
        or [room for room in rooms if room.id.startswith(wanted) or room.name.startswith(wanted)]
    )
    shown = inert_line(wanted, MAX_NAME_CHARACTERS)
    if not found:
        raise NotFound(f'there is no room "{shown}"', "agent-tui rooms list names them")
    if len(found) > 1:
        raise ConfigError(f'"{shown}" fits {len(found)} rooms', _named(found))
    return found[0].id


def _named(rooms: Sequence[RoomInfo]) -> str:
    names = [f"{room.id} ({inert_line(room.name, MAX_NAME_CHARACTERS)})" for room in rooms]
    more = ["…"] if len(names) > MAX_CANDIDATES_NAMED else []
    return ", ".join(names[:MAX_CANDIDATES_NAMED] + more)
