"""Changes that the list of rooms asks the server for."""

from __future__ import annotations

import asyncio
import itertools
import re
from collections.abc import Awaitable, Callable, Collection
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from agent_tui.model.errors import AgentTuiError
from agent_tui.model.events import AgentInfo, RoomInfo
from agent_tui.model.records import NAME
from agent_tui.model.settings import settings_of
from tui.lists.acts import ListActs
from tui.lists.rooms_texts import name_of
from tui.room.running import start_room
from tui.screens.words import say, say_count

if TYPE_CHECKING:
    from agent_tui.clients.rooms import RoomsClient  # noqa: F401 - named in quotes below

AT_ONCE: Final = 8  # calls at the same time
_COPY: Final = re.compile(r" \(copy(?: \d+)?\)$")


class RoomListActs(ListActs["RoomsClient", RoomInfo]):
    """Asks for changes of rooms."""

    _paused_by_us: frozenset[str] = frozenset()  # by the last "pause all"

    @cached_property
    def _in_turn(self) -> asyncio.Lock:
        """Held while a deleted room is paused, or resumed: one after the other."""
        return asyncio.Lock()

    # --- pausing ---

    async def pause_or_resume(self, room: RoomInfo) -> None:
        """Pause a running room; resume any other."""
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

    async def rest(self, item: RoomInfo, resting: set[str]) -> None:
        """Pause a room that was deleted: it costs nothing until that is undone, or the program is left."""
        if item.status == "running":
            resting.add(item.id)
            try:
                async with self._in_turn:
                    await (await self._link.client()).pause(item.id)
            except AgentTuiError:
                resting.discard(item.id)

    async def wake(self, item_id: str, resting: set[str]) -> None:
        async with self._in_turn:
            if item_id in resting:
                resting.discard(item_id)
                await self._ask(item_id, "", lambda client: client.resume(item_id))

    async def pause_or_resume_all(self, is_sure: Callable[[str], Awaitable[bool]]) -> None:
        """Pause all running rooms. If none is running, resume those that were paused this way, else all that
        are paused and can continue; several only if ``is_sure`` says so of the question.
        """
        rooms = [room for room in self._listing.items if room.id not in self.marks and not room.archived]
        chosen = [room for room in rooms if room.status == "running"]
        is_pause = bool(chosen)
        if is_pause:
            self._paused_by_us = frozenset(room.id for room in chosen)
        else:
            paused = [room for room in rooms if room.status == "paused" and room.interrupted != "budget"]
            chosen = [room for room in paused if room.id in self._paused_by_us] or paused
        if not chosen:
            self._tell(say("list.all.none"), False)
            return
        if not is_pause and len(chosen) > 1 and not await is_sure(say_count("list.all.resume", len(chosen))):
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
            self._tell(say_count(key, done), False)

    # --- changing ---

    async def duplicate(self, room: RoomInfo) -> RoomInfo | None:
        """Make a room like ``room`` that was never started; return it."""
        return await self._make(self._copy(room))

    async def _copy(self, room: RoomInfo) -> RoomInfo:
        client = await self._link.client()
        whole = await client.show(room.id)
        taken = {name_of(room) for room in self._listing.items}
        return await client.create(whole.task, **copied_fields(whole, taken))


def copied_fields(room: RoomInfo, taken: Collection[str] = ()) -> dict[str, Any]:
    """Return the arguments of ``RoomsClient.create`` for a copy of a room, with a name not in ``taken``."""
    agents = [
        {name: value for name in settings_of(AgentInfo) if (value := getattr(agent, name))}
        for agent in sorted(room.agents, key=lambda agent: agent.turn_order)
    ]
    told = (
        setting.name for setting in settings_of(RoomInfo).values() if setting.in_new and not setting.empty
    )
    fields = {name: value for name in told if (value := getattr(room, name))}
    return {
        "name": _free_name(name_of(room), taken),
        **fields,
        **({"agents": agents} if agents else {}),
    }


def _free_name(name: str, taken: Collection[str]) -> str:
    """Return "Plan (copy)" for "Plan" and for its copies, or the first "Plan (copy 2)" that is free; of a
    long name only as much as a name may have with that.
    """
    original = _COPY.sub("", name)

    def copy(key: str, **number: int) -> str:
        room = NAME - len(say(key, name="", **number))
        return say(key, name=original[:room].rstrip(), **number)

    numbered = (copy("list.copy.number", number=number) for number in itertools.count(2))
    tries = itertools.chain((copy("list.copy"),), numbered)
    return next(tried for tried in tries if tried not in taken)
