"""A summary in place of older messages: asked for, or made before an answer that has no room for them."""

from __future__ import annotations

import base64
from dataclasses import replace
from pathlib import Path

import pytest

from agent_tui.backend.engine.context.compacting import INSTRUCTION
from agent_tui.backend.engine.kinds import CHATS
from agent_tui.backend.models.model import ModelRequest, UsagePiece
from agent_tui.backend.models.prices import Terms
from agent_tui.model.errors import ModelError, Refused
from agent_tui.model.events import Attachment, Note
from tests.backend.engine.chat_house import call, kinds, open_chats, told
from tests.backend.engine.house import crash_copy
from tests.fakes.models.pictures import PNG
from tests.fakes.scripted_model import FakeModels, Script, ScriptedModel
from tests.fakes.scripted_tools import reader

LONG = "long words " * 300  # more than 800 tokens


def is_summary(request: ModelRequest) -> bool:
    return request.messages[0].content == INSTRUCTION


def writer_of(*summaries: Script, answer: Script = ("Yes.",)) -> ScriptedModel:
    """Return a model that writes these summaries, one after the other, and else gives this answer."""
    left = list(summaries)
    return ScriptedModel(lambda asked: left.pop(0) if is_summary(asked) else answer, free=True)


def known(model: ScriptedModel, tokens: int = 100_000) -> FakeModels:
    """Return models that can be told so much, and summarise."""
    models = FakeModels(model, max_tokens=200)
    models.charged = Terms(tokens, kind="openai", input_price=1.0, output_price=1.0)
    return models


def asked(model: ScriptedModel) -> list[tuple[str, str]]:
    """Return what the model was told last."""
    return told(model.calls[-1].request)


async def test_what_was_said_is_summarised_and_told_in_its_place_and_nothing_is_deleted(
    tmp_path: Path,
) -> None:
    model = writer_of([UsagePiece(90, 9), "They like ", "tea."])
    async with open_chats(tmp_path / "a.db", model, models=known(model)) as house:
        await house.engine.change(CHATS, house.id, {"system_prompt": "Be brief."})
        await house.ask("Tea?")
        first = await house.last()
        with pytest.raises(Refused, match="too long"):
            await house.engine.chats.compact(house.id, "x" * 5_000)
        made = await house.engine.chats.compact(house.id, "the sort of tea,\nthe price")
        await house.ended(made.message_id)
        words = asked(model)[1][1]
        assert "Person: Tea?\n\nAssistant: Yes." in words
        assert words.endswith("about what it should keep: the sort of tea, the price")
        summary = await house.last()
        assert (summary.parent_id, summary.text, kinds(summary)) == (first.id, "", ["thinking"])
        assert summary.notes == (Note("summary", "step-0", 2),)
        assert summary.steps[0].content == "They like tea."
        assert (summary.usage and summary.usage.completion_tokens) == 9
        assert (await house.engine.show(CHATS, house.id)).tokens >= 99  # the budget counts it
        await house.ask("And now?")
        assert asked(model) == [
            ("system", "Be brief."),
            ("user", "[Summary of the 2 messages before this]\n\nThey like tea."),
            ("user", "And now?"),
        ]
        await house.ask("Well?")
        assert [words for _, words in asked(model)][2:] == ["And now?", "Yes.", "Well?"]
        assert [message.role for message in await house.messages()] == [
            "user", "assistant", "assistant", "user", "assistant", "user", "assistant",
        ]  # fmt: skip


async def test_a_context_that_has_grown_meanwhile_needs_no_summary(tmp_path: Path) -> None:
    class Grown(ScriptedModel):
        async def context_tokens(self, request: ModelRequest) -> int:
            models.charged = replace(models.charged, context_tokens=100_000)
            return 100_000

    model = Grown(lambda _: ("Yes.",), free=True)
    models = known(model, 3_000)
    async with open_chats(tmp_path / "a.db", model, models=models) as house:
        for number in range(8):
            await house.ask(f"{number} {LONG}")
            assert (await house.last()).trimmed == 0
        assert not any(is_summary(one.request) for one in model.calls)
        assert len(model.calls[-1].request.messages) == 15


async def test_an_answer_that_has_no_room_for_the_past_is_given_behind_a_summary(tmp_path: Path) -> None:
    model = writer_of(["It was long."])
    async with open_chats(tmp_path / "a.db", model, models=known(model, 3_000)) as house:
        for number in range(3):
            await house.ask(f"{number} {LONG}")
        assert not any(is_summary(one.request) for one in model.calls)
        await house.ask("And now?" + LONG)
        assert asked(model)[0] == ("user", "[Summary of the 6 messages before this]\n\nIt was long.")
        answer = await house.last()
        assert (kinds(answer), answer.text, answer.trimmed) == (["thinking", "text"], "Yes.", 0)
        assert answer.notes == (Note("summary", "step-0", 6),)
        notes = [(one["note"], one["count"]) for name, one in house.events() if name == "answer_note"]
        assert notes == [("summarising", 6), ("summary", 6)]


