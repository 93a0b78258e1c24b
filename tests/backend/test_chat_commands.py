"""A whole chat in a process: a model asks for a command, a person allows it, the process ends or dies."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.backend.chat_backend import A_PATH, FULL, grown, names
from tests.backend.processes import Process, running, serve
from tests.backend.wire_client import PATIENCE_SECONDS, Frame, WireClient
from tests.fakes.models.model_server import AskedCall, FakeModelServer, says
from tests.fakes.named_pipe import read_pipe

pytestmark = pytest.mark.slow

# Says through a pipe which process it has started in the background, and waits for that one.
COMMAND = "sleep 1000 & echo $! > started; wait"


@dataclass(slots=True)
class Work:
    """A backend whose answer runs the command, and the open stream of that answer."""

    process: Process
    path: str
    frames: AsyncIterator[Frame]
    heard: list[Frame]
    child: int  # the process that the command has started

    @property
    def client(self) -> WireClient:
        return self.process.client


def prepared(folder: Path, models: FakeModelServer) -> Path:
    """Write the config file, tell the model what to say, make the workspace with its pipe; return that."""
    config = f'[providers.local]\nkind = "openai"\nbase_url = "{models.url}"\nmodel = "some-model"\n'
    (folder / "config.toml").write_text(config)
    workspace = folder / "work"
    workspace.mkdir()
    os.mkfifo(workspace / "started")
    text = json.dumps({"command": COMMAND})
    call = AskedCall("call_a", "run_command", (text[:9], text[9:]))
    models.will(says("I run it.", calls=[call], finish="tool_calls"), says("Done."))
    return workspace


@asynccontextmanager
async def at_work(folder: Path, models: FakeModelServer, decision: str = "once") -> AsyncIterator[Work]:
    """Give a backend in which the command runs, asked for by the model and allowed by a person."""
    workspace = prepared(folder, models)
    async with running(*serve(folder, "--workspace", str(workspace)), folder=folder) as process:
        fields = {"workspace": str(workspace), "enabled_tools": ["run_command"]}
        chat = (await process.client.call("POST", A_PATH, fields)).json
        path = f"{A_PATH}/{chat['id']}"
        async with process.client.open("POST", f"{path}/messages", {"content": "Go."}, FULL) as stream:
            frames = stream.frames()
            heard = await until_status(frames, "asks")
            ask = heard[-1].fields["ask"]
            assert COMMAND in ask["call"] + ask["preview"]
            message = next(frame for frame in heard if frame.name == "answer_started").fields["message_id"]
            at = f"{path}/asks/{message}/{heard[-1].fields['id']}"
            assert (await process.client.call("POST", at, {"decision": decision})).status == 202
            heard += await until_status(frames, "running")
            child = int(await read_pipe(workspace / "started"))
            yield Work(process, path, frames, heard, child)


async def until_status(frames: AsyncIterator[Frame], status: str) -> list[Frame]:
    """Return the frames up to the one that says that the call stands so."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        heard = [await anext(frames)]
        while heard[-1].name != "tool_status" or heard[-1].fields["status"] != status:
            heard.append(await anext(frames))
    return heard


async def gone(pid: int) -> None:
    """Wait for the end of a process."""
    try:
        file = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_reader(file, ended.set)
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            await ended.wait()
    finally:
        loop.remove_reader(file)
        os.close(file)


async def found_again(folder: Path, path: str) -> tuple[dict[str, Any], list[Frame]]:
    """Start the backend again; return the answer as it is stored, and its events."""
    async with running(*serve(folder), folder=folder) as process:
        said = (await process.client.call("GET", f"{path}/messages")).json["messages"][-1]
        async with process.client.open("GET", f"{path}/events?after=0", headers=FULL) as stream:
            frames = [frame async for frame in stream.frames()]
        assert await process.end() == 0
    return said, frames


async def test_a_command_that_is_stopped_ends_with_all_it_has_started(tmp_path: Path) -> None:
    async with FakeModelServer() as models, at_work(tmp_path, models) as work:
        assert (await work.client.call("POST", f"{work.path}/stop")).status == 202
        rest = [frame async for frame in work.frames]
        assert rest[-1].fields == {"content": "Stopped"}
        assert [frame.fields["status"] for frame in rest if frame.name == "tool_status"] == ["cut"]
        await gone(work.child)
        assert await work.process.end() == 0
        assert len(models.requests) == 1


@pytest.mark.parametrize("is_killed", [False, True])
async def test_a_command_never_outlives_the_process_and_is_never_run_again(
    tmp_path: Path, is_killed: bool
) -> None:
    async with FakeModelServer() as models:
        async with at_work(tmp_path, models, "always") as work:
            if is_killed:
                await work.process.kill()
            else:
                assert await work.process.end() == 0
            await gone(work.child)
        said, frames = await found_again(tmp_path, work.path)
        asked = len(models.requests)
    reason, status = ("crash", "unknown") if is_killed else ("handover", "cut")
    steps = grown(frames)
    assert said["interrupted"] == reason
    assert said["calls"]["step-1"]["status"] == status
    assert json.loads(said["content"])["steps"] == list(steps.values())
    assert [step["type"] for step in steps.values()] == ["text", "tool_call", "tool_result"]
    assert steps["step-2"]["success"] is False
    assert ("not run again" in steps["step-2"]["content"]) == is_killed
    assert [frame.raw for frame in frames][: len(work.heard)] == [frame.raw for frame in work.heard]
    assert (names(frames)[-1], frames[-1].fields) == ("error", {"content": f"Interrupted: {reason}"})
    assert asked == 1


async def test_a_process_that_dies_while_somebody_is_asked_has_run_nothing(tmp_path: Path) -> None:
    async with FakeModelServer() as models:
        workspace = prepared(tmp_path, models)
        async with running(*serve(tmp_path, "--workspace", str(workspace)), folder=tmp_path) as process:
            fields = {"workspace": str(workspace), "enabled_tools": ["run_command"]}
            path = f"{A_PATH}/{(await process.client.call('POST', A_PATH, fields)).json['id']}"
            async with process.client.open("POST", f"{path}/messages", {"content": "Go."}, FULL) as stream:
                await until_status(stream.frames(), "asks")
                await process.kill()
        said, frames = await found_again(tmp_path, path)
    assert said["calls"]["step-1"] == {"status": "cut"}
    assert "not run" in grown(frames)["step-2"]["content"]
