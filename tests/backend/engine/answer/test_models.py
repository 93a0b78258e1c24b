"""Whatever a model does, the room goes on, and what it said is on record."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent_tui.backend.engine.answer.call import MAX_WAITING_PIECES
from agent_tui.backend.engine.kinds import ROOMS
from agent_tui.backend.engine.timing import Timing
from agent_tui.backend.engine.written import MAX_PIECE_CHARACTERS
from agent_tui.backend.hub import StoredFrame
from agent_tui.backend.models.model import (
    ModelRequest,
    NotePiece,
    Piece,
    TextPiece,
    ThinkingPiece,
    UsagePiece,
)
from agent_tui.backend.models.prices import Terms
from agent_tui.model.errors import ModelError
from agent_tui.model.events import Message, Note
from agent_tui.state.conversation import ConversationState
from agent_tui.wire.rooms import decode
from tests.backend.engine.house import MODES, House, crash_copy, data, new_room, open_house, words
from tests.backend.engine.invariants import check_room
from tests.fakes.clock import FakeClock
from tests.fakes.scripted_model import FakeModels, Script, ScriptedModel

BUSY = ModelError("too busy", retryable=True)


async def ran(house: House, mode: str = "sequential", names: str = "Ada", end: str = "room_completed") -> str:
    """Run a room of one round to its ``end``; return its id."""
    room = await house.engine.create(ROOMS, new_room(mode, rounds=1, names=names))
    await house.engine.rooms.run(room.id)
    assert await house.log.ended(room.id) == end
    await check_room(house, room.id)
    return room.id


def errors(house: House, room_id: str) -> list[str]:
    return [data(frame)["error"] for frame in house.log.of(room_id) if frame.name == "agent_error"]


async def said(house: House, room_id: str) -> list[Message]:
    page = await house.engine.messages(ROOMS, room_id, None, None)
    return page.messages[1:]


class Tries:
    """Says one script after the other, call by call."""

    def __init__(self, *scripts: Script) -> None:
        self._scripts = iter(scripts)

    def __call__(self, request: ModelRequest) -> Script:
        return next(self._scripts)


async def test_a_busy_model_is_asked_again_later_and_later(tmp_path: Path) -> None:
    clock, model = FakeClock(), ScriptedModel(Tries([BUSY], [BUSY], ["there"]), free=True)
    timing = Timing(retries=(1.0, 3.0), sleep=clock.sleep)
    async with open_house(tmp_path / "rooms.db", FakeModels(model), timing=timing) as house:
        running = asyncio.create_task(ran(house))
        await model.called(1)
        await clock.advance(0.9)
        assert len(model.calls) == 1
        await clock.advance(0.2)
        await model.called(2)
        await clock.advance(2.8)
        assert len(model.calls) == 2
        await clock.advance(0.3)
        room_id = await running
        assert errors(house, room_id) == []
        assert [message.text for message in await said(house, room_id)] == ["there"]


@pytest.mark.parametrize(
    ("scripts", "tries"),
    [
        (([BUSY], [BUSY], [BUSY]), 3),
        (([ModelError("no such model")],), 1),
        ((["begun", BUSY],), 1),
        (([ThinkingPiece("hm"), BUSY],), 1),
    ],
    ids=["three times busy", "not worth trying again", "after its first words", "after its first thoughts"],
)
async def test_a_model_that_fails_for_good_is_an_agent_error(
    tmp_path: Path, scripts: tuple[Script, ...], tries: int
) -> None:
    model = ScriptedModel(Tries(*scripts), free=True)
    timing = Timing(retries=(0.0, 0.0))
    async with open_house(tmp_path / "rooms.db", FakeModels(model), timing=timing) as house:
        room_id = await ran(house, end="room_paused")
        assert len(model.calls) == tries
        assert len(errors(house, room_id)) == 1
        assert errors(house, room_id)[0].startswith("LLM stream failed: ")


@pytest.mark.parametrize("error", [ValueError("broken"), KeyError("x"), OSError(5, "bad"), AssertionError()])
async def test_a_model_may_raise_anything(tmp_path: Path, error: Exception) -> None:
    model = ScriptedModel(Tries(["one ", error], ["two"]), free=True)
    async with open_house(tmp_path / "rooms.db", FakeModels(model)) as house:
        room_id = await ran(house, names="Ada Bob")
        assert errors(house, room_id)[0].startswith(f"LLM stream failed: {type(error).__name__}")
        first, second = await said(house, room_id)
        assert (first.text, first.error) == ("one ", errors(house, room_id)[0])
        assert (second.text, second.error) == ("two", "")


class SelfCancelling:
    name = "self-cancelling"

    async def stream(self, request: ModelRequest) -> AsyncIterator[Piece]:
        yield TextPiece("I stop ")
        raise asyncio.CancelledError


async def test_a_model_that_cancels_itself_has_failed(tmp_path: Path) -> None:
    async with open_house(tmp_path / "rooms.db", FakeModels(SelfCancelling())) as house:
        room_id = await ran(house, end="room_paused")
        assert errors(house, room_id) == ["LLM stream failed: the call was cancelled"]


@pytest.mark.parametrize("mode", MODES)
async def test_an_agent_without_a_provider_fails_and_the_others_speak(tmp_path: Path, mode: str) -> None:
    models = FakeModels(ScriptedModel(words, free=True), refusal=ModelError("No LLM provider configured"))
    async with open_house(tmp_path / "rooms.db", models) as house:
        new = new_room(mode, rounds=1, names="Ada Bob")
        ada, bob = new["agents"]
        lost = {**new, "agents": ({**ada, "provider_id": "missing"}, bob)}
        room = await house.engine.create(ROOMS, lost)
        await house.engine.rooms.run(room.id)
        assert await house.log.ended(room.id) == "room_completed"
        assert errors(house, room.id) == ["No LLM provider configured"]
        starts = [
            data(frame)["sender_name"] for frame in house.log.of(room.id) if frame.name == "message_start"
        ]
        assert starts == ["Bob"]
        assert [message.sender_name for message in await said(house, room.id)] == ["Bob"]


class Hanging:
    """Ada says something and then nothing for ever; the others speak."""

    name = "hanging"

    def __init__(self) -> None:
        self.open = 0

    async def stream(self, request: ModelRequest) -> AsyncIterator[Piece]:
        self.open += 1
        try:
            yield TextPiece("I think")
            if request.speaker == "Ada":
                await asyncio.Event().wait()
        finally:
            self.open -= 1


@pytest.mark.parametrize("mode", MODES)
async def test_one_hanging_agent_does_not_keep_a_round_from_ending(tmp_path: Path, mode: str) -> None:
    model, timing = Hanging(), Timing(stall=0.05)
    async with open_house(tmp_path / "rooms.db", FakeModels(model), timing=timing) as house:
        room_id = await ran(house, mode, "Ada Bob")
        assert errors(house, room_id) == [
            (
                "LLM stream failed: no answer for 0.05 s: The model was given up;"
                " its provider's timeout sets how long to wait."
            )
        ]
        hanging, other = await said(house, room_id)
        assert (hanging.text, hanging.sender_name, bool(hanging.error)) == ("I think", "Ada", True)
        assert (other.text, other.error) == ("I think", "")
        assert model.open == 0


class Stubborn:
    """Does not let go when it is cancelled, until it is told to."""

    name = "stubborn"

    def __init__(self) -> None:
        self.told = asyncio.Event()
        self.asked = asyncio.Event()

    async def stream(self, request: ModelRequest) -> AsyncIterator[Piece]:
        yield TextPiece("mine")
        self.asked.set()
        while not self.told.is_set():
            try:
                await self.told.wait()
            except asyncio.CancelledError:
                continue


async def test_a_model_that_does_not_let_go_does_not_keep_a_room_from_pausing(tmp_path: Path) -> None:
    model = Stubborn()
    timing = Timing(grace=0.01)
    async with open_house(tmp_path / "rooms.db", FakeModels(model), timing=timing) as house:
        room = await house.engine.create(ROOMS, new_room("sequential"))
        await house.engine.rooms.run(room.id)
        await model.asked.wait()
        await house.engine.pause(ROOMS, room.id)
        assert await house.log.ended(room.id) == "room_paused"
        await check_room(house, room.id)
        assert [message.text for message in await said(house, room.id)] == ["mine"]
        model.told.set()


THINKS: Script = [
    TextPiece("a"),
    ThinkingPiece("Hm, "),
    UsagePiece(1, 2),
    ThinkingPiece("so"),
    TextPiece("b"),
]


@pytest.mark.parametrize("mode", MODES)
async def test_a_room_without_tools_keeps_thoughts_and_no_model_is_told_them(
    tmp_path: Path, mode: str
) -> None:
    model = ScriptedModel(lambda request: THINKS, free=True)
    async with open_house(tmp_path / "rooms.db", FakeModels(model)) as house:
        room_id = await ran(house, mode, "Ada Bob")
        for message in await said(house, room_id):
            assert message.text == "a\n\nb"
            steps = [(step.id, step.type, step.content) for step in message.steps]
            assert steps == [
                ("step-0", "text", "a"),
                ("step-1", "thinking", "Hm, so"),
                ("step-2", "text", "b"),
            ]
        state = ConversationState()
        for frame in house.log.of(room_id):
            state.apply(decode(frame.name, frame.data))
        turn, _ = (one for one in state.turns.values() if one.role != "user")
        assert [(step.type, step.content.text) for step in turn.steps.all.values()] == [
            ("text", "a"),
            ("thinking", "Hm, so"),
            ("text", "b"),
        ]
    assert "Hm" not in str([call.request.messages for call in model.calls])


async def test_a_room_that_dies_in_a_thought_keeps_it_with_the_words_before_it(tmp_path: Path) -> None:
    model = ScriptedModel(lambda request: THINKS)
    async with open_house(tmp_path / "rooms.db", FakeModels(model)) as house:
        room = await house.engine.create(ROOMS, new_room("sequential", rounds=1, names="Ada"))
        await house.engine.rooms.run(room.id)
        call = await model.called(1)
        for pieces, chunks in ((1, 1), (1, 3), (2, 4), (1, 5)):  # a thought begins with an empty chunk
            call.release(pieces)
            await house.log.seen(room.id, "message_chunk", chunks)
        dead = crash_copy(tmp_path / "rooms.db", tmp_path / "dead.db")
    async with open_house(dead, FakeModels(model)) as house:
        (message,) = await said(house, room.id)
        assert [step.content for step in message.steps] == ["a", "Hm, so", "b"]
        assert (message.text, message.interrupted) == ("a\n\nb", "crash")


async def test_an_agent_that_says_nothing_has_had_its_turn(tmp_path: Path) -> None:
    model = ScriptedModel(lambda request: [], free=True)
    async with open_house(tmp_path / "rooms.db", FakeModels(model)) as house:
        room_id = await ran(house)
        assert [message.text for message in await said(house, room_id)] == [""]


async def test_what_no_database_holds_is_replaced(tmp_path: Path) -> None:
    model = ScriptedModel(lambda request: ["a\x00", "\ud83d", "\udc00b", "\U0001f600"], free=True)
    async with open_house(tmp_path / "rooms.db", FakeModels(model)) as house:
        room_id = await ran(house)
        expected = "a\ufffd\ufffd\ufffdb\U0001f600"
        assert [message.text for message in await said(house, room_id)] == [expected]


async def test_a_model_that_says_too_much_is_stopped_and_what_fits_is_kept(tmp_path: Path) -> None:
    model = ScriptedModel(lambda request: ["x" * 600_000] * 3, free=True)
    async with open_house(tmp_path / "rooms.db", FakeModels(model)) as house:
        room_id = await ran(house, end="room_paused")
        assert errors(house, room_id) == [
            "LLM stream failed: it said more than 1,000,000 characters: The rest was left out."
        ]
        (message,) = await said(house, room_id)
        assert message.text == "x" * 1_000_000
        assert model.open_calls() == []


async def test_a_model_that_thinks_without_end_is_stopped(tmp_path: Path) -> None:
    model = ScriptedModel(lambda request: ["So: ", *[ThinkingPiece("x" * 400_000)] * 3, "done"], free=True)
    async with open_house(tmp_path / "rooms.db", FakeModels(model)) as house:
        room_id = await ran(house, end="room_paused")
        assert "thought more than" in errors(house, room_id)[0]
        assert [message.text for message in await said(house, room_id)] == ["So: "]


async def test_long_words_become_several_chunks(tmp_path: Path) -> None:
    text = "".join(chr(0x4E00 + number % 5000) for number in range(40_000))
    model = ScriptedModel(lambda request: [text], free=True)
    async with open_house(tmp_path / "rooms.db", FakeModels(model)) as house:
        room_id = await ran(house, "parallel")
        chunks = [data(frame) for frame in house.log.of(room_id) if frame.name == "message_chunk"]
        assert "".join(chunk["content"] for chunk in chunks) == text
        assert max(len(chunk["content"]) for chunk in chunks) == MAX_PIECE_CHARACTERS
        assert [chunk["progress"] for chunk in chunks] == [95, 95, 95]


class Eager:
    """Never waits for anything; counts what it was asked for."""

    name = "eager"

    def __init__(self, pieces: int) -> None:
        self.pieces = pieces
        self.given = 0
        self.ahead = 0
        self.stored = 0

    async def stream(self, request: ModelRequest) -> AsyncIterator[Piece]:
        for number in range(self.pieces):
            self.given = number + 1
            self.ahead = max(self.ahead, self.given - self.stored)
            yield TextPiece("x")


async def test_a_model_faster_than_the_disk_is_made_to_wait_and_its_words_are_joined(tmp_path: Path) -> None:
    model = Eager(5_000)
    async with open_house(tmp_path / "rooms.db", FakeModels(model)) as house:

        def count(frames: list[StoredFrame]) -> None:
            model.stored += sum(len(data(f)["content"]) for f in frames if f.name == "message_chunk")

        house.log.watchers.append(count)
        room_id = await ran(house)
        assert model.given == model.stored == 5_000
        # One chunk being written and one waiting.
        assert model.ahead <= 2 * MAX_WAITING_PIECES + 1
        assert house.log.names(room_id).count("message_chunk") <= 5_000 / MAX_WAITING_PIECES + 2


@pytest.mark.parametrize("mode", MODES)
async def test_what_happens_to_a_call_besides_words_is_told_before_them_and_what_was_left_out_is_kept(
    mode: str, tmp_path: Path
) -> None:
    missing = NotePiece("server_missing", about="slow: gone")
    notes: Script = [NotePiece("loading"), NotePiece("trimmed", 4), missing, missing, "Here."]
    model = ScriptedModel(lambda _: notes, free=True)
    async with open_house(tmp_path / "rooms.db", FakeModels(model)) as house:
        room_id = await ran(house, mode)
        frames = [frame for frame in house.log.of(room_id) if frame.name in ("agent_status", "message_chunk")]
        told = [(data(frame).get("note"), data(frame).get("count")) for frame in frames if frame.message_id]
        again = [("server_missing", None)] * 2
        assert told == [("loading", None), ("trimmed", 4), *again, (None, None)]
        (message,) = await said(house, room_id)
        kept = (Note("server_missing", "slow: gone"),)
        assert (message.text, message.trimmed, message.notes) == ("Here.", 4, kept)


async def test_a_note_does_not_keep_a_busy_model_from_being_asked_again(tmp_path: Path) -> None:
    clock, model = FakeClock(), ScriptedModel(Tries([NotePiece("loading"), BUSY], ["there"]), free=True)
    timing = Timing(retries=(1.0,), sleep=clock.sleep)
    async with open_house(tmp_path / "rooms.db", FakeModels(model), timing=timing) as house:
        running = asyncio.create_task(ran(house))
        await model.called(1)
        await clock.advance(1.1)
        (message,) = await said(house, await running)
        assert message.text == "there"


async def test_a_provider_says_for_how_long_its_models_may_be_silent(tmp_path: Path) -> None:
    models = FakeModels(Hanging())
    models.charged = Terms(silence_seconds=0.05)
    async with open_house(tmp_path / "rooms.db", models, timing=Timing(stall=3600.0)) as house:
        room_id = await ran(house, "sequential", "Ada Bob")
        (error,) = errors(house, room_id)
        assert error.startswith("LLM stream failed: no answer for 0.05 s: The model was given up")
