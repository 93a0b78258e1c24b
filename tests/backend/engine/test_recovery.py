"""After a restart, a crash or a full disk nothing is lost and nothing starts unasked."""

from __future__ import annotations

import asyncio
import gc
import logging
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from agent_tui.backend.engine.kinds import ROOMS
from agent_tui.backend.engine.timing import Timing
from agent_tui.backend.hub import StoredFrame
from agent_tui.backend.store import reads
from agent_tui.backend.store.rows import ConversationSet
from agent_tui.model.errors import NotFound, Refused, StoreError
from agent_tui.model.events import RoomInfo
from tests.backend.engine.house import (
    MODES,
    House,
    crash_copy,
    data,
    free_models,
    new_room,
    open_house,
    words,
)
from tests.backend.engine.invariants import check_room
from tests.fakes.clock import FakeClock
from tests.fakes.full_disk import disk
from tests.fakes.scripted_model import FakeModels, ScriptedModel


async def speaking(house: House, model: ScriptedModel, mode: str) -> RoomInfo:
    """Make a room and run it until its first chunk is on record."""
    room = await house.engine.create(ROOMS, new_room(mode))
    await house.engine.rooms.run(room.id)
    (await model.called(1)).release()
    await house.log.seen(room.id, "message_chunk")
    return room


async def read_all(reader: AsyncIterator[list[StoredFrame]], frames: list[StoredFrame]) -> None:
    async for batch in reader:
        frames += batch


@pytest.mark.parametrize("mode", MODES)
async def test_a_stop_cuts_the_rooms_and_they_go_on_at_the_next_start(tmp_path: Path, mode: str) -> None:
    file, model = tmp_path / "rooms.db", ScriptedModel(words)
    async with open_house(file, FakeModels(model)) as house:
        room = await speaking(house, model, mode)
        await house.engine.stop_all("handover")
        assert house.log.names(room.id)[-1] == "room_paused"
        stopped = await house.engine.show(ROOMS, room.id)
        assert (stopped.status, stopped.interrupted) == ("paused", "handover")
        await check_room(house, room.id)
        with pytest.raises(Refused) as refused:
            await house.engine.rooms.run(room.id)
        assert refused.value.status == 503
    async with open_house(file, free_models(), resume=True) as house:
        assert house.engine.runs.number() == 1 or house.log.names(room.id)[-1] == "room_completed"
        await house.log.ended(room.id)
        await house.load(room.id)
        await check_room(house, room.id)
        assert (await house.engine.show(ROOMS, room.id)).status == "completed"


async def test_without_resume_rooms_stay_paused_also_at_later_starts(tmp_path: Path) -> None:
    file, model = tmp_path / "rooms.db", ScriptedModel(words)
    async with open_house(file, FakeModels(model)) as house:
        room = await speaking(house, model, "sequential")
    for resume in (False, True):
        async with open_house(file, free_models(), resume=resume) as house:
            assert house.engine.runs.number() == 0
            assert (await house.engine.show(ROOMS, room.id)).status == "paused"


async def test_what_a_person_paused_stays_paused(tmp_path: Path) -> None:
    file, model = tmp_path / "rooms.db", ScriptedModel(words)
    async with open_house(file, FakeModels(model)) as house:
        room = await speaking(house, model, "sequential")
        await house.engine.pause(ROOMS, room.id)
        await house.log.ended(room.id)
    async with open_house(file, free_models(), resume=True) as house:
        assert house.engine.runs.number() == 0
        assert (await house.engine.show(ROOMS, room.id)).interrupted == "pause"


@pytest.mark.parametrize("mode", MODES)
async def test_after_a_crash_rooms_that_ran_go_on_when_they_are_to_resume(tmp_path: Path, mode: str) -> None:
    model = ScriptedModel(words)
    async with open_house(tmp_path / "rooms.db", FakeModels(model)) as house:
        room = await speaking(house, model, mode)
        dead = crash_copy(tmp_path / "rooms.db", tmp_path / "dead.db")
    async with open_house(dead, free_models(), resume=True) as house:
        await house.log.ended(room.id)
        await house.load(room.id)
        names = house.log.names(room.id)
        assert names[names.index("room_paused") + 1] == "room_started"
        assert names[-1] == "room_completed"
        await check_room(house, room.id)
        cut = [data(frame) for frame in house.log.of(room.id) if "interrupted" in data(frame)]
        assert {event["interrupted"] for event in cut} == {"crash"}


@pytest.mark.parametrize("mode", MODES)
async def test_a_crash_in_the_middle_of_a_pause_adds_only_what_is_missing(tmp_path: Path, mode: str) -> None:
    model = ScriptedModel(words)
    copies: list[Path] = []
    async with open_house(tmp_path / "rooms.db", FakeModels(model)) as house:
        room = await speaking(house, model, mode)
        # As the record stands between the pause being asked for and room_paused.
        paused = ConversationSet({"desired": "paused", "interrupted": "pause"}, while_running=True)
        await house.store.append(room.id, (), [paused])
        copies.append(crash_copy(tmp_path / "rooms.db", tmp_path / "asked.db"))
        house.log.watchers.append(
            lambda frames: copies.append(crash_copy(tmp_path / "rooms.db", tmp_path / f"{len(copies)}.db"))
        )
        await house.engine.pause(ROOMS, room.id)
        await house.log.ended(room.id)
        whole = house.log.names(room.id)
    assert len(copies) > 2
    for copy in copies:
        async with open_house(copy, free_models(), resume=True) as house:
            await house.load(room.id)
            assert sorted(house.log.names(room.id)) == sorted(whole)
            stopped = await house.engine.show(ROOMS, room.id)
            assert (stopped.status, stopped.interrupted) == ("paused", "pause")
            await check_room(house, room.id)
            await house.engine.rooms.resume(room.id)
            assert await house.log.ended(room.id) == "room_completed"
            await check_room(house, room.id)