async def test_a_chat_can_be_told_to_leave_out_what_does_not_fit(tmp_path: Path) -> None:
    model = writer_of()
    async with open_chats(tmp_path / "a.db", model, models=known(model, 3_000)) as house:
        await house.engine.change(CHATS, house.id, {"on_full": "leave_out"})
        for number in range(4):
            await house.ask(f"{number} {LONG}")
        assert (await house.last()).trimmed > 0
        assert not any(is_summary(one.request) for one in model.calls)


async def test_where_no_summary_comes_the_answer_does_without_what_does_not_fit(tmp_path: Path) -> None:
    model = writer_of([ModelError("no", status=400)])
    async with open_chats(tmp_path / "a.db", model, models=known(model, 3_000)) as house:
        for number in range(4):
            await house.ask(f"{number} {LONG}")
        answer = await house.last()
        assert (answer.text, answer.notes) == ("Yes.", ())
        assert answer.trimmed > 0


async def test_a_summary_belongs_to_the_branch_it_was_made_on(tmp_path: Path) -> None:
    model = writer_of(["They like tea."])
    async with open_chats(tmp_path / "a.db", model, models=known(model)) as house:
        await house.ask("Tea?")
        question = (await house.messages())[0].id
        made = await house.engine.chats.compact(house.id)
        await house.ended(made.message_id)
        await house.ask("And now?")
        await house.ask("", again=question)  # before the summary
        assert asked(model) == [("user", "Tea?")]
        await house.ask("Other?")
        assert [words for _, words in asked(model)] == ["Tea?", "Yes.", "Other?"]
        await house.ask("Edited?", parent_id=made.message_id)
        assert [words for _, words in asked(model)][1:] == ["Edited?"]


async def test_a_second_summary_is_made_of_the_first_and_what_came_since(tmp_path: Path) -> None:
    model = writer_of(["They like tea."], ["Tea, and no milk."])
    async with open_chats(tmp_path / "a.db", model, models=known(model)) as house:
        await house.ask("Tea?")
        await house.ended((await house.engine.chats.compact(house.id)).message_id)
        with pytest.raises(Refused, match="nothing new to summarise"):
            await house.engine.chats.compact(house.id)
        await house.ask("Milk?")
        await house.ended((await house.engine.chats.compact(house.id)).message_id)
        assert "They like tea." in asked(model)[1][1]
        assert (await house.last()).notes == (Note("summary", "step-0", 4),)
        await house.ask("And now?")
        assert asked(model)[0][1] == "[Summary of the 4 messages before this]\n\nTea, and no milk."


async def test_an_answer_that_goes_on_is_told_the_summary_that_it_began_with(tmp_path: Path) -> None:
    answers: list[Script] = [
        ["Yes."],
        ["Yes."],
        ["Yes."],
        ["It is ", ModelError("gone", status=400)],
        ["so."],
    ]
    model = ScriptedModel(
        lambda request: ["It was long."] if is_summary(request) else answers.pop(0), free=True
    )
    async with open_chats(tmp_path / "a.db", model, models=known(model, 3_000)) as house:
        for number in range(4):
            await house.ask(f"{number} {LONG}")
        await house.ask("", continues=(await house.last()).id)
        assert sum(is_summary(one.request) for one in model.calls) == 1
        assert asked(model)[0][1].endswith("It was long.")
        assert [role for role, _ in asked(model)] == ["user", "user", "assistant"]


async def test_a_summary_that_was_stopped_is_none(tmp_path: Path) -> None:
    model = writer_of(["They like ", "tea."])
    async with open_chats(tmp_path / "a.db", model, models=known(model)) as house:
        await house.ask("Tea?")
        model.free = False
        made = await house.engine.chats.compact(house.id)
        (await model.called(2)).release(1)
        await house.engine.pause(CHATS, house.id)
        await house.ended(made.message_id)
        stopped = await house.last()
        assert (stopped.interrupted, stopped.steps, stopped.notes) == ("stop", (), ())
        model.free = True
        await house.ask("And now?")
        assert [words for _, words in asked(model)] == ["Tea?", "Yes.", "And now?"]


async def test_a_process_that_dies_while_it_is_written_leaves_it_undone(tmp_path: Path) -> None:
    copies: list[Path] = []
    model = writer_of(["They like ", "tea."])
    async with open_chats(tmp_path / "a.db", model, models=known(model)) as house:
        await house.ask("Tea?")
        house.log.watchers.append(
            lambda _: copies.append(crash_copy(tmp_path / "a.db", tmp_path / f"dead-{len(copies)}.db"))
        )
        await house.ended((await house.engine.chats.compact(house.id)).message_id)
    told_later: list[list[str]] = []
    for dead in copies:
        later = writer_of()
        async with open_chats(dead, later, models=known(later), new=False) as again:
            again.id = house.id
            last = await again.last()
            assert (last.status, bool(last.notes)) == ("", bool(last.steps))
            assert not later.calls  # nothing is asked again by itself
            await again.ask("And now?")
            told_later.append([words for _, words in asked(later)])
    whole = ["[Summary of the 2 messages before this]\n\nThey like tea.", "And now?"]
    assert told_later[0] == ["Tea?", "Yes.", "And now?"]
    assert told_later[-1] == whole
    assert all(one in (whole, told_later[0]) for one in told_later)


