"""Voice rooms with the real livekit-server and agents that join by ``livekit.rtc``.

The server is the one that ``LIVEKIT_SERVER`` names, or on PATH.
"""

from __future__ import annotations

import asyncio
import os
import re
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from livekit import api, rtc

from agent_tui.backend.engine.kinds import CHATS
from agent_tui.network import has_interface
from agent_tui.voice_parts import find_server
from tests.backend.processes import Process, running, serve
from tests.backend.test_chat_commands import gone
from tests.backend.test_chat_process import children
from tests.backend.voice.voice_backend import (
    TOKEN_PATH,
    claims,
    until,
    voice_backend,
    write_agent,
    write_program,
)
from tests.backend.wire_client import PATIENCE_SECONDS
from tests.clients.voice import rooms

SERVER = find_server()
pytestmark = [
    pytest.mark.voice,
    pytest.mark.skipif(SERVER is None, reason="no livekit-server: set LIVEKIT_SERVER or put it on PATH"),
    pytest.mark.skipif(not has_interface(), reason="WebRTC needs a network interface beside loopback"),
]

SIGNED = re.compile(r"eyJ[\w-]+\.[\w-]+\.[\w-]+")
LISTENING = "0A"  # of TCP sockets in /proc/net
GHOST_SECONDS = 10.0  # the server believes for twenty that a dead agent is there


@asynccontextmanager
async def real_backend(folder: Path) -> AsyncIterator[Process]:
    """Give a backend with the real server and a fake agent that really joins."""
    write_agent(folder, is_fake=False)
    environment = {"LIVEKIT_SERVER": str(SERVER)}
    async with running(*serve(folder), folder=folder, env=environment) as backend:
        yield backend


@asynccontextmanager
async def terminal(answer: dict[str, Any]) -> AsyncIterator[rtc.Room]:
    """Stand in the room of a token."""
    room = rtc.Room()
    async with asyncio.timeout(PATIENCE_SECONDS):
        await room.connect(answer["server_url"], answer["participant_token"], rtc.RoomOptions())
    try:
        yield room
    finally:
        await room.disconnect()


async def asked(backend: Process, **fields: Any) -> dict[str, Any]:
    """Ask for a token that is given."""
    answer = await backend.client.call("POST", TOKEN_PATH, fields)
    assert answer.status == 201, answer.body
    return dict(answer.json)


async def about(backend: Process, room: str) -> dict[str, Any] | None:
    """Return what is said about a room."""
    rooms = (await backend.client.call("GET", "/api/voice")).json["rooms"]
    return next((about for about in rooms if about["name"] == room), None)


