"""Tools that change something ask first: once, for a conversation, always, or never."""

from __future__ import annotations

import asyncio
import json
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest

from agent_tui.backend.engine.answer.asks import AskDecision
from agent_tui.backend.engine.chats.fields import QuestionFields
from agent_tui.backend.engine.kinds import CHATS
from agent_tui.backend.engine.timing import Timing
from agent_tui.backend.tools.rooms import room_tools
from agent_tui.model.errors import NotFound, Refused
from tests.backend.engine.chat_house import call, open_chats, results, speaks, statuses
from tests.backend.tools.test_rooms import MAIL, NAME, FewRooms
from tests.fakes.scripted_tools import asker, reader, writer


async def test_nothing_runs_before_somebody_allowed_exactly_that(tmp_path: Path) -> None:
    tool = writer()
    async with open_chats(tmp_path / "a.db", speaks([call("change", {"a": 1})], ["Done."]), tool) as house:
        with house.engine.chats.attend(house.id):
            answer_id = await house.begin()
            asking = await house.asks()
            assert tool.ran == []
            assert asking["ask"]["call"] == 'change {"a": 1}'
            running = (await house.last()).steps[0]
            assert (running.status, running.ask is not None) == ("asks", True)
            await house.engine.answer(CHATS, house.id, answer_id, asking["id"], AskDecision("once"))
            await house.ended(answer_id)
        answer = await house.last()
        stood = [data["status"] for name, data in house.events() if name == "tool_status"]
    assert (tool.ran, statuses(answer), results(answer)) == ([{"a": 1}], ["done"], [('{"a": 1}', True)])
    assert stood == ["asks", "running", "done"]
    assert answer.steps[0].ask is None


async def test_what_a_person_allowed_is_the_room_they_were_shown_not_the_number_it_had(
    tmp_path: Path,
) -> None:
    few = FewRooms(MAIL, replace(NAME, id="e5"))
    first = [call("resume_room", {"room": "1"})]
    model, tools = speaks(first, ["One."], first, ["Oh."]), room_tools(few)
    async with open_chats(tmp_path / "a.db", model, *tools, enabled=["resume_room"]) as house:
        with house.engine.chats.attend(house.id):
            answer_id = await house.begin()
            asking = await house.asks()
            assert asking["ask"]["call"] == "resume_room Rewrite the mail (b2)"
            few.all["e5"] = replace(few.all["e5"], updated_at="2026-02-01")  # now it is the first
            await house.engine.answer(CHATS, house.id, answer_id, asking["id"], AskDecision("always"))
            await house.ended(answer_id)
        await house.ask("And the first one?", is_alone=True)
        assert statuses(await house.last()) == ["denied"]
        (rule,) = house.engine.asks.rules()
    assert (few.told, rule.pattern) == ([("resume", "b2")], 'resume_room({"room": "b2"})')


async def test_once_is_for_one_call_only(tmp_path: Path) -> None:
    tool = writer()
    model = speaks([call("change")], [call("change")], ["Done."])
    async with open_chats(tmp_path / "a.db", model, tool) as house:
        with house.engine.chats.attend(house.id):
            answer_id = await house.begin()
            await house.engine.answer(
                CHATS, house.id, answer_id, (await house.asks("step-0"))["id"], AskDecision("once")
            )
            await house.engine.answer(
                CHATS, house.id, answer_id, (await house.asks("step-2"))["id"], AskDecision("deny")
            )
            await house.ended(answer_id)
        assert statuses(await house.last()) == ["done", "denied"]


async def test_who_denies_may_say_why_and_the_model_is_told(tmp_path: Path) -> None:
    tool, model = writer(), speaks([call("change")], ["I see."])
    async with open_chats(tmp_path / "a.db", model, tool) as house:
        with house.engine.chats.attend(house.id):
            answer_id = await house.begin()
            asking = await house.asks()
            await house.engine.answer(
                CHATS, house.id, answer_id, asking["id"], AskDecision("deny", reason="not on a Friday")
            )
            await house.ended(answer_id)
        answer = await house.last()
    error = {"success": False, "error": "denied by the user: not on a Friday"}
    assert (json.loads(results(answer)[0][0]), tool.ran) == (error, [])
    assert json.loads(model.calls[1].request.messages[-1].content) == error


async def test_a_call_that_asks_where_nobody_can_answer_is_denied(tmp_path: Path) -> None:
    tool = writer()
    async with open_chats(tmp_path / "a.db", speaks([call("change")], ["Oh."]), tool) as house:
        await house.ask()
        answer = await house.last()
    assert (statuses(answer), tool.ran) == (["denied"], [])
    assert json.loads(results(answer)[0][0])["error"] == "not run: nobody was there to allow it"


