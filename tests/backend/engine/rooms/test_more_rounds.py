"""More rounds for a room that is completed, before, while and after a turn of it is said again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from agent_tui.backend.engine.kinds import ROOMS
from agent_tui.model.events import RoomInfo
from tests.backend.engine.house import MODES, House, crash_copy, new_room, open_house, words
from tests.backend.engine.invariants import check_room
from tests.fakes.scripted_model import FakeModels, ScriptedModel

MORE = {"max_rounds": 2}


@asynccontextmanager
async def completed(
    tmp_path: Path, mode: str = "sequential"
) -> AsyncIterator[tuple[House, ScriptedModel, RoomInfo]]:
    """Give a room of one round of Ada and Bob that is completed; what is said next waits for the test."""
    model = ScriptedModel(words, free=True)
    async with open_house(tmp_path / "rooms.db", FakeModels(model)) as house:
        room = await house.engine.create(ROOMS, new_room(mode, rounds=1, names="Ada Bob"))
        await house.engine.rooms.run(room.id)
        assert await house.log.ended(room.id) == "room_completed"
        model.free = False
        yield house, model, room


async def retry(house: House, model: ScriptedModel, room: RoomInfo) -> None:
    """Let Bob's turn be said again, up to its first chunk."""
    chunks = house.log.names(room.id).count("message_chunk")
    await house.engine.rooms.retry_agent(room.id, room.agents[1].id)
    (await model.called(3)).release()
    await house.log.seen(room.id, "message_chunk", chunks + 1)


async def check_waits_for_round_two(house: House, model: ScriptedModel, room: RoomInfo) -> None:
    """Check that the room is paused after its first round, the change kept, and goes on when resumed."""
    now = await house.engine.show(ROOMS, room.id)
    assert (now.max_rounds, now.current_round, now.status, now.interrupted) == (2, 1, "paused", "")
    await check_room(house, room.id)
    model.free = True
    await house.engine.rooms.resume(room.id)
    await house.log.seen(room.id, "round_end", 2)
    assert await house.log.ended(room.id) == "room_completed"
    assert (await house.engine.show(ROOMS, room.id)).max_rounds == 2
    await check_room(house, room.id)


@pytest.mark.parametrize("mode", MODES)
async def test_rounds_added_while_a_completed_room_says_a_turn_again_are_kept_and_wait(
    tmp_path: Path, mode: str
) -> None:
    async with completed(tmp_path, mode) as (house, model, room):
        await retry(house, model, room)
        changed = await house.engine.change(ROOMS, room.id, MORE)
        assert (changed.max_rounds, changed.status) == (2, "running")
        model.calls[2].finish()
        await house.log.seen(room.id, "room_paused")
        await check_waits_for_round_two(house, model, room)


@pytest.mark.parametrize("turns", range(0, 60, 6))
async def test_rounds_added_at_any_moment_around_the_end_of_a_retry_are_kept_and_wait(
    tmp_path: Path, turns: int
) -> None:
    async with completed(tmp_path) as (house, model, room):
        await retry(house, model, room)
        model.calls[2].finish()
        for _ in range(turns):
            await asyncio.sleep(0)
        assert (await house.engine.change(ROOMS, room.id, MORE)).max_rounds == 2
        await house.log.seen(room.id, "room_paused")
        await check_waits_for_round_two(house, model, room)


async def test_rounds_added_once_the_end_of_a_retry_is_on_record_are_kept_and_wait(tmp_path: Path) -> None:
    async with completed(tmp_path) as (house, model, room):
        await retry(house, model, room)
        changing: list[asyncio.Task[RoomInfo]] = []

        def change_after_the_last_word(names: list[str]) -> None:
            if "message_end" in names and not changing:
                changing.append(asyncio.create_task(house.engine.change(ROOMS, room.id, MORE)))

        house.log.watchers.append(lambda frames: change_after_the_last_word([f.name for f in frames]))
        model.calls[2].finish()
        await house.log.seen(room.id, "room_paused")
        assert (await changing[0]).max_rounds == 2
        await check_waits_for_round_two(house, model, room)


async def test_a_retry_right_after_rounds_were_added_goes_on_with_them(tmp_path: Path) -> None:
    async with completed(tmp_path) as (house, model, room):
        model.free = True
        assert (await house.engine.change(ROOMS, room.id, MORE)).status == "paused"
        assert (await house.engine.rooms.retry_agent(room.id, room.agents[1].id)).max_rounds == 2
        await house.log.seen(room.id, "room_completed", 2)
        assert (await house.engine.show(ROOMS, room.id)).current_round == 2
        await check_room(house, room.id)


@pytest.mark.parametrize("go_on", ["resume", "run"])
async def test_a_room_that_is_told_to_go_on_while_it_says_a_turn_again_does_not_wait(
    tmp_path: Path, go_on: str
) -> None:
    async with completed(tmp_path) as (house, model, room):
        await retry(house, model, room)
        await house.engine.change(ROOMS, room.id, MORE)
        await (house.engine.rooms.resume(room.id) if go_on == "resume" else house.engine.rooms.run(room.id))
        model.free = True
        model.calls[2].finish()
        await house.log.seen(room.id, "room_completed", 2)
        assert "room_paused" not in house.log.names(room.id)
        await check_room(house, room.id)


async def test_rounds_added_and_taken_back_while_a_turn_is_said_again_let_the_room_complete(
    tmp_path: Path,
) -> None:
    async with completed(tmp_path) as (house, model, room):
        await retry(house, model, room)
        await house.engine.change(ROOMS, room.id, MORE)
        await house.engine.change(ROOMS, room.id, {"max_rounds": 1})
        model.calls[2].finish()
        await house.log.seen(room.id, "room_completed", 2)
        assert "room_paused" not in house.log.names(room.id)
        await check_room(house, room.id)


async def test_a_crash_while_added_rounds_wait_for_a_retry_speaks_nothing_by_itself(tmp_path: Path) -> None:
    async with completed(tmp_path) as (house, model, room):
        await retry(house, model, room)
        await house.engine.change(ROOMS, room.id, MORE)
        copy = crash_copy(house.store.file, tmp_path / "copy.db")
    model = ScriptedModel(words, free=True)
    async with open_house(copy, FakeModels(model), resume=True) as house:
        await house.load(room.id)
        now = await house.engine.show(ROOMS, room.id)
        assert (now.status, now.interrupted, now.max_rounds) == ("paused", "crash", 2)
        assert model.calls == []
        await house.engine.rooms.resume(room.id)
        assert await house.log.ended(room.id) == "room_completed"
        await check_room(house, room.id)
        assert [call.request.round for call in model.calls] == [1, 2, 2]
