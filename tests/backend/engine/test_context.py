"""How full the context of a model is once it has answered: as its newest call says, stored with it."""

from __future__ import annotations

from pathlib import Path

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
