"""A turn that ran out of tokens is cut, the room goes on, and the agent may finish it under a new id."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent_tui.backend.engine.context.history import without_unrun
from agent_tui.backend.engine.kinds import CHATS, ROOMS
from agent_tui.backend.engine.timing import Timing
from agent_tui.backend.models.model import CutPiece, ModelRequest, ThinkingPiece, UsagePiece
from agent_tui.backend.store import reads
from agent_tui.backend.store.rows import NewEvent, TurnOpened, TurnRow
from agent_tui.model.chains import join_chains
from agent_tui.model.errors import ModelError, NotFound, Refused, StoreError
from agent_tui.model.events import Message, RoomInfo, RoundStarted, Step
from tests.backend.engine.chat_house import call, open_chats, speaks
from tests.backend.engine.chat_house import told as told_in_chat
from tests.backend.engine.house import MODES, House, crash_copy, data, new_room, open_house, words
from tests.backend.engine.invariants import check_room
from tests.fakes.scripted_model import FakeModels, Script, ScriptedModel
from tests.fakes.scripted_tools import ScriptedBox, reader

CUT = CutPiece("length")


def cut_short(request: ModelRequest) -> Script:
    """Ada is cut off in the first round, and says the rest when she is asked to go on."""
    if request.continues:
        return [" and more", ", to the end."]
    if (request.speaker, request.round) == ("Ada", 1):
        return ["Ada says so", CUT, UsagePiece(7, 5)]
    return words(request)


@asynccontextmanager
async def talked(
    tmp_path: Path, says: Callable[[ModelRequest], Script] = cut_short, *, mode: str = "sequential"
) -> AsyncIterator[tuple[House, ScriptedModel, RoomInfo]]:
    """Run a room of Ada and Bob to its end."""
    model = ScriptedModel(says, free=True)
    timing = Timing(retries=())
    async with open_house(tmp_path / "rooms.db", FakeModels(model), timing=timing) as house:
        room = await house.engine.create(ROOMS, new_room(mode, rounds=1, names="Ada Bob"))
        await house.engine.rooms.run(room.id)
        assert await house.log.ended(room.id) == "room_completed"
        yield house, model, room


async def messages(house: House, room: RoomInfo) -> list[Message]:
    return (await house.engine.messages(ROOMS, room.id, None, None)).messages


async def go_on(house: House, room: RoomInfo, agent: int = 0) -> None:
    """Have the agent finish its turn, and wait for the end of the run."""
    runs = house.log.names(room.id).count("room_completed")
    await house.engine.rooms.continue_agent(room.id, room.agents[agent].id)
    await house.log.seen(room.id, "room_completed", runs + 1)


def starts(house: House, room: RoomInfo) -> list[dict[str, Any]]:
    return [data(frame) for frame in house.log.of(room.id) if frame.name == "message_start"]


def told(model: ScriptedModel, number: int) -> list[tuple[str, str]]:
    """Return what the model was told, but for what it was told of the room."""
    messages = model.calls[number].request.messages
    return [(message.role, message.content) for message in messages if message.role != "system"]


@pytest.mark.parametrize("mode", MODES)
async def test_a_turn_that_ran_out_of_tokens_is_cut_and_the_room_goes_on(tmp_path: Path, mode: str) -> None:
    async with talked(tmp_path, mode=mode) as (house, model, room):
        said = await messages(house, room)
        assert [(m.sender_name, m.text, m.interrupted, m.error) for m in said[1:]] == [
            ("Ada", "Ada says so", "length", ""),
            ("Bob", "Bob says, in round 1.", "", ""),
        ]
        assert "agent_error" not in house.log.names(room.id)
        if mode == "sequential":
            assert told(model, 1)[-1] == ("user", "[Ada]: Ada says so")
        await check_room(house, room.id)


async def test_a_room_with_tools_cuts_such_a_turn_in_the_same_way(tmp_path: Path) -> None:
    model = ScriptedModel(lambda request: ["Half an ans", call("look", "{"), CUT], free=True)
    look, timing = reader(), Timing(retries=())
    async with open_house(
        tmp_path / "a.db", FakeModels(model), box=ScriptedBox(look), timing=timing
    ) as house:
        new = {**new_room("sequential", rounds=1, names="Ada"), "enabled_tools": ("look",)}
        room = await house.engine.create(ROOMS, new)
        await house.engine.rooms.run(room.id)
        assert await house.log.ended(room.id) == "room_completed"
        message = (await messages(house, room))[-1]
        assert (message.text, message.interrupted, message.error) == ("Half an ans", "length", "")
        assert [step.status for step in message.steps if step.type == "tool_call"] == ["cut"]
        assert look.ran == []


@pytest.mark.parametrize("tools", [(), ("look",)], ids=["no tools", "tools"])
async def test_a_model_that_gives_up_before_its_end_fails_its_turn(
    tmp_path: Path, tools: tuple[str, ...]
) -> None:
    model = ScriptedModel(lambda request: ["Half an ans", CutPiece("abort")], free=True)
    async with open_house(tmp_path / "a.db", FakeModels(model), box=ScriptedBox(reader())) as house:
        new = {**new_room("sequential", rounds=1, names="Ada"), "enabled_tools": tools}
        room = await house.engine.create(ROOMS, new)
        await house.engine.rooms.run(room.id)
        await house.log.ended(room.id)
        message = (await messages(house, room))[-1]
        assert (message.text, message.interrupted) == ("Half an ans", "")
        assert message.error == "LLM stream failed: the model stopped before the end: abort"


@pytest.mark.parametrize("mode", MODES)
async def test_an_agent_finishes_its_turn_with_what_is_new_under_a_new_id(tmp_path: Path, mode: str) -> None:
    async with talked(tmp_path, mode=mode) as (house, model, room):
        before = await messages(house, room)
        await go_on(house, room)
        # It is told what it was told the first time, and then its own words: not what Bob said since.
        assert told(model, 2) == [("user", "Talk"), ("assistant", "Ada says so")]
        after = await messages(house, room)
        assert after[:-1] == before
        rest = after[-1]
        assert (rest.text, rest.interrupted, rest.continues) == (" and more, to the end.", "", before[1].id)
        assert (starts(house, room)[-1]["continues"], starts(house, room)[-1]["attempt"]) == (before[1].id, 2)
        heard = await house.store.read(reads.contributions, room.id)
        assert [(said.name, said.text) for said in heard if said.agent_id] == [
            ("Ada", "Ada says so and more, to the end."),
            ("Bob", "Bob says, in round 1."),
        ]
        await check_room(house, room.id)
        with pytest.raises(Refused, match="complete"):
            await house.engine.rooms.continue_agent(room.id, room.agents[0].id)


async def test_a_model_that_says_its_beginning_over_again_is_not_heard_twice(tmp_path: Path) -> None:
    def again(request: ModelRequest) -> Script:
        if request.continues and request.speaker == "Ada":
            return ["Ada says ", "so, then ", "stops."]
        return cut_short(request)

    async with talked(tmp_path, again) as (house, _, room):
        await go_on(house, room)
        assert (await messages(house, room))[-1].text == ", then stops."


async def test_a_rest_that_is_cut_again_goes_on_from_there(tmp_path: Path) -> None:
    def parts(request: ModelRequest) -> Script:
        if request.speaker != "Ada":
            return words(request)
        rests: dict[str, Script] = {"": ["One", CUT], "One": [", two", CUT], "One, two": [", three."]}
        return rests[request.continues]

    async with talked(tmp_path, parts) as (house, _, room):
        await go_on(house, room)
        await go_on(house, room)
        *_, second, third = await messages(house, room)
        assert (second.text, third.text, third.continues) == (", two", ", three.", second.id)
        heard = await house.store.read(reads.contributions, room.id)
        assert [said.text for said in heard if said.name == "Ada"] == ["One, two, three."]
        await check_room(house, room.id)


async def test_a_rest_that_fails_leaves_what_was_said_and_can_be_asked_for_again(tmp_path: Path) -> None:
    failures: list[Script] = [[ModelError("no")], [" and", ModelError("no")]]

    def fails(request: ModelRequest) -> Script:
        if request.continues and failures:
            return failures.pop(0)
        return cut_short(request)

    async with talked(tmp_path, fails) as (house, model, room):
        first = (await messages(house, room))[1]
        await go_on(house, room)  # fails without a word
        assert [
            said.text for said in await house.store.read(reads.contributions, room.id) if said.name == "Ada"
        ] == ["Ada says so"]
        await go_on(house, room)  # fails after a word
        await go_on(house, room)
        *_, second, third = await messages(house, room)
        assert (second.continues, second.error) == (first.id, "LLM stream failed: no")
        assert (third.continues, third.error) == (second.id, "")
        assert told(model, -1)[-1] == ("assistant", "Ada says so and")
        await check_room(house, room.id)


async def test_a_turn_cut_while_it_thought_begins_anew_and_leaves_no_empty_message(tmp_path: Path) -> None:
    model = ScriptedModel(lambda request: [ThinkingPiece("Hm, let me"), "All ", "of it."])
    async with open_house(tmp_path / "rooms.db", FakeModels(model), timing=Timing(retries=())) as house:
        room = await house.engine.create(ROOMS, new_room("sequential", rounds=1, names="Ada"))
        await house.engine.rooms.run(room.id)
        (await model.called(1)).release()  # its thought, and not yet a word
        await house.log.seen(room.id, "message_start")
        await house.engine.pause(ROOMS, room.id)
        await house.log.seen(room.id, "room_paused")
        assert [message.text for message in await messages(house, room)] == ["Talk"]
        model.free = True
        await house.engine.rooms.resume(room.id)
        await house.log.seen(room.id, "room_completed")
        assert (model.calls[1].request.continues, told(model, 1)) == ("", [("user", "Talk")])
        stored = await messages(house, room)
        assert [(message.text, message.continues) for message in stored] == [("Talk", ""), ("All of it.", "")]
        await check_room(house, room.id)


async def test_a_search_finds_a_turn_and_its_rest_once_also_by_words_across_the_seam(tmp_path: Path) -> None:
    def says(request: ModelRequest) -> Script:
        return ["ry is nigh."] if request.continues else ["It is a caf\u00e9. The libra", CUT]

    async with talked(tmp_path, says) as (house, _, room):
        before = await messages(house, room)
        await go_on(house, room)
        for words in ("cafe nigh", "library", "cafe", "nigh"):
            found = await house.store.read(reads.search, words, 50)
            rest = (await messages(house, room))[-1]
            mine = [hit for hit in found if hit.message_id in (before[1].id, rest.id)]
            assert [hit.message_id for hit in mine] == [rest.id], words
            assert "library" in mine[0].snippet.replace("\x02", "").replace("\x03", "")
        row = await house.engine.show(ROOMS, room.id)
        assert row.last_words == "It is a caf\u00e9. The library is nigh."


async def test_a_search_finds_a_continued_answer_of_a_chat_once(tmp_path: Path) -> None:
    async with open_chats(tmp_path / "a.db", ScriptedModel(chat_parts, free=True)) as house:
        first = await house.ask("Well?")
        second = await house.ask("", continues=first)
        for words in ("this second", "first part"):
            (hit,) = await house.engine.search(words)
            assert hit.message_id == second
        assert (
            await house.engine.show(CHATS, house.id)
        ).last_words == "This is the first part and the second."


async def test_a_retry_says_the_whole_turn_anew(tmp_path: Path) -> None:
    alone = new_room("sequential", rounds=1, names="Ada")
    model = ScriptedModel(cut_short, free=True)
    async with open_house(tmp_path / "rooms.db", FakeModels(model)) as house:
        room = await house.engine.create(ROOMS, alone)
        await house.engine.rooms.run(room.id)
        await house.log.ended(room.id)
        await go_on(house, room)
        await house.engine.rooms.retry_agent(room.id, room.agents[0].id)
        await house.log.seen(room.id, "room_completed", 3)
        said = await messages(house, room)
        assert [message.superseded for message in said[1:]] == [True, True, False]
        assert said[-1].continues == ""
        assert [one.text for one in await house.store.read(reads.contributions, room.id)] == [
            "Talk",
            "Ada says so",
        ]
        await check_room(house, room.id)


async def test_what_a_turn_did_with_tools_is_known_to_its_rest(tmp_path: Path) -> None:
    def uses(request: ModelRequest) -> Script:
        if request.continues:
            return [" is", " here."]
        if any(message.role == "tool" for message in request.messages):
            return ["The file", CUT]
        return ["Let me look.", call("look")]

    model, box = ScriptedModel(uses, free=True), ScriptedBox(reader())
    async with open_house(tmp_path / "a.db", FakeModels(model), box=box) as house:
        new = {**new_room("sequential", rounds=1, names="Ada"), "enabled_tools": ("look",)}
        room = await house.engine.create(ROOMS, new)
        await house.engine.rooms.run(room.id)
        await house.log.ended(room.id)
        await go_on(house, room)
        assert [role for role, _ in told(model, -1)] == ["user", "assistant", "tool", "assistant"]
        assert told(model, -1)[-1] == ("assistant", "The file")
        cut, rest = (await messages(house, room))[1:]
        assert cut.text == "Let me look.\n\nThe file"
        assert (rest.text, [step.id for step in rest.steps]) == (" is here.", [])
        heard = await house.store.read(reads.contributions, room.id)
        assert heard[-1].text == "Let me look.\n\nThe file is here."
        await check_room(house, room.id)


@pytest.mark.parametrize("how", ["pause", "crash"])
async def test_a_rest_that_is_interrupted_goes_on_where_it_was(tmp_path: Path, how: str) -> None:
    file, copy = tmp_path / "rooms.db", tmp_path / "copy.db"
    model = ScriptedModel(cut_short, free=True)
    async with open_house(file, FakeModels(model)) as house:
        room = await house.engine.create(ROOMS, new_room("sequential", rounds=1, names="Ada Bob"))
        await house.engine.rooms.run(room.id)
        await house.log.ended(room.id)
        model.free = False
        await house.engine.rooms.continue_agent(room.id, room.agents[0].id)
        (await model.called(3)).release()
        await house.log.until(room.id, lambda: data(house.log.of(room.id)[-1]).get("content") == " and more")
        if how == "crash":
            crash_copy(file, copy)
        await house.engine.pause(ROOMS, room.id)
        await house.log.seen(room.id, "room_paused")
    model = ScriptedModel(cut_short, free=True)
    async with open_house(copy if how == "crash" else file, FakeModels(model)) as house:
        await house.engine.rooms.resume(room.id)
        await house.log.seen(room.id, "room_completed")
        assert told(model, 0)[-1] == ("assistant", "Ada says so and more")
        *_, cut, rest = await messages(house, room)
        assert (cut.text, cut.interrupted) == (" and more", how)
        assert rest.continues == cut.id
        await house.load(room.id)
        await check_room(house, room.id)


async def test_the_database_refuses_a_second_continuation(tmp_path: Path) -> None:
    async with talked(tmp_path) as (house, _, room):
        await go_on(house, room)
        cut = (await messages(house, room))[1]
        second = TurnRow(1, room.agents[0].id, 3, "second", continues=cut.id)
        for status in ("streaming", "completed"):
            opened = TurnOpened(replace(second, status=status))
            with pytest.raises(StoreError):
                await house.store.append(room.id, [NewEvent.of(RoundStarted(1, 1), "second")], [opened])


async def test_only_a_turn_that_was_cut_off_can_be_continued(tmp_path: Path) -> None:
    async with talked(tmp_path) as (house, _, room):
        with pytest.raises(Refused, match="complete"):
            await house.engine.rooms.continue_agent(room.id, room.agents[1].id)

    def silent(request: ModelRequest) -> Script:
        return [ModelError("no")] if request.speaker == "Ada" else words(request)

    (tmp_path / "other").mkdir()
    async with talked(tmp_path / "other", silent) as (house, _, room):
        with pytest.raises(Refused, match="said nothing"):
            await house.engine.rooms.continue_agent(room.id, room.agents[0].id)


def chat_parts(request: ModelRequest) -> Script:
    """Answer in two parts, of which the second begins with the end of the first."""
    if request.continues:
        return ["the first part", " and the second.", UsagePiece(20, 6)]
    return ["This is ", "the first part", CUT, UsagePiece(10, 4)]


async def test_an_answer_of_a_chat_is_finished_under_a_new_id(tmp_path: Path) -> None:
    model = ScriptedModel(chat_parts, free=True)
    async with open_chats(tmp_path / "a.db", model) as house:
        first = await house.ask("Well?")
        cut = await house.last()
        assert (cut.interrupted, cut.error, cut.token_count, house.end()[0]) == ("length", "", 4, "error")
        second = await house.ask("", continues=first)
        assert told_in_chat(model.calls[1].request) == [
            ("user", "Well?"),
            ("assistant", "This is the first part"),
        ]
        rest = await house.last()
        assert (rest.id, rest.text, rest.continues, rest.parent_id) == (
            second,
            " and the second.",
            first,
            first,
        )
        assert (rest.token_count, house.end()[1]["token_count"]) == (6, 6)
        begun = [fields for name, fields in house.events() if name == "answer_started"]
        assert [fields.get("continues") for fields in begun] == [None, first]
        await house.ask("And?")
        assert told_in_chat(model.calls[2].request)[1:] == [
            ("assistant", "This is the first part and the second."),
            ("user", "And?"),
        ]
        assert [message.text for message in join_chains(await house.messages())][:2] == [
            "Well?",
            "This is the first part and the second.",
        ]


async def test_what_cannot_be_continued_in_a_chat_is_refused(tmp_path: Path) -> None:
    model = speaks(["All of it."], [ModelError("no")], ["Cut", CUT], [" short."])
    async with open_chats(tmp_path / "a.db", model) as house:
        whole, failed, cut = [await house.ask(f"{number}?") for number in range(3)]
        for message_id, why in ((whole, "complete"), (failed, "Nothing was said")):
            with pytest.raises(Refused, match=why) as refused:
                await house.begin("", continues=message_id)
            assert refused.value.status == 409
        await house.ask("", continues=cut)
        with pytest.raises(Refused, match="complete"):  # by now it is
            await house.begin("", continues=cut)
        with pytest.raises(NotFound):
            await house.begin("", continues="nobody")
        with pytest.raises(Refused, match="cannot have new words"):
            await house.begin("More", continues=cut)


async def test_an_answer_asked_for_again_is_given_anew_from_its_beginning(tmp_path: Path) -> None:
    async with open_chats(tmp_path / "a.db", ScriptedModel(chat_parts, free=True)) as house:
        first = await house.ask("Well?")
        await house.ask("", continues=first)
        question = (await house.messages())[0]
        await house.ask("", again=question.id)
        assert [message.text for message in await house.messages()] == ["Well?", "This is the first part"]


async def test_a_rest_that_a_dead_process_left_open_can_be_continued(tmp_path: Path) -> None:
    file, copy = tmp_path / "a.db", tmp_path / "b.db"
    model = ScriptedModel(lambda request: [" more of it"] if request.continues else ["Begun", CUT], free=True)
    async with open_chats(file, model) as house:
        first = await house.ask()
        model.free = False
        await house.begin("", continues=first)
        (await model.called(2)).release(2)
        await house.log.until(house.id, lambda: house.events()[-1][1].get("content") == " more of it")
        crash_copy(file, copy)
        chat = house.id
    async with open_chats(copy, ScriptedModel(lambda _: [", all"], free=True), new=False) as house:
        house.id = chat
        cut = await house.last()
        assert (cut.text, cut.interrupted, cut.continues) == (" more of it", "crash", first)
        await house.ask("", continues=cut.id)
        assert join_chains(await house.messages())[-1].text == "Begun more of it, all"


FIVE = "words-one words-two words-three words-four words-five"


def counted(request: ModelRequest) -> Script:
    """Say five parts, from where the answer is to go on; one of them after each call."""
    said = len(request.continues.split())
    return [f"{word} " for word in FIVE.split()[said:]]


async def test_four_pauses_leave_one_message_and_each_attempt_holds_only_what_is_new(tmp_path: Path) -> None:
    model = ScriptedModel(counted)
    async with open_house(tmp_path / "rooms.db", FakeModels(model)) as house:
        room = await house.engine.create(ROOMS, new_room("sequential", rounds=1, names="Ada"))
        await house.engine.rooms.run(room.id)
        for pause in range(1, 5):
            (await model.called(pause)).release()
            await house.log.seen(room.id, "message_chunk", pause)
            await house.engine.pause(ROOMS, room.id)
            await house.log.seen(room.id, "room_paused", pause)
            if pause == 2:
                await house.engine.rooms.say(room.id, "Be brief.")
            await house.engine.rooms.resume(room.id)
        (await model.called(5)).finish()
        await house.log.seen(room.id, "room_completed")
        parts = [message for message in await messages(house, room) if message.role == "assistant"]
        assert [part.text for part in parts] == [f"{word} " for word in FIVE.split()]
        assert [part.continues for part in parts] == ["", *(part.id for part in parts[:-1])]
        (whole,) = join_chains(parts)
        assert (whole.text, whole.interrupted) == (f"{FIVE} ", "")
        # What people said while the room stood still is known, and stands before its own words.
        assert told(model, 2) == [
            ("user", "Talk"),
            ("user", "Be brief."),
            ("assistant", "words-one words-two "),
        ]
        info = await house.engine.show(ROOMS, room.id)
        assert info.tokens == sum(len(part.text) // 4 for part in parts)
        await check_room(house, room.id)


async def test_a_turn_that_a_pause_cut_is_said_anew_by_a_retry(tmp_path: Path) -> None:
    model = ScriptedModel(counted)
    async with open_house(tmp_path / "rooms.db", FakeModels(model)) as house:
        room = await house.engine.create(ROOMS, new_room("sequential", rounds=1, names="Ada"))
        await house.engine.rooms.run(room.id)
        (await model.called(1)).release()
        await house.log.seen(room.id, "message_chunk", 1)
        await house.engine.pause(ROOMS, room.id)
        await house.log.seen(room.id, "room_paused")
        model.free = True
        await house.engine.rooms.retry_agent(room.id, room.agents[0].id)
        await house.log.seen(room.id, "room_completed")
        cut, anew = (await messages(house, room))[1:]
        assert (cut.text, cut.superseded) == ("words-one ", True)
        assert (anew.text, anew.continues) == (f"{FIVE} ", "")
        await check_room(house, room.id)


def test_calls_that_never_ran_are_made_anew_and_others_are_not() -> None:
    text = Step("step-0", content="I look.")
    call_ = Step("step-1", 1, "tool_call", name="look", status="cut")
    result = Step("step-2", 2, "tool_result", "not run", name="look", id_ref="step-1", success=False)
    assert without_unrun((text, call_, result)) == (text,)
    for stands in (
        replace(call_, seconds=0.5),
        replace(call_, status="unknown"),
        replace(call_, status="done"),
    ):
        assert without_unrun((text, stands, result)) == (text, stands, result)
