"""A room may be paused, or its process may die, at any moment: it goes on exactly where it was."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agent_tui.backend.engine.kinds import ROOMS
from agent_tui.backend.hub import StoredFrame
from tests.backend.engine.house import MODES, House, PacedModel, crash_copy, new_room, open_house
from tests.backend.engine.invariants import check_room
from tests.fakes.scripted_model import FakeModels

# How many events an undisturbed room of two rounds and two agents has, two pieces for each turn.
EVENTS = {"sequential": 27, "parallel": 43}
# How many commits it has.
COMMITS = {"sequential": 22, "parallel": 24}
# No pause finds anything left to cut after this one.
LAST_WORDS = {"sequential": 23, "parallel": 33}


async def pause_at(house: House, model: PacedModel, mode: str, index: int) -> None:
    """Run a room, pause it as soon as event number ``index`` is on record, let it go on to the end."""
    engine, log, task = house.engine, house.log, f"{mode} {index:03d}"
    room = await engine.create(ROOMS, new_room(mode, names="Ada Bob", task=task))
    pauses: list[asyncio.Task[object]] = []

    def watch(frames: list[StoredFrame]) -> None:
        if any(frame.seq == index and frame.room_id == room.id for frame in frames):
            model.held.add(task)
            pauses.append(asyncio.create_task(engine.pause(ROOMS, room.id)))

    log.watchers.append(watch)
    await engine.rooms.run(room.id)
    await log.until(room.id, lambda: bool(pauses))
    await pauses[0]
    if await log.ended(room.id) == "room_paused":
        stopped = await engine.show(ROOMS, room.id)
        assert (stopped.status, stopped.interrupted) == ("paused", "pause"), index
        await check_room(house, room.id)
        model.held.discard(task)
        await (engine.rooms.run(room.id) if index % 2 else engine.rooms.resume(room.id))
        assert await log.ended(room.id) == "room_completed", index
    else:
        assert index >= LAST_WORDS[mode], index  # nothing was left to say
    assert (await engine.show(ROOMS, room.id)).status == "completed"
    await check_room(house, room.id)


@pytest.mark.parametrize("mode", MODES)
async def test_a_pause_at_any_event_loses_and_doubles_nothing(tmp_path: Path, mode: str) -> None:
    model = PacedModel()
    async with open_house(tmp_path / "rooms.db", FakeModels(model)) as house:
        model.watch(house.log)
        rooms = [pause_at(house, model, mode, index) for index in range(1, EVENTS[mode])]
        await asyncio.gather(*rooms)


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
async def test_a_crash_after_any_commit_loses_and_doubles_nothing(tmp_path: Path, mode: str) -> None:
    file, model = tmp_path / "rooms.db", PacedModel()
    copies: list[Path] = []

    def copy(frames: list[StoredFrame]) -> None:
        copies.append(crash_copy(file, tmp_path / f"{frames[-1].seq}.db"))

    async with open_house(file, FakeModels(model)) as house:
        model.watch(house.log)
        house.log.watchers.append(copy)
        room = await house.engine.create(ROOMS, new_room(mode, names="Ada Bob"))
        await house.engine.rooms.run(room.id)
        assert await house.log.ended(room.id) == "room_completed"
    assert len(copies) == COMMITS[mode]
    for dead in copies:
        await go_on_after_crash(dead, room.id)


async def go_on_after_crash(file: Path, room_id: str) -> None:
    model = PacedModel()
    async with open_house(file, FakeModels(model)) as house:
        model.watch(house.log)
        await house.load(room_id)
        stopped = await house.engine.show(ROOMS, room_id)
        assert stopped.status in ("paused", "completed"), file
        await check_room(house, room_id)
        if stopped.status == "paused":
            assert stopped.interrupted == "crash"
            await house.engine.rooms.resume(room_id)
            assert await house.log.ended(room_id) == "room_completed"
        await check_room(house, room_id)
