"""A session over the console transport with the real process of an agent's script, which nobody helps."""

from __future__ import annotations

import importlib.util
import os
import signal
import sys
from pathlib import Path

import pytest

from agent_tui.clients.voice.console import ConsoleClient
from agent_tui.clients.voice.script import agent_script
from agent_tui.model.events import StepSet, ToolStatusChanged
from agent_tui.model.voice import (
    AgentStateChanged,
    HistoryLoaded,
    ItemStored,
    MicChanged,
    SessionFailed,
    WordsHeard,
    WordsSpoken,
    WordsTyped,
)
from tests.clients.voice.following import Followed, eventually, following
from tests.fakes.voice.sound import FedSound
from tests.fakes.voice.tones import STORY

pytestmark = [
    pytest.mark.voice,
    pytest.mark.skipif(not importlib.util.find_spec("livekit.agents"), reason="no livekit-agents"),
]
SCRIPT = Path(__file__).parents[2] / "fakes" / "voice" / "voice_agent.py"
VOICELESS = SCRIPT.with_name("voiceless_agent.py")


async def test_a_dialogue_with_a_tool_a_barge_in_typing_muting_and_a_kill() -> None:
    sound = FedSound()
    await sound.open()
    program = agent_script(Path(sys.executable), SCRIPT)
    client = ConsoleClient(program, sound)
    async with following(client) as session:
        await session.link("connected")
        await session.first(AgentStateChanged, like=lambda event: event.state == "listening")

        await sound.say("what time is it")
        await session.first(WordsHeard, like=lambda event: event.is_final and event.text == "what time is it")
        assert (await session.first(StepSet)).step.name == "clock"
        assert (await session.first(ToolStatusChanged)).status == "done"
        answer = await session.item("assistant", "half past nine")
        assert answer.times.model is not None
        assert sound.last_loud_at > 0
        before = session.events[: session.events.index(ItemStored(answer))]
        words = "".join(event.text for event in before if isinstance(event, WordsSpoken))
        assert words.split() == answer.text.split()  # they came while it was spoken

        at = await cut_in(session, sound)

        await client.say("who are you")
        await session.item("assistant", "I am an agent that hears tones.", at)
        assert [event.text for event in session.all(WordsTyped)] == ["who are you"]

        await client.mute(True)
        await session.first(MicChanged, at, like=lambda event: event.is_muted)
        count = len(session.all(WordsHeard))
        await sound.say("stop talking")
        await client.start_talking()
        await sound.say("hello there")
        await client.stop_talking()  # silence ends the turn
        await session.item("assistant", "You said hello there.", at)
        assert all(event.text != "stop talking" for event in session.all(WordsHeard)[count:])

        os.kill(program.pid, signal.SIGKILL)
        failed = await session.link("failed")
        assert (failed.reason, "signal 9" in failed.detail) == ("agent_ended", True)
        assert "hello there" not in failed.detail
    await sound.aclose()


async def cut_in(session: Followed, sound: FedSound) -> int:
    """Stop the agent in the middle of a story; return the number of events before that."""
    at = len(session.events)
    await sound.say("tell me a long story")
    await session.first(AgentStateChanged, at, like=lambda event: event.state == "speaking")
    await eventually(lambda: sound.is_audible)
    at = len(session.events)
    await sound.say("stop talking")
    assert not sound.is_audible  # it was held as soon as the agent stopped
    cut = await session.item("assistant", "This is", at)
    assert cut.interrupted
    assert STORY.startswith(cut.text.strip())
    assert len(cut.text.strip()) < len(STORY)
    words = "".join(event.text for event in session.all(WordsSpoken))
    assert "This is" in words
    assert STORY not in words  # no more than what was spoken
    await session.item("assistant", "You said stop talking.", at)
    return at


async def test_an_agent_ends_when_it_is_told_and_leaves_no_process() -> None:
    program = agent_script(Path(sys.executable), SCRIPT)
    async with following(ConsoleClient(program, FedSound())) as session:
        await session.link("connected")
    with pytest.raises(ProcessLookupError):
        os.kill(program.pid, 0)


async def test_an_agent_without_voice_and_ear_says_so_once_and_is_read_until_one_that_speaks_takes_over() -> (
    None
):
    sound = FedSound()
    await sound.open()
    client = ConsoleClient(agent_script(Path(sys.executable), VOICELESS), sound)
    async with following(client) as session:
        await session.link("connected")
        await session.first(SessionFailed, like=lambda event: "its answers are text" in event.message)
        await session.first(SessionFailed, like=lambda event: "type to it" in event.message)
        await session.first(
            HistoryLoaded,
            like=lambda event: [item.text for item in event.items] == ["Welcome to the silence."],
        )
        await client.say("hello there")
        await session.item("assistant", "You said hello there.")
        read = await session.first(WordsSpoken, like=lambda event: "hello there" in event.text)
        assert not read.is_voiced
        assert not sound.last_loud_at
        await client.say("speak")
        await session.item("assistant", "Now you hear me.")
        assert sound.last_loud_at
        assert len(session.all(SessionFailed)) == 2
    await sound.aclose()
