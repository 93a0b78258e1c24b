"""One agent hangs for ever, one fails, both beside others that speak: the round is theirs.

That a silent model is given up is in ``test_models.py``; what servers answer wrongly in
``models/test_kinds.py`` and ``models/test_openai_errors.py``.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from agent_tui.backend.engine.kinds import ROOMS
from agent_tui.backend.models.model import ModelRequest
from agent_tui.model.errors import ModelError
from agent_tui.model.events import RoomInfo
from agent_tui.model.settings import Values
from tests.backend.engine.house import House, data, new_room, open_house, words
from tests.backend.engine.invariants import check_room
from tests.fakes.scripted_model import Call, FakeModels, Script, ScriptedModel


def says(request: ModelRequest) -> Script:
    """Bob breaks off after a word in the first round; the others say their words."""
    if (request.speaker, request.round) == ("Bob", 1):
        return ["Half ", ModelError("gone", "Try later.")]
    return words(request)


def call_of(model: ScriptedModel, speaker: str) -> Call:
    """Return the newest call for that agent."""
    return [call for call in model.calls if call.request.speaker == speaker][-1]


@asynccontextmanager
async def one_hangs_and_one_failed(
    tmp_path: Path, change: Values | None = None
) -> AsyncIterator[tuple[House, ScriptedModel, RoomInfo]]:
    """Run a parallel room of two rounds; in the first one Ada hangs, Bob failed and Cyd said all."""
    model = ScriptedModel(says)
    async with open_house(tmp_path / "rooms.db", FakeModels(model)) as house:
        room = await house.engine.create(ROOMS, new_room("parallel"))
        await house.engine.change(ROOMS, room.id, change or {})
        await house.engine.rooms.run(room.id)
        await model.called(3)
        call_of(model, "Bob").finish()
        call_of(model, "Cyd").finish()
        await house.log.seen(room.id, "agent_error")
        await house.log.seen(room.id, "message_end")
        yield house, model, room


async def test_who_hangs_and_who_fails_do_not_keep_the_others_from_being_heard(tmp_path: Path) -> None:
    async with one_hangs_and_one_failed(tmp_path) as (house, model, room):
        messages = (await house.engine.messages(ROOMS, room.id, None, None)).messages
        stands = {m.sender_name: (m.text, m.status, bool(m.error)) for m in messages[1:]}
        assert stands["Cyd"] == ("Cyd says, in round 1.", "", False)
        assert stands["Bob"] == ("Half ", "", True)
        assert [call.request.speaker for call in model.open_calls()] == ["Ada"]
        now = await house.engine.show(ROOMS, room.id)
        assert {agent.name: agent.status for agent in now.agents} == {
            "Ada": "speaking",
            "Bob": "failed",
            "Cyd": "said",
        }
        assert "round_end" not in house.log.names(room.id)  # Ada may still say something


async def test_a_stop_ends_who_hangs_and_the_next_round_has_everybody(tmp_path: Path) -> None:
    async with one_hangs_and_one_failed(tmp_path) as (house, model, room):
        await house.engine.rooms.stop_agent(room.id, room.agents[0].id)
        await house.log.seen(room.id, "round_end")
        await model.called(6)
        assert sorted(call.request.speaker for call in model.open_calls()) == ["Ada", "Bob", "Cyd"]
        for call in model.open_calls():
            call.finish()
        assert await house.log.ended(room.id) == "room_completed"
        await check_room(house, room.id)
        ends = [data(frame) for frame in house.log.of(room.id) if frame.name == "message_end"]
        assert [end.get("interrupted", "") for end in ends] == ["", "stop", "", "", ""]
        assert model.open_calls() == []


@pytest.mark.parametrize("how", ["pause", "delete", "stop"])
async def test_whoever_hangs_is_let_go_when_the_room_or_the_engine_stops(tmp_path: Path, how: str) -> None:
    async with one_hangs_and_one_failed(tmp_path) as (house, model, room):
        if how == "pause":
            await house.engine.pause(ROOMS, room.id)
        elif how == "delete":
            await house.engine.delete(ROOMS, room.id)
        else:
            await house.engine.stop_all()
        await house.log.seen(room.id, "room_paused")
        assert model.open_calls() == []


async def test_words_said_now_are_heard_though_one_hangs(tmp_path: Path) -> None:
    async with one_hangs_and_one_failed(tmp_path) as (house, model, room):
        _, status, queue = await house.engine.rooms.say(room.id, "Anybody?", when="now")
        assert (status, queue) == ("said", ())
        await model.called(4)  # the one that hung is asked again, knowing it
        assert [message.content for message in call_of(model, "Ada").request.messages][-1] == "Anybody?"


async def test_a_failure_that_is_to_pause_the_room_waits_for_who_hangs_and_then_does(tmp_path: Path) -> None:
    async with one_hangs_and_one_failed(tmp_path, {"on_error": "pause"}) as (house, model, room):
        assert (await house.engine.show(ROOMS, room.id)).status == "running"
        await house.engine.rooms.stop_agent(room.id, room.agents[0].id)
        assert await house.log.ended(room.id) == "room_paused"
        paused = await house.engine.show(ROOMS, room.id)
        assert (paused.interrupted, paused.current_round) == ("error", 1)
        assert len(model.calls) == 3  # nobody began anew


async def test_the_budget_holds_though_one_hangs(tmp_path: Path) -> None:
    async with one_hangs_and_one_failed(tmp_path, {"max_tokens": 8}) as (house, model, room):
        assert (await house.engine.show(ROOMS, room.id)).tokens == 6
        call_of(model, "Ada").release()  # two more, and it says nothing after that
        assert await house.log.ended(room.id) == "room_paused"
        paused = await house.engine.show(ROOMS, room.id)
        assert (paused.interrupted, paused.tokens) == ("budget", 8)
        assert model.open_calls() == []


async def test_a_retry_of_who_failed_speaks_beside_who_hangs(tmp_path: Path) -> None:
    async with one_hangs_and_one_failed(tmp_path) as (house, model, room):
        asked = await asyncio.gather(house.engine.rooms.retry_agent(room.id, room.agents[1].id))
        assert asked[0].status == "running"
        await model.called(4)
        assert [call.request.speaker for call in model.open_calls()] == ["Ada", "Bob"]
