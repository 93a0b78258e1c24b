"""Chats in a backend process: its demo model and its tools, how it ends, how it dies, what it finds again."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from agent_tui.clients.chat import ChatClient, Question
from agent_tui.clients.http import Net
from agent_tui.model import events as ev
from tests.backend.chat_backend import A_PATH, FULL, PLAIN, grown, names
from tests.backend.processes import TOKEN, Process, running, serve
from tests.backend.wire_client import Frame, WireClient
from tests.fakes import mcp_server
from tests.fakes.models.model_server import AskedCall, FakeModelServer, says
from tests.fakes.named_pipe import read_pipe

pytestmark = pytest.mark.slow

MCP_SERVER = str(Path(mcp_server.__file__).resolve())
SLOW = "10"  # tokens/s of the demo model: an answer of three quarters of a minute
IDLE_SECONDS = "3"  # a busy machine may take two until the first call


async def made(client: WireClient, **fields: Any) -> str:
    """Make a conversation and return its path."""
    answer = await client.call("POST", A_PATH, fields)
    assert answer.status == 201, answer.body
    return f"{A_PATH}/{answer.json['id']}"


async def until_words(frames: AsyncIterator[Frame]) -> list[Frame]:
    """Return the frames up to the first words."""
    heard = [await anext(frames)]
    while heard[-1].name != "process_step_delta":
        heard.append(await anext(frames))
    return heard


def embedded_client(folder: Path, process: Process) -> WireClient:
    """Return a client with the token that the runtime file says."""
    return WireClient(process.port, json.loads((folder / "backend.json").read_text())["token"])


async def last_message(client: WireClient, path: str) -> Any:
    """Return the newest message."""
    return (await client.call("GET", f"{path}/messages")).json["messages"][-1]


async def test_the_demo_model_answers_our_client(tmp_path: Path) -> None:
    async with running(*serve(tmp_path), folder=tmp_path) as process:
        client = ChatClient(Net(process.url, TOKEN))
        try:
            chat = await client.create()
            heard = [event async for event in client.ask(chat.id, Question("Redis or PostgreSQL?"))]
            assert isinstance(heard[-1], ev.TurnDone)
            messages, _ = await client.messages(chat.id)
            assert messages[-1].text == "".join(
                event.content for event in heard if isinstance(event, ev.StepAdded)
            )
            assert await client.missing(chat.id) == {}
            assert (await client.show(chat.id)).title == "Redis or PostgreSQL?"
        finally:
            await client.aclose()
        assert await process.end() == 0
        assert await process.complaints() == ""


@pytest.mark.parametrize("is_killed", [False, True])
async def test_an_answer_is_closed_when_its_process_ends_and_never_goes_on_by_itself(
    tmp_path: Path, is_killed: bool
) -> None:
    reason = "crash" if is_killed else "handover"
    async with running(*serve(tmp_path, rate=SLOW), folder=tmp_path) as process:
        path = await made(process.client)
        async with process.client.open("POST", f"{path}/messages", {"content": "Well?"}, FULL) as stream:
            frames = stream.frames()
            heard = await until_words(frames)
            if is_killed:
                await process.kill()
            else:
                assert await process.end() == 0
                heard += [frame async for frame in frames]
                assert heard[-1].fields == {"content": "Interrupted: handover"}
    async with running(*serve(tmp_path), folder=tmp_path) as process:
        chat = (await process.client.call("GET", path)).json
        said = await last_message(process.client, path)
        assert (chat["status"], said["interrupted"], "status" in said) == ("idle", reason, False)
        async with process.client.open("GET", f"{path}/events?after=0", headers=FULL) as stream:
            stored = [frame async for frame in stream.frames()]
        assert [frame.raw for frame in stored][: len(heard)] == [frame.raw for frame in heard]
        assert stored[-1].fields == {"content": f"Interrupted: {reason}"}
        assert grown(stored)["step-0"] == json.loads(said["content"])["steps"][0]
        frames_again = process.client.open("POST", f"{path}/messages", {"content": "And now?"}, PLAIN)
        async with frames_again as stream:
            assert names([frame async for frame in stream.frames()])[-1] == "done"


async def test_the_embedded_backend_stays_for_an_answer_until_nobody_watches_it(tmp_path: Path) -> None:
    quick = ("--idle-seconds", IDLE_SECONDS, "--unwatched-seconds", "0.3", "--demo-rate", SLOW)
    async with running("embedded", "--data", str(tmp_path), *quick, folder=tmp_path) as process:
        client = embedded_client(tmp_path, process)
        path = await made(client, workspace=str(tmp_path))
        async with client.open("POST", f"{path}/messages", {"content": "Well?"}, FULL) as stream:
            await until_words(stream.frames())
        assert await process.child.wait() == 0
    async with running("embedded", "--data", str(tmp_path), folder=tmp_path) as process:
        client = embedded_client(tmp_path, process)
        assert (await last_message(client, path))["interrupted"] == "unwatched"


async def test_an_answer_goes_on_while_a_program_is_open_on_whatever_screen(tmp_path: Path) -> None:
    quick = ("--idle-seconds", IDLE_SECONDS, "--unwatched-seconds", "0.3", "--demo-rate", SLOW)
    async with running("embedded", "--data", str(tmp_path), *quick, folder=tmp_path) as process:
        client = embedded_client(tmp_path, process)
        path = await made(client, workspace=str(tmp_path))
        async with client.open("GET", "/api/presence"):
            async with client.open("POST", f"{path}/messages", {"content": "Well?"}, FULL) as stream:
                await until_words(stream.frames())
            with pytest.raises(TimeoutError):  # nobody reads the chat for as long as the backend would wait
                await asyncio.wait_for(asyncio.shield(process.child.wait()), float(IDLE_SECONDS))
            assert (await client.call("GET", path)).json["status"] == "running"
        assert await process.child.wait() == 0
    async with running("embedded", "--data", str(tmp_path), folder=tmp_path) as process:
        client = embedded_client(tmp_path, process)
        assert (await last_message(client, path))["interrupted"] == "unwatched"


async def test_tools_of_servers_are_offered_and_end_with_the_process(tmp_path: Path) -> None:
    config = f"[mcp.sums]\ncommand = {json.dumps(sys.executable)}\nargs = [{json.dumps(MCP_SERVER)}]\n"
    (tmp_path / "config.toml").write_text(config)
    async with running(*serve(tmp_path), folder=tmp_path) as process:
        tools = (await process.client.call("GET", "/api/tools")).json["tools"]
        sources = {tool["name"]: (tool["permission"], tool["source"]) for tool in tools}
        assert sources["calculator"] == ("read", "built-in")
        assert sources["run_command"] == ("ask", "built-in")
        assert sources["sums__add"] == ("ask", "sums")
        theirs = children(process.child.pid)
        assert theirs != []
        assert await process.end() == 0
        assert living(theirs) == []


def children(pid: int) -> list[int]:
    """Return the processes that ``pid`` has started, and those that they have."""
    listed = Path(f"/proc/{pid}/task/{pid}/children")
    own = [int(child) for child in listed.read_text().split()] if listed.exists() else []
    return [*own, *(one for child in own for one in children(child))]


def living(pids: list[int]) -> list[int]:
    """Return those that have not ended."""
    return [pid for pid in pids if Path(f"/proc/{pid}").exists()]


async def test_a_config_file_that_breaks_takes_its_tools_away_and_nothing_else(tmp_path: Path) -> None:
    async with running(*serve(tmp_path), folder=tmp_path) as process:
        (tmp_path / "config.toml").write_text("[tools]\nallow = 3\n")
        tools = (await process.client.call("GET", "/api/tools")).json["tools"]
        assert {tool["source"] for tool in tools} == {"built-in"}
        assert (await process.client.call("POST", A_PATH, {"provider_id": "demo"})).status == 201
        assert await process.end() == 0
    assert "tools.allow" in (tmp_path / "rooms.db.log").read_text()


async def test_serve_lets_tools_work_in_the_folder_that_it_is_told(tmp_path: Path) -> None:
    inside = tmp_path / "work" / "inside"
    inside.mkdir(parents=True)
    for options, allowed in (((), 422), (("--workspace", "work"), 201)):
        async with running(*serve(tmp_path, *options), folder=tmp_path) as process:
            call = process.client.call
            assert (await call("POST", A_PATH, {"workspace": str(inside)})).status == allowed
            assert (await call("POST", A_PATH, {"workspace": str(tmp_path)})).status == 422
            assert await process.end() == 0


async def test_what_a_command_left_that_attacks_its_keeper_ends_with_its_call(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "left")
    async with FakeModelServer() as models:
        provider = f'[providers.local]\nkind = "openai"\nbase_url = "{models.url}"\nmodel = "some-model"\n'
        (tmp_path / "config.toml").write_text(f'{provider}[tools]\nallow = ["run_command"]\n')
        async with running(*serve(tmp_path, "--workspace", str(tmp_path)), folder=tmp_path) as process:
            for attack in ("kill -9", "kill -STOP"):
                command = f"env -i setsid sleep 600 & echo $! > pid; {attack} $PPID; cat pid > left; wait"
                call = AskedCall("a", "run_command", (json.dumps({"command": command}),))
                models.will(says("I run it.", calls=[call], finish="tool_calls"), says("Done."))
                path = await made(process.client, workspace=str(tmp_path), enabled_tools=["run_command"])
                question = {"content": "Go."}
                async with process.client.open("POST", f"{path}/messages", question, FULL) as stream:
                    if attack == "kill -STOP":
                        await read_pipe(tmp_path / "left")
                        await process.client.call("POST", f"{path}/stop")
                    heard = [frame async for frame in stream.frames()]
                assert living([int((tmp_path / "pid").read_text())]) == []
                if attack == "kill -9":
                    result = "".join(json.dumps(frame.fields) for frame in heard)
                    assert "ended because it killed the process that watches it, with everything" in result
            assert await process.end() == 0
