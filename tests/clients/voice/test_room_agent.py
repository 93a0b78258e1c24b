"""The agent of a real LiveKit room: it does not come yet, it is called, it leaves or dies."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from livekit import api

from agent_tui.clients.voice.room import RoomClient
from agent_tui.clients.voice.signing import SignedTokens
from agent_tui.clients.voice.tokens import Guest, StaticToken
from agent_tui.model.voice import (
    AgentJoined,
    AgentLeft,
    HistoryLoaded,
    LinkMoved,
    WordsLost,
    WordsSpoken,
)
from tests.clients.voice import rooms
from tests.clients.voice.following import following, listening, session_of
from tests.fakes.voice.sound import FedSound

pytestmark = rooms.NEEDED


async def test_an_absent_agent_is_explained_and_called_again(
    livekit: rooms.LiveKit, agent: rooms.AgentProcess, sound: FedSound, tmp_path: Path
) -> None:
    client = session_of(livekit, sound, tmp_path, absent_seconds=0.5)
    async with following(client) as session:
        await session.link("connected")
        explained = await session.first(LinkMoved, like=lambda event: event.reason == "agent_absent")
        assert explained.status == "connected"
        assert "did not join" in explained.detail
        at = len(session.events)
        await client.retry()
        await session.first(LinkMoved, at, like=lambda event: event.detail == "Waiting for the agent.")
        await agent.join(livekit)
        await listening(session)


async def test_an_agent_that_is_still_being_started_is_not_called_absent(
    livekit: rooms.LiveKit, sound: FedSound
) -> None:
    class Starting(StaticToken):
        calls = 0

        async def call_agent(self) -> bool:
            self.calls += 1
            return self.calls < 3

    tokens = Starting(livekit.url, livekit.token("alice"))
    async with following(RoomClient(tokens, sound, absent_seconds=0.1)) as session:
        await session.first(LinkMoved, like=lambda event: event.reason == "agent_absent")
        assert tokens.calls == 3


async def test_an_agent_is_called_by_name_when_the_room_is_made_and_again_when_it_does_not_come(
    livekit: rooms.LiveKit, sound: FedSound, tmp_path: Path
) -> None:
    guest = Guest(rooms.ROOM, "alice", agent="helper", metadata="{}")
    tokens = SignedTokens(livekit.url, livekit.key, livekit.secret, guest)
    async with following(RoomClient(tokens, sound, absent_seconds=0.2)) as session, livekit.admin() as admin:
        await session.first(LinkMoved, like=lambda event: event.reason == "agent_absent")
        dispatched = await admin.agent_dispatch.list_dispatch(rooms.ROOM)
        assert [(call.agent_name, call.metadata) for call in dispatched] == [("helper", "{}")] * 2


async def test_an_agent_that_is_told_to_end_is_told_of_at_once(
    livekit: rooms.LiveKit, agent: rooms.AgentProcess, sound: FedSound, tmp_path: Path
) -> None:
    await agent.join(livekit)
    async with following(session_of(livekit, sound, tmp_path)) as session:
        await listening(session)
        os.kill(agent.child.pid, signal.SIGTERM)
        assert (await session.first(AgentLeft)).identity == "agent"


async def test_an_agent_that_is_killed_leaves_its_last_words_marked_and_may_come_back(
    livekit: rooms.LiveKit, agent: rooms.AgentProcess, sound: FedSound, tmp_path: Path
) -> None:
    await agent.join(livekit)
    client = session_of(livekit, sound, tmp_path)
    async with following(client) as session, livekit.admin() as admin:
        await listening(session)
        await client.say("tell me a long story")
        segment = (await session.first(WordsSpoken, like=lambda event: "sentence" in event.text)).segment_id
        agent.child.kill()
        await agent.child.wait()
        # The server would notice after 20 s.
        await admin.room.remove_participant(api.RoomParticipantIdentity(room=rooms.ROOM, identity="agent"))
        await session.first(AgentLeft)
        assert (await session.first(WordsLost)).segment_id == segment
        at = len(session.events)
        async with rooms.agent_process(tmp_path) as again:
            await again.join(livekit)
            await session.first(AgentJoined, at, like=lambda event: event.has_session)
            await session.first(HistoryLoaded, at)
