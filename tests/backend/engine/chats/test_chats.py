"""Chats: made, changed, asked again, branched, searched."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

import pytest
from sqlalchemy import Connection

from agent_tui.backend.engine.chats.fields import QuestionFields
from agent_tui.backend.engine.engine import Engine
from agent_tui.backend.engine.kinds import CHATS, ROOMS
from agent_tui.backend.hub import Hub
from agent_tui.backend.store import reads
from agent_tui.backend.store.store import FileStore
from agent_tui.model.errors import NotFound, Refused
from agent_tui.model.events import Attachment
from agent_tui.model.settings import Values
from tests.backend.engine.chat_house import open_chats, speaks, told
from tests.backend.engine.house import new_room
from tests.fakes.scripted_model import FakeModels, ScriptedModel
from tests.fakes.scripted_tools import ScriptedBox

P = ParamSpec("P")
T = TypeVar("T")


async def refusal(status: int, what: Awaitable[object]) -> Refused:
    """Return how ``what`` is refused."""
    with pytest.raises(Refused) as refused:
        await what
    assert refused.value.status == status
    return refused.value


async def test_a_chat_has_the_first_question_as_its_title_until_somebody_names_it(tmp_path: Path) -> None:
    async with open_chats(tmp_path / "a.db", speaks(["Yes."])) as house:
        assert (await house.engine.show(CHATS, house.id)).title == ""
        await house.ask("Why is the sky blue, and why " + "so " * 50 + "\nblue?")
        title = (await house.engine.show(CHATS, house.id)).title
        assert (title[:20], len(title) <= 60) == ("Why is the sky blue,", True)
        await house.engine.change(CHATS, house.id, {"title": "Sky"})
        await house.ask("And at night?")
        assert (await house.engine.show(CHATS, house.id)).title == "Sky"


async def test_what_a_chat_says_of_its_model_counts_for_the_next_question(tmp_path: Path) -> None:
    model = speaks(["Yes."])
    async with open_chats(tmp_path / "a.db", model) as house:
        await house.ask()
        change = {
            "system_prompt": "Be brief.",
            "model": "big",
            "temperature": 0.1,
            "thinking_enabled": True,
            "enabled_tools": (),
            "workspace": str(tmp_path),
            "max_tokens": 5,
            "max_cost": 1.5,
        }
        info = await house.engine.change(CHATS, house.id, change)
        assert (info.system_prompt, info.model, info.temperature) == ("Be brief.", "big", 0.1)
        assert (info.enabled_tools, info.workspace, info.max_tokens) == ((), str(tmp_path), 5)
        assert house.end()[0] == "conversation"
        assert house.end()[1]["model"] == "big"
        await house.ask(thinking=False)
        info = await house.engine.change(CHATS, house.id, {"enabled_tools": None, "temperature": None})
        assert (info.enabled_tools, info.temperature, info.model) == (None, None, "big")
    request = model.calls[1].request
    assert (request.model, request.temperature, request.thinking) == ("big", 0.1, False)
    assert told(request)[0] == ("system", "Be brief.")


async def test_what_is_out_of_bounds_is_refused(tmp_path: Path) -> None:
    settings: tuple[Values, ...] = (
        {"title": "x" * 1000},
        {"temperature": 9.0},
        {"max_tokens": -1},
        {"answer_tokens": -1},
        {"workspace": "relative"},
        {"workspace": "/nowhere/at/all"},
        {"enabled_tools": ("",)},
    )
    async with open_chats(tmp_path / "a.db", speaks(["Yes."])) as house:
        for wrong in settings:
            await refusal(422, house.engine.create(CHATS, wrong))
        assert len(await house.engine.list_all(CHATS)) == 1


async def test_edit_and_ask_again_keeps_the_old_branch(tmp_path: Path) -> None:
    model = speaks(["A1"], ["A2"], ["B2"], ["B3"])
    async with open_chats(tmp_path / "a.db", model) as house:
        first = await house.ask("Q1")
        old = await house.ask("Q2, badly put")
        new = await house.ask("Q2, well put", parent_id=first)
        assert [one.text for one in await house.messages()] == ["Q1", "A1", "Q2, well put", "B2"]
        assert told(model.calls[2].request) == [("user", "Q1"), ("assistant", "A1"), ("user", "Q2, well put")]
        q1, _, edited, _ = await house.messages()
        assert (len(edited.versions), edited.versions[1], q1.versions) == (2, edited.id, ())
        newest = await house.ask("Q3")
        shown = await house.engine.change(CHATS, house.id, {"head": edited.versions[0]})
        assert shown.head == old
        assert [one.text for one in await house.messages()] == ["Q1", "A1", "Q2, badly put", "A2"]
        back = await house.engine.change(CHATS, house.id, {"head": new})
        assert back.head == newest
        assert [one.text for one in await house.messages()][2:] == ["Q2, well put", "B2", "Q3", "B3"]
        with pytest.raises(NotFound):
            await house.engine.change(CHATS, house.id, {"head": "nothing"})


async def test_the_first_question_can_be_edited_too(tmp_path: Path) -> None:
    async with open_chats(tmp_path / "a.db", speaks(["A"], ["B"])) as house:
        await house.ask("Q, badly")
        await house.ask("Q, well", parent_id="")
        first, _ = await house.messages()
    assert (first.text, len(first.versions), first.parent_id) == ("Q, well", 2, "")


async def test_a_question_asked_again_has_another_version_of_its_answer(tmp_path: Path) -> None:
    model = speaks(["A"], ["B"])
    async with open_chats(tmp_path / "a.db", model) as house:
        one = await house.ask("Q")
        question = (await house.messages())[0]
        two = await house.ask("", again=question.id)
        messages = await house.messages()
        assert [message.text for message in messages] == ["Q", "B"]
        assert messages[1].versions == (one, two)
        assert [data["attempt"] for name, data in house.events() if name == "answer_started"] == [1, 2]
        assert told(model.calls[1].request) == [("user", "Q")]
        with pytest.raises(NotFound):
            await house.begin("", again=one)
        await refusal(422, house.begin("words", again=question.id))
        await refusal(422, house.begin("words", parent_id=question.id))
        with pytest.raises(NotFound):
            await house.begin("words", parent_id="nothing")


async def test_the_same_key_is_the_same_question(tmp_path: Path) -> None:
    model = ScriptedModel(lambda request: ["Yes."])
    async with open_chats(tmp_path / "a.db", model) as house:
        one = await house.engine.chats.ask(house.id, QuestionFields("Q", client_key="k"))
        assert await house.engine.chats.ask(house.id, QuestionFields("Q", client_key="k")) == one
        (await model.called(1)).finish()
        await house.ended(one.message_id)
        assert await house.engine.chats.ask(house.id, QuestionFields("Q", client_key="k")) == one
        assert house.events(one.after)[0][0] == "message"
        question = (await house.messages())[0]
        model.free = True
        two = await house.engine.chats.ask(house.id, QuestionFields(again=question.id, client_key="again"))
        await house.ended(two.message_id)
        assert (
            await house.engine.chats.ask(house.id, QuestionFields(again=question.id, client_key="again"))
            == two
        )
        assert house.events(two.after)[0][0] == "answer_started"
        assert len(model.calls) == 2


async def test_there_is_one_answer_at_a_time(tmp_path: Path) -> None:
    model = ScriptedModel(lambda request: ["Yes."])
    async with open_chats(tmp_path / "a.db", model) as house:
        answer_id = await house.begin()
        assert (await house.engine.show(CHATS, house.id)).status == "running"
        await refusal(409, house.begin())
        await refusal(409, house.engine.change(CHATS, house.id, {"archived": True}))
        await refusal(409, house.engine.change(CHATS, house.id, {"head": answer_id}))
        await house.engine.change(CHATS, house.id, {"title": "While it speaks"})
        (await model.called(1)).finish()
        await house.ended(answer_id)
        assert (await house.engine.show(CHATS, house.id)).title == "While it speaks"
        model.free = True
        await house.ask("At once again?")


async def test_empty_questions_and_archived_chats_are_refused(tmp_path: Path) -> None:
    async with open_chats(tmp_path / "a.db", speaks(["Yes."])) as house:
        await refusal(422, house.begin("  \n"))
        await house.engine.change(CHATS, house.id, {"archived": True})
        await refusal(409, house.begin("Q"))
        assert await house.engine.list_all(CHATS) == []
        assert len(await house.engine.list_all(CHATS, archived=True)) == 1
        with pytest.raises(NotFound):
            await house.engine.chats.ask("nothing", QuestionFields("Q"))


async def test_a_budget_that_is_used_up_refuses_questions_until_it_is_raised(tmp_path: Path) -> None:
    async with open_chats(tmp_path / "a.db", speaks(["word " * 100])) as house:
        await house.ask()
        await house.engine.change(CHATS, house.id, {"max_tokens": 10})
        refused = await refusal(409, house.begin())
        assert "raise its budget in tokens (max_tokens) first" in refused.detail
        await house.engine.change(CHATS, house.id, {"max_tokens": 0})
        await house.ask()


async def test_files_that_come_with_a_question_are_told_in_fences_that_hold(tmp_path: Path) -> None:
    model = speaks(["Yes."])
    async with open_chats(tmp_path / "a.db", model) as house:
        files = (Attachment("a.md", "```\ncode\n```"), Attachment("b.txt", "plain\n"))
        await house.ask("Look:", attachments=files)
        question = (await house.messages())[0]
        await house.ask("", attachments=files[:1])
        await refusal(422, house.begin("x", attachments=(Attachment("n"),) * 21))
    assert question.attachments == files
    content = told(model.calls[0].request)[0][1]
    assert content == "Look:\n\na.md:\n````\n```\ncode\n```\n````\n\nb.txt:\n```\nplain\n```"


async def test_messages_come_page_by_page(tmp_path: Path) -> None:
    async with open_chats(tmp_path / "a.db", speaks(["A"])) as house:
        for number in range(3):
            await house.ask(f"Q{number}")
        page = await house.engine.messages(CHATS, house.id, None, 4)
        rest = await house.engine.messages(CHATS, house.id, page.next, 4)
        assert [one.text for one in (*page.messages, *rest.messages)] == ["Q0", "A", "Q1", "A", "Q2", "A"]
        assert (page.next, rest.next) == (page.messages[-1].id, None)
        with pytest.raises(NotFound):
            await house.engine.messages(CHATS, house.id, "nothing", None)


async def test_a_chat_is_found_by_its_words_in_any_language(tmp_path: Path) -> None:
    searches: tuple[tuple[str, list[str]], ...] = (
        ("dog", ["The lazy \x02dog\x03 sleeps."]),
        ("LAZ dog", ["The \x02lazy\x03 \x02dog\x03 sleeps."]),
        ("ленив", ["Очень \x02ленивая\x03 собака."]),
        ("狗", ["那只懒\x02狗\x03在睡觉 quietly。"]),
        ("懒狗", ["那只\x02懒狗\x03在睡觉 quietly。"]),
        ("睡觉qui", ["那只懒狗在\x02睡觉 quietly\x03。"]),
        ("狗懒", []),
        ("cat", []),
        ('dog" OR "cat', []),
        ("dog*) NEAR(", []),
        ('"', []),
        ("- ^ : { }", []),
        ("\x00dog\x02", ["The lazy \x02dog\x03 sleeps."]),
    )
    model = speaks(["Очень ленивая собака."], ["那只懒狗在睡觉 quietly。"])
    async with open_chats(tmp_path / "a.db", model) as house:
        await house.ask("The lazy dog sleeps.")
        await house.ask("Next.")
        for words, found in searches:
            hits = await house.engine.search(words)
            assert [hit.snippet for hit in hits] == found, words
            assert all((hit.conversation_id, hit.title) == (house.id, "The lazy dog sleeps.") for hit in hits)


async def test_a_chat_is_found_by_the_title_that_a_person_gave_it(tmp_path: Path) -> None:
    searches: tuple[tuple[str, list[str]], ...] = (
        ("lazy", ["The \x02lazy\x03 dog_house, ленивый café – 那只懒狗"]),
        ("HOUSE caf", ["The lazy dog_\x02house\x03, ленивый \x02café\x03 – 那只懒狗"]),
        ("ЛЕНИВЫИ", ["The lazy dog_house, \x02ленивый\x03 café – 那只懒狗"]),
        ("懒狗 dog", ["The lazy \x02dog\x03_house, ленивый café – 那只\x02懒狗\x03"]),
        ("azy", []),
        ("lazy cat", []),
        ("狗懒", []),
        ("\x02 –", []),
    )
    title = "The lazy dog_house, ленивый café – 那只懒狗"
    async with open_chats(tmp_path / "a.db", speaks([])) as house:
        named = await house.engine.create(CHATS, {"title": title})
        for words, found in searches:
            hits = await house.engine.search(words)
            assert [hit.snippet for hit in hits] == found, words
            assert all(
                (hit.conversation_id, hit.title, hit.message_id) == (named.id, title, "") for hit in hits
            )


@pytest.mark.timeout(60)
async def test_a_message_that_is_full_of_what_is_searched_is_found_in_time_that_grows_with_its_length(
    tmp_path: Path,
) -> None:
    async with open_chats(tmp_path / "a.db", speaks(["Yes."])) as house:
        await house.ask("a*" * 400_000)
        hits = await house.engine.search("a b* " * 20 + "a" * 3)
        assert hits == []
        (hit,) = await house.engine.search("a " * 16)  # took minutes: all the matches against each other
    assert hit.snippet == "*".join(["\x02a\x03"] * 24) + "…"


async def test_an_excerpt_is_where_most_of_the_words_stand_together(tmp_path: Path) -> None:
    async with open_chats(tmp_path / "a.db", speaks(["Yes."])) as house:
        await house.ask(f"sea {'and land ' * 200}{'far away ' * 10}the sea is salty here{' and on' * 100}")
        (hit,) = await house.engine.search("salty sea")
    assert hit.snippet.startswith("…")
    assert hit.snippet.endswith("…")
    assert "the \x02sea\x03 is \x02salty\x03 here and" in hit.snippet


async def test_titles_come_before_messages_and_count_among_those_that_are_wanted(tmp_path: Path) -> None:
    async with open_chats(tmp_path / "a.db", speaks(["Aye.", "Aye."])) as house:
        for number in range(2):
            await house.engine.create(CHATS, {"title": f"Plan {number}"})
        await house.ask("Which plan?")  # its own title is found where it was said
        hits = await house.engine.search("plan")
        assert [hit.snippet for hit in hits] == ["\x02Plan\x03 1", "\x02Plan\x03 0", "Which \x02plan\x03?"]
        assert await house.engine.search("plan", 1) == hits[:1]


async def test_the_newest_are_found_first_and_no_more_than_wanted(tmp_path: Path) -> None:
    async with open_chats(tmp_path / "a.db", speaks(["Aye."])) as house:
        for number in range(3):
            await house.ask(f"Question {number}")
        assert [hit.snippet[-1] for hit in await house.engine.search("question", 2)] == ["2", "1"]


async def test_rooms_and_chats_do_not_see_each_other(tmp_path: Path) -> None:
    async with open_chats(tmp_path / "a.db", speaks(["Yes."])) as house:
        engine = house.engine
        room = await engine.create(ROOMS, {"task": "Talk"})
        assert await engine.list_all(ROOMS, archived=True) == [room]
        assert [chat.id for chat in await engine.list_all(CHATS, archived=True)] == [house.id]
        for act in (engine.show, engine.pause, engine.delete):
            with pytest.raises(NotFound, match="There is no room"):
                await act(ROOMS, house.id)
            with pytest.raises(NotFound, match="There is no conversation"):
                await act(CHATS, room.id)
        with pytest.raises(NotFound):
            await engine.rooms.run(house.id)
        with pytest.raises(NotFound):
            await engine.chats.ask(room.id, QuestionFields("Well?"))
        await house.ask()
        async with aclosing(house.hub.read(house.id, 0)) as batches:
            assert (await anext(batches))[0].name == "message_stored"


async def test_nobody_stops_a_room_as_a_chat_nor_a_chat_as_a_room(tmp_path: Path) -> None:
    model = ScriptedModel(lambda _: ["Aye."])
    async with open_chats(tmp_path / "a.db", model) as house:
        engine = house.engine
        room = await engine.create(ROOMS, new_room("sequential"))
        await engine.rooms.run(room.id)
        await model.called(1)
        answer_id = await house.begin()
        await model.called(2)
        turn = (await engine.messages(ROOMS, room.id, None, None)).messages[-1].id
        for act in (engine.pause, engine.delete):
            with pytest.raises(NotFound):
                await act(ROOMS, house.id)
            with pytest.raises(NotFound):
                await act(CHATS, room.id)
        assert not await engine.chats.stop_answer(turn)
        assert len(model.open_calls()) == 2
        assert (await engine.show(CHATS, house.id)).status == "running"
        assert (await engine.show(ROOMS, room.id)).status == "running"
        assert await engine.chats.stop_answer(answer_id)


class HeldStore(FileStore):
    """A store that tells runs where they stand only while ``held`` is set."""

    held: asyncio.Event

    async def read(
        self, query: Callable[Concatenate[Connection, P], T], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        if query == reads.state:
            await self.held.wait()
        return await super().read(query, *args, **kwargs)


async def many_reads(engine: Engine, chat_id: str) -> None:
    """Let whatever goes on in the chat come as far as it can."""
    for _ in range(100):
        await engine.show(CHATS, chat_id)


async def test_a_question_that_comes_with_the_end_of_an_answer_is_answered_whole(tmp_path: Path) -> None:
    """The run of the answer before is not quite over then, and has no business with the new one."""
    store, model = HeldStore(tmp_path / "a.db"), ScriptedModel(lambda _: ["Aye."])
    engine = Engine(store, Hub(store), FakeModels(model), ScriptedBox(), unwatched_seconds=None)
    store.held = asyncio.Event()
    store.held.set()
    await engine.start(resume=False)
    chat = await engine.create(CHATS, {})
    await engine.chats.ask(chat.id, QuestionFields("One?"))
    (await model.called(1)).finish()
    store.held.clear()
    while (await engine.show(CHATS, chat.id)).status == "running":  # its end is not on record yet
        pass
    asking = asyncio.create_task(engine.chats.ask(chat.id, QuestionFields("Two?")))
    await many_reads(engine, chat.id)
    store.held.set()
    await asking
    await many_reads(engine, chat.id)
    (await model.called(2)).finish()
    await engine.chats.wait_for_answer(chat.id)
    messages = (await engine.messages(CHATS, chat.id, None, None)).messages
    assert [(one.text, one.interrupted) for one in messages[2:]] == [("Two?", ""), ("Aye.", "")]
    await engine.stop_all()
    await store.close()
