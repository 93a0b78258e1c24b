"""The tools that control rooms: list, describe, pause, resume, start. A voice session has them; a chat only
if they are named.

Reading and pausing need no permission: a pause costs nothing and is undone with one key. What makes models
speak, and so may cost money, asks first.
"""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, Protocol

from agent_tui.backend.models.model import ToolSpec
from agent_tui.backend.tools.tool import Permission, Tool, ToolError, ToolOutput, ToolPlace, object_schema
from agent_tui.model.errors import AgentTuiError
from agent_tui.model.events import RoomInfo, ToolAsk
from agent_tui.model.inert import inert_line

SECONDS: Final = 10.0
MAX_LISTED: Final = 20
MAX_WORDS_CHARACTERS: Final = 300
MAX_TASK_CHARACTERS: Final = 2_000
SHORT_ID_CHARACTERS: Final = 8

LOOKING: Final = ("list_rooms", "room_about")
ACTING: Final = ("pause_room", "resume_room", "start_room")
NO_ROOMS: Final = "there are no rooms yet"
ROOM_TOOLS: Final = frozenset((*LOOKING, *ACTING))

_COUNTED = ("first second third fourth fifth sixth seventh", "one two three four five six seven")
_NUMBERS = {word: number for words in _COUNTED for number, word in enumerate(words.split(), 1)}
_DIGITS = re.compile(r"#?(\d{1,3})(?:st|nd|rd|th)?")
_WORD = re.compile(r"\w+")


class RoomAccess(Protocol):
    """What these tools need from the engine."""

    async def rooms(self) -> list[RoomInfo]: ...

    async def pause(self, room_id: str) -> RoomInfo: ...

    async def resume(self, room_id: str) -> RoomInfo: ...

    async def begin(self, task: str) -> RoomInfo:
        """Make a room for ``task`` and start it."""
        ...


_WHICH: Final = {
    "type": "string",
    "minLength": 1,
    "maxLength": 200,
    "description": "the room's name or a part of it, its number in list_rooms, or its id if two share it",
}
_ONE_ROOM: Final = {"room": _WHICH}
_TASK: Final = {"task": {"type": "string", "minLength": 1, "maxLength": MAX_TASK_CHARACTERS}}


def room_tools(rooms: RoomAccess) -> tuple[Tool, ...]:
    """Return the tools for these ``rooms``."""
    actions = _Actions(rooms)
    tool = partial(_RoomTool, actions)
    costs = "Let a paused room go on, which may cost money."
    return (
        tool("list_rooms", "List the rooms in which agents talk.", {}, "read", actions.list_rooms),
        tool("room_about", "Say what a room is about, how far it is.", _ONE_ROOM, "read", actions.about),
        tool("pause_room", "Pause a room that runs.", _ONE_ROOM, "read", actions.pause),
        tool("resume_room", costs, _ONE_ROOM, "ask", actions.resume),
        tool("start_room", "Make a room for a task and start it.", _TASK, "ask", actions.start),
    )


class _Actions:
    """What the tools do. ``names`` has the names of the rooms seen so far, by id."""

    def __init__(self, rooms: RoomAccess) -> None:
        self.names: dict[str, str] = {}
        self._rooms = rooms

    async def _all(self) -> list[RoomInfo]:
        try:
            rooms = await self._rooms.rooms()
        except AgentTuiError as error:
            raise ToolError(inert_line(str(error), MAX_WORDS_CHARACTERS)) from error
        self.names.update((room.id, room.name) for room in rooms)
        return rooms

    async def room_in(self, arguments: Mapping[str, Any]) -> RoomInfo:
        """Return the room that the arguments mean now; raises ``ToolError`` if it is none or several."""
        return room_meant(await self._all(), arguments["room"])

    async def list_rooms(self, _: Mapping[str, Any]) -> object:
        rooms = in_order(await self._all())
        return {
            "rooms": [
                {"number": number, **_brief(room)} for number, room in enumerate(rooms[:MAX_LISTED], 1)
            ],
            "more": max(0, len(rooms) - MAX_LISTED),
        }

    async def about(self, arguments: Mapping[str, Any]) -> object:
        room = await self.room_in(arguments)
        return {
            **_brief(room),
            "task": inert_line(room.task, MAX_TASK_CHARACTERS),
            "agents": [inert_line(agent.name, MAX_WORDS_CHARACTERS) for agent in room.agents],
            "last_speaker": inert_line(room.last_speaker, MAX_WORDS_CHARACTERS),
            "last_words": inert_line(room.last_words, MAX_WORDS_CHARACTERS),
        }

    async def pause(self, arguments: Mapping[str, Any]) -> object:
        room = await self.room_in(arguments)
        if room.status != "running":
            return {**_brief(room), "changed": False}
        return {**_brief(await self._rooms.pause(room.id)), "status": "paused", "changed": True}

    async def resume(self, arguments: Mapping[str, Any]) -> object:
        room = await self.room_in(arguments)
        if room.status == "running":
            return {**_brief(room), "changed": False}
        return {**_brief(await self._rooms.resume(room.id)), "status": "running", "changed": True}

    async def start(self, arguments: Mapping[str, Any]) -> object:
        return {**_brief(await self._rooms.begin(arguments["task"])), "changed": True}


