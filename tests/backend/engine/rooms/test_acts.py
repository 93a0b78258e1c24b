"""What people do in a room: each act, on agents that speak, wait, or have spoken."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agent_tui.backend.engine.kinds import ROOMS
from agent_tui.backend.engine.timing import Timing
from agent_tui.backend.models.model import UsagePiece
from agent_tui.model.errors import ModelError, NotFound, Refused
from agent_tui.model.events import Message, RoomInfo
from tests.backend.engine.house import MODES, House, crash_copy, data, new_room, open_house, words
from tests.backend.engine.invariants import check_room
from tests.fakes.scripted_model import FakeModels, ScriptedModel


@asynccontextmanager
async def talking(
    tmp_path: Path, mode: str = "sequential"
) -> AsyncIterator[tuple[House, ScriptedModel, Any]]:
    """Run a room of Ada and Bob in which Ada (in parallel both) has said the first of two pieces."""
    model = ScriptedModel(words)
    async with open_house(tmp_path / "rooms.db", FakeModels(model)) as house:
        room = await house.engine.create(ROOMS, new_room(mode, names="Ada Bob"))
        await house.engine.rooms.run(room.id)
        speakers = 1 if mode == "sequential" else 2
        for number in range(1, speakers + 1):
            (await model.called(number)).release()
        await house.log.seen(room.id, "message_chunk", speakers)
        yield house, model, room


async def finish(house: House, model: ScriptedModel, room: RoomInfo) -> list[Message]:
    """Let all speak to the end; return the messages."""
    model.free = True
    for call in model.open_calls():
        call.finish()
    assert await house.log.ended(room.id) == "room_completed"
    await check_room(house, room.id)
    return (await house.engine.messages(ROOMS, room.id, None, None)).messages


def told(model: ScriptedModel, number: int) -> list[str]:
    """Return what was said, as the model was told; what it is told of its room comes before."""
    system, *messages = model.calls[number].request.messages
    assert system.role == "system"
    return [message.content for message in messages]


@pytest.mark.parametrize("reason", ["stop", "skip"])
async def test_a_turn_that_is_stopped_keeps_its_words_and_of_a_skipped_one_no_model_is_told(
    tmp_path: Path, reason: str
) -> None:
    async with talking(tmp_path) as (house, model, room):
        act = house.engine.rooms.stop_agent if reason == "stop" else house.engine.rooms.skip_agent
        await act(room.id, room.agents[0].id)
        message = (await house.engine.messages(ROOMS, room.id, None, None)).messages[1]
        assert (message.text, message.interrupted, message.status) == ("Ada says, ", reason, "")
        messages = await finish(house, model, room)
        assert [m.sender_name for m in messages[1:]] == ["Ada", "Bob", "Ada", "Bob"]
        is_told = reason == "stop"
        assert ("[Ada]: Ada says, " in told(model, 1)) is is_told  # Bob's turn in the same round
        assert ("Ada says, " in told(model, 2)) is is_told  # Ada's own, in the next


async def test_of_a_turn_that_went_on_after_a_pause_and_was_skipped_then_no_model_is_told(
    tmp_path: Path,
) -> None:
    async with talking(tmp_path) as (house, model, room):
        await house.engine.change(ROOMS, room.id, {"on_resume": "continue"})
        await house.engine.pause(ROOMS, room.id)
        await house.log.ended(room.id)
        await house.engine.rooms.resume(room.id)
        await model.called(2)
        await house.engine.rooms.skip_agent(room.id, room.agents[0].id)
        await finish(house, model, room)
        assert model.calls[1].request.continues == "Ada says, "
        assert not any("Ada says" in words for words in told(model, 2))


@pytest.mark.parametrize("mode", MODES)
async def test_stopping_who_does_not_speak_does_nothing(tmp_path: Path, mode: str) -> None:
    async with talking(tmp_path, mode) as (house, _, room):
        await house.engine.pause(ROOMS, room.id)
        await house.log.ended(room.id)
        before = house.log.names(room.id)[:]
        await house.engine.rooms.stop_agent(room.id, room.agents[1].id)
        assert house.log.names(room.id) == before
        with pytest.raises(NotFound):
            await house.engine.rooms.stop_agent(room.id, "nobody")


async def test_a_skip_of_who_waits_passes_over_its_next_turn_and_only_that(tmp_path: Path) -> None:
    async with talking(tmp_path) as (house, model, room):
        bob = room.agents[1].id
        assert (await house.engine.rooms.skip_agent(room.id, bob)).agents[1].skip_next
        messages = await finish(house, model, room)
        assert [(m.sender_name, m.round_number) for m in messages[1:]] == [("Ada", 1), ("Ada", 2), ("Bob", 2)]
        skipped = [data(f) for f in house.log.of(room.id) if f.name == "agent_status"]
        assert skipped == [{"agent_id": bob, "agent_name": "Bob", "status": "completed", "skipped": True}]
        assert not (await house.engine.show(ROOMS, room.id)).agents[1].skip_next


async def test_a_skip_that_is_asked_for_again_is_undone(tmp_path: Path) -> None:
    async with talking(tmp_path) as (house, model, room):
        await house.engine.rooms.skip_agent(room.id, room.agents[1].id)
        assert not (await house.engine.rooms.skip_agent(room.id, room.agents[1].id)).agents[1].skip_next
        assert len(await finish(house, model, room)) == 5


async def test_a_retry_says_the_newest_turn_again_and_models_are_not_told_the_old_one(tmp_path: Path) -> None:
    async with talking(tmp_path) as (house, model, room):
        await house.engine.rooms.retry_agent(room.id, room.agents[0].id)  # it speaks: cut, then again
        await model.called(2)
        assert told(model, 1) == ["Talk"]
        messages = await finish(house, model, room)
        old, new = messages[1:3]
        assert (old.text, old.superseded, old.interrupted) == ("Ada says, ", True, "stop")
        assert (new.text, new.superseded, new.sender_name) == ("Ada says, in round 1.", False, "Ada")
        starts = [data(f) for f in house.log.of(room.id) if f.name == "message_start"]
        assert [(s.get("attempt", 1), s.get("supersedes", "")) for s in starts[:3]] == [
            (1, ""),
            (2, old.id),
            (1, ""),
        ]
        assert not any("Ada says, " in told(model, n) for n in range(len(model.calls)))


async def test_a_retry_in_a_completed_room_says_that_turn_and_completes_again(tmp_path: Path) -> None:
    async with talking(tmp_path) as (house, model, room):
        await finish(house, model, room)
        with pytest.raises(Refused, match="Bob spoke after Ada") as refused:
            await house.engine.rooms.retry_agent(room.id, room.agents[0].id)
        assert refused.value.status == 409
        assert (await house.engine.rooms.retry_agent(room.id, room.agents[1].id)).status in (
            "running",
            "completed",
        )
        await house.log.seen(room.id, "room_completed", 2)
        await check_room(house, room.id)
        messages = (await house.engine.messages(ROOMS, room.id, None, None)).messages
        assert [m.superseded for m in messages[-2:]] == [True, False]
        assert house.log.names(room.id).count("round_end") == 2


async def test_a_retry_of_who_never_spoke_is_refused(tmp_path: Path) -> None:
    async with talking(tmp_path) as (house, _, room):
        with pytest.raises(Refused, match="Bob did not speak yet"):
            await house.engine.rooms.retry_agent(room.id, room.agents[1].id)


async def test_a_retry_that_is_cut_by_a_pause_is_said_when_the_room_goes_on(tmp_path: Path) -> None:
    async with talking(tmp_path) as (house, model, room):
        await house.engine.rooms.stop_agent(room.id, room.agents[0].id)
        await model.called(2)
        await house.engine.pause(ROOMS, room.id)
        await house.log.ended(room.id)
        await house.engine.rooms.retry_agent(room.id, room.agents[0].id)  # Bob was cut without a word
        (await model.called(3)).release()
        await house.engine.pause(ROOMS, room.id)
        await house.log.seen(room.id, "room_paused", 2)
        await house.engine.rooms.resume(room.id)
        messages = await finish(house, model, room)
        standing = [m for m in messages[1:] if not (m.superseded or m.interrupted)]
        assert [m.sender_name for m in standing] == ["Ada", "Bob", "Ada", "Bob"]


async def test_words_for_the_next_turn_wait_until_then(tmp_path: Path) -> None:
    async with talking(tmp_path) as (house, model, room):
        id_, status, queue = await house.engine.rooms.say(room.id, "And Mongo?")
        assert (status, [(q.id, q.content, q.when) for q in queue]) == (
            "queued",
            [(id_, "And Mongo?", "next")],
        )
        assert (await house.engine.show(ROOMS, room.id)).queue == queue
        model.calls[0].finish()
        await model.called(2)
        assert told(model, 1)[1:] == ["[Ada]: Ada says, in round 1.", "And Mongo?"]
        assert await house.engine.rooms.queue(room.id) == ()
        said = [data(f) for f in house.log.of(room.id) if f.name == "message" and f.message_id == id_]
        assert [(m["role"], m["round_number"]) for m in said] == [("user", 1)]
        await finish(house, model, room)


@pytest.mark.parametrize("mode", MODES)
async def test_words_now_cut_all_that_speak_and_they_speak_again_knowing_them(
    tmp_path: Path, mode: str
) -> None:
    async with talking(tmp_path, mode) as (house, model, room):
        before = len(model.calls)
        id_, status, queue = await house.engine.rooms.say(room.id, "Stop, Mongo!", when="now")
        assert (status, queue) == ("said", ())
        await model.called(2 * before)
        for number in range(before, 2 * before):
            assert told(model, number) == ["Talk", "Stop, Mongo!"]  # and not the words that were cut
        messages = await finish(house, model, room)
        assert [m.interrupted for m in messages[1 : 1 + before]] == ["interject"] * before
        assert messages[1 + before].id == id_


async def test_a_whisper_now_cuts_only_its_agent_and_is_told_to_it_alone(tmp_path: Path) -> None:
    async with talking(tmp_path, "parallel") as (house, model, room):
        bob = room.agents[1].id
        id_, status, _ = await house.engine.rooms.say(room.id, "Be brief, Bob.", when="now", to=bob)
        assert status == "said"
        await model.called(3)
        assert model.calls[2].request.speaker == "Bob"
        assert [call.request.speaker for call in model.open_calls()] == ["Ada", "Bob"]
        messages = await finish(house, model, room)
        assert next(m.to for m in messages if m.id == id_) == bob
        knew = {
            call.request.speaker for n, call in enumerate(model.calls) if "Be brief, Bob." in told(model, n)
        }
        assert knew == {"Bob"}


async def test_the_same_key_is_the_same_message_even_at_once(tmp_path: Path) -> None:
    async with talking(tmp_path) as (house, model, room):
        say = house.engine.rooms.say
        answers = await asyncio.gather(*(say(room.id, "Once", client_key="k") for _ in range(5)))
        assert len({id_ for id_, _, _ in answers}) == 1
        messages = await finish(house, model, room)
        assert [m.text for m in messages].count("Once") == 1
        assert (await say(room.id, "Once", client_key="k"))[:2] == (answers[0][0], "said")


async def test_what_waits_can_be_changed_and_taken_back_until_it_is_said(tmp_path: Path) -> None:
    async with talking(tmp_path) as (house, model, room):
        engine, bob = house.engine, room.agents[1].id
        first, _, _ = await engine.rooms.say(room.id, "One")
        second, _, _ = await engine.rooms.say(room.id, "Two")
        queue = await engine.rooms.change_queued(room.id, first, "Eins", bob)
        assert [(q.content, q.to) for q in queue] == [("Eins", bob), ("Two", "")]
        assert [q.id for q in await engine.rooms.drop_queued(room.id, second)] == [first]
        with pytest.raises(NotFound):
            await engine.rooms.change_queued(room.id, second, "Zwei", None)
        messages = await finish(house, model, room)
        assert [m.text for m in messages if m.role == "user"] == ["Talk", "Eins"]
        with pytest.raises(Refused, match="already said") as refused:
            await engine.rooms.drop_queued(room.id, first)
        assert refused.value.status == 409


async def test_words_that_cannot_be_said_are_refused(tmp_path: Path) -> None:
    words: tuple[tuple[str, dict[str, str]], ...] = (
        (" ", {}), ("x" * 100_001, {}), ("x", {"to": "nobody"}), ("x", {"when": "soon"})
    )  # fmt: skip
    async with talking(tmp_path) as (house, _, room):
        for content, more in words:
            with pytest.raises(Refused) as refused:
                await house.engine.rooms.say(room.id, content, **more)
            assert refused.value.status == 422, (content[:9], more)


async def test_words_into_a_completed_room_are_refused(tmp_path: Path) -> None:
    async with talking(tmp_path) as (house, model, room):
        await finish(house, model, room)
        with pytest.raises(Refused, match="completed: Add a round first"):
            await house.engine.rooms.say(room.id, "Hello?")


async def test_words_that_come_while_the_last_turn_is_spoken_are_said(tmp_path: Path) -> None:
    async with talking(tmp_path) as (house, model, room):
        for number in (1, 2, 3):
            model.calls[number - 1].finish()
            await model.called(number + 1)
        await house.engine.rooms.say(room.id, "Thanks.")
        messages = await finish(house, model, room)
        assert [m.text for m in messages][-2:] == ["Bob says, in round 2.", "Thanks."]


async def test_what_was_acknowledged_is_said_after_a_crash(tmp_path: Path) -> None:
    async with talking(tmp_path) as (house, _, room):
        await house.engine.rooms.say(room.id, "Still here?", client_key="k")
        await house.engine.rooms.skip_agent(room.id, room.agents[1].id)
        copy = crash_copy(house.store.file, tmp_path / "copy.db")
    model = ScriptedModel(words, free=True)
    async with open_house(copy, FakeModels(model), resume=True) as house:
        await house.load(room.id)
        messages = await finish(house, model, room)
        assert [m.text for m in messages].count("Still here?") == 1
        assert [m.sender_name for m in messages].count("Bob") == 1


@pytest.mark.parametrize("on_resume", ["continue", "again"])
async def test_a_failed_turn_pauses_a_room_that_wants_it_and_goes_on_later(
    tmp_path: Path, on_resume: str
) -> None:
    broken = [ModelError("gone", "Try later.")]
    model = ScriptedModel(lambda request: ["Half ", broken.pop()] if broken else words(request), free=True)
    async with open_house(tmp_path / "rooms.db", FakeModels(model)) as house:
        room = await house.engine.create(ROOMS, new_room("sequential", names="Ada Bob"))
        await house.engine.change(ROOMS, room.id, {"on_error": "pause", "on_resume": on_resume})
        await house.engine.rooms.run(room.id)
        assert await house.log.ended(room.id) == "room_paused"
        assert (await house.engine.show(ROOMS, room.id)).interrupted == "error"
        await house.engine.rooms.resume(room.id)
        messages = await finish(house, model, room)
        first, second = messages[1:3]
        if on_resume == "again":
            assert [(m.text, m.superseded, m.continues) for m in (first, second)] == [
                ("Half ", True, ""),
                ("Ada says, in round 1.", False, ""),
            ]
        else:
            assert (first.text, first.superseded, second.continues) == ("Half ", False, first.id)
            assert model.calls[1].request.continues == "Half "


async def test_a_provider_is_asked_again_when_it_wants_and_never_more_than_three_times(
    tmp_path: Path,
) -> None:
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    errors = [ModelError("busy", retryable=True, retry_after=after) for after in (7.0, 900.0, 1.0)]
    model = ScriptedModel(lambda request: [errors.pop(0)] if errors else ["Well."], free=True)
    timing = Timing(sleep=sleep)
    async with open_house(tmp_path / "rooms.db", FakeModels(model), timing=timing) as house:
        room = await house.engine.create(ROOMS, new_room("sequential", rounds=1, names="Ada Bob"))
        await house.engine.rooms.run(room.id)
        assert await house.log.ended(room.id) == "room_completed"
        assert house.log.names(room.id).count("agent_error") == 1
    assert waited == [7.0, 30.0]


@pytest.mark.parametrize("count", [2**63 - 1, 10**30, -1])
async def test_a_usage_that_cannot_be_is_no_usage(tmp_path: Path, count: int) -> None:
    model = ScriptedModel(lambda _: ["Well.", UsagePiece(count, 1)], free=True)
    async with open_house(tmp_path / "rooms.db", FakeModels(model)) as house:
        room = await house.engine.create(ROOMS, new_room("sequential", rounds=1, names="Ada Bob"))
        await house.engine.rooms.run(room.id)
        messages = await finish(house, model, room)
        assert [(message.text, message.usage) for message in messages[1:]] == [("Well.", None)] * 2


async def test_what_a_turn_used_is_on_record_with_it(tmp_path: Path) -> None:
    model = ScriptedModel(lambda _: ["Well.", UsagePiece(10, 1), UsagePiece(12, 3)], free=True)
    async with open_house(tmp_path / "rooms.db", FakeModels(model)) as house:
        room = await house.engine.create(ROOMS, new_room("sequential", rounds=1, names="Ada Bob"))
        await house.engine.rooms.run(room.id)
        messages = await finish(house, model, room)
        usage = messages[1].usage
        assert usage is not None
        assert (usage.prompt_tokens, usage.completion_tokens) == (12, 3)
        assert usage.first_token_seconds is not None
        told_room = await house.engine.show(ROOMS, room.id)
        assert (told_room.tokens, told_room.last_speaker, told_room.last_words) == (30, "Bob", "Well.")
