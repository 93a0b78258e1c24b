"""Running, pausing and resuming, in whatever order callers think of."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from agent_tui.backend.engine.kinds import ROOMS
from agent_tui.backend.hub import in_dialect
from agent_tui.model.errors import NotFound, Refused
from agent_tui.wire.rooms_encode import frame as frame_of
from agent_tui.wire.rooms_encode import message_fields
from tests.backend.engine.house import MODES, House, data, free_models, new_room, open_house, words
from tests.backend.engine.invariants import check_room
from tests.fakes.clock import settle
from tests.fakes.scripted_model import FakeModels, ScriptedModel


async def speaking(house: House, model: ScriptedModel, mode: str = "sequential") -> str:
    """Make a room, run it until its first chunk is on record; return its id."""
    room = await house.engine.create(ROOMS, new_room(mode))
    await house.engine.rooms.run(room.id)
    (await model.called(1)).release()
    await house.log.seen(room.id, "message_chunk")
    return room.id


@pytest.mark.parametrize("mode", MODES)
async def test_a_pause_is_on_record_before_the_model_is_cut(tmp_path: Path, mode: str) -> None:
    model = ScriptedModel(words)
    async with open_house(tmp_path / "rooms.db", FakeModels(model)) as house:
        room_id = await speaking(house, model, mode)
        answered = await house.engine.pause(ROOMS, room_id)
        assert answered.status == "running"  # the rest follows by itself
        assert await house.log.ended(room_id) == "room_paused"
        room = await house.engine.show(ROOMS, room_id)
        assert (room.status, room.interrupted, room.current_round) == ("paused", "pause", 1)
        assert model.open_calls() == []
        assert house.engine.runs.number() == 0


async def test_pausing_twice_is_pausing_once(tmp_path: Path) -> None:
    model = ScriptedModel(words)
    async with open_house(tmp_path / "rooms.db", FakeModels(model)) as house:
        room_id = await speaking(house, model)
        await asyncio.gather(*(house.engine.pause(ROOMS, room_id) for _ in range(3)))
        await house.log.ended(room_id)
        seen = house.log.names(room_id)
        paused = await house.engine.pause(ROOMS, room_id)
        assert paused.status == "paused"
        assert house.log.names(room_id) == seen
        assert seen.count("room_paused") == 1


async def test_a_room_that_does_not_run_is_left_as_it_is_by_a_pause(tmp_path: Path) -> None:
    async with open_house(tmp_path / "rooms.db", free_models()) as house:
        room = await house.engine.create(ROOMS, new_room("sequential"))
        assert await house.engine.pause(ROOMS, room.id) == room
        await house.engine.rooms.run(room.id)
        await house.log.ended(room.id)
        completed = await house.engine.show(ROOMS, room.id)
        assert completed.status == "completed"
        assert await house.engine.pause(ROOMS, room.id) == completed
        assert completed.interrupted == ""


async def test_a_room_never_started_or_completed_is_not_resumed(tmp_path: Path) -> None:
    async with open_house(tmp_path / "rooms.db", free_models()) as house:
        room = await house.engine.create(ROOMS, new_room("sequential"))
        for _ in range(2):
            with pytest.raises(Refused) as refused:
                await house.engine.rooms.resume(room.id)
            assert refused.value.status == 409
            await house.engine.rooms.run(room.id)
            await house.log.ended(room.id)


async def test_resuming_a_room_that_runs_changes_nothing(tmp_path: Path) -> None:
    model = ScriptedModel(words)
    async with open_house(tmp_path / "rooms.db", FakeModels(model)) as house:
        room_id = await speaking(house, model)
        await house.engine.pause(ROOMS, room_id)
        await house.log.ended(room_id)
        first, second = await asyncio.gather(
            house.engine.rooms.resume(room_id), house.engine.rooms.resume(room_id)
        )
        assert first.status == second.status == "running"
        assert house.log.names(room_id).count("room_started") == 2
        await model.called(2)
        assert len(model.open_calls()) == 1


async def test_a_resume_while_it_is_pausing_goes_on_after_the_pause(tmp_path: Path) -> None:
    model = ScriptedModel(words)
    async with open_house(tmp_path / "rooms.db", FakeModels(model)) as house:
        room_id = await speaking(house, model)
        await house.engine.pause(ROOMS, room_id)
        model.free = True  # before the resume: its run may call the model before ``resume`` returns
        assert (await house.engine.rooms.resume(room_id)).status == "running"
        names = house.log.names(room_id)
        assert names[names.index("room_paused") + 1] == "room_started"
        assert await house.log.ended(room_id) == "room_completed"


async def test_pause_and_resume_many_times_and_it_still_ends(tmp_path: Path) -> None:
    model = ScriptedModel(words)
    async with open_house(tmp_path / "rooms.db", FakeModels(model)) as house:
        room_id = await speaking(house, model, "parallel")
        for _ in range(5):
            await house.engine.pause(ROOMS, room_id)
            await house.engine.rooms.resume(room_id)
        model.free = True
        await house.engine.pause(ROOMS, room_id)
        await house.engine.rooms.run(room_id)
        assert await house.log.ended(room_id) == "room_completed"
        assert house.log.names(room_id).count("room_started") == 7
        await check_room(house, room_id)


async def test_running_a_room_that_runs_attaches_to_its_run(tmp_path: Path) -> None:
    model = ScriptedModel(words)
    async with open_house(tmp_path / "rooms.db", FakeModels(model)) as house:
        room = await house.engine.create(ROOMS, new_room("sequential"))
        first, second = await asyncio.gather(house.engine.rooms.run(room.id), house.engine.rooms.run(room.id))
        assert first == second == 1
        assert house.engine.runs.number() == 1
        await house.engine.pause(ROOMS, room.id)
        third = await house.engine.rooms.run(room.id)
        assert house.log.of(room.id)[third - 1].name == "room_started"
        assert await house.engine.rooms.run(room.id) == third > 1


async def test_running_a_completed_room_stores_nothing(tmp_path: Path) -> None:
    async with open_house(tmp_path / "rooms.db", free_models()) as house:
        room = await house.engine.create(ROOMS, new_room("sequential"))
        await house.engine.rooms.run(room.id)
        await house.log.ended(room.id)
        before = await house.engine.show(ROOMS, room.id)
        seq = await house.engine.rooms.run(room.id)
        assert house.log.of(room.id)[seq - 1].name == "room_completed"
        assert await house.engine.show(ROOMS, room.id) == before


async def test_a_room_that_failed_can_be_run_again(tmp_path: Path) -> None:
    async with open_house(tmp_path / "rooms.db", free_models()) as house:
        room = await house.engine.create(ROOMS, new_room("sequential", names=""))
        await house.engine.rooms.run(room.id)
        assert await house.log.ended(room.id) == "error"
        again = await house.engine.rooms.run(room.id)
        await house.log.seen(room.id, "error", 2)
        assert data(house.log.of(room.id)[again - 1])["resumed"] is True


async def test_a_caller_that_goes_away_leaves_nothing_half_done(tmp_path: Path) -> None:
    model = ScriptedModel(words)
    async with open_house(tmp_path / "rooms.db", FakeModels(model)) as house:
        room = await house.engine.create(ROOMS, new_room("sequential"))
        pause = partial(house.engine.pause, ROOMS)
        for change, name in ((house.engine.rooms.run, "room_started"), (pause, "room_paused")):
            caller = asyncio.create_task(change(room.id))
            await asyncio.sleep(0)
            caller.cancel()
            await asyncio.wait({caller})
            assert caller.cancelled()
            await house.log.seen(room.id, name)


async def test_messages_come_in_pages_in_the_order_of_their_first_event(tmp_path: Path) -> None:
    async with open_house(tmp_path / "rooms.db", free_models()) as house:
        room = await house.engine.create(ROOMS, new_room("parallel"))
        await house.engine.rooms.run(room.id)
        await house.log.ended(room.id)
        whole = await house.engine.messages(ROOMS, room.id, None, None)
        assert (len(whole.messages), whole.next, whole.as_of) == (7, None, len(house.log.of(room.id)))
        paged, after = [], None
        for size in (3, 3, 1):
            page = await house.engine.messages(ROOMS, room.id, after, 3)
            assert len(page.messages) == size
            paged += page.messages
            assert page.next == (page.messages[-1].id if size == 3 else None)
            after = page.messages[-1].id
        assert paged == whole.messages
        task = whole.messages[0]
        assert (task.role, task.text, task.content) == ("user", "Talk", '{"text":"Talk"}')
        assert {message.agent_id for message in whole.messages[1:]} == {agent.id for agent in room.agents}
        with pytest.raises(NotFound):
            await house.engine.messages(ROOMS, room.id, "nothing", None)


@pytest.mark.slow
async def test_large_messages_come_on_pages_that_a_client_can_take(tmp_path: Path) -> None:
    models = FakeModels(ScriptedModel(lambda request: ["x" * 1_000_000], free=True))
    async with open_house(tmp_path / "rooms.db", models) as house:
        room = await house.engine.create(ROOMS, new_room("parallel", 3))
        await house.engine.rooms.run(room.id)
        await house.log.ended(room.id)
        first = await house.engine.messages(ROOMS, room.id, None, None)
        assert len(first.messages) == 8  # the task, and seven of nine turns
        second = await house.engine.messages(ROOMS, room.id, first.next, None)
        assert (len(second.messages), second.next) == (2, None)


@pytest.mark.parametrize("mode", MODES)
async def test_messages_and_the_events_after_them_miss_and_double_nothing(tmp_path: Path, mode: str) -> None:
    model = ScriptedModel(words)
    async with open_house(tmp_path / "rooms.db", FakeModels(model)) as house:
        room_id = await speaking(house, model, mode)
        page = await house.engine.messages(ROOMS, room_id, None, None)
        now = [message for message in page.messages if message.status == "streaming"]
        assert now[0].text == "Ada says, "
        assert len(now) == (1 if mode == "sequential" else 3)
        for call in model.calls:
            call.finish()
        model.free = True
        texts = {message.id: message.text for message in now}
        async for batch in in_dialect(house.hub.read(room_id, page.as_of), frame_of):
            for frame in batch:
                if frame.name == "message_chunk" and frame.message_id in texts:
                    texts[frame.message_id] += data(frame)["content"]
            if batch[-1].name == "room_completed":
                break
        later = {
            message.id: message.text
            for message in (await house.engine.messages(ROOMS, room_id, None, None)).messages
        }
        assert texts == {message_id: later[message_id] for message_id in texts}


async def test_the_stored_message_is_the_one_in_the_log(tmp_path: Path) -> None:
    async with open_house(tmp_path / "rooms.db", free_models()) as house:
        room = await house.engine.create(ROOMS, new_room("sequential"))
        await house.engine.rooms.run(room.id)
        await house.log.ended(room.id)
        logged = [data(frame) for frame in house.log.of(room.id) if frame.name == "message"]
        page = await house.engine.messages(ROOMS, room.id, None, None)
        assert [message_fields(message) for message in page.messages] == logged


async def test_what_was_heard_while_the_disk_was_busy_is_part_of_the_cut_turn(tmp_path: Path) -> None:
    file, pieces = tmp_path / "rooms.db", ["one ", "two ", "three ", "four "]
    model = ScriptedModel(lambda request: pieces)
    async with open_house(file, FakeModels(model), retry_seconds=[0.01] * 10_000) as house:
        room = await house.engine.create(ROOMS, new_room("sequential"))
        await house.engine.rooms.run(room.id)
        call = await model.called(1)
        with closing(sqlite3.connect(file, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            call.release(3)
            await settle()
            pausing = asyncio.create_task(house.engine.pause(ROOMS, room.id))
            await settle()
            assert not pausing.done()
            assert "message_chunk" not in house.log.names(room.id)
            other.execute("ROLLBACK")
        assert await house.log.ended(room.id) == "room_paused"
        await pausing
        await check_room(house, room.id)
        page = await house.engine.messages(ROOMS, room.id, None, None)
        assert [message.text for message in page.messages[1:]] == ["one two three "]
        assert house.log.names(room.id).count("message_chunk") <= 2
