"""Exit codes of ``agent-tui voice`` without a screen, with a real LiveKit server, in processes of its own."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import signal
import subprocess
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from livekit import api

from agent_tui.network import has_interface
from tests.clients.voice import rooms
from tests.tui.programs import PROGRAM, Home, own_environ, reap
from tui.cli import exits

pytestmark = [
    pytest.mark.voice,
    pytest.mark.skipif(
        not rooms.find_server(), reason="no livekit-server: set LIVEKIT_SERVER or put it on PATH"
    ),
    pytest.mark.skipif(not has_interface(), reason="WebRTC needs an interface besides loopback"),
]
AGENT = Path(__file__).parents[2] / "fakes" / "voice" / "voiceless_agent.py"
NEEDS_AGENTS = pytest.mark.skipif(
    not importlib.util.find_spec("livekit.agents"), reason="no livekit-agents: --all-extras"
)
TYPED = ("voice", "--text", "--output", "stream-json")


@pytest.fixture
async def livekit(tmp_path: Path) -> AsyncIterator[rooms.LiveKit]:
    async with rooms.server(tmp_path) as server:
        yield server


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[Home]:
    home = Home(tmp_path, own_environ(tmp_path))
    yield home
    await asyncio.to_thread(home.run, "backend", "stop")
    reap(home.data)


def variables(livekit: rooms.LiveKit) -> dict[str, str]:
    return {
        "LIVEKIT_URL": livekit.url,
        "LIVEKIT_API_KEY": livekit.key,
        "LIVEKIT_API_SECRET": livekit.secret,
    }


def typing(home: Home, variables: dict[str, str]) -> subprocess.Popen[str]:
    """Start a session in which nobody types anything yet."""
    pipe = subprocess.PIPE
    environ = {**home.environ, **variables}
    return subprocess.Popen(
        [*PROGRAM, *TYPED], env=environ, cwd=home.folder, stdin=pipe, stdout=pipe, text=True
    )


async def ran(home: Home, **variables: str) -> tuple[int, dict[str, Any], str]:
    """Type one line; return the exit code, what ``end`` says, and all that was written."""
    done = await asyncio.to_thread(home.run, *TYPED, stdin="Hello\n", **variables)
    return done.returncode, json.loads(done.stdout.splitlines()[-1])["data"], done.stdout + done.stderr


async def test_4_no_agent_is_in_the_room_after_twenty_seconds(home: Home, livekit: rooms.LiveKit) -> None:
    began = time.monotonic()
    code, end, written = await ran(home, **variables(livekit))
    assert (code, end["reason"]) == (exits.FAILED, "timeout")
    assert "agent" in end["detail"]
    assert 20 <= time.monotonic() - began < 45
    assert livekit.secret not in written


async def test_5_the_server_was_there_and_is_not_any_more(home: Home, livekit: rooms.LiveKit) -> None:
    await livekit.kill()
    code, end, written = await ran(home, **variables(livekit))
    assert (code, end["reason"]) == (exits.UNREACHABLE, "lost")
    assert livekit.secret not in written


@pytest.mark.parametrize("mistake", ["expired", "of another server", "no token"])
async def test_6_a_token_that_the_server_does_not_take(
    mistake: str, home: Home, livekit: rooms.LiveKit, tmp_path: Path
) -> None:
    token = livekit.token("ann", seconds=-600.0) if mistake == "expired" else "not-a-token"
    if mistake == "of another server":
        token = rooms.LiveKit(tmp_path / "other.log").token("ann")
    code, end, written = await ran(home, LIVEKIT_URL=livekit.url, LIVEKIT_TOKEN=token)
    assert (code, end["reason"]) == (exits.REFUSED, "refused"), written
    assert token not in written


async def test_3_ctrl_c_while_it_waits_for_the_agent(home: Home, livekit: rooms.LiveKit) -> None:
    child = typing(home, variables(livekit))
    try:
        async with livekit.admin() as admin, asyncio.timeout(rooms.PATIENCE_SECONDS):
            while not (await admin.room.list_rooms(api.ListRoomsRequest())).rooms:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        child.send_signal(signal.SIGINT)
        written, _ = await asyncio.to_thread(child.communicate, None, rooms.PATIENCE_SECONDS)
    finally:
        child.kill()
    assert child.returncode == exits.PAUSED
    assert json.loads(written.splitlines()[-1])["data"]["reason"] == "interrupted"


@NEEDS_AGENTS
async def test_the_conversation_that_is_kept_of_an_agent_of_ones_own_is_named(home: Home) -> None:
    command = ("voice", "--agent", str(AGENT), "--text", "--output", "json")
    done = await asyncio.to_thread(home.run, *command, stdin="Hello\n")
    kept = json.loads(done.stdout)["conversation"]
    exported = await asyncio.to_thread(home.run, "conversations", "export", str(kept))
    assert "You said Hello." in exported.stdout


@NEEDS_AGENTS
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
async def test_4_the_disk_is_full_when_the_transcript_is_written(home: Home) -> None:
    command = ("voice", "--agent", str(AGENT), "--text", "--output", "json", "--transcript", "/dev/full")
    done = await asyncio.to_thread(home.run, *command, stdin="Hello\n")
    assert (done.returncode, json.loads(done.stdout)["reason"]) == (exits.FAILED, "completed")
    assert "--transcript /dev/full cannot be written" in done.stderr