class _RoomTool:
    """One of the tools; ``work`` is the one of the ``actions`` that takes the arguments and returns the
    result.
    """

    seconds = SECONDS

    def __init__(
        self,
        actions: _Actions,
        name: str,
        description: str,
        properties: Mapping[str, Any],
        permission: Permission,
        work: Callable[[Mapping[str, Any]], Awaitable[object]],
    ) -> None:
        self.spec = ToolSpec(name, description, object_schema(properties, *properties))
        self.permission: Permission = permission
        self.changes = name in ACTING
        self._actions = actions
        self._work = work

    async def resolve(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the arguments with the id of the room that they mean now."""
        return {"room": (await self._actions.room_in(arguments)).id} if "room" in arguments else arguments

    def ask(self, arguments: Mapping[str, Any], place: ToolPlace) -> ToolAsk:
        """Return the call in one line: a room by its name, and the beginning of its id, as lists show it."""
        about = next(iter(arguments.values()), "")
        if (name := self._actions.names.get(about)) is not None:
            about = f"{name} ({about[:SHORT_ID_CHARACTERS]})"
        return ToolAsk(inert_line(f"{self.spec.name} {about}".rstrip(), MAX_TASK_CHARACTERS + 100))

    async def run(self, arguments: Mapping[str, Any], place: ToolPlace) -> ToolOutput:
        """Return JSON: the room, or the rooms, in their current state."""
        try:
            return ToolOutput(json.dumps(await self._work(arguments), ensure_ascii=False))
        except AgentTuiError as error:
            raise ToolError(inert_line(str(error), MAX_WORDS_CHARACTERS)) from error


def in_order(rooms: Sequence[RoomInfo]) -> list[RoomInfo]:
    """Return the rooms in the order of ``list_rooms``: running ones first, then by the latest change."""
    newest = sorted(rooms, key=lambda room: room.updated_at, reverse=True)
    return sorted(newest, key=lambda room: room.status != "running")


def room_meant(rooms: Sequence[RoomInfo], wanted: str) -> RoomInfo:
    """Return the room that ``wanted`` means: its id, its number in the list, its name or words of it.

    Raises ``ToolError`` that names the rooms if none or several match.
    """
    phrase = " ".join(_WORD.findall(wanted.casefold()))
    counted = in_order(rooms)
    for room in sorted(rooms, key=lambda room: room.id != wanted):  # an id is nobody else's name
        if room.id == wanted or " ".join(_WORD.findall(room.name.casefold())) == phrase:
            return room
    if (place := _place(phrase)) is not None:
        if 0 < place <= len(counted):
            return counted[place - 1]
        there = f"there are {len(counted)}" if counted else NO_ROOMS
        raise ToolError(f"there is no room number {place}; {there}")
    words = set(phrase.split()) - {"the", "a", "room", "one", "about", "on", "of", "that"}
    fits = [room for room in rooms if words and words <= _words_of(room)]
    named = [room for room in fits if words <= set(_WORD.findall(room.name.casefold()))]
    if len(found := named or fits) == 1:
        return found[0]
    names = ", ".join(inert_line(room.name, 60) for room in (found or counted)[:5])
    which = "several rooms fit" if found else "there is no such room"
    there = f"there are: {names}" if names else NO_ROOMS
    raise ToolError(f"{which}: {inert_line(wanted, 60)}; {there}")


def _place(phrase: str) -> int | None:
    """Return the place in the list that a phrase like "the third room" or "number 3" names."""
    words = [word for word in phrase.split() if word not in ("the", "room", "number", "no")]
    if words[1:] == ["one"]:
        words = words[:1]
    if len(words) != 1:
        return None
    if digits := _DIGITS.fullmatch(words[0]):
        return int(digits[1])
    return _NUMBERS.get(words[0])


def _words_of(room: RoomInfo) -> set[str]:
    return set(_WORD.findall(f"{room.name} {room.task}".casefold()))


def _brief(room: RoomInfo) -> dict[str, Any]:
    return {
        "id": room.id,
        "name": inert_line(room.name, MAX_WORDS_CHARACTERS),
        "status": room.status,
        "round": room.current_round,
        "rounds": room.max_rounds,
    }