async def test_a_budget_that_is_used_up_by_the_summary_stops_the_answer(tmp_path: Path) -> None:
    model = writer_of(["It was long.", UsagePiece(5_000, 5)])
    async with open_chats(tmp_path / "a.db", model, models=known(model, 3_000)) as house:
        for number in range(3):
            await house.ask(f"{number} {LONG}")
        used = (await house.engine.show(CHATS, house.id)).tokens
        await house.engine.change(CHATS, house.id, {"max_tokens": used + 1_000})
        await house.ask("And now?" + LONG)
        answer = await house.last()
        assert (answer.interrupted, answer.text) == ("budget", "")


async def test_calls_and_their_results_are_summarised_in_plain_words(tmp_path: Path) -> None:
    answers: list[Script] = [[call("look", {"at": "x"})], ["Found."]]
    model = ScriptedModel(lambda one: ["Seen."] if is_summary(one) else answers.pop(0), free=True)
    async with open_chats(tmp_path / "a.db", model, reader(), models=known(model)) as house:
        await house.ask("Look?")
        await house.ended((await house.engine.chats.compact(house.id)).message_id)
        words = asked(model)[1][1]
        assert '[called look {"at": "x"}]' in words
        assert "Result of look: " in words
        assert model.calls[-1].request.tools == ()


@pytest.mark.parametrize(("refuses", "has_tools"), [(frozenset(), True), (frozenset({"tools"}), False)])
async def test_what_is_used_of_the_context_after_a_summary_includes_the_tools_that_its_model_takes(
    tmp_path: Path, refuses: frozenset[str], has_tools: bool
) -> None:
    model = writer_of(["They like tea.", UsagePiece(90, 9)])
    models = known(model)
    models.charged = replace(models.charged, refuses=refuses)
    tool = reader()
    tool.parameters = {"type": "object", "description": LONG}
    async with open_chats(tmp_path / "a.db", model, tool, models=models) as house:
        await house.ask("Tea?")
        await house.ended((await house.engine.chats.compact(house.id)).message_id)
        usage = (await house.last()).usage
        assert usage is not None
        assert (usage.context > 800) is has_tools


async def test_what_is_used_of_the_context_after_a_summary_includes_the_guide_of_the_folder(
    tmp_path: Path,
) -> None:
    (tmp_path / "AGENTS.md").write_text(LONG, encoding="utf-8")
    model = writer_of(["They like tea.", UsagePiece(90, 9)])
    async with open_chats(tmp_path / "a.db", model, models=known(model)) as house:
        await house.engine.change(CHATS, house.id, {"workspace": str(tmp_path)})
        await house.ask("Tea?")
        await house.ended((await house.engine.chats.compact(house.id)).message_id)
        summary = await house.last()
        assert summary.usage
        assert summary.usage.context > 800
        assert [note.note for note in summary.notes] == ["summary"]


async def test_an_image_that_its_model_does_not_see_takes_no_room(tmp_path: Path) -> None:
    model = writer_of(["It was long."])
    models = known(model, 3_000)
    models.charged = replace(models.charged, refuses=frozenset({"images"}))
    image = Attachment("a", base64.b64encode(PNG).decode(), "image/png")
    async with open_chats(tmp_path / "a.db", model, models=models) as house:
        for _ in range(3):
            await house.ask("See.", attachments=(image,))
        assert not any(is_summary(one.request) for one in model.calls)
        assert not any(message.images for message in model.calls[-1].request.messages)
        assert (await house.last()).notes == (Note("no_images"),)


@pytest.mark.parametrize("terms", [Terms(), Terms(kind="openai", acts=True)], ids=["demo", "agent"])
async def test_a_model_that_cannot_summarise_says_so(tmp_path: Path, terms: Terms) -> None:
    model = writer_of()
    models = FakeModels(model)
    models.charged = terms
    async with open_chats(tmp_path / "a.db", model, models=models) as house:
        await house.ask("Tea?")
        with pytest.raises(Refused, match="cannot summarise"):
            await house.engine.chats.compact(house.id)


async def test_nothing_is_summarised_beside_an_answer(tmp_path: Path) -> None:
    model = ScriptedModel(lambda request: ["Yes."])
    async with open_chats(tmp_path / "a.db", model, models=known(model)) as house:
        await house.begin("Tea?")
        with pytest.raises(Refused, match="under way"):
            await house.engine.chats.compact(house.id)
