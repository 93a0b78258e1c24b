"""The conversation behind a spoken one, against a real backend."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

import pytest

from agent_tui.backend.models.model import CutPiece, ModelRequest
from agent_tui.model.errors import AgentTuiError, ConnectFailed
from agent_tui.model.events import Attachment
from agent_tui.model.records import SpeechRecord
from agent_tui.voice_agent.conversation import (
    LOOKING_TOOLS,
    AnswerEvent,
    AnswerWords,
    AskOpened,
    Conversation,
    RanOut,
    ToolEnded,
    ToolStarted,
)
from agent_tui.wire.chat import decode_messages
from tests.backend.chat_backend import TOKEN, ChatBackend, chat_backend
from tests.backend.engine.chat_house import call
from tests.fakes.scripted_model import Script, ScriptedModel
from tests.fakes.scripted_tools import reader, writer


def looks_first(request: ModelRequest) -> Script:
    if request.messages[-1].role == "tool":
        return ["There are ", "two."]
    if "change" in request.messages[-1].content:
        return [call("change", {"by": "me"})]
    return ["Let me look.", call("look", {})]


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[ChatBackend]:
    model = ScriptedModel(looks_first, free=True)
    async with chat_backend(tmp_path, model, reader(), writer()) as backend:
        yield backend


async def talk(running: ChatBackend, **fields: object) -> Conversation:
    path = await running.chat(kind="voice", **fields)
    return Conversation(f"http://127.0.0.1:{running.client.port}", TOKEN, path.rpartition("/")[2])


async def answer(talking: Conversation, question: str, *, may_act: bool = True) -> list[AnswerEvent]:
    events = talking.ask(question, key=question, may_act=may_act)
    async with aclosing(events):
        return [event async for event in events]


def words(events: list[AnswerEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, AnswerWords))


async def test_words_and_steps_come_in_order_and_tools_have_ids_of_their_own(running: ChatBackend) -> None:
    talking = await talk(running)
    events = await answer(talking, "How many rooms?")
    assert words(events) == "Let me look.\n\nThere are two."
    (started,) = [event for event in events if isinstance(event, ToolStarted)]
    (ended,) = [event for event in events if isinstance(event, ToolEnded)]
    assert (started.name, ended.id, ended.success) == ("look", started.id, True)
    assert started.id.startswith(talking.answer_id)
    assert events.index(started) < events.index(ended)
    await talking.aclose()


async def test_a_guest_is_offered_tools_that_only_look(running: ChatBackend) -> None:
    talking = await talk(running)
    await answer(talking, "How many?", may_act=False)
    assert {tool.name for tool in running.model.calls[0].request.tools} <= set(LOOKING_TOOLS)
    await answer(talking, "How many, then?")
    assert {tool.name for tool in running.model.calls[2].request.tools} == {"look"}
    await talking.aclose()


async def test_a_call_that_asks_is_told_and_given_up_for_the_next_question(running: ChatBackend) -> None:
    talking = await talk(running, enabled_tools=["change"])
    events = talking.ask("change it", key="1", may_act=True)
    async with aclosing(events):
        async for event in events:
            if isinstance(event, AskOpened):
                break
    assert words(await answer(talking, "How many rooms?")) == "Let me look.\n\nThere are two."
    await talking.aclose()


async def test_the_same_question_asked_twice_is_one(running: ChatBackend) -> None:
    talking = await talk(running)
    await answer(talking, "How many?")
    await answer(talking, "How many?")
    stored = await running.client.call("GET", f"/api/conversations/{talking.id}/messages")
    assert [message.role for message in decode_messages(stored.json)] == ["user", "assistant"]
    await talking.aclose()


async def test_cutting_in_ends_the_answer_in_the_backend_too(tmp_path: Path) -> None:
    model = ScriptedModel(lambda request: ["One ", "two ", "three"])  # each word when the test says so
    async with chat_backend(tmp_path, model) as running:
        talking = await talk(running)
        events = talking.ask("Count.", key="1", may_act=True)
        first = asyncio.ensure_future(anext(aiter(events)))
        (await model.called(1)).release(1)
        assert await first == AnswerWords("One ")
        await events.aclose()
        await talking.wait_until_stopped()
        stored = await running.client.call("GET", f"/api/conversations/{talking.id}/messages")
        (_, cut) = decode_messages(stored.json)
        assert (cut.text, cut.interrupted) == ("One ", "stop")
        await talking.aclose()


async def test_the_next_question_ends_an_answer_that_is_not_closed_yet(running: ChatBackend) -> None:
    talking = await talk(running, enabled_tools=["change"])
    first = talking.ask("change it", key="1", may_act=True)
    async with aclosing(first):
        async for event in first:
            if isinstance(event, AskOpened):
                break
        assert words(await answer(talking, "How many rooms?")) == "Let me look.\n\nThere are two."
    stored = await running.client.call("GET", f"/api/conversations/{talking.id}/messages")
    cut = [message.interrupted for message in decode_messages(stored.json) if message.role == "assistant"]
    assert cut == ["stop", ""]
    await talking.aclose()


async def test_a_file_goes_along_with_the_next_question_and_no_other(running: ChatBackend) -> None:
    talking = await talk(running)
    talking.attach(Attachment("notes.txt", "the budget is five"))
    await answer(talking, "How many?")
    assert "the budget is five" in running.model.calls[0].request.messages[-1].content
    await answer(talking, "And now?")
    newest = running.model.calls[2].request.messages[-1]
    assert "the budget is five" not in newest.content
    await talking.aclose()


async def test_what_was_really_said_is_put_on_record(running: ChatBackend) -> None:
    talking = await talk(running)
    await answer(talking, "How many?")
    await talking.record(talking.answer_id, SpeechRecord("Let me", 1.0, 2.0, whole=0.5), interrupted=True)
    stored = await running.client.call("GET", f"/api/conversations/{talking.id}/messages")
    (_, message) = decode_messages(stored.json)
    assert message.spoken == SpeechRecord("Let me", 1.0, 2.0, whole=0.5)
    await talking.aclose()


async def test_recording_never_fails_a_talk(running: ChatBackend) -> None:
    talking = await talk(running)
    await talking.record("no-such-message", SpeechRecord("x"), interrupted=False)
    await talking.aclose()
    await talking.record("closed", SpeechRecord("x"), interrupted=False)


async def test_a_model_that_fails_is_an_error_and_a_backend_that_is_gone_another(tmp_path: Path) -> None:
    async with chat_backend(
        tmp_path, ScriptedModel(lambda request: [RuntimeError("no")], free=True)
    ) as running:
        talking = await talk(running)
        with pytest.raises(AgentTuiError):
            await answer(talking, "Well?")
    with pytest.raises(ConnectFailed):
        await asyncio.wait_for(answer(talking, "Again?"), 20)
    await talking.aclose()


async def test_an_answer_that_runs_out_of_tokens_is_an_end_and_no_failure(tmp_path: Path) -> None:
    model = ScriptedModel(lambda request: ["One and", CutPiece("length")], free=True)
    async with chat_backend(tmp_path, model) as running:
        talking = await talk(running)
        assert (await answer(talking, "Count."))[-2:] == [AnswerWords("One and"), RanOut()]
        await talking.aclose()


async def test_an_answer_without_a_word_that_runs_out_of_tokens_is_a_failure(tmp_path: Path) -> None:
    model = ScriptedModel(lambda request: [CutPiece("length")], free=True)
    async with chat_backend(tmp_path, model) as running:
        talking = await talk(running)
        with pytest.raises(AgentTuiError, match="ran out of tokens"):
            await answer(talking, "Count.")
        await talking.aclose()
