"""The tools of the house in an answer: they work in the conversation's folder, and what changes it asks."""

from __future__ import annotations

import asyncio
import base64
import json
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from agent_tui.backend.engine.answer.asks import AskDecision
from agent_tui.backend.engine.answer.steps import StepLog
from agent_tui.backend.engine.answer.tools import PendingReply, ToolCalls, Workshop, tools_for_model
from agent_tui.backend.engine.kinds import CHATS
from agent_tui.backend.engine.timing import Timing
from agent_tui.backend.engine.written import ChangeSet
from agent_tui.backend.models.model import Image, NotePiece
from agent_tui.backend.tools.mcp.server import ServerListed
from agent_tui.backend.tools.tool import ToolPlace
from agent_tui.backend.tools.toolbox import Toolbox
from agent_tui.config.file import Config
from agent_tui.config.tools import McpConfig, ToolsConfig
from agent_tui.model.events import Step, ToolAsk
from agent_tui.model.tool_forms import FormAnswer, ToolForm
from tests.backend.engine.chat_house import ChatHouse, call, open_chats, results, speaks, statuses
from tests.fakes import mcp_server
from tests.fakes.scripted_tools import ScriptedBox, reader, writer


class Nobody:
    """Nobody who could be asked (``Gate``)."""

    def allows(self, tool: str, arguments: Mapping[str, Any], place: ToolPlace) -> bool:
        return False

    def could_allow(self, tool: str) -> bool:
        return False

    def ask(self, call: Step, arguments: Mapping[str, Any], place: ToolPlace, ask: ToolAsk) -> PendingReply:
        raise AssertionError

    def fill_in(self, call: Step, form: ToolForm) -> asyncio.Future[FormAnswer]:
        raise AssertionError


async def test_a_server_that_is_missing_is_told_with_what_helps() -> None:
    box = ScriptedBox()
    box.broken = (ServerListed("slow", "failed", problem="it ended", fix="run its command by hand"),)
    told: list[str] = []

    async def tell(note: NotePiece) -> None:
        told.append(note.about)

    assert await tools_for_model(box, None, lambda _: True, asyncio.Event(), Timing(), tell) == ()
    assert told == ["slow: it ended: run its command by hand"]


async def test_what_a_call_tells_of_its_progress_and_the_images_it_brings_reach_person_and_model(
    tmp_path: Path,
) -> None:
    go_on = {"GO_ON": str(tmp_path / "go-on")}
    server = McpConfig("fake", sys.executable, (mcp_server.__file__,), env=go_on)
    box = Toolbox(
        lambda: Config(tmp_path / "config.toml", mcp={"fake": replace(server, read_only=READ_ONLY)})
    )
    model = speaks([call("fake__working"), call("fake__photo", index=1)], ["Done."], ["A dot."])
    timing = Timing(progress=0.01, tool_grace=0.05)
    try:
        async with open_chats(tmp_path / "a.db", model, box=box, timing=timing, enabled=None) as house:
            answer_id = await house.begin()
            for stage in (1, 2, 3):
                await house.log.until(house.id, lambda: len(progress_of(house)) == stage)  # noqa: B023
                (tmp_path / f"go-on{stage}").write_bytes(b"")
            await house.ended(answer_id)
            first, second = model.calls[0].request.messages, model.calls[1].request.messages
            await house.ask("And what was it?")
            later = model.calls[2].request.messages
            stored = await house.messages()
    finally:
        await box.aclose()
    assert progress_of(house) == [f"{stage} of 3: stage {stage}␛[2J\ufffd" for stage in (1, 2, 3)]
    image = Image("image/png", base64.b64decode(mcp_server.PNG))
    assert [one.images for one in second if one.role == "tool"] == [(), (image,)]
    assert not any(one.images for one in (*first, *later))  # it is shown while its answer goes on
    assert ("a dot:\n[image, text/odd, 70 bytes]", True) in results(stored[1])  # whichever came first