async def test_a_call_waits_a_while_for_somebody_who_went_away(tmp_path: Path) -> None:
    slept: list[float] = []
    over = asyncio.Event()

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        await over.wait()

    tool, timing = writer(), Timing(sleep=sleep)
    async with open_chats(tmp_path / "a.db", speaks([call("change")], ["Oh."]), tool, timing=timing) as house:
        with house.engine.chats.attend(house.id):
            answer_id = await house.begin()
            await house.asks()
        with house.engine.chats.attend(house.id):
            assert (await house.last()).steps[0].status == "asks"
        over.set()
        await house.ended(answer_id)
        assert statuses(await house.last()) == ["denied"]
    assert set(slept) == {timing.unattended}


async def test_for_this_conversation_is_for_no_other_and_stays(tmp_path: Path) -> None:
    tool = writer()
    model = speaks([call("change")], ["One."], [call("change")], ["Two."], [call("change")], ["Three."])
    async with open_chats(tmp_path / "a.db", model, tool) as house:
        with house.engine.chats.attend(house.id):
            answer_id = await house.begin()
            await house.engine.answer(
                CHATS, house.id, answer_id, (await house.asks())["id"], AskDecision("conversation")
            )
            await house.ended(answer_id)
        assert [rule.conversation_id for rule in house.engine.asks.rules()] == [house.id]
        first = house.id
    async with open_chats(tmp_path / "a.db", model, tool) as house:
        other, house.id = house.id, first
        await house.ask("Again?")
        assert statuses(await house.last()) == ["done"]
        house.id = other
        await house.ask("And here?")
        assert statuses(await house.last()) == ["denied"]


async def test_always_is_a_rule_that_can_be_taken_back(tmp_path: Path) -> None:
    tool = writer()
    model = speaks([call("change")], ["One."], [call("change")], ["Two."], [call("change")], ["Three."])
    async with open_chats(tmp_path / "a.db", model, tool) as house:
        with house.engine.chats.attend(house.id):
            answer_id = await house.begin()
            await house.engine.answer(
                CHATS, house.id, answer_id, (await house.asks())["id"], AskDecision("always")
            )
            await house.ended(answer_id)
    async with open_chats(tmp_path / "a.db", model, tool) as house:
        (rule,) = house.engine.asks.rules()
        assert (rule.tool, rule.pattern) == ("change", "change")
        await house.ask()
        assert statuses(await house.last()) == ["done"]
        await house.engine.drop_rule(rule.id)
        await house.ask()
        assert (statuses(await house.last()), house.engine.asks.rules()) == (["denied"], [])
        with pytest.raises(NotFound):
            await house.engine.drop_rule(rule.id)


async def test_two_terminals_that_allow_the_same_call_at_once_keep_one_rule(tmp_path: Path) -> None:
    model = speaks([call("change"), call("change", index=1)], ["Done."], [call("change")], ["Oh."])
    async with open_chats(tmp_path / "a.db", model, asker()) as house:
        with house.engine.chats.attend(house.id):
            answer_id = await house.begin()
            await house.asks("step-0")
            await house.asks("step-1")
            both = (
                house.engine.answer(CHATS, house.id, answer_id, step, AskDecision("always"))
                for step in ("step-0", "step-1")
            )
            found = await asyncio.gather(*both, return_exceptions=True)
            # The rule of the first lets the other call run, which then no longer asks.
            late = [error for error in found if error is not None]
            assert [isinstance(error, Refused) and error.status for error in late] in ([], [409])
            await house.ended(answer_id)
        (rule,) = house.engine.asks.rules()
        await house.engine.drop_rule(rule.id)
        await house.ask()
        assert (statuses(await house.last()), house.engine.asks.rules()) == (["denied"], [])


async def test_of_two_decisions_on_one_call_the_first_counts_and_the_other_keeps_no_rule(
    tmp_path: Path,
) -> None:
    tool = writer()
    async with open_chats(tmp_path / "a.db", speaks([call("change")], ["Done."]), tool) as house:
        with house.engine.chats.attend(house.id):
            answer_id = await house.begin()
            await house.asks()
            decisions = ("conversation", "always", "deny")
            answers = (
                house.engine.answer(CHATS, house.id, answer_id, "step-0", AskDecision(one))
                for one in decisions
            )
            found = await asyncio.gather(*answers, return_exceptions=True)
            await house.ended(answer_id)
        # Each looks up the call in a thread first: whichever is back first counts.
        (counted,) = (one for one, error in zip(decisions, found, strict=True) if error is None)
        refused = [error for error in found if error is not None]
        assert [isinstance(error, Refused) and error.status for error in refused] == [409, 409]
        kept = {"conversation": [house.id], "always": [""], "deny": []}
        assert [rule.conversation_id for rule in house.engine.asks.rules()] == kept[counted]
    assert len(tool.ran) == (counted != "deny")


