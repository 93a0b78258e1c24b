"""What is sent is what was chosen: nothing where the model's own is meant, else exactly that."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from agent_tui.backend.models.model import ChatMessage, ModelRequest
from tests.backend.models.calls import REQUEST, provider_of, text, told_to
from tests.fakes.models.dialects import KINDS, Kind
from tests.fakes.models.model_server import FakeModelServer, fails

OPENAI, OLLAMA, ANTHROPIC, GOOGLE = KINDS
PLAIN = ModelRequest((ChatMessage("user", "Well?"),), "some-model", "", "Well?", 1, 1)


def fields(kind: Kind, body: Any) -> dict[str, Any]:
    """Return what a body says besides the messages, in one form for all kinds."""
    found = dict(body.get("generationConfig", {})) if kind is GOOGLE else dict(body)
    return {name: value for name, value in found.items() if name not in ("messages", "contents")}


@pytest.mark.parametrize("kind", KINDS, ids=str)
async def test_by_default_neither_temperature_nor_limit_nor_thinking_is_sent(kind: Kind) -> None:
    sent = fields(kind, await told_to(kind, PLAIN))
    unwanted = {"temperature", "reasoning_effort", "thinking", "thinkingConfig", "chat_template_kwargs"}
    assert not unwanted & sent.keys()
    limits = {name: value for name, value in sent.items() if "tokens" in name.lower()}
    # The Messages API wants a limit.
    assert limits == ({"max_tokens": 16384} if kind is ANTHROPIC else {})


async def test_the_messages_api_is_told_the_most_that_its_model_can_say() -> None:
    assert (await told_to(ANTHROPIC, PLAIN, model="claude-opus-4-6"))["max_tokens"] == 128_000
    assert (await told_to(ANTHROPIC, PLAIN, model="claude-haiku-4-5"))["max_tokens"] == 64_000


async def test_the_most_that_a_model_can_say_is_learned_from_its_refusal() -> None:
    refusal = fails(400, "max_tokens: 16384 > 8192, which is the maximum allowed number of output tokens")
    async with FakeModelServer() as server, provider_of(server, ANTHROPIC) as opened:
        server.will(refusal, ANTHROPIC.says("Yes."), ANTHROPIC.says("Yes."))
        for _ in range(2):
            assert text([piece async for piece in opened.model("new").stream(PLAIN)]) == "Yes."
        assert [request.body["max_tokens"] for request in server.requests] == [16384, 8192, 8192]


@pytest.mark.parametrize("kind", KINDS, ids=str)
async def test_a_temperature_and_a_limit_that_were_chosen_are_sent(kind: Kind) -> None:
    sent = fields(kind, await told_to(kind, replace(PLAIN, temperature=0.25, max_tokens=50)))
    assert sent["temperature"] == 0.25
    assert sent["maxOutputTokens" if kind is GOOGLE else "max_tokens"] == 50


async def test_a_claude_that_refuses_a_temperature_is_not_sent_one_again() -> None:
    refusal = fails(400, "`temperature` is deprecated for this model.")
    wanted = replace(PLAIN, temperature=0.25)
    async with FakeModelServer() as server, provider_of(server, ANTHROPIC) as opened:
        server.will(refusal, ANTHROPIC.says("Yes."), ANTHROPIC.says("Yes."))
        for _ in range(2):
            assert text([piece async for piece in opened.model("new").stream(wanted)]) == "Yes."
        assert ["temperature" in request.body for request in server.requests] == [True, False, False]


@pytest.mark.parametrize(
    ("kind", "model", "thinking"),
    [
        (OPENAI, "some-model", {"chat_template_kwargs": {"enable_thinking": False}}),
        (OPENAI, "gpt-5.1", {"reasoning_effort": "none"}),
        (OLLAMA, "qwen3:8b", {"reasoning_effort": "none"}),
        (ANTHROPIC, "claude-haiku-4-5", {}),  # it does not think unless it is asked to
        (ANTHROPIC, "claude-sonnet-5", {"thinking": {"type": "disabled"}}),
        (GOOGLE, "gemini-2.5-flash", {"thinkingConfig": {"thinking_budget": 0}}),
    ],
)
async def test_a_model_that_is_not_to_think_is_told_so(kind: Kind, model: str, thinking: Any) -> None:
    def about(sent: dict[str, Any]) -> dict[str, Any]:
        known = ("chat_template_kwargs", "reasoning_effort", "thinking", "thinkingConfig")
        return {name: value for name, value in sent.items() if name in known}

    silent = await told_to(kind, replace(PLAIN, thinking=False), model=model)
    assert about(fields(kind, silent)) == thinking
    assert about(fields(kind, await told_to(kind, PLAIN, model=model))) == {}


async def test_a_server_that_cannot_be_told_not_to_think_is_asked_without_it() -> None:
    refusal = fails(400, "Unrecognized request argument supplied: chat_template_kwargs")
    async with FakeModelServer() as server, provider_of(server, OPENAI) as opened:
        server.will(refusal)
        said = [piece async for piece in opened.model("m").stream(replace(PLAIN, thinking=False))]
        assert text(said) == "Hello there."
        assert ["chat_template_kwargs" in request.body for request in server.requests] == [True, False]
    assert REQUEST.thinking is None
