"""Voice rooms in a backend process: what it counts, how it ends and dies, what is left then."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from tests.backend.processes import Process, running, serve
from tests.backend.test_chat_commands import gone
from tests.backend.test_chat_process import children, embedded_client
from tests.backend.voice.voice_backend import TOKEN_PATH, looks, play, until, write_agent, write_server
from tests.backend.wire_client import PATIENCE_SECONDS, WireClient

# With make voice: what is tested takes its time as it is.
pytestmark = pytest.mark.voice

PROMISED_SECONDS = 3.0
GUARD_SECONDS = 10.0  # on a busy machine; what is not bounded takes longer, or for ever
IDLE_SECONDS = "1"
LOOKS = 3  # at who is in the rooms: they take longer than the idle time
SIGNED = re.compile(r"eyJ[\w-]+\.[\w-]+\.[\w-]+")


def environment(folder: Path, server: str = "good") -> dict[str, str]:
    """Return the variables for a backend with the fake server and the fake agent in ``folder``."""
    write_agent(folder)
    return {"LIVEKIT_SERVER": str(write_server(folder, server))}


async def joined(client: WireClient, room: str) -> Any:
    """Ask for a token and wait for the room's agent; return the answer's fields."""
    answer = await client.call("POST", TOKEN_PATH, {"room_name": room})
    assert answer.status == 201, answer.body
    async with asyncio.timeout(PATIENCE_SECONDS):
        while await agent_state(client) != "running":  # noqa: ASYNC110 - the agent says it to nobody else
            await asyncio.sleep(0.02)
    return answer.json


async def agent_state(client: WireClient) -> str:
    """Return what the agent of the only room does."""
    (room,) = (await client.call("GET", "/api/voice")).json["rooms"]
    return str(room["agent"]["state"])


def keepers(backend: Process) -> list[int]:
    """Return the processes that a backend has started itself."""
    pid = backend.child.pid
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


async def test_a_killed_backend_leaves_neither_server_nor_agent(tmp_path: Path) -> None:
    async with running(*serve(tmp_path), folder=tmp_path, env=environment(tmp_path)) as backend:
        await joined(backend.client, "den")
        pids = children(backend.child.pid)
        assert len(pids) == 4  # each has a keeper
        await backend.kill()
        for pid in pids:
            await gone(pid)


async def test_programs_whose_keepers_are_killed_with_the_backend_end_too(tmp_path: Path) -> None:
    async with running(*serve(tmp_path), folder=tmp_path, env=environment(tmp_path)) as backend:
        await joined(backend.client, "den")
        pids, kept = children(backend.child.pid), keepers(backend)
        for keeper in kept:
            os.kill(keeper, signal.SIGSTOP)  # or they would have a moment to do their work
        await backend.kill()
        for keeper in kept:
            os.kill(keeper, signal.SIGKILL)
        for pid in pids:
            await gone(pid)


async def test_a_killed_keeper_takes_its_program_along_and_all_starts_again(tmp_path: Path) -> None:
    async with running(*serve(tmp_path), folder=tmp_path, env=environment(tmp_path)) as backend:
        await joined(backend.client, "den")
        pids = children(backend.child.pid)
        for keeper in keepers(backend):
            os.kill(keeper, signal.SIGKILL)
        for pid in pids:
            await gone(pid)
        await joined(backend.client, "den")
        assert await backend.end() == 0


@pytest.mark.parametrize("server", ["deaf", "silent"])
async def test_nothing_of_voice_holds_a_backend_that_ends(server: str, tmp_path: Path) -> None:
    async with running(*serve(tmp_path), folder=tmp_path, env=environment(tmp_path, server)) as backend:
        asking = None
        if server == "silent":  # the server never gets ready: the question is still open
            asking = asyncio.create_task(backend.client.call("POST", TOKEN_PATH, {"room_name": "rude"}))
            await until(lambda: (tmp_path / "voice/servers").exists())
        else:
            await joined(backend.client, "rude")
        pids = children(backend.child.pid)
        begun = time.monotonic()
        async with asyncio.timeout(GUARD_SECONDS):
            assert await backend.end() == 0
        assert time.monotonic() - begun < GUARD_SECONDS
        for pid in pids:
            await gone(pid)
        if asking is not None:
            await asyncio.wait({asking})
            asking.exception()
        assert "did not end in time" not in (tmp_path / "rooms.db.log").read_text()


async def test_a_backend_is_not_idle_while_somebody_is_in_a_voice_room(tmp_path: Path) -> None:
    arguments = ("embedded", "--data", str(tmp_path), "--idle-seconds", IDLE_SECONDS)
    async with running(*arguments, folder=tmp_path, env=environment(tmp_path)) as backend:
        client = embedded_client(tmp_path, backend)
        url = (await joined(client, "den"))["server_url"]
        await asyncio.to_thread(play, url, "join", room="den", identity="owner-1")
        assert (await client.call("GET", "/api/backend")).json["voice_rooms"] == 1
        refused = await client.call("POST", "/api/backend/stop?if_idle=1")
        assert refused.status == 409
        async with asyncio.timeout(PATIENCE_SECONDS):
            while await asyncio.to_thread(looks, url) < LOOKS:  # noqa: ASYNC110 - as above
                await asyncio.sleep(0.1)
        assert backend.child.returncode is None
        assert await backend.end() == 0


async def test_no_token_and_no_secret_is_in_any_file(tmp_path: Path) -> None:
    async with running(*serve(tmp_path), folder=tmp_path, env=environment(tmp_path)) as backend:
        await joined(backend.client, "chatty")
        assert await backend.end() == 0
    logs = [tmp_path / "rooms.db.log", *(tmp_path / "voice" / name for name in ("server.log", "agent.log"))]
    for path in logs:
        assert not SIGNED.search(path.read_text())
        assert "a line with the secret ********" in path.read_text() or path.name != "server.log"
        assert path.stat().st_mode & 0o077 == 0