async def test_what_is_too_long_to_be_shown_asks_nobody_and_does_not_run(tmp_path: Path) -> None:
    tool = writer()
    model = speaks([call("change", {"text": "x" * 400_000})], ["Oh."])
    async with open_chats(tmp_path / "a.db", model, tool) as house:
        with house.engine.chats.attend(house.id):
            await house.ask()
        answer = await house.last()
    assert (statuses(answer), tool.ran) == (["failed"], [])
    assert "do it in smaller parts" in results(answer)[0][0]


async def test_the_config_file_allows_calls_too(tmp_path: Path) -> None:
    tool = writer()
    model = speaks([call("change")], ["Done."])
    async with open_chats(tmp_path / "a.db", model, tool, allow=("change",)) as house:
        await house.ask()
        assert statuses(await house.last()) == ["done"]


async def test_a_rule_that_allows_one_call_lets_others_go_that_it_covers(tmp_path: Path) -> None:
    model = speaks([call("change"), call("change", index=1)], ["Done."])
    async with open_chats(tmp_path / "a.db", model, asker()) as house:
        with house.engine.chats.attend(house.id):
            answer_id = await house.begin()
            await house.asks("step-0")
            await house.asks("step-1")
            await house.engine.answer(CHATS, house.id, answer_id, "step-0", AskDecision("conversation"))
            await house.ended(answer_id)
        assert statuses(await house.last()) == ["done", "done"]


async def test_words_that_do_not_fit_are_refused_and_the_call_goes_on_asking(tmp_path: Path) -> None:
    async with open_chats(tmp_path / "a.db", speaks([call("change")], ["Done."]), writer()) as house:
        with house.engine.chats.attend(house.id):
            answer_id = await house.begin()
            step = (await house.asks())["id"]
            for decision, pattern, status in (("perhaps", "", 422), ("always", "another_tool", 422)):
                with pytest.raises(Refused) as refused:
                    await house.engine.answer(
                        CHATS, house.id, answer_id, step, AskDecision(decision, pattern)
                    )
                assert refused.value.status == status
            for message_id, step_id in ((answer_id, "step-9"), ("nothing", step)):
                with pytest.raises(NotFound):
                    await house.engine.answer(CHATS, house.id, message_id, step_id, AskDecision("once"))
            await house.engine.answer(CHATS, house.id, answer_id, step, AskDecision("once"))
            with pytest.raises(Refused) as refused:
                await house.engine.answer(CHATS, house.id, answer_id, step, AskDecision("deny"))
            assert refused.value.status == 409
            await house.ended(answer_id)
            with pytest.raises(Refused) as refused:
                await house.engine.answer(CHATS, house.id, answer_id, step, AskDecision("once"))
            assert (refused.value.status, house.engine.asks.rules()) == (409, [])


async def test_a_call_that_can_never_be_carried_out_asks_nobody(tmp_path: Path) -> None:
    tool = writer()
    tool.refusal = "outside the workspace"
    async with open_chats(tmp_path / "a.db", speaks([call("change")], ["Oh."]), tool) as house:
        with house.engine.chats.attend(house.id):
            await house.ask()
        answer = await house.last()
    assert (statuses(answer), tool.ran) == (["failed"], [])
    assert json.loads(results(answer)[0][0])["error"] == "outside the workspace"


async def test_unless_they_are_named_only_tools_that_need_no_leave_are_offered(tmp_path: Path) -> None:
    model = speaks(["Yes."])
    async with open_chats(tmp_path / "a.db", model, writer(), writer("look2"), enabled=None) as house:
        await house.ask()
        assert model.calls[0].request.tools == ()
        await house.ask(tools=("look2", "nothing"))
        assert [spec.name for spec in model.calls[1].request.tools] == ["look2"]
        id_ = (await house.engine.create(CHATS, {"enabled_tools": ("change",)})).id
        asked = await house.engine.chats.ask(id_, QuestionFields("Well?"))
        house.id = id_
        await house.ended(asked.message_id)
        assert [spec.name for spec in model.calls[2].request.tools] == ["change"]


@pytest.mark.parametrize(
    ("there", "allow", "offered"),
    [(False, (), ["look"]), (True, (), ["look", "change"]), (False, ("change(a*)",), ["look", "change"])],
)
async def test_a_chat_that_names_no_tools_offers_those_that_could_be_allowed(
    tmp_path: Path, there: bool, allow: tuple[str, ...], offered: list[str]
) -> None:
    model = speaks(["Done."])
    database = tmp_path / "a.db"
    async with open_chats(database, model, reader(), writer(), allow=allow, enabled=None) as house:
        with house.engine.chats.attend(house.id) if there else nullcontext():
            await house.ended(await house.begin())
    assert [spec.name for spec in model.calls[0].request.tools] == offered
