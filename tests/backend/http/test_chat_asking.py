"""Tools that ask, over HTTP: who is asked, who may answer, what becomes of it when nobody does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from agent_tui.backend.engine.timing import Timing
from agent_tui.backend.tools.shell import RunCommand
from agent_tui.backend.tools.tool import ToolOutput, ToolPlace
from agent_tui.model.tool_forms import FormField, ToolForm
from tests.backend.chat_backend import DELTAS, FULL, PLAIN, ChatBackend, chat_backend, grown, names
from tests.backend.engine.chat_house import call, speaks
from tests.backend.wire_client import Frame
from tests.fakes.scripted_model import Script
from tests.fakes.scripted_tools import ScriptedTool, echo, writer

CHANGE: Script = [call("change", {"text": "x"})]


async def ask_of(frames: AsyncIterator[Frame]) -> tuple[str, Frame]:
    """Return (message id, the frame of the call that asks)."""
    message_id = ""
    async for frame in frames:
        if frame.name == "answer_started":
            message_id = frame.fields["message_id"]
        if frame.name == "tool_status" and frame.fields["status"] == "asks":
            return message_id, frame
    raise AssertionError("nobody asked")


async def test_who_reads_the_full_form_is_asked_and_answers(tmp_path: Path) -> None:
    tool = writer()
    async with chat_backend(tmp_path, speaks(CHANGE, ["Done."]), tool) as running:
        path = await running.chat(enabled_tools=["change"])
        async with running.client.open("POST", f"{path}/messages", {"content": "Do it."}, FULL) as stream:
            frames = stream.frames()
            message_id, asks = await ask_of(frames)
            assert asks.fields["ask"]["pattern"] == 'change({"text": "x"})'
            assert asks.fields["ask"]["preview"] == "what would change"
            at = f"{path}/asks/{message_id}/{asks.fields['id']}"
            assert tool.ran == []
            for body, status in (
                ({}, 422),
                ({"decision": "perhaps"}, 422),
                ({"decision": 1}, 422),
                ({"decision": "always", "pattern": "other_tool"}, 422),
                ({"decision": "always", "pattern": "change"}, 422),  # wider than what was shown
                ({"decision": "conversation", "pattern": "change(*)"}, 422),
                ({"decision": "deny", "reason": []}, 422),
            ):
                assert (await running.post(at, body)).status == status, body
            pattern = asks.fields["ask"]["pattern"]
            answered = await running.post(at, {"decision": "always", "pattern": pattern})
            assert (answered.status, answered.json) == (202, {})
            assert [frame async for frame in frames][-1].name == "done"
            assert (await running.post(at, {"decision": "once"})).status == 409
        assert (await running.post(f"{path}/asks/{message_id}/step-9", {"decision": "once"})).status == 404
        assert (await running.post(f"{path}/asks/nobody/step-0", {"decision": "once"})).status == 404
        assert tool.ran == [{"text": "x"}]
        [rule] = (await running.client.call("GET", "/api/tools/rules")).json["rules"]
        assert (rule["tool"], rule["pattern"]) == ("change", pattern)
        assert sorted(rule) == ["conversation_id", "created_at", "folder", "id", "pattern", "tool"]
        dropped = await running.client.call("DELETE", f"/api/tools/rules/{rule['id']}")
        assert (dropped.status, dropped.json) == (200, {"rules": []})
        assert (await running.client.call("DELETE", f"/api/tools/rules/{rule['id']}")).status == 404


@pytest.mark.parametrize("headers", [PLAIN, DELTAS])
async def test_other_readers_cannot_be_asked_so_the_call_is_not_run(
    tmp_path: Path, headers: Mapping[str, str]
) -> None:
    tool = writer()
    async with chat_backend(tmp_path, speaks(CHANGE, ["Then not."]), tool) as running:
        path = await running.chat(enabled_tools=["change"])
        frames = await running.ask(path, headers=headers)
        result = next(step for step in grown(frames).values() if step["type"] == "tool_result")
        assert (result["success"], "nobody was there" in result["content"]) == (False, True)
        assert tool.ran == []


async def test_a_second_terminal_may_answer_while_the_first_only_listens_in_plain_form(
    tmp_path: Path,
) -> None:
    tool = writer()
    async with chat_backend(tmp_path, speaks(CHANGE, ["Done."]), tool) as running:
        path = await running.chat(enabled_tools=["change"])
        async with running.client.open("GET", f"{path}/events?follow=1", headers=FULL) as watching:
            asking = asyncio.create_task(running.ask(path, headers=PLAIN))
            message_id, asks = await ask_of(watching.frames())
            at = f"{path}/asks/{message_id}/{asks.fields['id']}"
            assert (await running.post(at, {"decision": "once"})).status == 202
            assert names(await asking)[-1] == "done"
        assert tool.ran == [{"text": "x"}]


async def test_when_the_last_who_could_answer_leaves_the_call_is_denied_after_a_while(
    tmp_path: Path,
) -> None:
    naps: list[float] = []
    slept = asyncio.Event()

    async def sleep(seconds: float) -> None:
        naps.append(seconds)
        await slept.wait()

    timing = Timing(retries=(), grace=0.05, tool_grace=0.05, unattended=30.0, sleep=sleep)
    async with chat_backend(tmp_path, speaks(CHANGE, ["Then not."]), writer(), timing=timing) as running:
        path = await running.chat(enabled_tools=["change"])
        async with running.client.open("POST", f"{path}/messages", {"content": "Do it."}, FULL) as stream:
            await ask_of(stream.frames())
        async with running.client.open("GET", f"{path}/events", headers=DELTAS) as stream:
            slept.set()
            frames = [frame async for frame in stream.frames()]
        assert 30.0 in naps
        assert names(frames)[-1] == "done"
        result = next(frame for frame in frames if '"tool_result"' in frame.data)
        assert "nobody was there" in result.fields["step"]["content"]


async def test_a_refused_question_leaves_nobody_behind_who_could_be_asked(tmp_path: Path) -> None:
    tool = writer()
    async with chat_backend(tmp_path, speaks(CHANGE, ["Then not."]), tool) as running:
        path = await running.chat(enabled_tools=["change"])
        refused = await running.client.call("POST", f"{path}/messages", {"content": ""}, FULL)
        assert refused.status == 422
        async with running.client.open("HEAD", f"{path}/events?follow=1", headers=FULL) as head:
            assert head.status == 200
        frames = await running.ask(path, headers=PLAIN)
        assert "nobody was there" in "".join(frame.data for frame in frames)
        assert tool.ran == []


# --- rules that are kept --------------------------------------------------------------------------------


async def ran(running: ChatBackend, path: str, decision: str) -> list[str]:
    """Ask in the chat at ``path``, decide so on every call that asks; return how its calls stood in turn."""
    stood = []
    async with running.client.open("POST", f"{path}/messages", {"content": "Do it."}, FULL) as stream:
        message_id = ""
        async for frame in stream.frames():
            message_id = frame.fields.get("message_id", message_id)
            if frame.name == "tool_status":
                stood.append(frame.fields["status"])
                if stood[-1] == "asks":
                    at = f"{path}/asks/{message_id}/{frame.fields['id']}"
                    assert (await running.post(at, {"decision": decision})).status == 202
    return stood


def commands(*lines: str) -> list[Script]:
    """Return what a model does that calls one command in each answer."""
    return [script for line in lines for script in ([call("run_command", {"command": line})], ["Done."])]


@pytest.mark.parametrize("kept", ["conversation", "always"])
async def test_a_kept_rule_is_the_very_command_in_the_very_folder(tmp_path: Path, kept: str) -> None:
    mine, other = tmp_path / "mine", tmp_path / "other"
    for folder in (mine, other):
        folder.mkdir()
        (folder / "Makefile").write_text("all:\n\ttrue\n", encoding="utf-8")
    (mine / "evil.mk").write_text("all:\n\t+touch PWNED\n", encoding="utf-8")
    lines = ["make -n all"] * 2 + ["make -n -f evil.mk", "make -n MAKE='touch PWNED #' all", "make -n all"]
    async with chat_backend(tmp_path, speaks(*commands(*lines)), RunCommand()) as running:
        path = await running.chat(enabled_tools=["run_command"], workspace=str(mine))
        assert await ran(running, path, kept) == ["asks", "running", "done"]
        assert await ran(running, path, "deny") == ["running", "done"]
        assert await ran(running, path, "deny") == ["asks", "denied"]
        assert await ran(running, path, "deny") == ["asks", "denied"]
        elsewhere = await running.chat(enabled_tools=["run_command"], workspace=str(other))
        assert await ran(running, elsewhere, "deny") == ["asks", "denied"]
    assert not (mine / "PWNED").exists()


async def test_a_rule_that_is_taken_back_lets_nothing_run_any_more(tmp_path: Path) -> None:
    async with chat_backend(tmp_path, speaks(*[CHANGE, ["Done."]] * 3), writer()) as running:
        path = await running.chat(enabled_tools=["change"])
        assert await ran(running, path, "always") == ["asks", "running", "done"]
        [rule] = (await running.client.call("GET", "/api/tools/rules")).json["rules"]
        assert await ran(running, path, "deny") == ["running", "done"]
        await running.client.call("DELETE", f"/api/tools/rules/{rule['id']}")
        assert await ran(running, path, "deny") == ["asks", "denied"]


# --- whose ask it is ------------------------------------------------------------------------------------


async def test_the_ask_of_a_chat_is_not_answered_as_one_of_a_room(tmp_path: Path) -> None:
    tool = writer()
    async with chat_backend(tmp_path, speaks(CHANGE, ["Then not."]), tool) as running:
        path = await running.chat(enabled_tools=["change"])
        async with running.client.open("POST", f"{path}/messages", {"content": "Do it."}, FULL) as stream:
            frames = stream.frames()
            message_id, asks = await ask_of(frames)
            at = f"{path}/asks/{message_id}/{asks.fields['id']}"
            wrong = at.replace("/conversations/", "/rooms/")
            for decision in ("once", "always", "deny"):
                assert (await running.post(wrong, {"decision": decision})).status == 404
            assert (await running.post(at, {"decision": "deny"})).status == 202
            assert [frame async for frame in frames][-1].name == "done"
        assert tool.ran == []


async def test_the_ask_of_a_room_is_not_answered_as_one_of_a_chat(tmp_path: Path) -> None:
    tool = writer()
    async with chat_backend(tmp_path, speaks(CHANGE, ["Then not."]), tool) as running:
        agents = [{"name": "Ada"}]
        room = {"task": "Talk", "agents": agents, "max_rounds": 1, "enabled_tools": ["change"]}
        path = f"/api/rooms/{(await running.post('/api/rooms', room)).json['id']}"
        async with running.client.open("GET", f"{path}/events?asks=1") as stream:
            assert (await running.post(f"{path}/resume")).status in (202, 409)
            running_room = asyncio.create_task(running.all_frames("POST", f"{path}/run"))
            async for frame in stream.frames():
                if '"asks"' in frame.data:
                    break
            stands = frame.fields["tool_status"]
            at = f"{path}/asks/{frame.fields['id']}/{stands['id']}"
            wrong = at.replace("/rooms/", "/conversations/")
            assert (await running.post(wrong, {"decision": "once"})).status == 404
            assert (await running.post(at, {"decision": "deny"})).status == 202
            await running_room
        assert tool.ran == []


# --- forms ------------------------------------------------------------------------------------------------

FORM = ToolForm("shop", "How many?", (FormField("n", "integer", "Number", required=True, maximum=9),))


class Asker(ScriptedTool):
    """A tool that asks its person for values."""

    async def run(self, arguments: Mapping[str, Any], place: ToolPlace) -> ToolOutput:
        assert place.fill_in is not None
        answer = await place.fill_in(FORM)
        return ToolOutput(f"{answer.action} {answer.values}")


async def test_of_two_terminals_that_are_shown_a_form_the_first_answers_it(tmp_path: Path) -> None:
    model = speaks([call("survey")], ["Done."])
    async with chat_backend(tmp_path, model, Asker("survey", echo)) as running:
        path = await running.chat(enabled_tools=["survey"])
        async with running.client.open("POST", f"{path}/messages", {"content": "Do it."}, FULL) as stream:
            frames = stream.frames()
            message_id, asks = await ask_of(frames)
            async with running.client.open("GET", f"{path}/events?after=0", headers=FULL) as second:
                assert (await ask_of(second.frames()))[1].fields == asks.fields
            [field] = asks.fields["ask"]["form"]["fields"]
            assert (field["name"], field["maximum"]) == ("n", 9)
            at = f"{path}/asks/{message_id}/{asks.fields['id']}"
            for body in (
                {"decision": "answer"},
                {"decision": "answer", "values": {"n": 10}},
                {"decision": "answer", "values": {"n": "1"}},
                {"decision": "answer", "values": [1]},
                {"decision": "once"},
            ):
                assert (await running.post(at, body)).status == 422, body
            told = (await running.post(at, {"decision": "answer", "values": {"n": 10, "m": 1}})).json
            assert told["detail"] == "m: the form has no such field; n: it has to be at most 9"
            both = ({"decision": "answer", "values": {"n": 3}}, {"decision": "decline"})
            answered = await asyncio.gather(*(running.post(at, body) for body in both))
            assert sorted(one.status for one in answered) == [202, 409]
            assert [frame async for frame in frames][-1].name == "done"
        listed = (await running.client.call("GET", path)).json
        assert listed["asks"] is False
        stored = (await running.client.call("GET", f"{path}/messages")).json["messages"][-1]
    first = "accept {'n': 3}" if answered[0].status == 202 else "decline None"
    assert first in stored["content"]
