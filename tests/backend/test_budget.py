"""What rooms use, what it costs, and where a budget stops them; what models are not told any more."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from agent_tui.backend.models.model import UsagePiece
from agent_tui.backend.models.prices import Terms, cost_of
from tests.backend.chat_backend import chat_backend
from tests.backend.in_process import Backend, backend
from tests.backend.talk import run_to_end, until
from tests.fakes.scripted_model import FakeModels, ScriptedModel

KEY = "sk-planted-key"


@pytest.fixture
async def charged(tmp_path: Path) -> AsyncIterator[Backend]:
    """A backend whose agents use 100 + 20 tokens a turn, for 1 and 5 dollars a million."""
    model = ScriptedModel(lambda request: ["Yes.", UsagePiece(100, 20)], free=True)
    models = FakeModels(model)
    models.charged = Terms(input_price=1.0, output_price=5.0, base_url=f"http://me:{KEY}@localhost/v1")
    async with backend(tmp_path, model, models=models) as running:
        yield running


async def show(running: Backend, room_id: str) -> Any:
    return (await running.client.call("GET", f"/api/rooms/{room_id}")).json


async def raise_to(running: Backend, room_id: str, **fields: Any) -> None:
    assert (await running.client.call("PATCH", f"/api/rooms/{room_id}", fields)).status == 200


async def test_turns_agents_and_the_room_say_what_they_used(charged: Backend) -> None:
    room_id = await charged.room(agents=2, max_rounds=2)
    frames = await run_to_end(charged, room_id)
    usages = [frame.fields["usage"] for frame in frames if frame.name == "message_end"]
    assert [(usage["prompt_tokens"], usage["completion_tokens"]) for usage in usages] == [(100, 20)] * 4
    assert usages[0]["cost"] == pytest.approx(0.0002)
    assert usages[0]["first_token_seconds"] >= 0
    listed = (await charged.client.call("GET", f"/api/rooms/{room_id}/messages")).json["messages"]
    assert [message["usage"]["cost"] for message in listed[1:]] == [usage["cost"] for usage in usages]
    room = await show(charged, room_id)
    assert (room["tokens"], [agent["tokens"] for agent in room["agents"]]) == (480, [240, 240])
    assert room["cost"] == pytest.approx(0.0008)


async def test_a_room_pauses_before_the_turn_that_its_tokens_are_not_enough_for(charged: Backend) -> None:
    room_id = await charged.room(agents=2, max_rounds=2, max_tokens=240)
    frames = await run_to_end(charged, room_id)
    assert (frames[-1].name, frames[-1].fields["interrupted"]) == ("room_paused", "budget")
    assert (await show(charged, room_id))["tokens"] == 240
    for path in ("run", "resume"):
        answer = await charged.client.call("POST", f"/api/rooms/{room_id}/{path}")
        assert (answer.status, "max_tokens" in answer.json["detail"]) == (409, True)
    await raise_to(charged, room_id, max_tokens=0)
    assert (await run_to_end(charged, room_id))[-1].name == "room_completed"


async def test_a_room_pauses_when_its_money_is_spent(charged: Backend) -> None:
    room_id = await charged.room(agents=2, max_rounds=2, max_cost=0.0003)
    frames = await run_to_end(charged, room_id)
    assert (frames[-1].name, frames[-1].fields["interrupted"]) == ("room_paused", "budget")
    answer = await charged.client.call("POST", f"/api/rooms/{room_id}/resume")
    assert (answer.status, "max_cost" in answer.json["detail"]) == (409, True)
    await raise_to(charged, room_id, max_cost=1)
    assert (await run_to_end(charged, room_id))[-1].name == "room_completed"


@pytest.mark.parametrize("terms", [Terms(), Terms(kind="openai", base_url="http://gate.example/v1")])
async def test_a_room_names_the_models_that_its_budget_in_dollars_does_not_limit(
    tmp_path: Path, terms: Terms
) -> None:
    models = FakeModels(ScriptedModel(lambda request: ["Yes."], free=True))
    models.charged = terms
    async with backend(tmp_path, ScriptedModel(lambda request: ["Yes."]), models=models) as running:
        room_id = await running.room(agents=2)
        assert "unpriced" not in await show(running, room_id)
        changed = await running.client.call("PATCH", f"/api/rooms/{room_id}", {"max_cost": 0.5})
        models.charged = Terms(input_price=1.0)
        assert "unpriced" not in await show(running, room_id)
    names = {agent["model"] for agent in changed.json["agents"]}
    assert set(changed.json["unpriced"]) == names


async def test_a_chat_names_its_model_if_its_budget_in_dollars_does_not_limit_it(tmp_path: Path) -> None:
    model = ScriptedModel(lambda request: ["Yes."], free=True)
    models = FakeModels(model)
    models.charged = Terms()
    async with chat_backend(tmp_path, model, models=models) as running:
        path = await running.chat(model="some-model")
        assert "unpriced" not in (await running.client.call("GET", path)).json
        changed = await running.client.call("PATCH", path, {"max_cost": 0.5})
        assert changed.json["unpriced"] == ["some-model"]
        models.charged = Terms(input_price=1.0)
        assert "unpriced" not in (await running.client.call("GET", path)).json


async def test_the_demo_costs_nothing_and_needs_no_price(tmp_path: Path) -> None:
    async with backend(tmp_path, ScriptedModel(lambda request: ["Yes."])) as running:
        room_id = await running.room(agents=1, provider_id="demo", max_cost=0.5)
        room = await show(running, room_id)
        assert (room["agents"][0]["provider_id"], "unpriced" in room) == ("demo", False)


@pytest.mark.parametrize("mode", ["sequential", "parallel"])
async def test_a_turn_is_cut_while_it_uses_up_what_is_left(tmp_path: Path, mode: str) -> None:
    async with backend(tmp_path, ScriptedModel(lambda request: ["x" * 40] * 3)) as running:
        room_id = await running.room(agents=2, execution_mode=mode, max_tokens=15)
        async with running.client.open("POST", f"/api/rooms/{room_id}/run") as stream:
            frames = stream.frames()
            call = await running.model.called(1)
            call.release()
            await until(frames, "message_chunk")
            call.release()
            rest = await until(frames, "room_paused")
        ends = [frame.fields for frame in rest if frame.name == "message_end"]
        assert {end["interrupted"] for end in ends} == {"budget"}
        assert max(len(end["content"]) for end in ends) == 80
        assert rest[-1].fields["interrupted"] == "budget"
        assert (await show(running, room_id))["tokens"] == 20


async def test_what_the_demo_model_costs_is_not_known(talking: Backend) -> None:
    room_id = await talking.room(max_rounds=1)
    await run_to_end(talking, room_id)
    room = await show(talking, room_id)
    assert (room["cost"], room["tokens"] > 0) == (None, True)


async def test_prices_are_the_config_files_else_those_of_the_table_else_unknown() -> None:
    assert (await cost_of(Terms(kind="ollama", output_price=2.0), "x"))(10, 1_000_000) == 2.0
    assert (await cost_of(Terms(kind="anthropic"), "claude-sonnet-4-0"))(1_000_000, 0)
    assert (await cost_of(Terms(kind="openai", base_url="https://api.openai.com/v1"), "gpt-4o"))(1_000, 1)
    for nobody in (
        Terms(),
        Terms(kind="ollama"),
        Terms(kind="openai", base_url="http://127.0.0.1:1/v1"),
        Terms(kind="google"),
    ):
        assert (await cost_of(nobody, "no-such-model"))(1_000, 1) is None


async def test_messages_that_do_not_fit_are_left_out_and_their_number_is_said(tmp_path: Path) -> None:
    model = ScriptedModel(lambda request: ["y" * 400], free=True)
    models = FakeModels(model, max_tokens=100)
    models.charged = Terms(context_tokens=480)
    async with backend(tmp_path, model, models=models) as running:
        room_id = await running.room(agents=1, max_rounds=6)
        frames = await run_to_end(running, room_id)
        trimmed = [frame.fields.get("trimmed", 0) for frame in frames if frame.name == "message_start"]
        assert trimmed == [0, 0, 0, 0, 1, 2]
        told = [message.content for message in model.calls[-1].request.messages[1:]]
        assert told == ["Redis or PostgreSQL?", "[2 earlier messages left out]", *["y" * 400] * 3]
        listed = (await running.client.call("GET", f"/api/rooms/{room_id}/messages")).json["messages"]
        assert listed[-1]["trimmed"] == 2


async def test_no_answer_holds_what_the_provider_is_reached_with(charged: Backend) -> None:
    room_id = await charged.room(agents=1, max_rounds=1, max_tokens=1)
    frames = await run_to_end(charged, room_id)
    answers = b"".join(frame.raw for frame in frames)
    for path in ("", f"/{room_id}", f"/{room_id}/messages", f"/{room_id}/queue", "?after="):
        answers += (await charged.client.call("GET", f"/api/rooms{path}")).body
    answers += (await charged.client.call("POST", f"/api/rooms/{room_id}/resume")).body
    assert KEY.encode() not in answers
