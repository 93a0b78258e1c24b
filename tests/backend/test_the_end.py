"""The end of a backend in which nothing wants to end: each of its waits has a bound, who is late is left."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest

from agent_tui.backend import process
from agent_tui.backend.engine.timing import Timing
from agent_tui.backend.http import connection
from agent_tui.backend.tools.mcp import stdio as mcp_stdio
from agent_tui.backend.tools.programs import child
from tests.backend.chat_backend import A_PATH, FULL
from tests.backend.processes import Process, running, serve
from tests.backend.test_chat_commands import gone, until_status
from tests.backend.test_chat_process import children, last_message
from tests.backend.wire_client import PATIENCE_SECONDS, WireClient
from tests.fakes import mcp_server
from tests.fakes.models.model_server import AskedCall, FakeModelServer, says
from tests.fakes.named_pipe import read_pipe

pytestmark = pytest.mark.slow

PROMISED_SECONDS = 3.0
GUARD_SECONDS = 10.0  # on a busy machine; what is not bounded takes longer, or for ever
MCP_SERVER = str(Path(mcp_server.__file__).resolve())
READERS = 50
STUBBORN = "trap '' TERM; sleep 1000; sleep 1000"
# A program whose thread and whose task never end, whoever cancels them.
ENDLESS = """
import asyncio, threading
from agent_tui.backend.process import run_and_leave

async def endless():
    while True:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            pass

async def main():
    asyncio.get_running_loop().run_in_executor(None, threading.Event().wait)
    asyncio.create_task(endless())
    await asyncio.sleep(0)

run_and_leave(main())
print("left", flush=True)
import os
os._exit(0)
"""


def test_all_that_is_waited_for_at_the_end_is_over_within_three_seconds() -> None:
    assert 0 < process.CUT_SECONDS < process.LEFT_SECONDS < process.CLOSED_SECONDS < PROMISED_SECONDS
    # A tool that is cut says so before rooms and answers have to be on record.
    assert child.GRACE_SECONDS < Timing().tool_grace < process.CUT_SECONDS - Timing().grace
    # A server of tools is ended before nobody waits for it any more.
    assert mcp_stdio.LEAVE_SECONDS + child.GRACE_SECONDS < process.LEFT_SECONDS
    assert connection.CUT_OFF_SECONDS < process.LEFT_SECONDS - process.CUT_SECONDS


async def test_what_never_ends_is_not_waited_for() -> None:
    program = await asyncio.create_subprocess_exec(
        sys.executable, "-P", "-c", ENDLESS, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    try:
        async with asyncio.timeout(GUARD_SECONDS):
            assert await program.communicate() == (b"left\n", b"")
    finally:
        if program.returncode is None:
            program.kill()
            await program.wait()


def config(models: FakeModelServer) -> str:
    """Return a config file with a model, and a server of tools that does not end when it is asked to."""
    program, arguments = json.dumps(sys.executable), json.dumps([MCP_SERVER, "deaf"])
    return (
        f'[providers.local]\nkind = "openai"\nbase_url = "{models.url}"\nmodel = "some-model"\n'
        f'[tools]\nallow = ["run_command"]\n[mcp.deaf]\ncommand = {program}\nargs = {arguments}\n'
    )


def one_that_never_starts(pipe: Path) -> str:
    """Return more of the config file: a server that says through ``pipe`` that it was begun, and no more."""
    arguments = json.dumps(["-c", f"echo begun > {pipe}; {STUBBORN}"])
    return f'[mcp.silent]\ncommand = "/bin/sh"\nargs = {arguments}\n'


async def read_on(client: WireClient, room: str, opened: asyncio.Event) -> None:
    """Read a room's events to their end, which comes with the backend's."""
    async with client.open("GET", f"/api/rooms/{room}/events") as stream:
        async for _ in stream.frames():
            opened.set()


async def ended(backend: Process) -> None:
    """End it as its users do; it has to end by itself."""
    async with asyncio.timeout(GUARD_SECONDS):
        assert await backend.end() == 0


async def test_nothing_that_hangs_holds_the_process(tmp_path: Path) -> None:
    work, pipe = tmp_path / "work", tmp_path / "begun"
    work.mkdir()
    os.mkfifo(pipe)
    command = AskedCall("a", "run_command", (json.dumps({"command": STUBBORN}),))
    arguments = serve(tmp_path, "--workspace", str(work))
    async with FakeModelServer() as models, asyncio.TaskGroup() as tasks:
        (tmp_path / "config.toml").write_text(config(models))
        hangs = says("I hang", finish=None, usage=None, done=False, ending="stall")
        models.will(says("I run it.", calls=[command], finish="tool_calls"), hangs)
        async with running(*arguments, folder=tmp_path) as backend:
            client = backend.client
            fields = {"workspace": str(work), "enabled_tools": ["run_command", "deaf__add"]}
            path = f"{A_PATH}/{(await client.call('POST', A_PATH, fields)).json['id']}"
            async with client.open("POST", f"{path}/messages", {"content": "Go."}, FULL) as stream:
                await until_status(stream.frames(), "running")
                room = (await client.call("POST", "/api/rooms", {"task": "Well?"})).json["id"]
                await client.frames("POST", f"/api/rooms/{room}/run", until="message_chunk")
                opened = [asyncio.Event() for _ in range(READERS)]
                for one in opened:
                    tasks.create_task(read_on(client, room, one))
                async with asyncio.timeout(PATIENCE_SECONDS):
                    for one in opened:
                        await one.wait()
                with (tmp_path / "config.toml").open("a") as file:
                    file.write(one_that_never_starts(pipe))
                asked = tasks.create_task(client.call("GET", "/api/tools"))
                await read_pipe(pipe)
                theirs = children(backend.child.pid)
                await ended(backend)
            for pid in theirs:
                await gone(pid)
        assert asked.result().status == 200  # what could not be started is left out
        assert "Traceback" not in (tmp_path / "rooms.db.log").read_text()
        async with running(*serve(tmp_path, "--no-resume"), folder=tmp_path) as backend:
            answer = await last_message(backend.client, path)
            said = await last_message(backend.client, f"/api/rooms/{room}")
            assert [answer["interrupted"], said["interrupted"]] == ["handover", "handover"]
            assert answer["calls"]["step-1"]["status"] == "cut"
            assert await backend.end() == 0


async def test_a_database_that_somebody_has_locked_does_not_hold_the_process(tmp_path: Path) -> None:
    async with running(*serve(tmp_path, rate="50"), folder=tmp_path) as backend:
        client = backend.client
        room = (await client.call("POST", "/api/rooms", {"task": "Well?"})).json["id"]
        await client.frames("POST", f"/api/rooms/{room}/run", until="message_chunk")
        with closing(sqlite3.connect(tmp_path / "rooms.db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            await ended(backend)
    log = (tmp_path / "rooms.db.log").read_text()
    assert "_Inside.stop did not end in time" in log
    assert "FileStore.close did not end in time" in log
    async with running(*serve(tmp_path, "--no-resume"), folder=tmp_path) as backend:
        assert (await last_message(backend.client, f"/api/rooms/{room}"))["interrupted"] == "crash"
        assert await backend.end() == 0
