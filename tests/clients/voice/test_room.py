"""A session in a real LiveKit room, with a real agent that hears and speaks tones: what both sides say."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from livekit import api

from agent_tui.model.errors import ConfigError, NotOffered, Refused
from agent_tui.model.events import StepSet, ToolStatusChanged
from agent_tui.model.voice import (
    AgentJoined,
    AgentStateChanged,
    ItemStored,
    LinkMeasured,
    MicChanged,
    PeopleChanged,
    UserStateChanged,
    WordsHeard,
    WordsSpoken,
    WordsTyped,
)
from tests.clients.voice import rooms
from tests.clients.voice.following import eventually, following, listening, session_of
from tests.fakes.voice.sound import FedSound
from tests.fakes.voice.tones import STORY

pytestmark = rooms.NEEDED


async def test_a_spoken_dialogue_with_a_tool_shows_every_word_step_and_time(
    livekit: rooms.LiveKit, agent: rooms.AgentProcess, sound: FedSound, tmp_path: Path
) -> None:
    await agent.join(livekit)
    async with following(session_of(livekit, sound, tmp_path)) as session:
        await listening(session)
        await sound.say("what time is it")
        heard = await session.first(WordsHeard, like=lambda event: event.is_final)
        assert (heard.text, heard.identity) == ("what time is it", "alice")
        assert any(not event.is_final for event in session.all(WordsHeard))
        question = await session.item("user", "what time is it")
        call = await session.first(StepSet)
        assert (call.turn_id, call.step.name, call.step.arguments) == (
            question.id,
            "clock",
            '{"zone": "UTC"}',
        )
        done = await session.first(ToolStatusChanged)
        assert done.status == "done"
        assert done.seconds is not None
        assert done.seconds >= 0.2
        answer = await session.item("assistant", "half past nine")
        assert answer.times.whole is not None
        assert answer.started_at is not None
        final = await session.first(WordsSpoken, like=lambda event: event.is_final)
        spoken = "".join(e.text for e in session.all(WordsSpoken) if e.segment_id == final.segment_id)
        assert spoken.split() == ["It", "is", "half", "past", "nine", "in", "UTC."]
        assert all(event.is_voiced for event in session.all(WordsSpoken))
        assert sound.last_loud_at > 0
        assert {"speaking", "listening"} <= {event.state for event in session.all(UserStateChanged)}
        spoken_at = session.events.index(final)
        await session.first(AgentStateChanged, spoken_at - 5, like=lambda event: event.state == "listening")
        states = [event.state for event in session.all(AgentStateChanged)]
        assert states[-4:] == ["listening", "thinking", "speaking", "listening"]
        people = session.all(PeopleChanged)[-1].people
        assert [(person.identity, person.is_agent, person.is_me, person.is_heard) for person in people] == [
            ("agent", True, False, False),
            ("alice", False, True, True),
        ]
        measured = await session.first(LinkMeasured, like=lambda event: event.round_trip is not None)
        assert measured.round_trip is not None
        assert 0 < measured.round_trip < 1


async def test_words_said_before_the_room_was_joined_are_heard(
    livekit: rooms.LiveKit, agent: rooms.AgentProcess, sound: FedSound, tmp_path: Path
) -> None:
    async with following(session_of(livekit, sound, tmp_path)) as session:
        await sound.say("who are you")  # there is no agent yet
        await session.link("connected")
        await agent.join(livekit)
        await session.item("user", "who are you")
        await session.item("assistant", "I am an agent")


async def test_whoever_cuts_in_silences_the_agent_and_its_text_ends_where_its_voice_did(
    livekit: rooms.LiveKit, agent: rooms.AgentProcess, sound: FedSound, tmp_path: Path
) -> None:
    await agent.join(livekit)
    async with following(session_of(livekit, sound, tmp_path)) as session:
        await listening(session)
        await sound.say("tell me a long story")
        await session.first(WordsSpoken, like=lambda event: "sentence" in event.text)
        await sound.say("stop talking")
        cut = await session.item("assistant", "This is sentence number 1")
        assert cut.interrupted
        assert 0 < len(cut.text.strip()) < len(STORY)
        assert STORY.startswith(cut.text.strip())


async def test_the_interrupt_key_silences_the_agent(
    livekit: rooms.LiveKit, agent: rooms.AgentProcess, sound: FedSound, tmp_path: Path
) -> None:
    await agent.join(livekit)
    client = session_of(livekit, sound, tmp_path)
    async with following(client) as session:
        await listening(session)
        await client.say("tell me a long story")
        await session.first(WordsSpoken, like=lambda event: "sentence" in event.text)
        at = len(session.events)
        await client.interrupt()
        cut = await session.item("assistant", "This", at)
        assert cut.interrupted
        assert STORY.startswith(cut.text.strip())
        await eventually(lambda: not sound.is_audible)


async def test_a_typed_line_is_shown_once_and_answered(
    livekit: rooms.LiveKit, agent: rooms.AgentProcess, sound: FedSound, tmp_path: Path
) -> None:
    client = session_of(livekit, sound, tmp_path)
    async with following(client) as session:
        await session.link("connected")
        with pytest.raises(Refused, match="no agent"):
            await client.say("nobody is there")
        await agent.join(livekit)
        await listening(session)
        await client.say("who are you")
        await session.item("assistant", "I am an agent that hears tones.")
        assert [event.text for event in session.all(WordsTyped)] == ["who are you"]
        assert not session.all(WordsHeard)


async def test_a_muted_microphone_is_not_heard_also_in_a_session_that_begins_muted(
    livekit: rooms.LiveKit, agent: rooms.AgentProcess, sound: FedSound, tmp_path: Path
) -> None:
    await agent.join(livekit)
    client = session_of(livekit, sound, tmp_path)
    await client.mute(True)
    async with following(client) as session:
        await listening(session)
        assert session.all(MicChanged)[-1].is_muted
        await session.first(
            PeopleChanged, like=lambda event: any(p.is_me and p.is_muted for p in event.people)
        )
        await sound.say("stop talking")
        await client.mute(False)
        await session.first(MicChanged, like=lambda event: not event.is_muted)
        await sound.say("hello there")
        await session.item("assistant", "You said hello there.")
        assert not any("stop" in event.text for event in session.all(WordsHeard))


async def test_a_microphone_that_the_server_mutes_is_shown_as_muted(
    livekit: rooms.LiveKit, sound: FedSound, tmp_path: Path
) -> None:
    async with following(session_of(livekit, sound, tmp_path)) as session, livekit.admin() as admin:
        await session.link("connected")
        asked = api.RoomParticipantIdentity(room=rooms.ROOM, identity="alice")
        tracks: list[str] = []
        async with asyncio.timeout(30.0):
            while not tracks:
                tracks = [track.sid for track in (await admin.room.get_participant(asked)).tracks]
        mute = api.MuteRoomTrackRequest(room=rooms.ROOM, identity="alice", track_sid=tracks[0], muted=True)
        await admin.room.mute_published_track(mute)
        await session.first(MicChanged, like=lambda event: event.is_muted)


async def test_push_to_talk_uses_the_agents_turns(
    livekit: rooms.LiveKit, sound: FedSound, tmp_path: Path
) -> None:
    client = session_of(livekit, sound, tmp_path)
    async with rooms.agent_process(tmp_path, "ptt") as agent, following(client) as session:
        await agent.join(livekit)
        await session.first(AgentJoined, like=lambda event: event.has_push_to_talk and event.has_session)
        await client.start_talking()
        await session.first(MicChanged, like=lambda event: event.is_talking)
        await sound.say("stop talking")
        await client.stop_talking(cancel=True)
        await client.start_talking()
        await sound.say("hello there")
        await client.stop_talking()
        await session.first(MicChanged, len(session.events) - 1, like=lambda event: not event.is_talking)
        await session.item("assistant", "You said hello there.")
        assert not any(event.item.text == "stop talking" for event in session.all(ItemStored))
        assert session.all(MicChanged)[-1] == MicChanged(is_muted=False, is_talking=False)


async def test_push_to_talk_is_mute_and_unmute_where_the_agent_offers_no_turns(
    livekit: rooms.LiveKit, sound: FedSound, tmp_path: Path
) -> None:
    client = session_of(livekit, sound, tmp_path)
    await client.mute(True)
    async with rooms.agent_process(tmp_path, "plain") as agent, following(client) as session:
        await agent.join(livekit)
        await listening(session)
        await client.start_talking()
        await sound.say("hello there")
        await session.item("user", "hello there")
        await client.stop_talking()
        await session.first(MicChanged, len(session.events) - 1, like=lambda event: event.is_muted)
        await session.item("assistant", "You said hello there.")
        with pytest.raises(NotOffered):
            await client.ask_to_listen()
        with pytest.raises(NotOffered):
            await client.send_file(tmp_path / "agent.log")
        await client.say("tell me a long story")
        await session.first(WordsSpoken, like=lambda event: "sentence" in event.text)
        await client.interrupt()  # only here: the agent knows no such method
        await eventually(lambda: not sound.is_audible)
        at = len(session.events)
        await session.first(WordsSpoken, at, like=lambda event: "sentence" in event.text)
        assert not sound.is_audible


async def test_an_agent_without_a_session_is_followed_by_its_words_and_its_attribute(
    livekit: rooms.LiveKit, sound: FedSound, tmp_path: Path
) -> None:
    client = session_of(livekit, sound, tmp_path)
    async with rooms.agent_process(tmp_path, "no-session") as agent, following(client) as session:
        await agent.join(livekit)
        await session.first(AgentStateChanged, like=lambda event: event.state == "listening")
        await sound.say("hello there")
        await session.first(WordsHeard, like=lambda event: event.is_final and event.text == "hello there")
        await session.first(AgentStateChanged, like=lambda event: event.state == "speaking")
        final = await session.first(WordsSpoken, like=lambda event: event.is_final)
        spoken = "".join(e.text for e in session.all(WordsSpoken) if e.segment_id == final.segment_id)
        assert spoken.split() == ["You", "said", "hello", "there."]
        assert not any(event.has_session for event in session.all(AgentJoined))


async def test_a_file_reaches_an_agent_that_takes_files(
    livekit: rooms.LiveKit, agent: rooms.AgentProcess, sound: FedSound, tmp_path: Path
) -> None:
    await agent.join(livekit)
    client = session_of(livekit, sound, tmp_path)
    (tmp_path / "notes.txt").write_bytes(bytes(100_000))
    async with following(client) as session, livekit.admin() as admin:
        await session.first(AgentJoined, like=lambda event: event.takes_files)
        for wrong in (tmp_path, tmp_path / "nothing.txt"):
            with pytest.raises(ConfigError):
                await client.send_file(wrong)
        await client.send_file(tmp_path / "notes.txt")
        asked = api.RoomParticipantIdentity(room=rooms.ROOM, identity="agent")
        async with asyncio.timeout(30.0):
            size = ""
            while size != "100000":
                size = (await admin.room.get_participant(asked)).attributes.get("test.file-bytes", "")
