"""The last turn of a room may be its synthesis: it comes after all others, and is a turn like any other."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent_tui.backend.engine.agents import synthesizer
from agent_tui.backend.engine.kinds import ROOMS
from agent_tui.backend.engine.plan import CloseRound, DueTurn, Pause, Skip, Speak, Wait, plan
from agent_tui.backend.hub import StoredFrame
from agent_tui.backend.store.rows import ConversationRow
from agent_tui.model.events import AgentInfo
from tests.backend.engine.house import (
    MODES,
    House,
    PacedModel,
    crash_copy,
    data,
    free_models,
    new_room,
    open_house,
    words,
)
from tests.backend.engine.invariants import check_room
from tests.backend.engine.test_pauses import go_on_after_crash
from tests.backend.engine.test_plan import DONE, ROOM, turn
from tests.fakes.scripted_model import FakeModels, ScriptedModel

# How many events an undisturbed room has that is summed up.
EVENTS = {"sequential": 38, "parallel": 60}
# The first agent is the one that sums up.
AGENTS: dict[str, Any] = {"agents": ({"name": "Writer"}, {"name": "Bob"}, {"name": "Cyd"})}


def summed_up(mode: str, task: str = "Talk") -> dict[str, Any]:
    """Return a room of two rounds whose first agent gives the synthesis."""
    return {**new_room(mode, task=task), **AGENTS, "synthesis": True}


def spoken(house: House, room_id: str) -> list[tuple[int, str]]:
    """Return the turns in the order they began."""
    starts = [data(frame) for frame in house.log.of(room_id) if frame.name == "message_start"]
    return [(start["round_number"], start["sender_name"]) for start in starts]


def last_round(mode: str = "sequential") -> ConversationRow:
    agents = (replace(ROOM.agents[0], name="Writer"), *ROOM.agents[1:])
    return replace(ROOM, agents=agents, synthesis=True, max_rounds=1, round_open=1, execution_mode=mode)


@pytest.mark.parametrize(
    ("agents", "chosen"),
    [
        ([("Ada", "You are an engineer."), ("Bo", "You are the writer in a discussion.")], "Bo"),
        ([("Mo", "You are the moderator."), ("Writer", "")], "Writer"),
        ([("主持人", ""), ("工程师", "")], "主持人"),
        ([("Ведущий", ""), ("Ада", "")], "Ведущий"),
        (
            [
                ("Ada", "You are a critic. Mind the writer and how much the writer likes the words."),
                ("Bo", ""),
            ],
            "Bo",
        ),
        ([("Ada", ""), ("Bo", ""), ("Cy", "")], "Cy"),
    ],
)
def test_a_writer_or_a_moderator_sums_up_else_the_last_agent(
    agents: list[tuple[str, str]], chosen: str
) -> None:
    infos = tuple(AgentInfo(name, name, system_prompt=prompt) for name, prompt in agents)
    assert synthesizer(replace(ROOM, agents=infos, synthesis=True)) == chosen
    assert synthesizer(replace(ROOM, agents=infos)) == ""


def test_where_only_one_turn_is_taken_there_is_nothing_to_sum_up() -> None:
    alone = replace(ROOM, agents=ROOM.agents[:1], synthesis=True)
    assert synthesizer(alone) == "id-0"
    assert synthesizer(replace(alone, max_rounds=1)) == ""


def test_the_synthesis_is_planned_after_all_other_turns() -> None:
    assert plan(last_round(), [], "") == Speak((DueTurn(1, "id-1", 1),))
    assert plan(last_round(), DONE[1:2], "") == Speak((DueTurn(1, "id-2", 1),))
    assert plan(last_round(), DONE[1:], "") == Speak((DueTurn(1, "id-0", 1),))
    assert plan(last_round(), DONE, "") == CloseRound(1)
    both = (DueTurn(1, "id-1", 1), DueTurn(1, "id-2", 1))
    assert plan(last_round("parallel"), [], "") == Speak(both)
    one_left = [turn(1, "completed"), turn(2, "streaming")]
    assert plan(last_round("parallel"), one_left, "", {"id-2"}) == Wait()
    assert plan(last_round("parallel"), DONE[1:], "") == Speak((DueTurn(1, "id-0", 1),))


def test_it_waits_for_the_budget_and_for_a_turn_that_is_said_again_and_can_be_skipped() -> None:
    spent = replace(last_round(), max_tokens=10, used_tokens=10)
    assert plan(spent, DONE[1:], "") == Pause("budget")
    again = replace(DONE[1], again=True)
    assert plan(last_round(), [again, DONE[2]], "") == Speak((DueTurn(1, "id-1", 2, again.message_id),))
    agents = (replace(last_round().agents[0], skip_next=True), *ROOM.agents[1:])
    assert plan(replace(last_round(), agents=agents), DONE[1:], "") == Skip(DueTurn(1, "id-0", 1))


def test_other_rounds_keep_the_turn_order() -> None:
    assert plan(replace(last_round(), max_rounds=2), [], "") == Speak((DueTurn(1, "id-0", 1),))


@pytest.mark.parametrize("mode", MODES)
async def test_its_model_is_told_so_and_all_that_was_said(tmp_path: Path, mode: str) -> None:
    model = ScriptedModel(words, free=True)
    async with open_house(tmp_path / "rooms.db", FakeModels(model)) as house:
        room = await house.engine.create(ROOMS, summed_up(mode))
        await house.engine.rooms.run(room.id)
        assert await house.log.ended(room.id) == "room_completed"
        assert sorted(spoken(house, room.id)[-3:-1]) == [(2, "Bob"), (2, "Cyd")]
        assert spoken(house, room.id)[-1] == (2, "Writer")
        await check_room(house, room.id)
    prompts = [call.request.messages[0].content for call in model.calls]
    assert ["synthesis" in prompt for prompt in prompts] == [False] * 5 + [True]
    told = [message.content for message in model.calls[-1].request.messages[1:]]
    assert [text for text in told if "round 2" in text] == [
        "[Bob]: Bob says, in round 2.",
        "[Cyd]: Cyd says, in round 2.",
    ]


@pytest.mark.parametrize("mode", MODES)
async def test_rooms_have_none_unless_it_is_asked_for(tmp_path: Path, mode: str) -> None:
    async with open_house(tmp_path / "rooms.db", free_models()) as house:
        room = await house.engine.create(ROOMS, {**new_room(mode), **AGENTS})
        assert room.synthesis is False
        await house.engine.change(ROOMS, room.id, {"synthesis": True})
        assert (await house.engine.show(ROOMS, room.id)).synthesis is True


@pytest.mark.parametrize("mode", MODES)
async def test_a_pause_at_any_event_of_it_loses_and_doubles_nothing(tmp_path: Path, mode: str) -> None:
    model = PacedModel()
    async with open_house(tmp_path / "rooms.db", FakeModels(model)) as house:
        model.watch(house.log)
        await asyncio.gather(*[paused_at(house, model, mode, index) for index in range(15, EVENTS[mode], 2)])


async def paused_at(house: House, model: PacedModel, mode: str, index: int) -> None:
    """Run a room, pause it as soon as event number ``index`` is on record, let it go on to its end."""
    task = f"{mode} {index:03d}"
    room = await house.engine.create(ROOMS, summed_up(mode, task))
    pauses: list[asyncio.Task[object]] = []

    def watch(frames: list[StoredFrame]) -> None:
        if any(frame.seq == index and frame.room_id == room.id for frame in frames):
            model.held.add(task)
            pauses.append(asyncio.create_task(house.engine.pause(ROOMS, room.id)))

    house.log.watchers.append(watch)
    await house.engine.rooms.run(room.id)
    if await house.log.ended(room.id) == "room_paused":
        await asyncio.gather(*pauses)
        model.held.discard(task)
        await house.engine.rooms.resume(room.id)
        assert await house.log.ended(room.id) == "room_completed"
    await check_room(house, room.id)
    assert spoken(house, room.id)[-1] == (2, "Writer")


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
async def test_a_crash_after_any_commit_of_it_loses_and_doubles_nothing(tmp_path: Path, mode: str) -> None:
    file, model = tmp_path / "rooms.db", PacedModel()
    copies: list[Path] = []

    def copy(frames: list[StoredFrame]) -> None:
        if any(frame.name == "round_end" for frame in house.log.of(frames[0].room_id)):
            copies.append(crash_copy(file, tmp_path / f"{frames[-1].seq}.db"))

    async with open_house(file, FakeModels(model)) as house:
        model.watch(house.log)
        house.log.watchers.append(copy)
        room = await house.engine.create(ROOMS, summed_up(mode))
        await house.engine.rooms.run(room.id)
        assert await house.log.ended(room.id) == "room_completed"
    assert len(copies) > 8
    for dead in copies:
        await go_on_after_crash(dead, room.id)


@pytest.mark.parametrize("mode", MODES)
async def test_it_can_be_stopped_and_said_again(tmp_path: Path, mode: str) -> None:
    model = ScriptedModel(words)
    async with open_house(tmp_path / "rooms.db", FakeModels(model)) as house:
        room = await house.engine.create(ROOMS, {**summed_up(mode), "max_rounds": 1})
        writer = room.agents[0].id
        await house.engine.rooms.run(room.id)
        await model.called(1 if mode == "sequential" else 2)
        for call in model.calls:
            call.finish()
        if mode == "sequential":
            (await model.called(2)).finish()
        (await model.called(3)).release()
        await house.log.seen(room.id, "message_start", 3)
        await house.engine.rooms.stop_agent(room.id, writer)
        assert await house.log.ended(room.id) == "room_completed"
        await house.engine.rooms.retry_agent(room.id, writer)
        (await model.called(4)).finish()
        await house.log.seen(room.id, "room_completed", 2)
        assert model.calls[3].request.synthesizer == writer
        assert "synthesis" in model.calls[3].request.messages[0].content
        await check_room(house, room.id)
