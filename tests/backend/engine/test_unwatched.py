"""A room runs only while somebody is there, and one that costs money only while keys are pressed, unless it
was told to go on.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

import pytest

from agent_tui.backend.engine.chats.fields import QuestionFields, RecordedSpeech
from agent_tui.backend.engine.kinds import CHATS, ROOMS
from agent_tui.backend.engine.timing import Timing
from agent_tui.backend.engine.unwatched import OpenPrograms, PauseNotice, UnwatchedTimers
from agent_tui.backend.hub import StoredFrame
from agent_tui.backend.models.prices import Terms, costs_money
from agent_tui.model.records import SpeechRecord
from tests.backend.engine.house import House, new_room, open_house, words
from tests.fakes.clock import FakeClock, settle
from tests.fakes.scripted_model import FakeModels, ScriptedModel

FREE, PAID = Terms(), Terms(kind="openai", base_url="https://api.example.com/v1")
MINUTE = 60


class Silent:
    """A house with a room that runs and says nothing, and a clock of its own."""

    def __init__(
        self, house: House, models: FakeModels, model: ScriptedModel, clock: FakeClock, room_id: str
    ) -> None:
        self.house = house
        self.model = model
        self.models = models
        self.clock = clock
        self.room_id = room_id

    async def watch(self) -> AsyncGenerator[list[StoredFrame], None]:
        """Return a reader of the room that has read what there is."""
        reader = self.house.hub.read(self.room_id, 0)
        await anext(reader)
        return reader

    async def paused(self) -> None:
        """Wait until the room is paused, and see why."""
        await self.house.log.ended(self.room_id)
        room = await self.house.engine.show(ROOMS, self.room_id)
        assert (room.status, room.interrupted) == ("paused", "unwatched")

    async def runs(self, seconds: float) -> None:
        """Let so much time pass, and see that nothing is under way that would pause the room."""
        await self.clock.advance(seconds)
        # Changes of a room are carried out one after the other: this one would come after a pause.
        await self.house.engine.change(ROOMS, self.room_id, {"name": "still here"})
        assert (await self.house.engine.show(ROOMS, self.room_id)).status == "running"


class Program:
    """A program of a person's that is open, whatever it shows; ``notices`` are what it was told."""

    def __init__(self, presence: OpenPrograms) -> None:
        self.notices: list[PauseNotice] = []
        self._task = asyncio.create_task(self._stay(presence))

    @classmethod
    async def opened(cls, room: Silent) -> Program:
        program = cls(room.house.presence)
        await settle()
        return program

    async def close(self) -> None:
        self._task.cancel()
        await asyncio.wait({self._task})

    async def _stay(self, presence: OpenPrograms) -> None:
        async with aclosing(presence.attend()) as notices:
            async for notice in notices:
                self.notices.append(notice)


@asynccontextmanager
async def silent(
    tmp_path: Path, *, keep_running: bool = False, unwatched: float | None = 30.0, terms: Terms = FREE
) -> AsyncIterator[Silent]:
    clock, model = FakeClock(), ScriptedModel(words)
    models = FakeModels(model)
    models.charged = terms
    timing = Timing(sleep=clock.sleep)
    async with open_house(tmp_path / "rooms.db", models, unwatched=unwatched, timing=timing) as house:
        room = await house.engine.create(ROOMS, {**new_room("sequential"), "keep_running": keep_running})
        await house.engine.rooms.run(room.id)
        await house.log.seen(room.id, "message_start")
        yield Silent(house, models, model, clock, room.id)


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
        await room.house.engine.change(ROOMS, room.room_id, {"keep_running": False})
        await room.runs(29)
        await room.clock.advance(2)
        await room.paused()


async def test_being_told_to_go_on_in_time_is_early_enough(tmp_path: Path) -> None:
    async with silent(tmp_path) as room:
        await room.runs(29)
        await room.house.engine.change(ROOMS, room.room_id, {"keep_running": True})
        await room.runs(1_000)


async def test_a_server_for_many_never_pauses_because_nobody_watches(tmp_path: Path) -> None:
    async with silent(tmp_path, unwatched=None) as room:
        reader = await room.watch()
        await reader.aclose()
        await room.runs(1_000_000)