def progress_of(house: ChatHouse) -> list[str]:
    return [fields["progress"] for _, fields in house.events() if "progress" in fields]


READ_ONLY = ("working", "photo")
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
    box = Toolbox(lambda: Config(tmp_path / "config.toml", tools=ToolsConfig(allow=("run_command(cat *)",))))
    async with open_chats(tmp_path / "a.db", model, box=box, enabled=NAMES) as house:
        await house.engine.change(CHATS, house.id, {"workspace": str(folder)})
        with house.engine.chats.attend(house.id):
            answer_id = await house.begin()
            asking = await house.asks()
            assert (folder / "notes.txt").read_text() == "one\ntwo\n"
            assert asking["ask"]["preview_type"] == "diff"
            assert "-two\n+three" in asking["ask"]["preview"]
            await house.engine.answer(CHATS, house.id, answer_id, asking["id"], AskDecision("once"))
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


async def test_only_the_diff_that_was_shown_is_carried_out(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("one\n")
    write = call("write_file", {"path": "notes.txt", "content": "two\n"})
    model = speaks([write], [write], ["Done."])
    box = Toolbox(lambda: Config(tmp_path / "config.toml"))
    async with open_chats(tmp_path / "a.db", model, box=box, enabled=NAMES) as house:
        await house.engine.change(CHATS, house.id, {"workspace": str(tmp_path)})
        with house.engine.chats.attend(house.id):
            answer_id = await house.begin()
            asking = await house.asks("step-0")
            file.write_text("one\nand what somebody else wrote\n")
            await house.engine.answer(CHATS, house.id, answer_id, asking["id"], AskDecision("once"))
            asking = await house.asks("step-2")
            assert file.read_text() == "one\nand what somebody else wrote\n"
            assert "-and what somebody else wrote" in asking["ask"]["preview"]
            await house.engine.answer(CHATS, house.id, answer_id, asking["id"], AskDecision("conversation"))
            await house.ended(answer_id)
        answer = await house.last()
    assert statuses(answer) == ["failed", "done"]
    assert "than the user was shown" in results(answer)[0][0]
    assert file.read_text() == "two\n"


async def test_what_a_rule_allows_runs_whatever_was_shown(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    model = speaks([call("write_file", {"path": "notes.txt", "content": "two\n"})], ["Done."])
    box = Toolbox(lambda: Config(tmp_path / "config.toml"))
    async with open_chats(tmp_path / "a.db", model, box=box, enabled=NAMES) as house:
        await house.engine.change(CHATS, house.id, {"workspace": str(tmp_path)})
        with house.engine.chats.attend(house.id):
            answer_id = await house.begin()
            asking = await house.asks()
            file.write_text("what somebody else wrote\n")
            await house.engine.answer(CHATS, house.id, answer_id, asking["id"], AskDecision("always"))
            await house.ended(answer_id)
        assert statuses(await house.last()) == ["done"]
    assert file.read_text() == "two\n"


async def test_a_call_that_is_stopped_while_its_start_is_written_says_that_it_did_not_run() -> None:
    look, steps, written = reader(), StepLog("a1", "now"), ChangeSet()
    steps.hear([call("look")], written)

    async def write(_written: ChangeSet) -> None:
        calls.cut()

    workshop = Workshop(ScriptedBox(look), Nobody(), ToolPlace(), {"look"})
    calls = ToolCalls(workshop, steps, write, Timing())
    await calls.run(steps.close_calls(written), written)
    asked, answered = steps.in_order
    assert (asked.status, answered.success, look.ran) == ("cut", False, [])
    assert "not run" in answered.content


async def test_edits_of_one_file_in_one_round_are_all_made(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("".join(f"line{at}\n" for at in range(6)))
    edits = [[{"search": f"line{at}", "replace": f"LINE{at}"}] for at in range(6)]
    patches = [call("patch_file", {"path": "notes.txt", "edits": edit}, at) for at, edit in enumerate(edits)]
    allow = ToolsConfig(allow=("patch_file(*)",))
    box = Toolbox(lambda: Config(tmp_path / "config.toml", tools=allow))
    enabled = ("patch_file",)
    async with open_chats(tmp_path / "a.db", speaks(patches, ["Done."]), box=box, enabled=enabled) as house:
        await house.engine.change(CHATS, house.id, {"workspace": str(tmp_path)})
        await house.ask()
        assert statuses(await house.last()) == ["done"] * 6
    assert file.read_text() == "".join(f"LINE{at}\n" for at in range(6))


async def test_each_edit_of_a_round_is_shown_as_it_would_be_after_those_before_it(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("one\ntwo\n")
    edits = [[{"search": "one", "replace": "ONE"}], [{"search": "two", "replace": "TWO"}]]
    patches = [call("patch_file", {"path": "notes.txt", "edits": edit}, at) for at, edit in enumerate(edits)]
    box = Toolbox(lambda: Config(tmp_path / "config.toml"))
    enabled = ("patch_file",)
    async with open_chats(tmp_path / "a.db", speaks(patches, ["Done."]), box=box, enabled=enabled) as house:
        await house.engine.change(CHATS, house.id, {"workspace": str(tmp_path)})
        with house.engine.chats.attend(house.id):
            answer_id = await house.begin()
            for step, shown in (("step-0", "-one\n+ONE\n two"), ("step-1", " ONE\n-two\n+TWO")):
                asking = await house.asks(step)
                assert shown in asking["ask"]["preview"]
                await house.engine.answer(CHATS, house.id, answer_id, step, AskDecision("once"))
            await house.ended(answer_id)
        assert statuses(await house.last()) == ["done", "done"]
    assert file.read_text() == "ONE\nTWO\n"


async def test_a_call_after_one_that_changes_something_waits_until_that_is_decided_and_done(
    tmp_path: Path,
) -> None:
    ran: list[Any] = []
    both = asyncio.Event()

    async def notes(arguments: Mapping[str, Any]) -> str:
        ran.append(arguments["at"])
        return "{}"

    async def meets(arguments: Mapping[str, Any]) -> str:
        ran.append(arguments["at"])
        if arguments["at"] == 3:
            both.set()
        if arguments["at"] == 2:  # it runs beside the other one that only looks
            await both.wait()
        return "{}"

    names = ("change", "change", "look", "look", "change")
    calls = [call(name, {"at": at}, at) for at, name in enumerate(names)]
    model = speaks(calls, ["Done."])
    async with open_chats(tmp_path / "a.db", model, writer(does=notes), reader(does=meets)) as house:
        with house.engine.chats.attend(house.id):
            answer_id = await house.begin()
            for step, before in (("step-0", []), ("step-1", [0]), ("step-4", [0, 2, 3])):
                await house.asks(step)
                assert ran == before
                decision = AskDecision("deny" if step == "step-1" else "once")
                await house.engine.answer(CHATS, house.id, answer_id, step, decision)
            await house.ended(answer_id)
        assert statuses(await house.last()) == ["done", "denied", "done", "done", "done"]
    assert ran == [0, 2, 3, 4]
    stood: dict[str, list[str]] = {}
    for name, data in house.events():
        if name == "tool_status":
            stood.setdefault(data["id"], []).append(data["status"])
    assert stood["step-0"] == ["asks", "running", "done"]
    assert stood["step-3"] == ["waits", "running", "done"]
    assert stood["step-4"] == ["waits", "asks", "running", "done"]


async def test_calls_that_wait_for_their_turn_do_not_run_when_the_answer_is_stopped(tmp_path: Path) -> None:
    tool = writer()
    model = speaks([call("change", index=at) for at in range(3)], ["Done."])
    async with open_chats(tmp_path / "a.db", model, tool) as house:
        with house.engine.chats.attend(house.id):
            answer_id = await house.begin()
            await house.asks()
            await house.engine.chats.stop_answer(answer_id)
            await house.ended(answer_id)
        assert statuses(await house.last()) == ["cut"] * 3
    assert tool.ran == []
