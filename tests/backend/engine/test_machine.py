"""Whatever happens to a room, in any order: hypothesis looks for the order that breaks it."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Coroutine, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from agent_tui.backend.engine.kinds import ROOMS
from agent_tui.backend.models.model import ModelRequest
from agent_tui.backend.store import reads
from agent_tui.model.errors import Refused
from agent_tui.model.events import Message, RoomInfo
from tests.backend.engine.house import MODES, House, crash_copy, new_room, open_house, words
from tests.backend.engine.invariants import check_as_it_is, check_room
from tests.fakes.scripted_model import FakeModels, ScriptedModel

T = TypeVar("T")

# A process that dies loses nothing that it wrote, wherever that is: here nobody waits for a disk.
MEMORY = Path("/dev/shm")

# Where a room may be after what was done to it; a room that speaks may have come to its end by itself.
IDLE, COMPLETED = {"idle"}, {"completed"}
RUNNING, PAUSED = {"running", "completed"}, {"paused", "completed"}


class Record:
    """The model of what must be on record: words of people as acknowledged, and turns to be said again."""

    def __init__(self) -> None:
        self.words: dict[str, tuple[str, str]] = {}  # message id → (text, agent it is for)
        self.retried: set[str] = set()

    def check(
        self, messages: Sequence[Message], requests: Sequence[ModelRequest], names: dict[str, str]
    ) -> None:
        """Check what a completed room has, and what models were told on the way."""
        said = {m.id: (m.text, m.to) for m in messages if m.role == "user" and m.text != "Talk"}
        assert said == self.words
        assert self.retried <= {m.id for m in messages if m.superseded}
        for text, to in self.words.values():
            knew = {request.speaker for request in requests if text in told(request)}
            assert not to or knew <= {names[to]}


def told(request: ModelRequest) -> list[str]:
    """Return all that the model was told."""
    return [message.content for message in request.messages]


class Ground:
    """A folder and an open house: rooms whose stories ended well leave it to the next one."""

    free: ClassVar[list[Ground]] = []

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.folder = Path(tempfile.mkdtemp(dir=MEMORY if MEMORY.is_dir() else None))
        self.opened = 0
        self.exit = AsyncExitStack()
        self.house: House
        self.model: ScriptedModel
        self.open(self.file(), resume=False)

    def file(self) -> Path:
        """Return a file that is not there yet."""
        return self.folder / f"{self.opened}.db"

    def open(self, file: Path, *, resume: bool) -> None:
        """Leave the house for one on ``file``, with a model of its own."""
        self.loop.run_until_complete(self._open(file, resume=resume))

    async def _open(self, file: Path, *, resume: bool) -> None:
        await self.exit.aclose()
        self.model = ScriptedModel(words)
        models = FakeModels(self.model)
        self.house = await self.exit.enter_async_context(open_house(file, models, resume=resume))
        self.opened += 1

    def close(self) -> None:
        """Leave nothing behind."""
        self.loop.run_until_complete(self.exit.aclose())
        self.loop.run_until_complete(self.loop.shutdown_default_executor())
        self.loop.close()
        shutil.rmtree(self.folder)


class Room(RuleBasedStateMachine):
    """One room of two rounds and two agents. ``may_be`` is what status it may have now."""

    def __init__(self) -> None:
        super().__init__()
        self.ground = Ground.free.pop() if Ground.free else Ground()
        self.may_be = IDLE
        self.record = Record()
        self.requests: list[ModelRequest] = []
        self.number = 0
        self.model = self.ground.model
        self.model.free, self.model.calls = False, []
        self.room: RoomInfo

    @property
    def house(self) -> House:
        return self.ground.house

    def do(self, what: Coroutine[Any, Any, T]) -> T:
        return self.ground.loop.run_until_complete(what)

    @initialize(mode=st.sampled_from(MODES))
    def make(self, mode: str) -> None:
        self.room = self.do(self.house.engine.create(ROOMS, new_room(mode, names="Ada Bob")))

    @rule()
    def run_it(self) -> None:
        seq = self.do(self.house.engine.rooms.run(self.room.id))
        names = {frame.seq: frame.name for frame in self.house.log.of(self.room.id)}
        assert names[seq] in ("room_started", "room_completed")
        if self.may_be is not COMPLETED:
            self.may_be = RUNNING
        self._look()

    @precondition(lambda self: self.may_be is IDLE)
    @rule()
    def resume_it_too_early(self) -> None:
        with pytest.raises(Refused):
            self.do(self.house.engine.rooms.resume(self.room.id))

    @precondition(lambda self: self.may_be is not IDLE)
    @rule()
    def resume_it(self) -> None:
        try:
            self.do(self.house.engine.rooms.resume(self.room.id))
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
            self.do(self.house.engine.pause(ROOMS, self.room.id))
        if self.may_be in (RUNNING, PAUSED):
            assert self.do(self.house.log.ended(self.room.id)) in ("room_paused", "room_completed")
            self.may_be = PAUSED
        self._look()

    # --- what people do meanwhile ----------------------------------------------------------------------

    @rule(
        when=st.sampled_from(("next", "next", "now")), to=st.sampled_from((None, 0, 1)), twice=st.booleans()
    )
    def say(self, when: str, to: int | None, twice: bool) -> None:
        self.number += 1
        text, key = f"words {self.number}", f"key {self.number}"
        agent = "" if to is None else self.room.agents[to].id
        saying = [
            self.house.engine.rooms.say(self.room.id, text, when=when, to=agent, client_key=key)
            for _ in range(1 + twice)
        ]
        try:
            answers = self.do(_all(saying))
        except Refused:
            assert self._status() == "completed"
            self.may_be = COMPLETED
        else:
            assert len({answer[0] for answer in answers}) == 1
            self.record.words[answers[0][0]] = text, agent

    @precondition(lambda self: self.number)  # not what was said in time: a story is told the same again
    @rule(which=st.integers(0, 9), drop=st.booleans())
    def change_what_waits(self, which: int, drop: bool) -> None:
        if not self.record.words:
            return
        id_, (text, to) = list(self.record.words.items())[which % len(self.record.words)]
        engine = self.house.engine
        try:
            if drop:
                self.do(engine.rooms.drop_queued(self.room.id, id_))
                del self.record.words[id_]
            else:
                queue = self.do(engine.rooms.change_queued(self.room.id, id_, f"{text}!", None))
                self.record.words[id_] = f"{text}!", to
                if f"{text}!" not in [waiting.content for waiting in queue]:  # it was said right afterwards
                    assert self._said()[id_] == f"{text}!"
        except Refused:  # it was said
            assert id_ in self._said()

    def _said(self) -> dict[str, str]:
        messages = self.do(self.house.engine.messages(ROOMS, self.room.id, None, None)).messages
        return {message.id: message.content for message in messages}

    @rule(which=st.integers(0, 1))
    def stop_an_agent(self, which: int) -> None:
        self.do(self.house.engine.rooms.stop_agent(self.room.id, self.room.agents[which].id))
        self._look()

    @rule(which=st.integers(0, 1))
    def skip_an_agent(self, which: int) -> None:
        self.do(self.house.engine.rooms.skip_agent(self.room.id, self.room.agents[which].id))
        self._look()

    @rule(which=st.integers(0, 1))
    def retry_an_agent(self, which: int) -> None:
        agent = self.room.agents[which].id
        stands = self._status() != "running"  # else its newest turn may be another one by then
        _, turns = self.do(self.house.store.read(reads.state, self.room.id))
        try:
            self.do(self.house.engine.rooms.retry_agent(self.room.id, agent))
        except Refused:  # it did not speak, or others did since
            return
        own = [row for row in turns if row.agent_id == agent]
        if stands and own[-1].status == "completed":
            self.record.retried.add(own[-1].message_id)
        self.may_be = RUNNING
        self._look()

    @rule(which=st.integers(0, 1))
    def continue_an_agent(self, which: int) -> None:
        try:
            self.do(self.house.engine.rooms.continue_agent(self.room.id, self.room.agents[which].id))
        except Refused:  # it said nothing, or all
            return
        self.may_be = RUNNING
        self._look()

    # --- what happens by itself ------------------------------------------------------------------------

    @rule(pieces=st.integers(1, 4))
    def let_them_speak(self, pieces: int) -> None:
        for call in self.model.open_calls():
            call.release(pieces)

    @rule(turns=st.integers(1, 30))
    def let_time_pass(self, turns: int) -> None:
        self.do(_turns(turns))

    @rule(resume=st.booleans())
    def crash(self, resume: bool) -> None:
        self._reopen(crash_copy(self.house.store.file, self.ground.file()), resume=resume)

    @rule(resume=st.booleans())
    def restart(self, resume: bool) -> None:
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
                self._end()
        except BaseException:
            self.ground.close()
            raise
        Ground.free.append(self.ground)

    def _end(self) -> None:
        self.model.free = True
        for call in self.model.calls:
            call.finish()
        self.do(self.house.engine.rooms.run(self.room.id))
        assert self.do(self.house.log.ended(self.room.id)) == "room_completed"
        self.do(check_room(self.house, self.room.id))
        page = self.do(self.house.engine.messages(ROOMS, self.room.id, None, None))
        self._remember()
        names = {agent.id: agent.name for agent in self.room.agents}
        self.record.check(page.messages, self.requests, names)

    def _remember(self) -> None:
        self.requests += [call.request for call in self.model.calls]

    def _status(self) -> str:
        return self.do(self.house.engine.show(ROOMS, self.room.id)).status

    def _reopen(self, file: Path, *, resume: bool) -> None:
        ran = self.may_be is RUNNING
        self.ground.open(file, resume=resume)
        self._remember()
        self.model = self.ground.model
        self.do(self.house.load(self.room.id))
        if ran:
            self.may_be = RUNNING if resume else PAUSED
        self._look()

    def _look(self) -> None:
        """See that the room is where it may be, and its log in order."""
        self.do(self._look_once())

    async def _look_once(self) -> None:
        now = await self.house.engine.show(ROOMS, self.room.id)
        assert now.status in self.may_be
        if now.status == "completed":
            self.may_be = COMPLETED
        if now.status != "running":  # else it changes while one looks
            await check_as_it_is(self.house, now)


async def _all(what: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
    return list(await asyncio.gather(*what))


async def _turns(number: int) -> None:
    for _ in range(number):
        await asyncio.sleep(0)


# Many long stories in the thorough profile, which takes its time; the quick one is to stay under ten seconds.
STEPS, TIMEOUT_SECONDS = (25, 7200) if settings().max_examples > 100 else (8, 120)
Room.TestCase.settings = settings(stateful_step_count=STEPS, deadline=None)


@pytest.mark.slow
@pytest.mark.timeout(TIMEOUT_SECONDS)
class TestRoom(Room.TestCase):  # type: ignore[misc, valid-type]
    """The machine, and the end of what its stories left open."""

    @classmethod
    def tearDownClass(cls) -> None:
        while Ground.free:
            Ground.free.pop().close()
