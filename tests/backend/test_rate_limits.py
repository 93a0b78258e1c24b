"""A provider that limits the rate (429 with Retry-After) is waited for, and everybody hears until when."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from agent_tui.backend.engine.kinds import ROOMS
from agent_tui.backend.engine.timing import Timing
from agent_tui.backend.models.endpoints import ProviderAddress
from agent_tui.backend.models.model import ModelRequest
from agent_tui.backend.models.remote import RemoteProvider
from agent_tui.model.errors import ModelError
from tests.backend.chat_backend import FULL, chat_backend
from tests.backend.engine.house import House, data, new_room, open_house
from tests.backend.engine.invariants import check_room
from tests.backend.in_process import Backend, backend
from tests.backend.talk import names, until
from tests.backend.wire_client import Frame
from tests.fakes.clock import FakeClock
from tests.fakes.models.model_server import FakeModelServer, fails, says
from tests.fakes.scripted_model import FakeModels, Script, ScriptedModel

SECONDS = 30.0


def limited(seconds: float, status: int = 429) -> ModelError:
    return ModelError("slow down", retryable=True, retry_after=seconds, status=status)


def first_then(*errors: ModelError) -> Callable[[ModelRequest], Script]:
    """Say these errors call by call, then words."""
    left = iter(errors)
    return lambda request: [error] if (error := next(left, None)) else ["here I am"]


@asynccontextmanager
async def room_of_one(
    tmp_path: Path, *errors: ModelError
) -> AsyncIterator[tuple[House, FakeClock, ScriptedModel, str]]:
    """Give a running room of one agent and one round, and the clock that it waits by."""
    clock, model = FakeClock(), ScriptedModel(first_then(*errors), free=True)
    timing = Timing(sleep=clock.sleep)
    async with open_house(tmp_path / "rooms.db", FakeModels(model), timing=timing) as house:
        room = await house.engine.create(ROOMS, new_room("sequential", rounds=1, names="Ada"))
        await house.engine.rooms.run(room.id)
        await model.called(1)
        yield house, clock, model, room.id


def waits(house: House, room_id: str) -> list[float]:
    told = (data(frame) for frame in house.log.of(room_id) if frame.name == "agent_status")
    return [one["seconds"] for one in told]


async def test_it_is_waited_for_as_long_as_it_says(tmp_path: Path) -> None:
    async with room_of_one(tmp_path, limited(9), limited(40)) as (house, clock, model, room_id):
        await house.log.seen(room_id, "agent_status")
        await clock.advance(8.9)
        assert len(model.calls) == 1
        await clock.advance(0.2)
        await model.called(2)
        await house.log.seen(room_id, "agent_status", 2)
        await clock.advance(41)
        assert await house.log.ended(room_id) == "room_completed"
        assert (waits(house, room_id), len(model.calls)) == ([9.0, 40.0], 3)
        await check_room(house, room_id)


async def test_more_than_a_minute_in_all_is_a_failure_at_once(tmp_path: Path) -> None:
    async with room_of_one(tmp_path, limited(40), limited(21)) as (house, clock, model, room_id):
        await house.log.seen(room_id, "agent_status")
        await clock.advance(40)
        assert await house.log.ended(room_id) == "room_paused"
        assert (waits(house, room_id), len(model.calls)) == ([40.0], 2)


async def test_one_that_says_zero_is_not_asked_without_a_pause(tmp_path: Path) -> None:
    async with room_of_one(tmp_path, limited(0)) as (house, clock, model, room_id):
        await house.log.seen(room_id, "agent_status")
        assert (waits(house, room_id), len(model.calls)) == ([0.5], 1)
        await clock.advance(0.5)
        assert await house.log.ended(room_id) == "room_completed"


async def test_a_server_that_is_only_busy_is_asked_three_times_as_before(tmp_path: Path) -> None:
    busy = [limited(2, status=503) for _ in range(3)]
    async with room_of_one(tmp_path, *busy) as (house, clock, model, room_id):
        await clock.advance(5)
        assert await house.log.ended(room_id) == "room_paused"
        assert (waits(house, room_id), len(model.calls)) == ([], 3)


# --- at the wire -----------------------------------------------------------------------------------------


@asynccontextmanager
async def waiting_room(
    tmp_path: Path, **fields: Any
) -> AsyncIterator[tuple[Backend, str, AsyncIterator[Frame], Frame]]:
    """Give a room whose first call is limited for 30 s, its frames, and the one that says so."""
    model = ScriptedModel(first_then(limited(SECONDS)), free=True)
    async with backend(tmp_path, model) as running:
        room_id = await running.room(max_rounds=1, **fields)
        async with running.client.open("POST", f"/api/rooms/{room_id}/run") as stream:
            frames = stream.frames()
            told = (await until(frames, "agent_status"))[-1]
            while "until" not in told.fields:
                told = (await until(frames, "agent_status"))[-1]
            yield running, room_id, frames, told


@pytest.mark.parametrize("mode", ["sequential", "parallel"])
@pytest.mark.parametrize("box", [(), ("look",)])
async def test_who_waits_and_until_when_is_said_in_a_known_event(
    tmp_path: Path, mode: str, box: tuple[str, ...]
) -> None:
    async with waiting_room(tmp_path, execution_mode=mode, agents=1, enabled_tools=list(box)) as (
        running,
        room_id,
        _,
        told,
    ):
        agent = (await running.client.call("GET", f"/api/rooms/{room_id}")).json["agents"][0]
        fields = told.fields
        until_ = datetime.fromisoformat(fields.pop("until"))
        assert until_.tzinfo is not None
        assert fields.pop("message_id")
        assert fields == {
            "agent_id": agent["id"],
            "agent_name": "Agent 1",
            "status": "streaming",
            "note": "rate_limit",
            "seconds": SECONDS,
        }


@pytest.mark.parametrize(
    ("act", "end"), [("pause", "room_paused"), ("stop", "room_completed"), ("skip", "room_completed")]
)
async def test_a_pause_a_stop_and_a_skip_do_not_wait_for_it(tmp_path: Path, act: str, end: str) -> None:
    async with waiting_room(tmp_path, agents=1) as (running, room_id, frames, _):
        path = f"/api/rooms/{room_id}"
        agent_id = (await running.client.call("GET", path)).json["agents"][0]["id"]
        path += "/pause" if act == "pause" else f"/agents/{agent_id}/{act}"
        async with asyncio.timeout(SECONDS / 3):
            assert (await running.client.call("POST", path)).status == 202
            found = await until(frames, end)
        assert [frame.fields["interrupted"] for frame in found if frame.name == "message_end"] == [act]
        assert len(running.model.calls) == 1


async def test_a_chat_waits_for_it_too_says_so_and_can_be_stopped(tmp_path: Path) -> None:
    model = ScriptedModel(first_then(limited(SECONDS)), free=True)
    async with chat_backend(tmp_path, model) as running:
        path = await running.chat()
        async with running.client.open("POST", f"{path}/messages", {"content": "Hm?"}, FULL) as stream:
            frames = stream.frames()
            told = (await until(frames, "answer_note"))[-1].fields
            assert (told["note"], told["seconds"]) == ("rate_limit", SECONDS)
            async with asyncio.timeout(SECONDS / 3):
                await running.client.call("POST", f"{path}/stop")
                assert (await until(frames, "error"))[-1].fields == {"content": "Stopped"}


async def test_who_asks_in_the_plain_form_hears_nothing_of_that(tmp_path: Path) -> None:
    clock, model = FakeClock(), ScriptedModel(first_then(limited(9)), free=True)
    async with chat_backend(tmp_path, model, timing=Timing(sleep=clock.sleep)) as running:
        path = await running.chat()
        asking = asyncio.create_task(running.ask(path))
        await model.called(1)
        async with running.client.open("GET", f"{path}/events", headers=FULL) as stream:
            await until(stream.frames(), "answer_note")
        await clock.advance(9)
        assert {*names(await asking)} == {"process_step", "done"}


@pytest.mark.parametrize("after", ["1", "Wed, 21 Oct 2015 07:28:00 GMT"])
async def test_a_provider_is_believed_that_says_it_over_http(tmp_path: Path, after: str) -> None:
    async with FakeModelServer() as server:
        server.will(fails(429, "slow down", Retry_After=after), says("Here", " I am"))
        provider = RemoteProvider(ProviderAddress("p", server.url, key="k"))
        models = FakeModels(provider.model("m"))
        try:
            async with backend(tmp_path, ScriptedModel(lambda request: []), models=models) as running:
                room_id = await running.room(agents=1, max_rounds=1)
                frames = await running.client.frames("POST", f"/api/rooms/{room_id}/run")
        finally:
            await provider.aclose()
    told = [frame.fields["seconds"] for frame in frames if frame.name == "agent_status"]
    assert told == [1.0 if after == "1" else 0.5]  # a date that is past: nothing is left to wait for
    assert [frame.fields["content"] for frame in frames if frame.name == "message_end"] == ["Here I am"]
