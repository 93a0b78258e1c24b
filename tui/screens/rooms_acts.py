"""What the list of rooms asks of the server, and what is known of that until the answer is seen."""

from __future__ import annotations

import asyncio
import itertools
import re
from collections.abc import Awaitable, Callable, Collection, Iterable
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Final

from agent_tui.errors import AgentTuiError, NotFound
from agent_tui.events import LinkChanged, RoomInfo
from agent_tui.inert import inert_line
from tui.link import RoomLink
from tui.screens.rooms_listing import Listing, name_of
from tui.screens.rooms_texts import Mark
from tui.screens.words import count, say

if TYPE_CHECKING:
    from agent_tui.clients.rooms import RoomsClient

AT_ONCE: Final = 8  # calls under way at the same time
MAX_ERROR_CHARACTERS: Final = 300
_COPY: Final = re.compile(r" \(copy(?: \d+)?\)$")
_ROOM_FIELDS: Final = ("execution_mode", "max_rounds", "keep_running")
_BUDGET_FIELDS: Final = ("max_tokens", "max_cost", "on_error")
_AGENT_FIELDS: Final = ("name", "color", "system_prompt", "model", "provider_id")


class RoomActs:
    """Asks for changes of rooms. ``marks`` says of each room what was asked and is not seen yet.

    ``changed()`` is called after everything that a reader can see, ``tell(line, is_bad)`` says one line.
    """

    def __init__(
        self,
        link: RoomLink,
        listing: Listing,
        *,
        changed: Callable[[], None],
        tell: Callable[[str, bool], None],
    ) -> None:
        self.marks: dict[str, Mark] = {}
        self._link = link
        self._listing = listing
        self._changed = changed
        self._tell = tell
        self._paused_by_us: set[str] = set()  # by the last "pause all"

    # --- what is seen ---

    def seen(self, room: RoomInfo) -> None:
        """Take a room as the server describes it; what was asked of it is done if its status changed.

        The answer to a call may be older than what was told meanwhile: then that stays.
        """
        before, mark = self._listing.get(room.id), self.marks.get(room.id)
        if before is not None and room.last_event_id < before.last_event_id:
            return
        if mark is not None and mark.asked and (before is None or before.status != room.status):
            del self.marks[room.id]
        self._listing.put(room)

    def seen_all(self, rooms: Iterable[RoomInfo]) -> None:
        """Take note that there are no other rooms; a list without archived ones says nothing about them."""
        known = {room.id for room in rooms}
        for room in self._listing.rooms:
            if room.id not in known and not room.archived:
                self.gone(room.id)

    def gone(self, room_id: str) -> None:
        """Take note that a room is no more."""
        self.marks.pop(room_id, None)
        self._listing.remove(room_id)

    # --- pausing ---

    async def pause_or_resume(self, room: RoomInfo) -> None:
        """Pause a room that runs; let any other go on."""
        if room.id in self.marks:
            return  # asked already, or deleted
        match room.status:
            case "running":
                await self._ask(room.id, "pausing", lambda client: client.pause(room.id))
            case "paused":
                await self._ask(room.id, "resuming", lambda client: client.resume(room.id))
            case "completed":
                self._tell(say("list.completed"), False)
            case _:
                await self._ask(room.id, "starting", lambda client: start_room(client, room.id))

    async def pause_or_resume_all(self) -> None:
        """Pause all rooms that run; where none does, let those go on that were paused this way, else all that
        are paused and may go on.
        """
        rooms = [room for room in self._listing.rooms if room.id not in self.marks and not room.archived]
        chosen = [room for room in rooms if room.status == "running"]
        is_pause = bool(chosen)
        if is_pause:
            self._paused_by_us = {room.id for room in chosen}
        else:
            paused = [room for room in rooms if room.status == "paused" and room.interrupted != "budget"]
            chosen = [room for room in paused if room.id in self._paused_by_us] or paused
        if not chosen:
            self._tell(say("list.all.none"), False)
            return
        gate = asyncio.Semaphore(AT_ONCE)

        async def one(room: RoomInfo) -> bool:
            async with gate:
                if is_pause:
                    return await self._ask(room.id, "pausing", lambda client: client.pause(room.id))
                return await self._ask(room.id, "resuming", lambda client: client.resume(room.id))

        done = sum(await asyncio.gather(*map(one, chosen)))
        key = "list.all.paused" if is_pause else "list.all.resumed"
        if done:
            self._tell(say(f"{key}.one" if done == 1 else key, count=count(done)), False)

    # --- changing ---

    async def change(self, room: RoomInfo, **fields: Any) -> None:
        """Change fields of a room."""
        await self._ask(room.id, "", lambda client: client.change(room.id, **fields))

    async def duplicate(self, room: RoomInfo) -> RoomInfo | None:
        """Make a room like ``room`` that was never started; return it."""
        try:
            client = await self._link.client()
            whole = await client.show(room.id)
            taken = {name_of(room) for room in self._listing.rooms}
            copy = await client.create(whole.task, **copied_fields(whole, taken))
        except AgentTuiError as error:
            self._tell(_line(error), True)
            return None
        self.seen(copy)
        self._changed()
        return copy

    async def show_archived(self) -> None:
        """Look at archived rooms too."""
        try:
            client = await self._link.client()
            rooms = await client.list(archived=True)
        except AgentTuiError as error:
            self._tell(_line(error), True)
            return
        for room in rooms:
            self.seen(room)
        self._changed()

    # --- deleting ---

    async def delete(self, room_id: str) -> None:
        """Delete a room for good; where that fails it is listed as before."""
        try:
            client = await self._link.client()
            await client.delete(room_id)
        except NotFound:
            pass  # somebody else did
        except AgentTuiError as error:
            self.marks.pop(room_id, None)
            self._tell(_line(error), True)
            self._changed()
            return
        self.gone(room_id)
        self._changed()

    # --- asking ---

    async def _ask(
        self, room_id: str, asked: str, call: Callable[[RoomsClient], Awaitable[RoomInfo | None]]
    ) -> bool:
        """Ask for something; return whether the server agreed."""
        if asked:
            self.marks[room_id] = Mark(asked)
            self._changed()
        try:
            room = await call(await self._link.client())
        except AgentTuiError as error:
            self.marks.pop(room_id, None)
            self._tell(_line(error, self._listing.get(room_id)), True)
            self._changed()
            return False
        if room is not None and room.created_at:  # a server may answer with nothing but the id
            self.seen(room)
        self._changed()
        return True