async def test_a_room_goes_on_while_a_program_is_open_on_whatever_screen(
    tmp_path: Path,
) -> None:
    async with silent(tmp_path) as room:
        first, second = await Program.opened(room), await Program.opened(room)
        await room.runs(1_000)
        await first.close()
        await room.runs(1_000)
        await second.close()
        await room.runs(29)
        await room.clock.advance(2)
        await room.paused()


async def test_a_room_goes_on_while_somebody_reads_another_one(tmp_path: Path) -> None:
    async with silent(tmp_path) as room:
        other = await room.house.engine.create(ROOMS, new_room("sequential"))
        reading = asyncio.ensure_future(anext(room.house.hub.read(other.id, 0), None))
        await room.runs(1_000)
        reading.cancel()
        await room.runs(29)
        await room.clock.advance(2)
        await room.paused()


async def test_a_program_that_a_tool_of_ours_started_is_nobody(tmp_path: Path) -> None:
    async with silent(tmp_path) as room:
        reader = room.house.hub.read(room.room_id, 0, counts=False)
        await anext(reader)
        await room.runs(29)
        await room.clock.advance(2)
        await room.paused()
        await reader.aclose()


async def test_half_an_hour_without_a_key_warns_and_pauses_what_costs_money(
    tmp_path: Path,
) -> None:
    async with silent(tmp_path, terms=PAID) as room:
        program = await Program.opened(room)
        await room.runs(27 * MINUTE)
        assert program.notices == []
        await room.runs(2 * MINUTE)
        assert program.notices == [PauseNotice(room.room_id, "still here", 120.0)]
        await room.clock.advance(MINUTE)
        await room.paused()
        await program.close()


async def test_a_key_in_time_lets_it_go_on_and_takes_the_warning_back(tmp_path: Path) -> None:
    async with silent(tmp_path, terms=PAID) as room:
        program = await Program.opened(room)
        await room.runs(29 * MINUTE)
        room.house.presence.press()
        await settle()
        assert [notice.id for notice in program.notices] == [room.room_id, ""]
        await room.runs(27 * MINUTE)
        room.house.presence.press()
        await room.runs(27 * MINUTE)
        assert len(program.notices) == 2  # nothing was to be taken back
        await program.close()


@asynccontextmanager
async def voice_session(
    room: Silent,
) -> AsyncIterator[Callable[[QuestionFields | RecordedSpeech], Awaitable[None]]]:
    """Give a function that says something in a voice session of the same backend."""
    engine, model = room.house.engine, room.model
    session = await engine.create(CHATS, {"title": "den", "kind": "voice"})

    async def say(said: QuestionFields | RecordedSpeech) -> None:
        if isinstance(said, RecordedSpeech):
            await engine.chats.record(session.id, said)
        else:
            calls = len(model.calls)
            await engine.chats.ask(session.id, said)
            (await model.called(calls + 1)).finish()
            await engine.chats.wait_for_answer(session.id)

    yield say


@pytest.mark.parametrize(
    "said",
    [
        QuestionFields("What rooms are running?"),
        RecordedSpeech(SpeechRecord(), client_key="theirs", role="user", content="Hello, their agent."),
    ],
    ids=["to our agent", "to somebody else's agent"],
)
async def test_who_speaks_is_there_as_if_a_key_was_pressed(
    said: QuestionFields | RecordedSpeech, tmp_path: Path
) -> None:
    async with silent(tmp_path, terms=PAID) as room, voice_session(room) as say:
        program = await Program.opened(room)
        await room.runs(29 * MINUTE)
        await say(said)
        await settle()
        assert [notice.id for notice in program.notices] == [room.room_id, ""]
        await room.runs(27 * MINUTE)
        assert len(program.notices) == 2
        await room.clock.advance(4 * MINUTE)  # nobody speaks any more
        await room.paused()
        await program.close()


