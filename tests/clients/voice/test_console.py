"""A session over the console transport, with an agent that does what it is told; and its program."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from livekit.protocol.agent_pb import agent_session as pb

from agent_tui.clients.voice.console import ConsoleClient
from agent_tui.clients.voice.script import PythonAgent, agent_script
from agent_tui.model.errors import ConfigError, ConnectFailed, NotOffered
from agent_tui.model.events import Unknown
from agent_tui.model.voice import (
    AgentJoined,
    AgentStateChanged,
    HistoryLoaded,
    ItemStored,
    MicChanged,
    PeopleChanged,
    SessionFailed,
    WordsHeard,
    WordsTyped,
)
from agent_tui.wire import voice as wire
from tests.clients.voice.following import eventually, following
from tests.fakes.voice.console_agent import ConsoleAgent, Event
from tests.fakes.voice.sound import FedSound
from tests.fakes.voice.tones import loudness, tone

SPEECH = tone(440.0, 0.5, 48_000)
TOKEN = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbGljZSJ9.c2ln"


@pytest.fixture
async def sound() -> AsyncIterator[FedSound]:
    sound = FedSound()
    await sound.open()
    yield sound
    await sound.aclose()


@pytest.fixture
async def agent() -> ConsoleAgent:
    return ConsoleAgent()


async def test_an_agent_is_pinged_until_it_answers_and_then_asked_what_was_said(
    agent: ConsoleAgent, sound: FedSound
) -> None:
    agent.awake.clear()
    content = [pb.ChatMessage.ChatContent(text="hello")]
    agent.history = [pb.ChatContext.ChatItem(message=pb.ChatMessage(id="i", role=pb.USER, content=content))]
    client = ConsoleClient(agent, sound)
    assert client.transport == "console"
    async with following(client) as session:
        await agent.until(lambda: agent.count("request") >= 2)
        with pytest.raises(ConnectFailed):
            await client.say("too early")
        agent.awake.set()
        await session.link("connected")
        joined = await session.first(AgentJoined)
        assert (joined.name, joined.has_session, joined.takes_files) == ("toned", True, False)
        history = await session.first(HistoryLoaded)
        assert [item.text for item in history.items] == ["hello"]
        await session.first(AgentStateChanged, like=lambda event: event.state == "listening")
    assert agent.is_ended


async def test_sound_goes_in_frames_of_30_ms_and_a_muted_microphone_sends_silence(
    agent: ConsoleAgent, sound: FedSound
) -> None:
    client = ConsoleClient(agent, sound)
    async with following(client) as session:
        await session.link("connected")
        await sound.say("hello there", 0.3)
        heard = [message.audio_input for message in agent.got if message.HasField("audio_input")]
        assert {(frame.sample_rate, len(frame.data)) for frame in heard} == {(48_000, 2880)}
        await agent.until(lambda: any(loudness(m.audio_input.data) > 5_000 for m in agent.got))
        await client.mute(True)
        assert (await session.first(MicChanged, like=lambda event: event.is_muted)).is_talking is False
        people = await session.first(PeopleChanged, like=lambda event: event.people[0].is_muted)
        assert people.people[0].is_me
        count = agent.count("audio_input")
        await sound.say("hello there", 0.3)
        await agent.until(lambda: agent.count("audio_input") >= count + 10)
        muted = [message.audio_input.data for message in agent.got if message.HasField("audio_input")][
            count + 1 :
        ]
        assert not any(any(data) for data in muted)
        await client.start_talking()
        await session.first(MicChanged, like=lambda event: event.is_talking and not event.is_muted)
        count = agent.count("audio_input")
        await sound.say("hello there", 0.3)
        await agent.until(lambda: any(any(m.audio_input.data) for m in agent.got[count:]))
        await client.stop_talking()
        assert session.all(MicChanged)[-1].is_talking or session.all(MicChanged)[-1].is_muted


async def test_a_speech_is_played_and_its_end_is_said(agent: ConsoleAgent, sound: FedSound) -> None:
    async with following(ConsoleClient(agent, sound)) as session:
        await session.link("connected")
        agent.does(pb.AS_SPEAKING)
        agent.speak(SPEECH)
        agent.flush()
        await agent.until(lambda: agent.count("audio_playback_finished") == 1)
        assert bytes(sound.played) == SPEECH
        agent.does(pb.AS_LISTENING)
        await session.first(AgentStateChanged, len(session.events))
        assert not sound.held  # nothing was cut


async def test_what_is_left_of_a_speech_is_held_when_it_stops_and_dropped_when_it_is_cleared(
    agent: ConsoleAgent, sound: FedSound
) -> None:
    async with following(ConsoleClient(agent, sound)) as session:
        await session.link("connected")
        agent.does(pb.AS_SPEAKING)
        agent.speak(SPEECH * 20)
        agent.flush()
        await agent.until(lambda: len(sound.played) > 0)
        at = len(session.events)
        agent.does(pb.AS_LISTENING)
        await session.first(AgentStateChanged, at)
        assert sound.held
        agent.clear()
        agent.does(pb.AS_THINKING)
        await session.first(AgentStateChanged, at, like=lambda event: event.state == "thinking")
        assert (sound.queued_seconds, sound.held) == (0.0, False)
        agent.does(pb.AS_SPEAKING)  # the next speech is heard whole
        agent.speak(SPEECH)
        agent.flush()
        await agent.until(lambda: agent.count("audio_playback_finished") == 1)
        assert bytes(sound.played).endswith(SPEECH)


async def test_a_speech_goes_on_where_it_stopped_when_nobody_had_cut_in(
    agent: ConsoleAgent, sound: FedSound
) -> None:
    async with following(ConsoleClient(agent, sound)) as session:
        await session.link("connected")
        agent.does(pb.AS_SPEAKING)
        agent.speak(SPEECH)
        agent.flush()
        agent.does(pb.AS_LISTENING)
        await session.first(AgentStateChanged, like=lambda event: event.state == "speaking")
        at = len(session.events)
        await session.until(lambda: sound.held or len(session.events) > at)
        agent.does(pb.AS_SPEAKING)
        await agent.until(lambda: agent.count("audio_playback_finished") == 1)
        assert bytes(sound.played) == SPEECH


async def test_an_interrupted_speech_is_silent_here_and_the_next_one_is_heard(
    agent: ConsoleAgent, sound: FedSound
) -> None:
    client = ConsoleClient(agent, sound)
    async with following(client) as session:
        await session.link("connected")
        agent.does(pb.AS_SPEAKING)
        agent.speak(SPEECH * 20)
        await session.first(AgentStateChanged, like=lambda event: event.state == "speaking")
        await client.interrupt()
        await agent.until(lambda: agent.count("audio_playback_clear") == 1)
        agent.speak(SPEECH * 20)
        agent.flush()
        await agent.until(lambda: agent.count("audio_playback_finished") == 1)
        assert len(sound.played) < len(SPEECH * 20)
        agent.speak(SPEECH)
        agent.flush()
        await agent.until(lambda: agent.count("audio_playback_finished") == 2)
        assert bytes(sound.played).endswith(SPEECH)


async def test_typed_text_is_shown_at_once_and_a_failure_is_told(
    agent: ConsoleAgent, sound: FedSound
) -> None:
    client = ConsoleClient(agent, sound)
    async with following(client) as session:
        await session.link("connected")
        await client.say("what time is it")
        assert (await session.first(WordsTyped)).text == "what time is it"
        await agent.until(lambda: any(m.request.run_input.text == "what time is it" for m in agent.got))
        await client.say("fail")
        assert "the model failed" in (await session.first(SessionFailed)).message


async def test_a_failure_that_the_session_has_told_is_not_told_again_with_the_end_of_its_turn(
    agent: ConsoleAgent, sound: FedSound
) -> None:
    client = ConsoleClient(agent, sound)
    async with following(client) as session:
        await session.link("connected")
        await client.say("fail aloud")
        await session.first(SessionFailed)
        await client.say("fail")
        await session.until(lambda: len(session.all(SessionFailed)) == 2)
        messages = [event.message for event in session.all(SessionFailed)]
        assert messages == ["the model failed", "the agent could not do that: the model failed"]


async def test_what_the_agent_tells_is_told(agent: ConsoleAgent, sound: FedSound) -> None:
    async with following(ConsoleClient(agent, sound)) as session:
        await session.link("connected")
        heard = Event.UserInputTranscribed(transcript="hello", is_final=True)
        agent.send(pb.AgentSessionMessage(event=Event(user_input_transcribed=heard)))
        assert await session.first(WordsHeard) == WordsHeard("heard-0", "hello", is_final=True)
        content = [pb.ChatMessage.ChatContent(text="hello")]
        item = pb.ChatContext.ChatItem(message=pb.ChatMessage(id="i", role=pb.USER, content=content))
        added = Event.ConversationItemAdded(item=item)
        agent.send(pb.AgentSessionMessage(event=Event(conversation_item_added=added)))
        assert (await session.first(ItemStored)).item.text == "hello"


async def test_garbage_is_counted_and_the_session_goes_on_as_far_as_it_can(
    agent: ConsoleAgent, sound: FedSound
) -> None:
    async with following(ConsoleClient(agent, sound)) as session:
        await session.link("connected")
        agent.raw(wire.HEADER.pack(4) + b"\xff\xff\xff\xff")
        agent.speak(SPEECH, rate=24_000)
        await session.until(lambda: len(session.all(Unknown)) >= 2)
        agent.raw(wire.HEADER.pack(2**31))
        await session.until(lambda: any("too large" in event.reason for event in session.all(Unknown)))
        agent.exit(1)
        assert (await session.link("failed")).reason == "agent_ended"


async def test_files_and_being_listened_to_are_not_offered(agent: ConsoleAgent, sound: FedSound) -> None:
    client = ConsoleClient(agent, sound)
    with pytest.raises(NotOffered):
        await client.send_file(Path("a.txt"))
    with pytest.raises(NotOffered):
        await client.ask_to_listen()


@pytest.mark.parametrize(
    ("code", "status", "words"),
    [(1, "failed", "exit code 1"), (-9, "failed", "signal 9"), (0, "ended", "ended the session")],
)
async def test_the_end_of_the_agents_process_ends_the_session_with_its_last_lines(
    agent: ConsoleAgent, sound: FedSound, code: int, status: str, words: str
) -> None:
    async with following(ConsoleClient(agent, sound)) as session:
        await session.link("connected")
        agent.lines = ["one", "two", "ValueError: no key"]
        agent.exit(code)
        moved = await session.link(status)
        assert (moved.reason, words in moved.detail) == ("agent_ended", True)
        assert ("ValueError: no key" in moved.detail) == (status == "failed")
        await session.until(lambda: session.is_over)


async def test_an_agent_that_never_connects_fails_in_time_and_the_session_can_be_begun_again(
    sound: FedSound,
) -> None:
    agent = ConsoleAgent(connects=False)
    client = ConsoleClient(agent, sound, connect_seconds=0.05)
    for _ in range(2):
        async with following(client) as session:
            assert (await session.link("failed")).reason == "agent_not_started"
            await session.until(lambda: session.is_over)
    assert agent.is_ended


# --- the program -------------------------------------------------------------------------------------------


def program(code: str, **more: str) -> PythonAgent:
    return PythonAgent(Path(sys.executable), ("-c", code), name="agent.py", **more)  # type: ignore[arg-type]


async def test_a_program_that_dies_says_why_without_tokens_and_without_words_of_the_conversation(
    sound: FedSound,
) -> None:
    lines = f"print('13:17:17 DEBUG livekit.agents heard my words'); print('  ^^^^'); print('with {TOKEN}')"
    agent = program(f"{lines}; import no_such_module_at_all")
    async with following(ConsoleClient(agent, sound)) as session:
        moved = await session.link("failed")
        assert "no_such_module_at_all" in moved.detail
        assert "exit code 1" in moved.detail
        assert agent.last_lines[0] == "with ********"
        assert "my words" not in " ".join(agent.last_lines)


async def test_of_the_states_of_our_own_agent_only_why_it_failed_is_shown() -> None:
    states = [{"state": "warm"}, {"state": "failed", "title": "no", "detail": "stt: no key"}]
    agent = program("; ".join(f"print({json.dumps(line)!r})" for line in states))
    await agent.start("127.0.0.1:7")
    assert await agent.wait() == 0
    assert list(agent.last_lines) == ["stt: no key"]


async def test_a_program_gets_its_line_its_address_and_what_is_missing_of_livekits_variables() -> None:
    code = (
        "import os, sys; print(sys.stdin.readline().strip(), sys.argv[1:], os.environ['LIVEKIT_URL'],"
        "'LIVEKIT_API_SECRET' in os.environ, 'OTHER' in os.environ)"
    )
    environ = {"LIVEKIT_URL": "wss://mine", "PATH": os.environ["PATH"]}
    agent = PythonAgent(Path(sys.executable), ("-c", code), name="a", fed='{"a": 1}', environ=environ)
    await agent.start("127.0.0.1:7")
    assert await agent.wait() == 0
    assert list(agent.last_lines) == ["{\"a\": 1} ['--connect-addr', '127.0.0.1:7'] wss://mine True False"]
    await agent.end()


async def test_a_program_that_does_not_want_to_end_is_killed_with_its_children(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("agent_tui.clients.voice.script.END_SECONDS", 0.2)
    child = "import time; time.sleep(600)"
    code = (
        "import signal, subprocess, sys; signal.signal(signal.SIGTERM, signal.SIG_IGN);"
        f"child = subprocess.Popen([sys.executable, '-c', {child!r}]); print(child.pid, flush=True);"
        "child.wait()"
    )
    agent = program(code)
    await agent.start("127.0.0.1:7")
    await eventually(lambda: bool(agent.last_lines))
    await agent.end()
    grandchild = int(agent.last_lines[0])
    await eventually(lambda: not _is_running(grandchild))
    assert not _is_running(agent.pid)


@pytest.mark.skipif(sys.platform != "linux", reason="needs PR_SET_PDEATHSIG")
async def test_a_program_ends_with_the_terminal_that_started_it(tmp_path: Path) -> None:
    code = (
        "import asyncio, sys; from pathlib import Path\n"
        "from agent_tui.clients.voice.script import PythonAgent\n"
        "async def main():\n"
        "    sleep = ('-c', 'import time; time.sleep(600)')\n"
        "    agent = PythonAgent(Path(sys.executable), sleep, name='a')\n"
        "    await agent.start('127.0.0.1:7'); print(agent.pid, flush=True); await asyncio.sleep(600)\n"
        "asyncio.run(main())"
    )
    terminal = await asyncio.create_subprocess_exec(
        sys.executable, "-c", code, stdout=asyncio.subprocess.PIPE
    )
    assert terminal.stdout is not None
    agent = int(await terminal.stdout.readline())
    command = Path(f"/proc/{agent}/cmdline")
    await eventually(lambda: b"prctl" not in command.read_bytes())  # until it has become the agent
    terminal.kill()
    await terminal.wait()
    await eventually(lambda: not _is_running(agent))


@pytest.mark.parametrize("name", ["no.py", "x" * 300, "a\0b", "circle"], ids=["no", "long", "NUL", "circle"])
def test_a_script_that_does_not_exist_is_said(tmp_path: Path, name: str) -> None:
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    with pytest.raises(ConfigError, match=r"there is no (file|path)"):
        agent_script(Path(sys.executable), tmp_path / name)


async def test_a_python_that_cannot_be_run_fails_the_session(tmp_path: Path, sound: FedSound) -> None:
    (tmp_path / "agent.py").write_text("")
    agent = agent_script(tmp_path / "no-python", tmp_path / "agent.py")
    async with following(ConsoleClient(agent, sound)) as session:
        assert (await session.link("failed")).reason == "agent_not_started"


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