async def come(look: Callable[[], Awaitable[bool]]) -> None:
    """Wait until ``look`` says so; the server tells it to nobody."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not await look():  # noqa: ASYNC110
            await asyncio.sleep(0.05)


def has_agent(room: rtc.Room) -> bool:
    """Say whether an agent is in the room."""
    kinds = [participant.kind for participant in room.remote_participants.values()]
    return rtc.ParticipantKind.PARTICIPANT_KIND_AGENT in kinds


def program_pid(backend: Process, name: str) -> int:
    """Return the process of a backend whose command line holds ``name``, its keeper left out."""
    pids = [
        pid
        for pid in children(backend.child.pid)
        if name in (line := Path(f"/proc/{pid}/cmdline").read_text()) and "keeper.py" not in line
    ]
    assert len(pids) == 1, pids
    return pids[0]


def open_sockets(pid: int) -> list[tuple[str, str, str]]:
    """Return (protocol, local address in hex, state) of all sockets of a process."""
    inodes = set()
    for file in Path(f"/proc/{pid}/fd").iterdir():
        try:
            target = str(file.readlink())
        except OSError:
            continue
        if target.startswith("socket:["):
            inodes.add(target[8:-1])
    sockets = []
    for protocol in ("tcp", "tcp6", "udp", "udp6"):
        for line in Path(f"/proc/{pid}/net/{protocol}").read_text().splitlines()[1:]:
            words = line.split()
            if words[9] in inodes:
                sockets.append((protocol, words[1].partition(":")[0], words[3]))
    return sockets


async def test_two_terminals_and_the_agent_stand_in_one_room_on_loopback_alone(tmp_path: Path) -> None:
    async with real_backend(tmp_path) as backend:
        hers, his = await asked(backend, room_name="den"), await asked(backend, room_name="den")
        async with terminal(hers) as ann, terminal(his) as bob:
            await until(lambda: has_agent(ann) and has_agent(bob))
            await until(lambda: his["participant_identity"] in ann.remote_participants)
            agent = ann.remote_participants["agent-den"]
            assert agent.attributes["lk.agent.name"] == "agent-tui"
            await until(lambda: agent.attributes.get("lk.agent.state") == "listening")
            me = bob.remote_participants[hers["participant_identity"]]
            assert dict(me.attributes) == {"agent-tui.owner": "1"}
            sockets = open_sockets(program_pid(backend, str(SERVER)))
            assert {"tcp", "udp"} <= {protocol for protocol, _, _ in sockets}
            # 127.0.0.1, written as the kernel does
            assert {address for _, address, _ in sockets} == {"0100007F"}, sockets
            assert (await about(backend, "den"))["agent"]["state"] == "running"  # type: ignore[index]
        assert await backend.end() == 0


async def test_a_guest_can_make_themselves_no_owner(tmp_path: Path) -> None:
    async with real_backend(tmp_path) as backend:
        owner = await asked(backend, room_name="den")
        guest = await asked(backend, room_name="den", guest=True, participant_identity="owner-1")
        async with terminal(owner) as ann, terminal(guest) as bob:
            await until(lambda: guest["participant_identity"] in ann.remote_participants)
            await until(lambda: owner["participant_identity"] in bob.remote_participants)
            own, other = (
                room.remote_participants[answer["participant_identity"]].permissions
                for room, answer in ((bob, owner), (ann, guest))
            )
            assert own.can_manage_agent_session  # the server tells it to the agent, who has to heed it
            assert not other.can_manage_agent_session
            changed: list[dict[str, str]] = []
            ann.on("participant_attributes_changed", lambda attributes, _who: changed.append(attributes))
            left = asyncio.Event()
            ann.on("participant_disconnected", lambda _who: left.set())
            await bob.local_participant.set_attributes({"agent-tui.owner": "1"})
            await bob.disconnect()  # whatever the server made of it comes before that
            async with asyncio.timeout(PATIENCE_SECONDS):
                await left.wait()
            assert all("agent-tui.owner" not in attributes for attributes in changed)


async def test_tokens_are_refused_elsewhere_and_never_written_down(tmp_path: Path) -> None:
    async with real_backend(tmp_path) as backend:
        answer = await asked(backend, room_name="den", participant_name="Ann")
        forged = api.AccessToken("agent-tui", "x" * 64).with_identity("owner-x")
        forged = forged.with_grants(api.VideoGrants(room_join=True, room="den"))
        stranger = rtc.Room()
        with pytest.raises(rtc.ConnectError):
            await stranger.connect(answer["server_url"], forged.to_jwt(), rtc.RoomOptions())
        assert claims(answer["participant_token"])["video"]["room"] == "den"
        async with terminal(answer) as ann:
            await until(lambda: has_agent(ann))
        assert await backend.end() == 0
    logs = [tmp_path / "rooms.db.log", *(tmp_path / "voice" / name for name in ("server.log", "agent.log"))]
    for path in logs:
        text = path.read_text() if path.exists() else ""
        assert not SIGNED.search(text), path


async def test_a_killed_server_comes_back_and_everybody_with_it(tmp_path: Path) -> None:
    async with real_backend(tmp_path) as backend:
        answer = await asked(backend, room_name="den")
        async with terminal(answer) as ann:
            await until(lambda: has_agent(ann))
            back = asyncio.Event()
            ann.on("reconnected", back.set)
            os.kill(program_pid(backend, str(SERVER)), signal.SIGKILL)
            async with asyncio.timeout(PATIENCE_SECONDS):
                await back.wait()
            await until(lambda: has_agent(ann))
            assert (await asked(backend, room_name="den"))["server_url"] == answer["server_url"]
        assert await backend.end() == 0


async def test_a_killed_agent_is_back_under_its_name_before_its_ghost_would_have_gone(tmp_path: Path) -> None:
    async with real_backend(tmp_path) as backend:
        answer = await asked(backend, room_name="den")
        async with terminal(answer) as ann:
            await until(lambda: has_agent(ann))
            first = ann.remote_participants["agent-den"].sid
            begun = time.monotonic()
            os.kill(program_pid(backend, "agent_child.py"), signal.SIGKILL)
            await until(lambda: has_agent(ann) and ann.remote_participants["agent-den"].sid != first)
            assert time.monotonic() - begun < GHOST_SECONDS
            # Its place is empty at once, however long the next one takes to start.
            write_program(tmp_path / "voice/env/bin/python", "exec sleep 600")
            os.kill(program_pid(backend, "agent_child.py"), signal.SIGKILL)
            begun = time.monotonic()
            await until(lambda: not has_agent(ann))
            assert time.monotonic() - begun < GHOST_SECONDS
        assert await backend.end() == 0


async def test_a_deleted_room_sends_the_agent_home_and_it_comes_again_with_the_next(tmp_path: Path) -> None:
    async with real_backend(tmp_path) as backend:
        answer = await asked(backend, room_name="den")
        async with terminal(answer) as ann:
            await until(lambda: has_agent(ann))
            pid = program_pid(backend, "agent_child.py")
            config = environment_of(program_pid(backend, str(SERVER)))["LIVEKIT_CONFIG"]
            secret = re.findall(r'"agent-tui": "([0-9a-f]+)"', config)[0]
            async with api.LiveKitAPI(answer["server_url"], "agent-tui", secret) as livekit:
                await livekit.room.delete_room(api.DeleteRoomRequest(room="den"))
            await gone(pid)
        again = await asked(backend, room_name="den")
        assert again["conversation_id"] == answer["conversation_id"]
        async with terminal(again) as ann:
            await until(lambda: has_agent(ann))
        assert await backend.end() == 0


@pytest.mark.parametrize("is_killed", [False, True])
async def test_a_terminal_hears_at_once_that_the_backend_ended_and_nothing_of_voice_is_left(
    is_killed: bool, tmp_path: Path
) -> None:
    async with real_backend(tmp_path) as backend, terminal(await asked(backend, room_name="den")) as ann:
        await until(lambda: has_agent(ann))
        pids = children(backend.child.pid)
        heard = asyncio.Event()
        # A server that is told to end says so (reason 3), but on a busy machine it may be gone before its
        # words are sent: then the lost connection is what is heard.
        for name in ("disconnected", "reconnecting"):
            ann.on(name, lambda *_: heard.set())
        if is_killed:
            await backend.kill()
        else:
            assert await backend.end() == 0
        async with asyncio.timeout(PATIENCE_SECONDS):
            await heard.wait()
        for pid in pids:
            await gone(pid)


async def test_a_room_is_over_when_its_last_person_has_left_and_the_server_after_the_last_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert SERVER is not None
    async with voice_backend(tmp_path, monkeypatch, server=SERVER, left_seconds=3.0) as backend:
        den, attic = await backend.join("den"), await backend.join("attic")
        async with terminal(attic) as bob:
            async with terminal(den) as ann:
                await until(lambda: has_agent(ann) and has_agent(bob))
                await backend.until_people(2)
            await until(lambda: backend.rooms.rooms == 1)
            assert (await backend.about_room("attic"))["agent"]["state"] == "running"
            agents = {orders["room"]: orders["pid"] for orders in backend.orders()}
            await gone(agents["den"])
            assert has_agent(bob)
        await backend.until_server("stopped")
        await gone(agents["attic"])
        assert (await backend.join("den"))["conversation_id"] != den["conversation_id"]


def environment_of(pid: int) -> dict[str, str]:
    """Return a process's environment."""
    pairs = Path(f"/proc/{pid}/environ").read_bytes().decode().split("\0")
    return dict(pair.split("=", 1) for pair in pairs if "=" in pair)