@pytest.mark.parametrize(
    "said",
    [
        QuestionFields("And what is this one about?", tools=("list_rooms", "room_about")),
        RecordedSpeech(SpeechRecord(), client_key="theirs", role="assistant", content="I am still here."),
    ],
    ids=["a guest", "an agent"],
)
async def test_who_is_not_the_owner_keeps_nothing_running(
    said: QuestionFields | RecordedSpeech, tmp_path: Path
) -> None:
    async with silent(tmp_path, terms=PAID) as room, voice_session(room) as say:
        program = await Program.opened(room)
        await room.runs(29 * MINUTE)
        await say(said)
        await room.clock.advance(2 * MINUTE)
        await room.paused()
        await program.close()


@pytest.mark.parametrize(
    ("keep_running", "unwatched", "terms"),
    [(False, 30.0, FREE), (True, 30.0, PAID), (False, None, PAID)],
    ids=["it costs nothing", "it was told to go on", "a server for many"],
)
async def test_half_an_hour_without_a_key_does_not_matter_where(
    tmp_path: Path, keep_running: bool, unwatched: float | None, terms: Terms
) -> None:
    async with silent(tmp_path, keep_running=keep_running, unwatched=unwatched, terms=terms) as room:
        program = await Program.opened(room)
        await room.runs(1_000 * MINUTE)
        assert program.notices == []
        await program.close()


async def test_who_asked_for_the_run_and_waits_for_its_end_needs_no_key(tmp_path: Path) -> None:
    async with silent(tmp_path, terms=PAID) as room:
        reader = await room.watch()
        with room.house.engine.runs.wait_for(room.room_id):
            await room.runs(100 * MINUTE)
        await room.runs(29 * MINUTE)
        await room.clock.advance(2 * MINUTE)
        await room.paused()
        await reader.aclose()


async def test_a_room_that_begins_to_cost_money_while_it_runs_is_minded_too(tmp_path: Path) -> None:
    async with silent(tmp_path) as room:
        program = await Program.opened(room)
        await room.runs(45 * MINUTE)
        room.models.charged = PAID
        await room.runs(14 * MINUTE)
        assert [notice.id for notice in program.notices] == [room.room_id]
        await room.clock.advance(2 * MINUTE)
        await room.paused()
        await program.close()


@pytest.mark.parametrize(
    ("terms", "costs"),
    [
        (Terms(), False),  # the demo, or nobody
        (Terms(kind="openai", base_url="https://api.openai.com/v1"), True),
        (Terms(kind="openai", base_url="https://8.8.8.8/v1"), True),
        (Terms(kind="ollama", base_url="https://ollama.example.com/v1"), True),
        (Terms(kind="openai", base_url="https://gpu.example.com/v1", input_price=0, output_price=0), False),
        (Terms(kind="openai", base_url="http://127.0.0.1:8000/v1", output_price=1.0), True),
        (Terms(kind="openai", base_url="http://127.0.0.1:8000/v1"), False),
        (Terms(kind="ollama", base_url="http://[::1]:11434/v1"), False),
        (Terms(kind="openai", base_url="http://192.168.1.4:8000/v1"), False),
        (Terms(kind="ollama", base_url="http://gpu:11434/v1"), False),
        (Terms(kind="ollama", base_url="http://gpu.local:11434/v1"), False),
    ],
)
def test_what_costs_money_is_what_has_a_price_or_is_far_away(terms: Terms, costs: bool) -> None:
    assert costs_money(terms) is costs


async def test_a_room_that_is_paused_keeps_no_timer(tmp_path: Path) -> None:
    async with silent(tmp_path) as room:
        assert room.clock.sleepers == 2
        await room.house.engine.pause(ROOMS, room.room_id)
        await room.house.log.ended(room.room_id)
        await room.clock.advance(0)
        assert room.clock.sleepers == 0
        await room.clock.advance(100)
        assert (await room.house.engine.show(ROOMS, room.room_id)).interrupted == "pause"


async def test_what_is_alone_after_the_end_starts_no_timer() -> None:
    clock, told = FakeClock(), list[str]()
    timers = UnwatchedTimers([(30.0, told.append)], clock.sleep)
    timers.look("before", alone=True)
    await timers.close()
    timers.look("after", alone=True)
    await clock.advance(60.0)
    assert (told, clock.sleepers) == ([], 0)