async def test_a_second_restart_after_a_crash_changes_nothing(tmp_path: Path) -> None:
    model = ScriptedModel(words)
    async with open_house(tmp_path / "rooms.db", FakeModels(model)) as house:
        room = await speaking(house, model, "sequential")
        dead = crash_copy(tmp_path / "rooms.db", tmp_path / "dead.db")
    seen: list[list[str]] = []
    for _ in range(3):
        async with open_house(dead, free_models()) as house:
            await house.load(room.id)
            seen.append(house.log.names(room.id))
    assert seen[0][-1] == "room_paused"
    assert seen[0] == seen[1] == seen[2]


async def test_a_deletion_that_a_crash_interrupted_is_finished(tmp_path: Path) -> None:
    async with open_house(tmp_path / "rooms.db", free_models()) as house:
        room = await house.engine.create(ROOMS, new_room("sequential"))
        await house.engine.rooms.run(room.id)
        await house.log.ended(room.id)
        await house.store.append(room.id, (), [ConversationSet({"desired": "deleted"})])
        assert await house.engine.list_all(ROOMS) == []
        with pytest.raises(NotFound):
            await house.engine.rooms.run(room.id)
    async with open_house(tmp_path / "rooms.db", free_models()) as house:
        assert await house.store.read(reads.conversations, deleted=True) == []
        assert await house.store.read(reads.frames, room.id, 0, 10) == []


async def test_a_clock_that_jumps_back_changes_no_order(tmp_path: Path) -> None:
    times = [datetime(2026, 1, 1, tzinfo=UTC)]

    def backwards() -> datetime:
        times.append(times[-1] - timedelta(hours=1))
        return times[-1]

    timing = Timing(now=backwards)
    async with open_house(tmp_path / "rooms.db", free_models(), timing=timing) as house:
        rooms = [await house.engine.create(ROOMS, new_room("sequential")) for _ in range(3)]
        assert [room.id for room in await house.engine.list_all(ROOMS)] == [room.id for room in rooms]
        await house.engine.rooms.run(rooms[0].id)
        await house.log.ended(rooms[0].id)
        await check_room(house, rooms[0].id)
        page = await house.engine.messages(ROOMS, rooms[0].id, None, None)
        created = [message.created_at for message in page.messages]
        assert created == sorted(created, reverse=True)


async def test_a_disk_that_is_full_for_a_while_only_holds_a_room_up(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    model = ScriptedModel(lambda request: ["word ", "x" * 100_000])
    with disk() as space:
        async with open_house(
            tmp_path / "rooms.db", FakeModels(model), retry_seconds=[0.01] * 10_000
        ) as house:
            room = await speaking(house, model, "parallel")
            space.fill()
            for call in model.calls:
                call.finish()
            while "trying again" not in caplog.text:  # noqa: ASYNC110 - the thread tells only the log
                await asyncio.sleep(0)
            seen = len(house.log.of(room.id))
            space.free()
            model.free = True
            assert await house.log.ended(room.id) == "room_completed"
            assert len(house.log.of(room.id)) > seen
            await check_room(house, room.id)


async def test_a_disk_that_stays_full_stops_the_room_and_it_is_closed_when_there_is_space(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Caught log records would keep the tasks alive, and asyncio tells of a task's error when the task goes.
    monkeypatch.setattr(logging.getLogger("agent_tui"), "propagate", False)
    clock = FakeClock()
    model = ScriptedModel(lambda request: ["word ", "x" * 100_000])
    timing = Timing(mend=(5.0,), sleep=clock.sleep)
    with disk() as space:
        async with open_house(tmp_path / "rooms.db", FakeModels(model), timing=timing) as house:
            room = await speaking(house, model, "parallel")
            reader = house.hub.read(room.id, 0)
            shown = await anext(reader)
            space.fill()
            for call in model.calls:
                call.finish()
            with pytest.raises(StoreError, match="the disk is full"):
                await read_all(reader, shown)
            assert model.open_calls() == []
            assert house.engine.runs.number() == 0
            # Nothing was shown that is not on record.
            stored = await house.store.read(reads.frames, room.id, 0, 1000)
            assert shown == stored[: len(shown)]
            stopped = await house.engine.show(ROOMS, room.id)
            assert (stopped.status, stopped.interrupted) == ("paused", "crash")
            await clock.advance(6)
            space.free()
            await clock.advance(6)
            assert await house.log.ended(room.id) == "room_paused"
            await check_room(house, room.id)
            model.free = True
            await house.engine.rooms.resume(room.id)
            assert await house.log.ended(room.id) == "room_completed"
            await check_room(house, room.id)
    del house, reader
    gc.collect()
    assert "never retrieved" not in caplog.text
