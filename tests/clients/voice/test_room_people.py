"""Several people in a real LiveKit room, and the one of them to whom the agent listens."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from agent_tui.model.errors import NotOffered
from agent_tui.model.voice import (
    AgentJoined,
    AgentStateChanged,
    PeopleChanged,
    WordsHeard,
    WordsLost,
    WordsSpoken,
    WordsTyped,
)
from tests.clients.voice import rooms
from tests.clients.voice.following import eventually, following, listening, session_of
from tests.fakes.voice.sound import FedSound

pytestmark = rooms.NEEDED


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


def is_there(event: PeopleChanged, identity: str, **how: bool) -> bool:
    """Say whether somebody is in the room, and is so."""
    return any(
        person.identity == identity and all(getattr(person, name) is value for name, value in how.items())
        for person in event.people
    )