def copied_fields(room: RoomInfo, taken: Collection[str] = ()) -> dict[str, Any]:
    """Return what ``RoomsClient.create`` needs for a room like this one, without what says nothing; its
    name is none of those that are ``taken``.
    """
    agents = [
        {name: value for name in _AGENT_FIELDS if (value := getattr(agent, name))}
        for agent in sorted(room.agents, key=lambda agent: agent.turn_order)
    ]
    fields: dict[str, Any] = {name: value for name in _ROOM_FIELDS if (value := getattr(room, name))}
    budget = {
        name: value for name in _BUDGET_FIELDS if (value := getattr(room, name)) not in (0, "continue", "")
    }
    return {
        "name": _free_name(name_of(room), taken),
        **fields,
        **budget,
        **({"agents": agents} if agents else {}),
    }


def _free_name(name: str, taken: Collection[str]) -> str:
    """Return "Plan (copy)" for "Plan" and for its copies, or the first "Plan (copy 2)" that is free."""
    original = _COPY.sub("", name)
    numbered = (say("list.copy.number", name=original, number=number) for number in itertools.count(2))
    tries = itertools.chain((say("list.copy", name=original),), numbered)
    return next(tried for tried in tries if tried not in taken)


async def start_room(client: RoomsClient, room_id: str) -> None:
    """Start a room that never ran. ``run`` is a stream; closing it never stops the room (cli.md)."""
    async with aclosing(client.run_frames(room_id)) as frames:
        async for frame in frames:
            if not isinstance(frame, LinkChanged):
                return


def _line(error: AgentTuiError, room: RoomInfo | None = None) -> str:
    line = inert_line(str(error), MAX_ERROR_CHARACTERS)
    return f"{name_of(room)}: {line}" if room is not None else line
