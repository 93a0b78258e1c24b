"""Whatever happens to a room, in any order: hypothesis looks for the order that breaks it."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from agent_tui.errors import Refused
from agent_tui.events import RoomInfo
from tests.backend.engine.house import MODES, House, crash_copy, new_room, open_house, words
from tests.backend.engine.invariants import check_room
from tests.fakes.scripted_model import FakeModels, ScriptedModel

T = TypeVar("T")

# Where a room may be after what was done to it; a room that speaks may have come to its end by itself.
IDLE, COMPLETED = {"idle"}, {"completed"}
RUNNING, PAUSED = {"running", "completed"}, {"paused", "completed"}


class Room(RuleBasedStateMachine):
    """One room of two rounds and two agents. ``may_be`` is the model: the statuses it may have now."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.folder = Path(tempfile.mkdtemp())
        self.opened = 0
        self.may_be = IDLE
        self.model = ScriptedModel(words)
        self.house: House
        self.exit = AsyncExitStack()
        self.room: RoomInfo

    def do(self, what: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(what)

    @initialize(mode=st.sampled_from(MODES))
    def make(self, mode: str) -> None:
        self.do(self._open(self.folder / "0.db", resume=False))
        self.room = self.do(self.house.engine.create_room(new_room(mode, names="Ada Bob")))

    @rule()
    def run_it(self) -> None:
        seq = self.do(self.house.engine.run(self.room.id))
        assert self.house.log.of(self.room.id)[seq - 1].name in ("room_started", "room_completed")
        if self.may_be is not COMPLETED:
            self.may_be = RUNNING
        self._look()

    @precondition(lambda self: self.may_be is IDLE)
    @rule()
    def resume_it_too_early(self) -> None:
        with pytest.raises(Refused):
            self.do(self.house.engine.resume(self.room.id))

    @precondition(lambda self: self.may_be is not IDLE)
    @rule()
    def resume_it(self) -> None:
        try:
            self.do(self.house.engine.resume(self.room.id))
        except Refused:
            assert self.may_be is not IDLE
            self.may_be = COMPLETED
        else:
            assert self.may_be is not COMPLETED
            self.may_be = RUNNING
        self._look()

    @rule(times=st.integers(1, 3))
    def pause_it(self, times: int) -> None:
        for _ in range(times):
            self.do(self.house.engine.pause(self.room.id))
        if self.may_be in (RUNNING, PAUSED):
            assert self.do(self.house.log.ended(self.room.id)) in ("room_paused", "room_completed")
            self.may_be = PAUSED
        self._look()

    @rule(pieces=st.integers(1, 4))
    def let_them_speak(self, pieces: int) -> None:
        for call in self.model.open_calls():
            call.release(pieces)

    @rule(turns=st.integers(1, 30))
    def let_time_pass(self, turns: int) -> None:
        self.do(_turns(turns))

    @rule(resume=st.booleans())
    def crash(self, resume: bool) -> None:
        self._reopen(crash_copy(self.house.store.file, self.folder / f"{self.opened}.db"), resume=resume)

    @rule(resume=st.booleans())
    def restart(self, resume: bool) -> None:
        self.do(self.exit.aclose())
        self._reopen(self.house.store.file, resume=resume)

    @precondition(lambda self: self.may_be is not IDLE)
    @rule()
    def attach(self) -> None:
        async def first_batch() -> int:
            reader = self.house.hub.read(self.room.id, 0)
            batch = await anext(reader)
            await reader.aclose()
            return batch[0].seq

        assert self.do(first_batch()) == 1

    def teardown(self) -> None:
        try:
            if hasattr(self, "room"):
                self.model.free = True
                for call in self.model.calls:
                    call.finish()
                self.do(self.house.engine.run(self.room.id))
                assert self.do(self.house.log.ended(self.room.id)) == "room_completed"
                self.do(check_room(self.house, self.room.id))
        finally:
            self.do(self.exit.aclose())
            self.do(self.loop.shutdown_default_executor())
            self.loop.close()
            shutil.rmtree(self.folder)

    async def _open(self, file: Path, *, resume: bool) -> None:
        self.model = ScriptedModel(words)
        self.exit = AsyncExitStack()
        models = FakeModels(self.model)
        self.house = await self.exit.enter_async_context(open_house(file, models, resume=resume))
        self.opened += 1

    def _reopen(self, file: Path, *, resume: bool) -> None:
        ran = self.may_be is RUNNING
        self.do(self.exit.aclose())
        self.do(self._open(file, resume=resume))
        self.do(self.house.load(self.room.id))
        if ran:
            self.may_be = RUNNING if resume else PAUSED
        self._look()

    def _look(self) -> None:
        """See that the room is where it may be, and its log in order."""
        status = self.do(self.house.engine.room(self.room.id)).status
        assert status in self.may_be
        if status == "completed":
            self.may_be = COMPLETED
        if status != "running":  # else it changes while one looks
            self.do(check_room(self.house, self.room.id))


async def _turns(number: int) -> None:
    for _ in range(number):
        await asyncio.sleep(0)


Room.TestCase.settings = settings(max_examples=15, stateful_step_count=20, deadline=None)
TestRoom = Room.TestCase
