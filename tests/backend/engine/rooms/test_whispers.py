"""Words for one agent alone that wait while that agent is taken out of the room."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_tui.backend.engine.kinds import ROOMS
from agent_tui.model.events import RoomInfo
from tests.backend.engine.house import MODES, House, crash_copy, data, new_room, open_house, words
from tests.fakes.scripted_model import FakeModels, ScriptedModel

WHISPER = "Only for Bob."


async def whispered_and_removed(
    house: House, mode: str = "sequential", model: ScriptedModel | None = None
) -> tuple[RoomInfo, str]:
    """Make a room of Ada, Bob and Cyd, whisper to Bob, take Bob out; return the room and the message id.

    With ``model`` it runs, and that is said while all who can speak do.
    """
    room = await house.engine.create(ROOMS, new_room(mode))
    if model is not None:
        await house.engine.rooms.run(room.id)
        await model.called(1 if mode == "sequential" else 3)
    id_, _, _ = await house.engine.rooms.say(room.id, WHISPER, to=room.agents[1].id)
    await house.engine.rooms.say(room.id, "For all.")
    ada, _, cyd = ({"id": agent.id} for agent in room.agents)
    changed = await house.engine.change(ROOMS, room.id, {"agents": (ada, cyd)})
    assert [words.id for words in changed.queue][:1] == [id_]  # it is not lost with its agent
    return room, id_


async def check_said_to_nobody(house: House, model: ScriptedModel, room: RoomInfo, id_: str) -> None:
    """Check that the whisper is on record once, left the queue, and that no model was told."""
    said = [data(f) for f in house.log.of(room.id) if f.name == "message" and f.message_id == id_]
    bob = room.agents[1].id
    assert [(m["role"], m["to"]) for m in said] == [("user", bob)]
    listed = (await house.engine.messages(ROOMS, room.id, None, None)).messages
    assert [(m.text, m.to) for m in listed if m.id == id_] == [(WHISPER, bob)]
    assert await house.engine.rooms.queue(room.id) == ()
    requests = [call.request for call in model.calls]
    told = {r.speaker for r in requests if any(WHISPER in m.content for m in r.messages)}
    assert told == set()
    assert any("For all." in m.content for r in requests for m in r.messages)  # what came after it is told


@pytest.mark.parametrize("mode", MODES)
async def test_a_whisper_to_an_agent_that_left_is_on_record_and_told_to_nobody(
    tmp_path: Path, mode: str
) -> None:
    model = ScriptedModel(words)
    async with open_house(tmp_path / "rooms.db", FakeModels(model)) as house:
        room, id_ = await whispered_and_removed(house, mode, model)
        model.free = True
        for call in model.calls:
            call.finish()
        assert await house.log.ended(room.id) == "room_completed"
        await check_said_to_nobody(house, model, room, id_)


@pytest.mark.parametrize("mode", MODES)
async def test_a_whisper_that_waits_in_a_room_not_started_yet_leaves_the_queue_too(
    tmp_path: Path, mode: str
) -> None:
    model = ScriptedModel(words, free=True)
    async with open_house(tmp_path / "rooms.db", FakeModels(model)) as house:
        room, id_ = await whispered_and_removed(house, mode)
        await house.engine.rooms.run(room.id)
        assert await house.log.ended(room.id) == "room_completed"
        await check_said_to_nobody(house, model, room, id_)


async def test_a_whisper_to_who_left_is_said_to_nobody_after_a_crash_as_well(tmp_path: Path) -> None:
    model = ScriptedModel(words)
    async with open_house(tmp_path / "rooms.db", FakeModels(model)) as house:
        room, id_ = await whispered_and_removed(house, "sequential", model)
        copy = crash_copy(house.store.file, tmp_path / "copy.db")
    model = ScriptedModel(words, free=True)
    async with open_house(copy, FakeModels(model), resume=True) as house:
        await house.load(room.id)
        assert await house.log.ended(room.id) == "room_completed"
        await check_said_to_nobody(house, model, room, id_)


async def test_a_whisper_to_who_left_can_still_be_changed_given_to_another_and_taken_back(
    tmp_path: Path,
) -> None:
    model = ScriptedModel(words)
    async with open_house(tmp_path / "rooms.db", FakeModels(model)) as house:
        room, id_ = await whispered_and_removed(house, "sequential", model)
        engine, cyd = house.engine, room.agents[2].id
        queue = await engine.rooms.change_queued(room.id, id_, "Shorter.", None)
        assert (queue[0].content, queue[0].to) == ("Shorter.", room.agents[1].id)
        queue = await engine.rooms.change_queued(room.id, id_, None, cyd)
        assert (queue[0].content, queue[0].to) == ("Shorter.", cyd)
        assert id_ not in [waiting.id for waiting in await engine.rooms.drop_queued(room.id, id_)]
