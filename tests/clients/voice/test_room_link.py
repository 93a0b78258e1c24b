"""The way into a real LiveKit room, how it breaks, and how it ends."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from livekit import api

from agent_tui.clients.voice.room import RoomClient
from agent_tui.clients.voice.signing import SignedTokens
from agent_tui.clients.voice.tokens import Guest, StaticToken
from agent_tui.model.voice import AgentLeft, HistoryLoaded, LinkMoved, PeopleChanged
from tests.clients.voice import rooms
from tests.clients.voice.following import PATIENCE_SECONDS, following, listening, session_of
from tests.fakes.voice.sound import FedSound

pytestmark = rooms.NEEDED


async def test_a_server_that_is_killed_and_comes_back_finds_everybody_again(
    livekit: rooms.LiveKit, agent: rooms.AgentProcess, sound: FedSound, tmp_path: Path
) -> None:
    await agent.join(livekit)
    # On a slow machine the agent may try for longer than a person is left without news.
    client = session_of(livekit, sound, tmp_path, back_seconds=PATIENCE_SECONDS)
    async with following(client) as session:
        await listening(session)
        # An agent whose track is not published when the server dies never speaks.
        await sound.say("who are you")
        await session.item("assistant", "I am an agent")
        await livekit.kill()
        await session.link("reconnecting")
        at = len(session.events)
        await livekit.start()
        await session.link("connected", at)
        await session.first(HistoryLoaded, at)
        assert not session.all(AgentLeft)
        await sound.say("hello there")
        await session.item("assistant", "You said hello there.", at)


async def test_a_server_that_is_restarted_is_joined_again_with_a_microphone_that_works(
    livekit: rooms.LiveKit, agent: rooms.AgentProcess, sound: FedSound, tmp_path: Path
) -> None:
    async with following(session_of(livekit, sound, tmp_path, rejoin_delays=(0.5,) * 20)) as session:
        await session.first(PeopleChanged)
        await livekit.shut_down()
        # The socket may be gone before the server has said why.
        lost = await session.first(LinkMoved, like=lambda event: event.reason == "server_shutdown")
        assert (lost.status, lost.attempt) == ("reconnecting", 1)
        at = len(session.events)
        await livekit.start()
        await session.link("connected", at)
        await agent.join(livekit)
        await listening(session, at)
        await sound.say("hello there")
        await session.item("assistant", "You said hello there.", at)


@pytest.mark.long
async def test_a_server_that_is_killed_for_good_ends_the_session_with_a_reason(
    livekit: rooms.LiveKit, sound: FedSound, tmp_path: Path
) -> None:
    async with following(session_of(livekit, sound, tmp_path, rejoin_delays=(0.01, 0.01))) as session:
        await session.link("connected")
        await livekit.kill()
        failed = await session.link("failed")
        assert (failed.reason, failed.attempt) == ("refused", 2)
        await session.until(lambda: session.is_over)
        assert [event.attempt for event in session.all(LinkMoved) if event.status == "reconnecting"] == [
            0,
            1,
            2,
        ]


async def test_a_room_that_is_deleted_and_a_person_who_is_removed_do_not_come_back(
    livekit: rooms.LiveKit, sound: FedSound, tmp_path: Path
) -> None:
    client = session_of(livekit, sound, tmp_path)
    async with livekit.admin() as admin:
        for act, reason in (
            (lambda: admin.room.delete_room(api.DeleteRoomRequest(room=rooms.ROOM)), "room_deleted"),
            (lambda: admin.room.remove_participant(_alice()), "removed"),
        ):
            async with following(client) as session:
                await session.first(PeopleChanged)
                await act()
                assert (await session.link("ended")).reason == reason
                await session.until(lambda: session.is_over)


async def test_the_same_identity_elsewhere_ends_the_older_session(
    livekit: rooms.LiveKit, sound: FedSound, tmp_path: Path
) -> None:
    async with following(session_of(livekit, sound, tmp_path)) as older:
        await older.first(PeopleChanged)
        async with following(session_of(livekit, FedSound(), tmp_path)) as newer:
            await newer.link("connected")
            assert (await older.link("ended")).reason == "duplicate_identity"


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("expired", "token_expired"),
        ("other secret", "token_refused"),
        ("unknown key", "unknown_key"),
        ("garbage", "bad_token"),
        ("nobody", "refused"),
    ],
)
async def test_a_token_that_does_not_let_in_is_explained_and_never_shown(
    livekit: rooms.LiveKit, sound: FedSound, tmp_path: Path, kind: str, reason: str,
    capfd: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    guest = Guest(rooms.ROOM, "alice")
    url, token = livekit.url, livekit.token("alice", rooms.ROOM)
    match kind:
        case "expired":
            token = livekit.token("alice", rooms.ROOM, seconds=-600)
        case "other secret":
            token = (await SignedTokens(url, livekit.key, "x" * 40, guest).ticket()).token
        case "unknown key":
            token = (await SignedTokens(url, "nobody", livekit.secret, guest).ticket()).token
        case "garbage":
            token = "eyJnothing"
        case _:
            url = "ws://127.0.0.1:9"
    log = tmp_path / "alice.log"
    client = RoomClient(StaticToken(url, token), sound, log_path=log)
    async with following(client) as session:
        failed = await session.link("failed")
        assert failed.reason == reason
        assert "eyJ" not in str(session.events)
    assert "eyJ" not in "".join(capfd.readouterr())
    assert not log.exists() or "eyJ" not in log.read_text()


async def test_leaving_at_any_moment_leaves_nobody_in_the_room(
    livekit: rooms.LiveKit, sound: FedSound, tmp_path: Path
) -> None:
    for delay in (0.0, 0.01, 0.03, 0.1, 0.3):
        async with following(session_of(livekit, sound, tmp_path)):
            await asyncio.sleep(delay)  # a moment, not a wait: each of them has to be fine
    async with livekit.admin() as admin:
        everybody = api.ListParticipantsRequest(room=rooms.ROOM)
        async with asyncio.timeout(30.0):
            while (await admin.room.list_participants(everybody)).participants:
                pass


def _alice() -> api.RoomParticipantIdentity:
    return api.RoomParticipantIdentity(room=rooms.ROOM, identity="alice")