async def test_our_agent_goes_into_a_room_of_somebody_elses_server_and_leaves_it_to_strangers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = tmp_path / "data"
    assert SERVER is not None
    async with (
        rooms.server(tmp_path) as theirs,
        voice_backend(data, monkeypatch, server=SERVER, left_seconds=3.0) as backend,
    ):
        livekit = {"url": theirs.url, "key": theirs.key, "secret": theirs.secret}
        joined = await backend.join("den", participant_name="Ann", livekit=livekit)
        assert (joined["server_url"], joined["owner"]) == (theirs.url, True)
        assert (await backend.engine.show(CHATS, joined["conversation_id"])).kind == "voice"
        stranger = {"server_url": theirs.url, "participant_token": theirs.token("owner-bob", "den")}
        async with terminal(stranger) as bob:
            async with terminal(joined) as ann:
                await until(lambda: joined["agent_identity"] in ann.remote_participants)
                await backend.until_agent("den", "running")
                (orders,) = backend.orders()
                os.kill(orders["pid"], signal.SIGKILL)
                await until(lambda: len(backend.orders()) == 2)
                await backend.until_agent("den", "running")
                await until(lambda: joined["agent_identity"] in ann.remote_participants)
                (server,) = [room["server_url"] for room in (await backend.about())["rooms"]]
                assert server == theirs.url
                assert (await backend.about())["server"]["state"] == "stopped"  # ours is not needed
            # Who pays for the agent has left; that somebody else is there keeps nothing running.
            await until(lambda: backend.rooms.rooms == 0)
            await until(lambda: not has_agent(bob))
            assert bob.isconnected()  # it is not our room to close
    for orders in backend.orders():
        assert (orders["url"], orders["room"]) == (theirs.url, "den")
        assert joined["participant_identity"].startswith(tuple(orders["owners"]))
        assert not "owner-bob".startswith(tuple(orders["owners"]))
        assert claims(orders["token"])["video"]["room"] == "den"
        assert claims(orders["token"])["kind"] == "agent"
        assert theirs.secret not in str(orders)  # its arguments and variables included
    for log in (data / "voice").glob("*.log"):
        assert theirs.secret not in log.read_text()


async def test_a_server_that_knows_another_secret_lets_nobody_in_and_the_secret_is_told_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = tmp_path / "data"
    wrong = "wrong-secret-of-at-least-thirty-two-bytes"
    assert SERVER is not None
    async with (
        rooms.server(tmp_path) as theirs,
        voice_backend(data, monkeypatch, server=SERVER) as backend,
    ):
        await backend.join("den", livekit={"url": theirs.url, "key": theirs.key, "secret": wrong})
        agent = await backend.until_agent("den", "failed")
        about = await backend.about()
    assert wrong not in str(agent) + str(about)
    for log in (data / "voice").glob("*.log"):
        assert wrong not in log.read_text()
