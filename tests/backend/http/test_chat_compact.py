"""Summaries over HTTP: who knows nothing of them sees a thought, and is never told more."""

from __future__ import annotations

import json
from pathlib import Path

from agent_tui.backend.models.prices import Terms
from tests.backend.chat_backend import DELTAS, FULL, PLAIN, ChatBackend, chat_backend, refused
from tests.backend.engine.chat_house import speaks
from tests.fakes.scripted_model import FakeModels, ScriptedModel


def known(model: ScriptedModel) -> FakeModels:
    models = FakeModels(model)
    models.charged = Terms(100_000, kind="openai")
    return models


async def summarised(running: ChatBackend) -> str:
    """Ask, have that summarised, and wait for it; return the path of the chat."""
    path = await running.chat()
    await running.ask(path, "Tea?")
    answer = await running.post(f"{path}/compact", {"keep": "the tea"})
    assert (answer.status, answer.json["status"]) == (202, "running")
    chat = await running.client.call("GET", path)
    while chat.json["status"] == "running":
        chat = await running.client.call("GET", path)
    return path


async def test_original_clients_see_a_thought_and_ours_the_note_that_says_more(tmp_path: Path) -> None:
    model = speaks(["Yes."], ["They like tea."])
    async with chat_backend(tmp_path, model, models=known(model)) as running:
        path = await summarised(running)
        step = {"id": "step-0", "index": 0, "type": "thinking", "content": "They like tea."}
        for headers in (PLAIN, DELTAS):
            frames = await running.all_frames("GET", f"{path}/events", headers=headers)
            assert [frame.name for frame in frames] == ["process_step", "done"]
            assert frames[0].fields == {"step": step}
        frames = await running.all_frames("GET", f"{path}/events", headers=FULL)
        notes = [frame.fields for frame in frames if frame.name == "answer_note"]
        assert [(one["note"], one["count"]) for one in notes] == [("summarising", 2), ("summary", 2)]
        listed = (await running.client.call("GET", f"{path}/messages")).json["messages"]
        assert json.loads(listed[-1]["content"]) == {"text": "", "steps": [step]}
        assert listed[-1]["notes"] == [{"note": "summary", "about": "step-0", "count": 2}]
        assert listed[-1]["parent_id"] == listed[-2]["id"]


async def test_what_cannot_be_summarised_is_refused_with_the_reason(tmp_path: Path) -> None:
    model = speaks(["Yes."])
    models = known(model)
    async with chat_backend(tmp_path, model, models=models) as running:
        path = await running.chat()
        assert "keep must be" in await refused(running, "POST", f"{path}/compact", {"keep": 1}, 422)
        assert "nothing new to summarise" in await refused(running, "POST", f"{path}/compact", {}, 409)
        await running.ask(path, "Tea?")
        models.charged = Terms()
        assert "cannot summarise" in await refused(running, "POST", f"{path}/compact", {}, 409)
        assert len((await running.client.call("GET", f"{path}/messages")).json["messages"]) == 2
        assert await refused(running, "POST", "/api/conversations/none/compact", {}, 404)
        await refused(running, "PATCH", path, {"on_full": "explode"}, 422)
        changed = await running.client.call("PATCH", path, {"on_full": "leave_out"})
        assert changed.json["on_full"] == "leave_out"
