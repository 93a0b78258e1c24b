"""How full the context of a model is once it has answered: as its newest call says, stored with it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agent_tui.backend.engine.context.trimming import estimate
from agent_tui.backend.engine.kinds import CHATS
from agent_tui.backend.models.model import UsagePiece
from agent_tui.backend.models.prices import Terms
from tests.backend.engine.chat_house import call, open_chats, speaks
from tests.fakes.scripted_model import FakeModels, ScriptedModel
from tests.fakes.scripted_tools import reader


def known(model: ScriptedModel, tokens: int = 8_000) -> FakeModels:
    """Return models that can be told so much."""
    models = FakeModels(model)
    models.charged = Terms(tokens, kind="openai")
    return models


async def test_an_answer_says_how_full_its_newest_call_left_the_context(tmp_path: Path) -> None:
    model = speaks([call("look"), UsagePiece(100, 20)], ["Found.", UsagePiece(400, 50)])
    async with open_chats(tmp_path / "a.db", model, reader(), models=known(model)) as house:
        await house.ask()
        usage = (await house.last()).usage
        assert usage is not None
        assert (usage.prompt_tokens, usage.context, usage.context_limit) == (500, 450, 8_000)
        told = next(fields for name, fields in house.events() if name == "answer_ended")
        assert (told["usage"]["context"], told["usage"]["context_limit"]) == (450, 8_000)
        done = next(fields for name, fields in house.events() if name == "done")
        assert set(done["usage"]) == {"prompt_tokens", "completion_tokens", "total_tokens"}


async def test_where_nobody_knows_the_limit_only_the_tokens_are_told(tmp_path: Path) -> None:
    model = speaks(["Yes.", UsagePiece(100, 20)])
    async with open_chats(tmp_path / "a.db", model) as house:
        await house.ask()
        usage = (await house.last()).usage
        assert usage is not None
        assert (usage.context, usage.context_limit) == (120, 0)


async def test_a_model_that_counts_nothing_has_no_meter(tmp_path: Path) -> None:
    model = speaks(["Yes."])
    async with open_chats(tmp_path / "a.db", model, models=known(model)) as house:
        await house.ask()
        assert (await house.last()).usage is None


async def test_inside_a_long_answer_the_model_keeps_the_question_and_people_are_told_what_it_lost(
    tmp_path: Path,
) -> None:
    async def shows(_: Mapping[str, Any]) -> str:
        return "log line " * 3_000

    rounds = [[call("look", id_=f"c{at}")] for at in range(4)]
    model = speaks(["First answer."], *rounds, ["Found."])
    async with open_chats(tmp_path / "a.db", model, reader(does=shows), models=known(model)) as house:
        await house.engine.change(CHATS, house.id, {"on_full": "leave_out"})
        await house.ask("The first question? " + "It is long. " * 1_000)
        await house.ask("The second question?")
        answer = await house.last()
    newest = model.calls[-1].request.messages
    assert sum(map(estimate, (one.content for one in newest))) < 8_000
    assert "The second question?" in [one.content for one in newest]
    assert not any(one.content.startswith("The first question?") for one in newest)
    assert "characters left out …]" in newest[-1].content
    noted = {note.note: note.count for note in answer.notes}
    assert (answer.trimmed > 0, noted) == (True, {"shortened": 4})
