"""An answer: the model speaks, its tools run, it speaks again; whatever goes wrong is said and on record."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from agent_tui.backend.engine.kinds import CHATS
from agent_tui.backend.models.model import (
    CallPiece,
    CutPiece,
    NotePiece,
    TextPiece,
    ThinkingPiece,
    UsagePiece,
)
from agent_tui.backend.store.rows import Change, NewEvent
from agent_tui.model.errors import ModelError
from agent_tui.model.events import Note, TurnNoted
from tests.backend.engine.chat_house import call, kinds, open_chats, results, speaks, statuses, told
from tests.fakes.scripted_model import FakeModels, Script, ScriptedModel
from tests.fakes.scripted_tools import TEXT, ScriptedTool, crash, hang, reader


async def test_thoughts_words_calls_and_results_are_steps_in_one_row(tmp_path: Path) -> None:
    model = speaks(
        [
            ThinkingPiece("Hm"),
            ThinkingPiece("m."),
            "Let me ",
            "look.",
            call("look", {"a": 1}),
            UsagePiece(10, 3),
        ],
        ["It is so.", UsagePiece(20, 4)],
    )
    async with open_chats(tmp_path / "a.db", model, reader()) as house:
        answer_id = await house.ask("What is it?")
        question, answer = await house.messages()
    assert (question.text, question.parent_id, answer.parent_id) == ("What is it?", "", question.id)
    assert kinds(answer) == ["thinking", "text", "tool_call", "tool_result", "text"]
    assert [step.id for step in answer.steps] == [f"step-{number}" for number in range(5)]
    assert [step.index for step in answer.steps] == list(range(5))
    assert answer.text == "Let me look.\n\nIt is so."
    assert results(answer) == [('{"a": 1}', True)]
    assert (statuses(answer), answer.steps[3].id_ref, answer.steps[2].id_ref) == (
        ["done"],
        "step-2",
        "call_0",
    )
    assert answer.usage is not None
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens) == (30, 7)
    name, done = house.end()
    assert (name, done["message_id"], done["usage"]["total_tokens"]) == ("done", answer_id, 37)
    assert done["token_count"] == 7  # what the provider counted, of both calls of the model
    assert json.loads(answer.content)["tool_calls"] == [
        {"id": "call_0", "name": "look", "arguments": '{"a": 1}'}
    ]


async def test_the_log_tells_every_step_as_it_grows_and_then_how_it_ended(tmp_path: Path) -> None:
    pieces: Script = ["On", CallPiece(3, "c1", "look", '{"te'), CallPiece(3, "", "", 'xt": "x"}')]
    async with open_chats(tmp_path / "a.db", speaks(pieces, ["Over."]), reader()) as house:
        await house.ask()
        names = [name for name, _ in house.events()]
        steps = [data["step"] for name, data in house.events() if name == "process_step"]
        deltas = [data for name, data in house.events() if name == "process_step_delta"]
    assert names[:3] == ["message", "answer_started", "conversation"]
    assert names[-3:] == ["answer_ended", "conversation", "done"]
    assert steps[0] == {"id": "step-0", "index": 0, "type": "text", "content": ""}
    whole = {"id": "step-1", "index": 1, "type": "tool_call", "id_ref": "c1", "name": "look"}
    assert steps[1:3] == [{**whole, "arguments": ""}, {**whole, "arguments": '{"text": "x"}'}]
    assert steps[3] == {
        "id": "step-2",
        "index": 2,
        "type": "tool_result",
        "id_ref": "step-1",
        "name": "look",
        "content": '{"text": "x"}',
        "success": True,
    }
    assert "".join(one.get("arguments", "") for one in deltas) == '{"text": "x"}'


async def test_what_came_of_a_call_is_told_to_the_model_that_made_it(tmp_path: Path) -> None:
    model = speaks(["Looking.", call("look", {"n": 1}), call("look", {"n": 2}, 1)], ["So."])
    async with open_chats(tmp_path / "a.db", model, reader()) as house:
        await house.ask()
    last = model.calls[1].request.messages[-3:]
    assert [(one.role, one.content, one.call_id) for one in last] == [
        ("assistant", "Looking.", ""),
        ("tool", '{"n": 1}', "call_0"),
        ("tool", '{"n": 2}', "call_1"),
    ]
    assert [one.arguments for one in last[0].calls] == ['{"n": 1}', '{"n": 2}']
    assert [spec.name for spec in model.calls[0].request.tools] == ["look"]


async def test_the_calls_of_a_round_run_at_once_and_results_come_as_they_are_ready(tmp_path: Path) -> None:
    second_is_done = asyncio.Event()

    async def waits(arguments: Mapping[str, Any]) -> str:
        if arguments["n"] == 1:
            await second_is_done.wait()
        return f"result {arguments['n']}"

    model = speaks([call("look", {"n": 1}), call("look", {"n": 2}, 1)], ["So."])
    async with open_chats(tmp_path / "a.db", model, reader(does=waits)) as house:
        answer_id = await house.begin()
        await house.stands("done")
        second_is_done.set()
        await house.ended(answer_id)
        answer = await house.last()
    assert results(answer) == [("result 2", True), ("result 1", True)]
    assert [(one.role, one.content) for one in model.calls[1].request.messages[-2:]] == [
        ("tool", "result 1"),
        ("tool", "result 2"),
    ]


async def test_of_two_calls_one_crashes_and_one_hangs_and_the_answer_goes_on(tmp_path: Path) -> None:
    slow = ScriptedTool("slow", hang, seconds=0.01)
    model = speaks([call("look"), call("slow", index=1)], ["Sorry."])
    async with open_chats(tmp_path / "a.db", model, reader(does=crash), slow, enabled=None) as house:
        await house.ask()
        answer = await house.last()
    assert statuses(answer) == ["failed", "failed"]
    assert sorted(success for _, success in results(answer)) == [False, False]
    texts = " ".join(content for content, _ in results(answer))
    assert "the tool broke" in texts
    assert "time-out" in texts
    assert (answer.text, answer.error) == ("Sorry.", "")


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (call("look", '{"text": '), "not valid JSON"),
        (call("look", "[1]"), "JSON object"),
        (call("look", {"text": 1}), "text"),
        (call("nothing"), "does not exist"),
        (call("hidden"), "is not enabled"),
        (CallPiece(0, "c", "", "{}"), "names no tool; there are: look"),
    ],
)
async def test_a_call_that_cannot_be_run_has_a_result_that_says_why(
    tmp_path: Path, wrong: CallPiece, said: str
) -> None:
    look, hidden = reader(), reader("hidden")
    look.parameters = TEXT
    model = speaks([wrong], ["Well."])
    async with open_chats(tmp_path / "a.db", model, look, hidden) as house:
        await house.ask()
        answer = await house.last()
    ((content, success),) = results(answer)
    assert (statuses(answer), success, answer.text) == (["failed"], False, "Well.")
    assert said in json.loads(content)["error"]
    assert (look.ran, hidden.ran) == ([], [])


async def test_calls_with_one_id_or_none_are_told_apart_whatever_their_indexes(tmp_path: Path) -> None:
    first = [
        call("look", {"n": 1}, 7, "same"),
        call("look", {"n": 2}, 2, "same"),
        call("look", {"n": 3}, 5, ""),
    ]
    model = speaks(first, [call("look", {"n": 4}, 0, "same")], ["So."])
    async with open_chats(tmp_path / "a.db", model, reader()) as house:
        await house.ask()
        answer = await house.last()
    ids = [step.id_ref for step in answer.steps if step.type == "tool_call"]
    assert (len(set(ids)), ids[0]) == (4, "same")
    told_of = {one.call_id: one.content for one in model.calls[2].request.messages if one.role == "tool"}
    assert [told_of[id_] for id_ in ids] == ['{"n": 1}', '{"n": 2}', '{"n": 3}', '{"n": 4}']


async def test_interleaved_pieces_of_two_calls_belong_where_their_index_says(tmp_path: Path) -> None:
    pieces = [
        CallPiece(0, "a", "look", '{"n"'),
        CallPiece(1, "b", "look", '{"m"'),
        CallPiece(0, "", "", ": 1}"),
        CallPiece(1, "", "", ": 2}"),
    ]
    async with open_chats(tmp_path / "a.db", speaks(pieces, ["So."]), reader()) as house:
        await house.ask()
        answer = await house.last()
    assert [step.arguments for step in answer.steps if step.type == "tool_call"] == ['{"n": 1}', '{"m": 2}']


async def test_after_twenty_rounds_the_answer_ends_with_the_error_of_the_protocol(tmp_path: Path) -> None:
    model = speaks(["Again.", call("look")])
    async with open_chats(tmp_path / "a.db", model, reader()) as house:
        await house.ask()
        answer = await house.last()
    assert len(model.calls) == 20
    assert house.end() == ("error", {"content": "Exceeded maximum tool call iterations"})
    assert answer.error == "Exceeded maximum tool call iterations"
    assert len(results(answer)) == 20


async def test_an_answer_that_ran_out_of_tokens_is_cut_and_keeps_what_was_said(tmp_path: Path) -> None:
    look = reader()
    model = speaks(["Half an ans", CallPiece(0, "c", "look", '{"a'), CutPiece("length")])
    async with open_chats(tmp_path / "a.db", model, look) as house:
        await house.ask()
        answer = await house.last()
        name, data = house.end()
    assert (name, answer.text, look.ran, len(model.calls)) == ("error", "Half an ans", [], 1)
    assert "ran out of tokens" in data["content"]
    assert (answer.interrupted, answer.error) == ("length", "")
    assert (statuses(answer), results(answer)[0][1]) == (["cut"], False)


async def test_a_refusal_before_the_first_piece_is_tried_again(tmp_path: Path) -> None:
    busy = ModelError("rate limit", retryable=True, status=429)
    async with open_chats(tmp_path / "a.db", speaks([busy], [busy], ["There."])) as house:
        await house.ask()
        assert (await house.last()).text == "There."
        assert house.end()[0] == "done"


async def test_a_refusal_after_words_is_reported_with_what_was_said(tmp_path: Path) -> None:
    model = speaks(["Half", ModelError("rate limit", retryable=True, status=429)], ["never"])
    async with open_chats(tmp_path / "a.db", model) as house:
        await house.ask()
        answer = await house.last()
        assert house.end() == ("error", {"content": "API Error: rate limit"})
        assert (answer.text, answer.error, len(model.calls)) == ("Half", "API Error: rate limit", 1)
        assert answer.interrupted == "error"
        await house.ask("Go on.")
    assert told(model.calls[1].request) == [
        ("user", "Well?"),
        ("assistant", "Half\n\n[cut off here: API Error: rate limit]"),
        ("user", "Go on."),
    ]


async def test_a_question_that_was_never_answered_is_not_told_with_the_next_one(tmp_path: Path) -> None:
    model = speaks([ModelError("no")], ["Yes."])
    async with open_chats(tmp_path / "a.db", model) as house:
        await house.ask("One?")
        await house.ask("Two?")
        await house.ask("Three?")
    assert told(model.calls[1].request) == [("user", "Two?")]
    assert told(model.calls[2].request) == [("user", "Two?"), ("assistant", "Yes."), ("user", "Three?")]


async def test_without_a_model_the_answer_says_so(tmp_path: Path) -> None:
    models = FakeModels(speaks(["x"]), refusal=ModelError("no such provider"))
    async with open_chats(tmp_path / "a.db", speaks(["x"]), models=models) as house:
        await house.engine.change(CHATS, house.id, {"provider_id": "missing"})
        await house.ask()
        assert house.end() == ("error", {"content": "API Error: no such provider"})
        assert (await house.engine.show(CHATS, house.id)).status == "idle"


async def test_text_is_on_record_while_it_is_said(tmp_path: Path) -> None:
    model = ScriptedModel(lambda request: ["One ", TextPiece("two")])
    async with open_chats(tmp_path / "a.db", model) as house:
        answer_id = await house.begin()
        (await model.called(1)).release()
        await house.log.seen(house.id, "process_step_delta")
        answer = await house.last()
        assert (answer.status, answer.text, kinds(answer)) == ("streaming", "One ", ["text"])
        model.calls[0].finish()
        await house.ended(answer_id)
        assert (await house.last()).text == "One two"


async def test_what_happens_to_the_call_besides_words_is_told_before_them_and_what_was_left_out_is_kept(
    tmp_path: Path,
) -> None:
    notes: Script = [NotePiece("loading"), NotePiece("no_tools"), NotePiece("trimmed", 4), "Here."]
    async with open_chats(tmp_path / "a.db", speaks(notes), reader()) as house:
        await house.ask("What is it?")
        answer = (await house.messages())[-1]
        told = [
            (fields["note"], fields.get("count")) for name, fields in house.events() if name == "answer_note"
        ]
        names = [name for name, _ in house.events()]
    assert told == [("loading", None), ("no_tools", None), ("trimmed", 4)]
    assert names.index("answer_note") < names.index("process_step")
    assert (answer.text, answer.trimmed, answer.notes) == ("Here.", 4, (Note("no_tools"),))


async def test_a_note_that_comes_with_the_end_is_not_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = ScriptedModel(lambda _: [NotePiece("loading"), NotePiece("no_tools"), "Here."])
    async with open_chats(tmp_path / "a.db", model) as house:
        append = house.store.append

        async def late(room_id: str, events: Sequence[NewEvent] = (), changes: Sequence[Change] = ()) -> int:
            seq = await append(room_id, events, changes)
            if any(isinstance(new.event, TurnNoted) and new.event.note == "loading" for new in events):
                model.calls[0].finish()
                for _ in range(50):  # until the engine knows that the call has ended
                    await asyncio.sleep(0)
            return seq

        monkeypatch.setattr(house.store, "append", late)
        answer_id = await house.begin()
        (await model.called(1)).release()
        await house.ended(answer_id)
        answer = await house.last()
    assert (answer.text, answer.notes) == ("Here.", (Note("no_tools"),))
