"""The tools of the house in an answer: they work in the conversation's folder, and what changes it asks."""

from __future__ import annotations

import json
from pathlib import Path

from agent_tui.backend.engine.chats import ConversationChange
from agent_tui.backend.tools.toolbox import Toolbox
from agent_tui.config import Config
from agent_tui.tool_config import ToolsConfig
from tests.backend.engine.chat_house import call, open_chats, results, speaks, statuses

NAMES = ("calculator", "read_file", "write_file", "run_command")


async def test_an_answer_reads_writes_and_counts_in_the_folder_of_its_conversation(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "notes.txt").write_text("one\ntwo\n")
    model = speaks(
        [call("calculator", {"expression": "6*7"}), call("read_file", {"path": "notes.txt"}, 1)],
        [call("write_file", {"path": "notes.txt", "content": "one\nthree\n"})],
        [call("run_command", {"command": "cat notes.txt"}), call("read_file", {"path": "../secret"}, 1)],
        ["Done."],
    )
    box = Toolbox(Config(tmp_path / "config.toml", tools=ToolsConfig(allow=("run_command(cat *)",))))
    async with open_chats(tmp_path / "a.db", model, box=box, enabled=NAMES) as house:
        await house.chats.change(house.id, ConversationChange(workspace=str(folder)))
        with house.chats.attend(house.id):
            answer_id = await house.begin()
            asking = await house.asks()
            assert (folder / "notes.txt").read_text() == "one\ntwo\n"
            assert asking["ask"]["preview_type"] == "diff"
            assert "-two\n+three" in asking["ask"]["preview"]
            await house.chats.answer(house.id, answer_id, asking["id"], "once")
            await house.ended(answer_id)
        answer = await house.last()
    await box.aclose()
    assert (folder / "notes.txt").read_text() == "one\nthree\n"
    found = dict(
        zip([step.name for step in answer.steps if step.type == "tool_call"], statuses(answer), strict=True)
    )
    assert found == {"calculator": "done", "read_file": "failed", "write_file": "done", "run_command": "done"}
    contents = [content for content, _ in results(answer)]
    assert any("42" in content for content in contents)
    shown = next(json.loads(content) for content in contents if '"exit_code"' in content)
    assert (shown["success"], shown["output"]) == (True, "one\nthree\n")
