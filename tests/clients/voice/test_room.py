"""A session in a real LiveKit room, with a real agent that hears and speaks tones."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from livekit import api

from agent_tui.clients.voice.room import RoomClient
from agent_tui.clients.voice.signing import SignedTokens
from agent_tui.clients.voice.tokens import Guest, StaticToken
from agent_tui.model.errors import ConfigError, NotOffered, Refused
from agent_tui.model.events import StepSet, ToolStatusChanged
from agent_tui.model.voice import (
    AgentJoined,
    AgentLeft,
    AgentStateChanged,
    HistoryLoaded,
    ItemStored,
    LinkMeasured,
    LinkMoved,
    MicChanged,
    PeopleChanged,
    UserStateChanged,
    WordsHeard,
    WordsLost,
    WordsSpoken,
    WordsTyped,
)
from agent_tui.network import has_interface
from tests.clients.voice import rooms
from tests.clients.voice.following import PATIENCE_SECONDS, Followed, eventually, following
from tests.fakes.sound import FedSound
from tests.fakes.tones import STORY

pytestmark = [
    pytest.mark.voice,
    pytest.mark.skipif(
        not rooms.find_server(), reason="no livekit-server: set LIVEKIT_SERVER or put it on PATH"
    ),
    pytest.mark.skipif(
        not importlib.util.find_spec("livekit.agents"), reason="no livekit-agents: --all-extras"
    ),
    pytest.mark.skipif(not has_interface(), reason="WebRTC needs an interface besides loopback"),
]
ROOM = "demo"


@pytest.fixture
async def livekit(tmp_path: Path) -> AsyncIterator[rooms.LiveKit]:
    """A server; after the test no log of anybody holds a token."""
    async with rooms.server(tmp_path) as livekit:
        yield livekit
    for log in await asyncio.to_thread(lambda: list(tmp_path.glob("*.log*"))):
        if log.name != "livekit.log":  # the server's own
            assert "eyJ" not in await asyncio.to_thread(log.read_text), log


@pytest.fixture
async def agent(tmp_path: Path) -> AsyncIterator[rooms.AgentProcess]:
    async with rooms.agent_process(tmp_path) as agent:
        yield agent


@pytest.fixture
async def sound() -> AsyncIterator[FedSound]:
    sound = FedSound()
    await sound.open()
    yield sound
    await sound.aclose()


def session_of(
    livekit: rooms.LiveKit, sound: FedSound, folder: Path, identity: str = "alice", **more: object
) -> RoomClient:
    token = StaticToken(livekit.url, livekit.token(identity, ROOM))
    return RoomClient(token, sound, log_path=folder / f"{identity}.log", **more)  # type: ignore[arg-type]


async def listening(session: Followed, after: int = 0) -> None:
    """Return when the agent listens and its session is known."""
    await session.first(AgentJoined, like=lambda event: event.has_session)
    await session.first(AgentStateChanged, after, like=lambda event: event.state == "listening")


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
        asked = api.RoomParticipantIdentity(room=ROOM, identity="alice")
        tracks: list[str] = []
        async with asyncio.timeout(30.0):
            while not tracks:
                tracks = [track.sid for track in (await admin.room.get_participant(asked)).tracks]
        mute = api.MuteRoomTrackRequest(room=ROOM, identity="alice", track_sid=tracks[0], muted=True)
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
        asked = api.RoomParticipantIdentity(room=ROOM, identity="agent")
        async with asyncio.timeout(30.0):
            size = ""
            while size != "100000":
                size = (await admin.room.get_participant(asked)).attributes.get("test.file-bytes", "")


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
        await admin.room.remove_participant(api.RoomParticipantIdentity(room=ROOM, identity="agent"))
        await session.first(AgentLeft)
        assert (await session.first(WordsLost)).segment_id == segment
        at = len(session.events)
        async with rooms.agent_process(tmp_path) as again:
            await again.join(livekit)
            await session.first(AgentJoined, at, like=lambda event: event.has_session)
            await session.first(HistoryLoaded, at)


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
            (lambda: admin.room.delete_room(api.DeleteRoomRequest(room=ROOM)), "room_deleted"),
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
    guest = Guest(ROOM, "alice")
    url, token = livekit.url, livekit.token("alice", ROOM)
    match kind:
        case "expired":
            token = livekit.token("alice", ROOM, seconds=-600)
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


async def test_two_terminals_see_the_same_and_the_agent_listens_to_whoever_asks(
    livekit: rooms.LiveKit, agent: rooms.AgentProcess, sound: FedSound, tmp_path: Path
) -> None:
    await agent.join(livekit)
    alice, bobs = session_of(livekit, sound, tmp_path), FedSound()
    await bobs.open()
    bob = session_of(livekit, bobs, tmp_path, "bob")
    async with following(alice) as hers:
        await listening(hers)
        async with following(bob) as his:
            await listening(his)
            await sound.say("hello there")
            assert (await hers.item("assistant", "hello there")) == (
                await his.item("assistant", "hello there")
            )
            assert (await his.first(WordsHeard)).identity == "alice"
            await eventually(lambda: bobs.last_loud_at > 0)
            await bob.ask_to_listen()
            for followed in (hers, his):
                await followed.first(
                    PeopleChanged,
                    like=lambda event: is_there(event, "bob", is_heard=True),
                )
            await bobs.say("who are you")
            await hers.item("assistant", "I am an agent")
            heard = await hers.first(WordsHeard, like=lambda event: event.text == "who are you")
            assert heard.identity == "bob"
            await bob.mute(True)
            await hers.first(
                PeopleChanged,
                like=lambda event: is_there(event, "bob", is_muted=True),
            )
        await hers.first(PeopleChanged, len(hers.events) - 1, like=lambda event: len(event.people) == 2)
    await bobs.aclose()


@pytest.mark.parametrize(("mode", "has_session"), [("plain", True), ("no-session", False)])
async def test_a_second_terminal_follows_an_agent_that_listens_to_the_first_alone(
    mode: str, has_session: bool, livekit: rooms.LiveKit, sound: FedSound, tmp_path: Path
) -> None:
    bobs = FedSound()
    await bobs.open()
    alice, bob = session_of(livekit, sound, tmp_path), session_of(livekit, bobs, tmp_path, "bob")
    async with rooms.agent_process(tmp_path, mode) as agent, following(alice) as hers:
        await agent.join(livekit)
        await hers.first(AgentStateChanged, like=lambda event: event.state == "listening")
        async with following(bob) as his:
            joined = await his.first(AgentJoined, like=lambda event: event.has_session is has_session)
            assert not joined.takes_requests
            await his.first(PeopleChanged, like=lambda event: is_there(event, "alice", is_heard=True))
            await sound.say("hello there")
            await his.first(WordsHeard, like=lambda event: event.is_final and event.identity == "alice")
            await his.first(WordsSpoken, like=lambda event: event.is_final)
            await eventually(lambda: bobs.last_loud_at > 0)
            if has_session:
                await bob.say("what time is it")
                await his.item("user", "what time is it")
                await hers.item("assistant", "half past nine")
                assert not his.all(WordsLost)
            else:
                with pytest.raises(NotOffered):
                    await bob.say("what time is it")
                assert not his.all(WordsTyped)
    await bobs.aclose()


async def test_an_agent_whose_person_has_left_hears_nobody_but_answers_what_is_typed(
    livekit: rooms.LiveKit, sound: FedSound, tmp_path: Path
) -> None:
    bobs = FedSound()
    await bobs.open()
    alice, bob = session_of(livekit, sound, tmp_path), session_of(livekit, bobs, tmp_path, "bob")
    async with rooms.agent_process(tmp_path, "plain") as agent, AsyncExitStack() as later:
        async with following(alice) as hers:
            await agent.join(livekit)
            await listening(hers)
            his = await later.enter_async_context(following(bob))
            await his.first(AgentJoined, like=lambda event: event.has_session)
            await his.first(PeopleChanged, like=lambda event: is_there(event, "alice", is_heard=True))
            at = len(his.events)
        left = await his.first(PeopleChanged, at, like=lambda event: not is_there(event, "alice"))
        assert not any(person.is_heard for person in left.people)
        await bob.say("what time is it")
        await his.item("user", "what time is it", at)
        await his.item("assistant", "half past nine", at)
        again = session_of(livekit, sound, tmp_path)
        async with following(again):  # under the same identity: it waits for her
            await his.first(PeopleChanged, at, like=lambda event: is_there(event, "alice", is_heard=True))
    await bobs.aclose()


async def test_what_a_second_terminal_types_is_answered_and_the_agent_listens_to_it_then(
    livekit: rooms.LiveKit, agent: rooms.AgentProcess, sound: FedSound, tmp_path: Path
) -> None:
    await agent.join(livekit)
    alice, bobs = session_of(livekit, sound, tmp_path), FedSound()
    await bobs.open()
    bob = session_of(livekit, bobs, tmp_path, "bob")
    async with following(alice) as hers:
        await listening(hers)
        async with following(bob) as his:
            await listening(his)
            await his.first(PeopleChanged, like=lambda event: is_there(event, "alice", is_heard=True))
            await bob.say("who are you")
            await hers.item("assistant", "I am an agent")
            await hers.first(PeopleChanged, like=lambda event: is_there(event, "bob", is_heard=True))
    await bobs.aclose()


async def test_leaving_at_any_moment_leaves_nobody_in_the_room(
    livekit: rooms.LiveKit, sound: FedSound, tmp_path: Path
) -> None:
    for delay in (0.0, 0.01, 0.03, 0.1, 0.3):
        async with following(session_of(livekit, sound, tmp_path)):
            await asyncio.sleep(delay)  # a moment, not a wait: each of them has to be fine
    async with livekit.admin() as admin:
        everybody = api.ListParticipantsRequest(room=ROOM)
        async with asyncio.timeout(30.0):
            while (await admin.room.list_participants(everybody)).participants:
                pass


async def test_an_agent_is_called_by_name_when_the_room_is_made_and_again_when_it_does_not_come(
    livekit: rooms.LiveKit, sound: FedSound, tmp_path: Path
) -> None:
    guest = Guest(ROOM, "alice", agent="helper", metadata="{}")
    tokens = SignedTokens(livekit.url, livekit.key, livekit.secret, guest)
    async with following(RoomClient(tokens, sound, absent_seconds=0.2)) as session, livekit.admin() as admin:
        await session.first(LinkMoved, like=lambda event: event.reason == "agent_absent")
        dispatched = await admin.agent_dispatch.list_dispatch(ROOM)
        assert [(call.agent_name, call.metadata) for call in dispatched] == [("helper", "{}")] * 2


async def test_an_agent_that_is_told_to_end_is_told_of_at_once(
    livekit: rooms.LiveKit, agent: rooms.AgentProcess, sound: FedSound, tmp_path: Path
) -> None:
    await agent.join(livekit)
    async with following(session_of(livekit, sound, tmp_path)) as session:
        await listening(session)
        os.kill(agent.child.pid, signal.SIGTERM)
        assert (await session.first(AgentLeft)).identity == "agent"


def is_there(event: PeopleChanged, identity: str, **how: bool) -> bool:
    """Say whether somebody is in the room, and is so."""
    return any(
        person.identity == identity and all(getattr(person, name) is value for name, value in how.items())
        for person in event.people
    )


def _alice() -> api.RoomParticipantIdentity:
    return api.RoomParticipantIdentity(room=ROOM, identity="alice")
