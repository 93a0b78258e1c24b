"""Stopping, killing and leaving: nothing is lost, nothing is run again, everything has an end on record."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select, text

from agent_tui.backend.engine.chats.fields import QuestionFields
from agent_tui.backend.engine.kinds import CHATS
from agent_tui.backend.engine.timing import Timing
from agent_tui.backend.models.model import CallPiece, Piece, ThinkingPiece
from agent_tui.backend.store import reads
from agent_tui.backend.store.rows import ConversationSet
from agent_tui.model.errors import NotFound, StoreError
from tests.backend.engine.chat_house import call, kinds, open_chats, results, speaks, statuses, told
from tests.backend.engine.house import crash_copy
from tests.fakes.full_disk import disk
from tests.fakes.scripted_model import Script, ScriptedModel
from tests.fakes.scripted_tools import ScriptedTool, echo, hang, reader, writer


def listens(*pieces: Piece | str) -> ScriptedModel:
    """Return a model that says these and then nothing more, without an end."""

    def says(_request: object) -> Script:
        return [*pieces, "never"]

    return ScriptedModel(says)


class Stubborn:
    """Does not end when it is cancelled, only when it may."""

    def __init__(self) -> None:
        self.began, self.may_end = asyncio.Event(), asyncio.Event()

    async def run(self, _arguments: object) -> str:
        self.began.set()
        while not self.may_end.is_set():
            with suppress(asyncio.CancelledError):
                await self.may_end.wait()
        return "late"


async def test_a_stop_while_words_come_keeps_them(tmp_path: Path) -> None:
    model = listens("Half")
    async with open_chats(tmp_path / "a.db", model) as house:
        answer_id = await house.begin()
        (await model.called(1)).release()
        await house.log.seen(house.id, "process_step_delta")
        stopping = await house.engine.pause(CHATS, house.id)
        assert stopping.status in ("running", "idle")  # the answer may be over by then
        await house.ended(answer_id)
        answer = await house.last()
        assert house.end() == ("error", {"content": "Stopped"})
        assert (answer.text, answer.interrupted, model.open_calls()) == ("Half", "stop", [])
        model.free = True
        await house.ask("And?")
        assert (await house.engine.pause(CHATS, house.id)).status == "idle"  # again: nothing is under way
    assert told(model.calls[1].request)[1] == ("assistant", "Half\n\n[cut off here: stop]")


async def test_a_stop_while_it_thinks_ends_at_once(tmp_path: Path) -> None:
    model = listens(ThinkingPiece("Hmm"))
    async with open_chats(tmp_path / "a.db", model) as house:
        answer_id = await house.begin()
        (await model.called(1)).release()
        await house.log.seen(house.id, "process_step_delta")
        await house.engine.pause(CHATS, house.id)
        await house.ended(answer_id)
        answer = await house.last()
    assert ([step.content for step in answer.steps], answer.text) == (["Hmm"], "")


async def test_a_stop_inside_a_tool_ends_the_tool(tmp_path: Path) -> None:
    is_inside = asyncio.Event()

    async def look(arguments: Mapping[str, Any]) -> str:
        is_inside.set()
        return await hang(arguments)

    tool = reader(does=look)
    async with open_chats(tmp_path / "a.db", speaks(["I look.", call("look")]), tool) as house:
        answer_id = await house.begin()
        await is_inside.wait()  # its status is stored before
        await house.engine.pause(CHATS, house.id)
        await house.ended(answer_id)
        answer = await house.last()
    assert (statuses(answer), tool.ended, answer.interrupted) == (["cut"], ["cancelled"], "stop")
    assert json.loads(results(answer)[0][0])["success"] is False


async def test_a_stop_while_a_call_asks_is_no_denial(tmp_path: Path) -> None:
    tool = writer()
    async with open_chats(tmp_path / "a.db", speaks([call("change")]), tool) as house:
        with house.engine.chats.attend(house.id):
            answer_id = await house.begin()
            await house.asks()
            await house.engine.pause(CHATS, house.id)
            await house.ended(answer_id)
            assert not house.engine.asks.waits_in(house.id)
        answer = await house.last()
    assert (statuses(answer), tool.ran) == (["cut"], [])
    assert "the answer was stopped" in results(answer)[0][0]


async def test_a_chat_that_is_deleted_while_a_call_asks_leaves_nobody_waiting(tmp_path: Path) -> None:
    tool = writer()
    async with open_chats(tmp_path / "a.db", speaks([call("change")]), tool) as house:
        with house.engine.chats.attend(house.id):
            await house.begin()
            await house.asks()
            await house.engine.delete(CHATS, house.id)
            assert not house.engine.asks.waits_in(house.id)
    assert tool.ran == []


@asynccontextmanager
async def held() -> AsyncIterator[tuple[ScriptedTool, asyncio.Event]]:
    """Give a tool that cannot say what it would do as long as this is open; the event says that it tries."""
    loop, looking, gate = asyncio.get_running_loop(), asyncio.Event(), threading.Event()

    def looks() -> None:
        loop.call_soon_threadsafe(looking.set)
        gate.wait()

    try:
        yield ScriptedTool("change", echo, "ask", looks=looks), looking
    finally:
        gate.set()


async def test_a_stop_while_a_tool_looks_what_it_would_do_ends_the_answer(tmp_path: Path) -> None:
    async with (
        held() as (tool, looking),
        open_chats(tmp_path / "a.db", speaks([call("change")]), tool) as house,
    ):
        with house.engine.chats.attend(house.id):
            answer_id = await house.begin()
            await looking.wait()
            await house.engine.pause(CHATS, house.id)
            await house.ended(answer_id)
            assert not house.engine.asks.waits_in(house.id)
        answer = await house.last()
    assert (statuses(answer), answer.interrupted, tool.ran) == (["cut"], "stop", [])
    assert "the answer was stopped" in results(answer)[0][0]


async def test_a_tool_that_never_says_what_it_would_do_is_not_run(tmp_path: Path) -> None:
    timing, model = Timing(retries=(), preview=0.01), speaks([call("change")], ["Then not."])
    async with held() as (tool, _), open_chats(tmp_path / "a.db", model, tool, timing=timing) as house:
        with house.engine.chats.attend(house.id):
            await house.ask()
        answer = await house.last()
    assert (statuses(answer), answer.text, tool.ran) == (["failed"], "Then not.", [])
    assert "change could not say within 0.01 s what it would do" in results(answer)[0][0]


async def test_a_stop_while_arguments_come_runs_nothing(tmp_path: Path) -> None:
    tool = reader()
    model = listens(CallPiece(0, "c", "look", '{"a": '))
    async with open_chats(tmp_path / "a.db", model, tool) as house:
        answer_id = await house.begin()
        (await model.called(1)).release()
        await house.log.seen(house.id, "process_step")
        await house.engine.pause(CHATS, house.id)
        await house.ended(answer_id)
        answer = await house.last()
    assert (statuses(answer), tool.ran, kinds(answer)) == (["cut"], [], ["tool_call", "tool_result"])


async def test_a_tool_that_does_not_end_when_it_is_cut_holds_nothing_up(tmp_path: Path) -> None:
    slow = Stubborn()
    async with open_chats(tmp_path / "a.db", speaks([call("look")]), reader(does=slow.run)) as house:
        answer_id = await house.begin()
        await house.stands("running")
        await slow.began.wait()
        await house.engine.pause(CHATS, house.id)
        await house.ended(answer_id)
        assert statuses(await house.last()) == ["cut"]
        slow.may_end.set()


async def dies(tmp_path: Path, copy: str = "dead.db") -> Path:
    """Return the database as a process that dies now leaves it."""
    return crash_copy(tmp_path / "a.db", tmp_path / copy)


# What the model says before its process dies, how often which event is seen by then, how calls stand later.
POINTS: dict[str, tuple[list[Piece | str], tuple[str, int], list[str]]] = {
    "words": (["I look."], ("process_step_delta", 1), []),
    "thoughts": ([ThinkingPiece("Hm")], ("process_step_delta", 1), []),
    "arguments": (["I look.", CallPiece(0, "c", "look", '{"a": ')], ("process_step", 2), ["cut"]),
    "running": (["I look.", call("look")], ("tool_status", 1), ["unknown"]),
    "asks": (["I look.", call("change")], ("tool_status", 1), ["cut"]),
    "second model call": (["I look.", call("look")], ("process_step_delta", 3), ["done"]),
}


async def killed(tmp_path: Path, point: str) -> tuple[Path, str, str, int]:
    """Return the database of a process that died there, its chat, the answer, the seq of its last event."""
    says, (event, times), _ = POINTS[point]
    is_whole = point in ("running", "asks", "second model call")
    model = ScriptedModel(
        lambda request: ["More", "never"] if request.round > 1 else [*says, *([] if is_whole else ["never"])]
    )
    tool = reader(does=hang) if point == "running" else reader()
    async with open_chats(tmp_path / "a.db", model, tool, writer()) as house:
        with house.engine.chats.attend(house.id):
            answer_id = await house.begin()
            first = await model.called(1)
            first.release(len(says) + is_whole)
            if point == "second model call":
                (await model.called(2)).release()
            await house.log.seen(house.id, event, times)
            return await dies(tmp_path), house.id, answer_id, len(house.log.of(house.id))


@pytest.mark.parametrize("point", POINTS)
async def test_a_process_that_is_killed_leaves_an_answer_that_the_next_one_closes(
    tmp_path: Path, point: str
) -> None:
    dead, id_, answer_id, seqs = await killed(tmp_path, point)
    again = reader()
    async with open_chats(dead, speaks(["x"]), again, writer(), new=False) as house:
        house.id = id_
        answer = await house.last()
        info = await house.engine.show(CHATS, id_)
        end = house.end()
        calls = [step for step in answer.steps if step.type == "tool_call"]
    assert (answer.id, answer.interrupted, answer.status) == (answer_id, "crash", "")
    assert (info.status, end) == ("idle", ("error", {"content": "Interrupted: crash"}))
    assert house.log.of(id_)[0].seq == seqs + 1
    assert again.ran == []
    assert [step.status for step in calls] == POINTS[point][2]
    assert len(results(answer)) == len(calls)
    if point == "running":
        error = "unknown: the program ended while this ran; it was not run again"
        assert json.loads(results(answer)[0][0]) == {"success": False, "error": error}
    if point == "second model call":
        assert answer.text == "I look.\n\nMore"
    elif point != "thoughts":
        assert answer.text == "I look."


async def test_what_was_closed_after_a_crash_stays_as_it_is_at_the_next_start(tmp_path: Path) -> None:
    async with open_chats(tmp_path / "a.db", speaks(["I look.", call("look")]), reader(does=hang)) as house:
        await house.begin()
        await house.stands("running")
        dead, id_ = await dies(tmp_path), house.id
    seen = []
    for _ in range(2):
        async with open_chats(dead, speaks(["x"]), new=False) as house:
            house.id = id_
            seen.append((await house.messages(), (await house.engine.show(CHATS, id_)).last_event_id))
    assert seen[0] == seen[1]


async def test_an_answer_that_was_stopped_when_the_process_died_says_stop(tmp_path: Path) -> None:
    slow, patient = Stubborn(), Timing(tool_grace=60)
    look = reader(does=slow.run)
    async with open_chats(tmp_path / "a.db", speaks([call("look")]), look, timing=patient) as house:
        await house.begin()
        await house.stands("running")
        await slow.began.wait()
        await house.engine.pause(CHATS, house.id)
        dead, id_ = await dies(tmp_path), house.id
        slow.may_end.set()
    async with open_chats(dead, speaks(["x"]), new=False) as house:
        house.id = id_
        assert (await house.last()).interrupted == "stop"
        assert statuses(await house.last()) == ["unknown"]


async def test_the_engine_that_stops_cuts_its_answers_and_says_why(tmp_path: Path) -> None:
    async with open_chats(tmp_path / "a.db", speaks([call("look")]), reader(does=hang)) as house:
        await house.begin()
        await house.stands("running")
        assert house.engine.runs.number() == 1
        await house.engine.stop_all("handover")
        assert house.end() == ("error", {"content": "Interrupted: handover"})
        assert house.engine.runs.number() == 0


async def test_an_answer_that_nobody_reads_is_cut(tmp_path: Path) -> None:
    alone = asyncio.Event()

    async def sleep(_seconds: float) -> None:
        await alone.wait()

    timing = Timing(tool_grace=0.05, sleep=sleep)
    look = reader(does=hang)
    async with open_chats(
        tmp_path / "a.db", speaks([call("look")]), look, unwatched=30, timing=timing
    ) as house:
        answer_id = await house.begin()
        await house.stands("running")
        alone.set()
        await house.ended(answer_id)
        assert house.end() == ("error", {"content": "Interrupted: unwatched"})
        assert (await house.last()).interrupted == "unwatched"


async def test_a_chat_that_is_deleted_while_it_answers_is_gone_with_all_it_holds(tmp_path: Path) -> None:
    async with open_chats(tmp_path / "a.db", speaks(["Words.", call("look")]), reader(does=hang)) as house:
        await house.begin("Findable question")
        await house.stands("running")
        assert len(await house.engine.search("findable")) == 1
        assert (await house.engine.delete(CHATS, house.id)).id == house.id
        assert await house.engine.search("findable") == []
        with pytest.raises(NotFound):
            await house.engine.show(CHATS, house.id)
        for table in ("step", "turn", "user_message", "event", "conversation", "agent", "searched"):
            left = await house.store.read(
                lambda connection, name: connection.execute(
                    select(func.count()).select_from(text(name))
                ).scalar(),
                table,
            )
            assert (table, left) == (table, 0)


async def test_a_deletion_that_was_broken_off_is_finished_at_the_next_start(tmp_path: Path) -> None:
    async with open_chats(tmp_path / "a.db", speaks(["Words."])) as house:
        await house.ask()
        await house.store.append(house.id, (), [ConversationSet({"desired": "deleted"})])
    async with open_chats(tmp_path / "a.db", speaks(["Words."]), new=False) as house:
        assert await house.store.read(reads.conversations, deleted=True) == []
        assert await house.engine.list_all(CHATS, archived=True) == []


async def test_an_answer_ends_when_the_budget_is_used_up_in_the_middle_of_it(tmp_path: Path) -> None:
    model = ScriptedModel(lambda request: ["word " * 100, "never"])
    async with open_chats(tmp_path / "a.db", model) as house:
        await house.engine.change(CHATS, house.id, {"max_tokens": 100})
        answer_id = await house.begin()
        (await model.called(1)).release()
        await house.ended(answer_id)
        answer = await house.last()
        assert house.end() == ("error", {"content": "The budget is used up"})
        assert (answer.interrupted, answer.text) == ("budget", "word " * 100)
        assert (await house.engine.show(CHATS, house.id)).tokens == 125
        await house.engine.change(CHATS, house.id, {"max_tokens": 1000})
        model.free = True
        assert (await house.engine.chats.ask(house.id, QuestionFields("More?"))).message_id


async def test_an_answer_that_a_full_disk_broke_off_is_closed_once_there_is_room(tmp_path: Path) -> None:
    mend = asyncio.Event()

    async def sleep(_seconds: float) -> None:
        await mend.wait()

    model = ScriptedModel(lambda request: ["word ", "x" * 500_000])
    tool_runs = reader()
    with disk() as space:
        async with open_chats(tmp_path / "a.db", model, tool_runs, timing=Timing(sleep=sleep)) as house:
            answer_id = await house.begin()
            call_ = await model.called(1)
            call_.release()
            await house.log.seen(house.id, "process_step_delta")
            async with aclosing(house.hub.read(house.id, len(house.log.of(house.id)))) as batches:
                space.fill()
                call_.finish()
                with pytest.raises(StoreError):
                    await anext(batches)
            assert (await house.engine.show(CHATS, house.id)).status == "idle"
            space.free()
            mend.set()
            await house.ended(answer_id)
            answer = await house.last()
            assert (answer.interrupted, answer.text) == ("crash", "word ")
            model.free = True
            await house.ask("Again?")
            assert house.end()[0] == "done"


async def test_a_tool_whose_result_cannot_be_stored_is_unknown_and_not_run_again(tmp_path: Path) -> None:
    async def long(_arguments: object) -> str:
        space.fill()
        return "x" * 500_000

    mend = asyncio.Event()

    async def sleep(_seconds: float) -> None:
        await mend.wait()

    look = reader(does=long)
    with disk() as space:
        model = speaks([call("look")], ["never"])
        async with open_chats(tmp_path / "a.db", model, look, timing=Timing(sleep=sleep)) as house:
            answer_id = await house.begin()
            await house.stands("running")
            async with aclosing(house.hub.read(house.id, len(house.log.of(house.id)))) as batches:
                with pytest.raises(StoreError):
                    await anext(batches)
            space.free()
            mend.set()
            await house.ended(answer_id)
            assert statuses(await house.last()) == ["unknown"]
            assert (len(look.ran), len(model.calls)) == (1, 1)
