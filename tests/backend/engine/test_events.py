"""The events of a room, in order and field by field: goldens/*.txt are held against protocols.md §1."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_tui.backend.engine.kinds import ROOMS
from agent_tui.backend.models.model import ModelRequest
from agent_tui.model.errors import ModelError
from agent_tui.model.events import RoomInfo
from tests.backend.engine.golden import story
from tests.backend.engine.house import MODES, House, new_room, open_house, words
from tests.fakes.scripted_model import FakeModels, Script, ScriptedModel

GOLDENS = Path(__file__).parent / "goldens"
GOES_ON = [("continue", "continued"), ("again", "cut")]


async def say(house: House, model: ScriptedModel, room: RoomInfo, call: int) -> None:
    """Let the model's call number ``call`` say its pieces, one event each."""
    spoken = await model.called(call)
    for _ in words(spoken.request):
        chunks = house.log.names(room.id).count("message_chunk")
        spoken.release()
        await house.log.seen(room.id, "message_chunk", chunks + 1)


async def end(house: House, model: ScriptedModel, room: RoomInfo, *calls: int) -> None:
    """Let these calls end, one after the other."""
    for call in calls:
        ends = house.log.names(room.id).count("message_end")
        (await model.called(call)).release()
        await house.log.seen(room.id, "message_end", ends + 1)


def expected(name: str) -> str:
    return (GOLDENS / f"{name}.txt").read_text(encoding="utf-8").rstrip("\n")


async def test_a_fresh_sequential_room_has_the_events_of_the_protocol(tmp_path: Path) -> None:
    model = ScriptedModel(words)
    async with open_house(tmp_path / "rooms.db", FakeModels(model)) as house:
        room = await house.engine.create(ROOMS, new_room("sequential", names="Ada Bob"))
        await house.engine.rooms.run(room.id)
        for call in range(1, 5):
            await say(house, model, room, call)
            await end(house, model, room, call)
        await house.log.ended(room.id)
        assert story(house.log.of(room.id), room) == expected("sequential_fresh")


async def test_a_fresh_parallel_room_has_the_events_of_the_protocol(tmp_path: Path) -> None:
    model = ScriptedModel(words)
    async with open_house(tmp_path / "rooms.db", FakeModels(model)) as house:
        room = await house.engine.create(ROOMS, new_room("parallel", names="Ada Bob"))
        await house.engine.rooms.run(room.id)
        for call in (1, 3):
            await say(house, model, room, call)
            await say(house, model, room, call + 1)
            await end(house, model, room, call, call + 1)
        await house.log.ended(room.id)
        assert story(house.log.of(room.id), room) == expected("parallel_fresh")


@pytest.mark.parametrize(("on_resume", "golden"), GOES_ON)
async def test_a_cut_sequential_room_goes_on_with_the_turn_that_was_cut(
    tmp_path: Path, on_resume: str, golden: str
) -> None:
    model = ScriptedModel(words)
    async with open_house(tmp_path / "rooms.db", FakeModels(model)) as house:
        new = {**new_room("sequential", rounds=1, names="Ada Bob"), "on_resume": on_resume}
        room = await house.engine.create(ROOMS, new)
        await house.engine.rooms.run(room.id)
        await say(house, model, room, 1)
        await end(house, model, room, 1)
        (await model.called(2)).release()
        await house.log.seen(room.id, "message_chunk", 3)
        await house.engine.pause(ROOMS, room.id)
        await house.log.ended(room.id)
        assert await house.engine.rooms.run(room.id) == 14
        await say(house, model, room, 3)
        await end(house, model, room, 3)
        await house.log.ended(room.id)
        assert story(house.log.of(room.id), room) == expected(f"sequential_{golden}")


@pytest.mark.parametrize(("on_resume", "golden"), GOES_ON)
async def test_a_cut_parallel_round_goes_on_with_the_agents_that_were_cut(
    tmp_path: Path, on_resume: str, golden: str
) -> None:
    model = ScriptedModel(words)
    async with open_house(tmp_path / "rooms.db", FakeModels(model)) as house:
        room = await house.engine.create(ROOMS, {**new_room("parallel", rounds=1), "on_resume": on_resume})
        await house.engine.rooms.run(room.id)
        await say(house, model, room, 1)
        await end(house, model, room, 1)
        (await model.called(2)).release()
        await house.log.seen(room.id, "message_chunk", 3)
        # The third agent has said nothing yet: it ends without words, and no message is stored.
        await house.engine.pause(ROOMS, room.id)
        await house.log.ended(room.id)
        await house.engine.rooms.resume(room.id)
        await say(house, model, room, 4)
        await say(house, model, room, 5)
        await end(house, model, room, 4, 5)
        await house.log.ended(room.id)
        assert story(house.log.of(room.id), room) == expected(f"parallel_{golden}")


def failing(request: ModelRequest) -> Script:
    broken = ModelError("quota exceeded", "Pay, or wait.")
    said: dict[str, Script] = {"Ada": [broken], "Bob": ["I was ", broken]}
    return said.get(request.speaker, ["fine"])


@pytest.mark.parametrize("mode", MODES)
async def test_a_failed_turn_says_why_keeps_its_words_and_the_room_goes_on(tmp_path: Path, mode: str) -> None:
    model = ScriptedModel(failing)
    async with open_house(tmp_path / "rooms.db", FakeModels(model)) as house:
        room = await house.engine.create(ROOMS, new_room(mode, rounds=1))
        await house.engine.rooms.run(room.id)
        (await model.called(1)).release()
        await house.log.seen(room.id, "agent_error")
        (await model.called(2)).release()
        await house.log.seen(room.id, "message_chunk")
        (await model.called(2)).release()
        await house.log.seen(room.id, "agent_error", 2)
        (await model.called(3)).release()
        await house.log.seen(room.id, "message_chunk", 2)
        (await model.called(3)).release()
        await house.log.ended(room.id)
        assert story(house.log.of(room.id), room) == expected(f"{mode}_failed")


async def test_a_room_without_agents_fails_and_says_so(tmp_path: Path) -> None:
    model = ScriptedModel(words)
    async with open_house(tmp_path / "rooms.db", FakeModels(model)) as house:
        room = await house.engine.create(ROOMS, new_room("sequential", names=""))
        await house.engine.rooms.run(room.id)
        assert await house.log.ended(room.id) == "error"
        lines = story(house.log.of(room.id), room).splitlines()
        assert [line.split()[1] for line in lines] == ["room_started", "message", "error"]
        assert lines[-1] == '3 error {"content":"No agents in room"}'
        assert (await house.engine.show(ROOMS, room.id)).status == "error"
        assert house.engine.runs.number() == 0
