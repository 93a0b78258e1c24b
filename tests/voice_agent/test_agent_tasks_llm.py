"""The LLM of an agent service inside livekit-agents: the client tries again, never the framework."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

agents = pytest.importorskip("livekit.agents", reason="the extra voice-agent is not installed")

from livekit.agents import Agent, AgentSession, APIConnectOptions, APIError, llm  # noqa: E402 - only where it is

from agent_tui.clients.agents.tasks import AgentTasksClient  # noqa: E402
from agent_tui.model.events import Attachment  # noqa: E402
from agent_tui.voice_agent.agent_tasks_llm import AgentTasksLLM, question_of  # noqa: E402
from agent_tui.voice_instructions import (  # noqa: E402
    INSTRUCTIONS,
    UNAVAILABLE,
    UNAVAILABLE_LATER,
    language_of,
)
from tests.fakes.agents.agent_service import WORDS, AgentService, agent_service  # noqa: E402
from tests.fakes.clock import QuickClock  # noqa: E402

pytestmark = [pytest.mark.voice, pytest.mark.timeout(120)]
QUICKLY = APIConnectOptions(max_retry=2, retry_interval=0.01, timeout=3)


@pytest.fixture
async def service() -> AsyncIterator[AgentService]:
    async with agent_service() as running:
        yield running


@pytest.fixture
def clock() -> QuickClock:
    return QuickClock()


@pytest.fixture
async def model(service: AgentService, clock: QuickClock) -> AsyncIterator[AgentTasksLLM]:
    made = AgentTasksLLM(AgentTasksClient(service.url, clock=clock, environ={}), language="zh")
    yield made
    await made.aclose()


async def answer(model: AgentTasksLLM, errors: list[Any] | None = None) -> str:
    """Return what is said; an error of the model goes through."""
    if errors is not None:
        model.on("error", lambda event: errors.append(event))
    chat = llm.ChatContext.empty()
    chat.add_message(role="user", content="Hi")
    words = ""
    async with model.chat(chat_ctx=chat, conn_options=QUICKLY) as stream:
        async for chunk in stream:
            words += chunk.delta.content or "" if chunk.delta else ""
    return words


async def test_words_are_said_as_they_come_and_the_session_lasts(
    model: AgentTasksLLM, service: AgentService
) -> None:
    assert [(await answer(model)).split() for _ in range(2)] == [WORDS.split()] * 2
    first, second = service.posts
    assert (first["voiceMode"], first["engineType"]) == (True, "claude_agent_sdk")
    assert first["systemPrompt"] == INSTRUCTIONS["zh"]
    assert (first["prompt"], second["sessionId"], model.session_id) == ("Hi", "s1", "s1")


async def test_a_refused_handshake_is_tried_again_after_one_and_three_seconds(
    model: AgentTasksLLM, service: AgentService, clock: QuickClock
) -> None:
    service.script, errors = ["ws 503", "ws 502"], list[Any]()
    assert (await answer(model, errors)).split() == WORDS.split()
    assert (clock.slept, len(service.posts), errors) == ([1.0, 3.0], 1, [])


async def test_when_all_tries_are_spent_the_apology_says_so(
    model: AgentTasksLLM, service: AgentService, clock: QuickClock
) -> None:
    service.script, errors = ["ws 503"] * 4, list[Any]()
    with pytest.raises(APIError) as failed:
        await answer(model, errors)
    assert (clock.slept, service.script) == ([1.0, 3.0], ["ws 503"])
    assert [(error.recoverable, error.error) for error in errors] == [(False, failed.value)]
    assert model.apology(failed.value) == UNAVAILABLE_LATER["zh"]


@pytest.mark.parametrize("script", ["drop", "cut", "400", "429", "499", "500", "503", "error", "nameless"])
async def test_what_the_service_answered_is_never_posted_again(
    model: AgentTasksLLM, service: AgentService, clock: QuickClock, script: str
) -> None:
    service.script, errors = [script], list[Any]()
    with pytest.raises(APIError) as failed:
        await answer(model, errors)
    assert (len(service.posts), clock.slept) == (1, [])
    assert [(error.recoverable, error.error) for error in errors] == [(False, failed.value)]
    assert model.apology(failed.value) == UNAVAILABLE["zh"]


@pytest.mark.parametrize("script", ["401", "ws 401"])
async def test_a_refusal_names_the_variable_of_the_agent_service(
    model: AgentTasksLLM, service: AgentService, script: str
) -> None:
    service.script = [script]
    with pytest.raises(APIError) as failed:
        await answer(model)
    assert str(failed.value).endswith("Check AGENT_SERVICE_AUTHORIZATION.")


async def test_nothing_is_repeated_once_words_were_said(model: AgentTasksLLM, service: AgentService) -> None:
    service.script = ["cut"]
    chat = llm.ChatContext.empty()
    chat.add_message(role="user", content="Hi")
    words = ""

    async def read() -> None:
        nonlocal words
        async with model.chat(chat_ctx=chat, conn_options=QUICKLY) as stream:
            async for chunk in stream:
                words += chunk.delta.content or "" if chunk.delta else ""

    with pytest.raises(APIError) as failed:
        await read()
    assert (words, failed.value.retryable, len(service.posts)) == ("one two ", False, 1)


async def test_a_file_that_the_service_has_is_not_sent_again_after_a_break(
    model: AgentTasksLLM, service: AgentService
) -> None:
    model.attach(Attachment("a.txt", "words"))
    service.script = ["drop"]
    with pytest.raises(APIError):
        await answer(model)
    await answer(model)
    assert [len(post.get("attachments", ())) for post in service.posts] == [1, 0]


async def test_an_aborted_session_is_an_error_and_the_next_turn_begins_anew(
    model: AgentTasksLLM, service: AgentService
) -> None:
    await answer(model)
    service.script = ["abort"]
    with pytest.raises(APIError) as failed:
        await answer(model)
    assert (failed.value.retryable, model.session_id) == (False, "")
    await answer(model)
    assert "sessionId" not in service.posts[-1]


async def talking(model: AgentTasksLLM) -> AgentSession[None]:
    session: AgentSession[None] = AgentSession(
        llm=model,
        vad=None,
        turn_handling={"preemptive_generation": {"enabled": False}, "turn_detection": None},
    )
    await session.start(Agent(instructions="Talk."))
    return session


async def test_who_cuts_in_cancels_the_task_and_the_history_keeps_what_was_said(
    model: AgentTasksLLM, service: AgentService
) -> None:
    session = await talking(model)
    service.script = ["slow"]
    speech = session.generate_reply(user_input="go")
    await service.until(lambda service: any(frame["data"].get("taskId") == "t1" for frame in service.frames))
    while not session.history.items or session.agent_state != "speaking":
        await asyncio.sleep(0)
        if speech.done():
            break
    await session.interrupt()
    await service.until(lambda service: service.cancelled == ["t1"])
    assert speech.interrupted
    events = (await session.run(user_input="next")).events
    assert [event.item.text_content or "" for event in events if event.type == "message"][
        -1
    ].split() == WORDS.split()
    await session.aclose()


async def test_what_is_injected_is_spoken_in_the_same_session(
    model: AgentTasksLLM, service: AgentService
) -> None:
    session = await talking(model)
    await session.run(user_input="go")
    speech = session.say(model.inject("see this", [Attachment("a.txt", "words")]))
    await speech.wait_for_playout()
    last = session.history.items[-1]
    assert last.type == "message"
    assert (last.text_content or "").split() == WORDS.split()
    assert service.posts[-1]["attachments"][0]["name"] == "a.txt"
    assert service.posts[-1]["sessionId"] == "s1"
    assert [words async for words in model.inject()] == []
    await session.aclose()


async def test_a_file_waits_until_the_service_takes_a_question(
    model: AgentTasksLLM, service: AgentService
) -> None:
    await answer(model)
    model.attach(Attachment("a.txt", "words"))
    service.script = ["503"]
    with pytest.raises(APIError):
        await answer(model)
    await answer(model)
    await answer(model)
    names = [[file["name"] for file in post.get("attachments", ())] for post in service.posts]
    assert names == [[], ["a.txt"], ["a.txt"], []]
    assert [post.get("sessionId") for post in service.posts] == [None, "s1", "s1", "s1"]


def test_the_newest_words_of_a_person_become_the_prompt() -> None:
    chat = llm.ChatContext.empty()
    assert question_of(chat) == ""
    chat.add_message(role="system", content="Greet them.")
    assert question_of(chat) == "Greet them."
    chat.add_message(role="user", content="first")
    chat.add_message(role="assistant", content="yes")
    chat.add_message(role="user", content="second")
    assert question_of(chat) == "second"


def test_the_locale_chooses_the_language() -> None:
    assert [language_of(locale) for locale in ("zh-CN", "ru_RU.UTF-8", "en_GB", "C", "")] == [
        "zh",
        "ru",
        "en",
        "en",
        "en",
    ]
