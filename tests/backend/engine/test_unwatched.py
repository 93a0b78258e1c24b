"""A room runs only while somebody watches it, unless it was told to go on."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from agent_tui.backend.engine.engine import RoomChange
from agent_tui.backend.engine.timing import Timing
from agent_tui.backend.engine.unwatched import Unwatched
from agent_tui.backend.hub import Frame
from tests.backend.engine.house import House, new_room, open_house, words
from tests.fakes.clock import FakeClock
from tests.fakes.scripted_model import FakeModels, ScriptedModel


class Silent:
    """A house with a room that runs and says nothing, and a clock of its own."""

    def __init__(self, house: House, clock: FakeClock, room_id: str) -> None:
        self.house = house
        self.clock = clock
        self.room_id = room_id

    async def watch(self) -> AsyncGenerator[list[Frame], None]:
        """Return a reader of the room that has read what there is."""
        reader = self.house.hub.read(self.room_id, 0)
        await anext(reader)
        return reader

    async def paused(self) -> None:
        """Wait until the room is paused, and see why."""
        await self.house.log.ended(self.room_id)
        room = await self.house.engine.room(self.room_id)
        assert (room.status, room.interrupted) == ("paused", "unwatched")

    async def runs(self, seconds: float) -> None:
        """Let so much time pass, and see that nothing is under way that would pause the room."""
        await self.clock.advance(seconds)
        # Changes of a room are carried out one after the other: this one would come after a pause.
        await self.house.engine.change_room(self.room_id, RoomChange(name="still here"))
        assert (await self.house.engine.room(self.room_id)).status == "running"


@asynccontextmanager
async def silent(
    tmp_path: Path, *, keep_running: bool = False, unwatched: float | None = 30.0
) -> AsyncIterator[Silent]:
    clock, models = FakeClock(), FakeModels(ScriptedModel(words))
    timing = Timing(sleep=clock.sleep)
    async with open_house(tmp_path / "rooms.db", models, unwatched=unwatched, timing=timing) as house:
        room = await house.engine.create_room(replace(new_room("sequential"), keep_running=keep_running))
        await house.engine.run(room.id)
        await house.log.seen(room.id, "message_start")
        yield Silent(house, clock, room.id)


async def test_a_room_pauses_itself_when_its_last_watcher_has_been_gone_for_a_while(tmp_path: Path) -> None:
    async with silent(tmp_path) as room:
        first, second = await room.watch(), await room.watch()
        await first.aclose()
        await room.runs(100)
        await second.aclose()
        await room.runs(29)
        await room.clock.advance(2)
        await room.paused()


async def test_a_room_that_nobody_ever_watched_pauses_itself(tmp_path: Path) -> None:
    async with silent(tmp_path) as room:
        await room.runs(29)
        await room.clock.advance(2)
        await room.paused()


async def test_a_newcomer_in_time_keeps_it_running(tmp_path: Path) -> None:
    async with silent(tmp_path) as room:
        await room.runs(29)
        reader = await room.watch()
        await room.runs(100)
        await reader.aclose()
        await room.runs(29)  # the time begins anew
        await room.clock.advance(2)
        await room.paused()


async def test_a_room_told_to_go_on_goes_on(tmp_path: Path) -> None:
    async with silent(tmp_path, keep_running=True) as room:
        await room.runs(1_000)
        await room.house.engine.change_room(room.room_id, RoomChange(keep_running=False))
        await room.runs(29)
        await room.clock.advance(2)
        await room.paused()


async def test_being_told_to_go_on_in_time_is_early_enough(tmp_path: Path) -> None:
    async with silent(tmp_path) as room:
        await room.runs(29)
        await room.house.engine.change_room(room.room_id, RoomChange(keep_running=True))
        await room.runs(1_000)


async def test_a_server_for_many_never_pauses_because_nobody_watches(tmp_path: Path) -> None:
    async with silent(tmp_path, unwatched=None) as room:
        reader = await room.watch()
        await reader.aclose()
        await room.runs(1_000_000)


async def test_a_room_that_is_paused_keeps_no_timer(tmp_path: Path) -> None:
    async with silent(tmp_path) as room:
        assert room.clock.sleepers == 1
        await room.house.engine.pause(room.room_id)
        await room.house.log.ended(room.room_id)
        await room.clock.advance(0)
        assert room.clock.sleepers == 0
        await room.clock.advance(100)
        assert (await room.house.engine.room(room.room_id)).interrupted == "pause"


async def test_what_is_alone_after_the_end_starts_no_timer() -> None:
    clock, told = FakeClock(), list[str]()
    timers = Unwatched(30.0, clock.sleep, told.append)
    timers.look("before", alone=True)
    await timers.close()
    timers.look("after", alone=True)
    await clock.advance(60.0)
    assert (told, clock.sleepers) == ([], 0)
