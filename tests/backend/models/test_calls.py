"""Calls of tools with four kinds of provider: how they are offered, how they come, how they go back."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from agent_tui.backend.models.model import (
    CallPiece,
    CutPiece,
    ModelRequest,
    Piece,
    ThinkingPiece,
    ToolCall,
    UsagePiece,
)
from agent_tui.model.errors import ModelError
from tests.backend.models.calls import KEY, OFFERED, REQUEST, SUM, calls_of, provider_of, text, told_to
from tests.fakes.models.dialects import KINDS, Kind
from tests.fakes.models.model_server import Answer, AskedCall, FakeModelServer, fails

OPENAI, OLLAMA, ANTHROPIC, GOOGLE = KINDS
of_each_kind = pytest.mark.parametrize("kind", KINDS, ids=str)
in_pieces = pytest.mark.parametrize("kind", [OPENAI, OLLAMA, ANTHROPIC], ids=str)
FIRST = AskedCall("call_1", "calculator", ('{"expr', 'ession": "17', '*23 会话"}'))
SECOND = AskedCall("call_2", "calculator", ('{"expression"', ': "2"}'))


async def said_by(kind: Kind, answer: Answer, request: ModelRequest = OFFERED) -> list[Piece]:
    async with FakeModelServer() as server, provider_of(server, kind) as opened:
        server.will(answer)
        return [piece async for piece in opened.model("some-model").stream(request)]


async def error_of(kind: Kind, answer: Answer, *, silence: float = 30.0) -> tuple[list[Piece], ModelError]:
    said: list[Piece] = []
    async with FakeModelServer() as server, provider_of(server, kind, silence=silence) as opened:

        async def listen() -> None:
            async for piece in opened.model("some-model").stream(OFFERED):
                said.append(piece)  # noqa: PERF401 – what came before the error is the point

        server.will(answer)
        with pytest.raises(ModelError) as caught:
            await listen()
        await server.until(lambda: server.open == 0)
        assert [asked.method for asked in server.requests].count("POST") == 1
    return said, caught.value


def parsed(calls: list[ToolCall]) -> list[tuple[str, str, Any]]:
    return [(call.id, call.name, json.loads(call.arguments)) for call in calls]


@of_each_kind
async def test_thoughts_words_two_calls_and_usage_come_in_order(kind: Kind) -> None:
    answer = kind.says("Let me ", "see.", thinking=("Hm",), calls=(FIRST, SECOND), usage=(41, 12))
    said = await said_by(kind, answer)
    assert parsed(calls_of(said)) == [
        ("call_1", "calculator", {"expression": "17*23 会话"}),
        ("call_2", "calculator", {"expression": "2"}),
    ]
    assert said[0] == ThinkingPiece("Hm")
    assert text(said) == "Let me see."
    assert said[-1] == UsagePiece(41, 12)
    assert not any(isinstance(piece, CutPiece) for piece in said)


@in_pieces
async def test_arguments_come_in_the_pieces_they_were_made_in(kind: Kind) -> None:
    said = [piece for piece in await said_by(kind, kind.says(calls=(FIRST,))) if isinstance(piece, CallPiece)]
    assert said == [CallPiece(0, "call_1", "calculator")] + [
        CallPiece(0, arguments=piece) for piece in FIRST.arguments
    ]


@of_each_kind
async def test_an_answer_of_calls_alone_is_an_answer(kind: Kind) -> None:
    assert len(calls_of(await said_by(kind, kind.says(calls=(FIRST,))))) == 1


@of_each_kind
async def test_a_call_without_an_id_gets_one(kind: Kind) -> None:
    calls = calls_of(await said_by(kind, kind.says(calls=(replace(FIRST, id=""), replace(SECOND, id="")))))
    assert calls[0].id
    assert calls[1].id
    assert calls[0].id != calls[1].id


@of_each_kind
@pytest.mark.parametrize("name", ["", "no such tool", "会话"])
async def test_a_call_of_no_tool_of_ours_is_passed_on(kind: Kind, name: str) -> None:
    calls = calls_of(await said_by(kind, kind.says("Hm.", calls=(replace(FIRST, name=name),))))
    assert [call.name for call in calls] == [name]


@of_each_kind
async def test_calls_with_the_same_id_stay_two(kind: Kind) -> None:
    calls = calls_of(await said_by(kind, kind.says(calls=(FIRST, replace(SECOND, id="call_1")))))
    assert [call.id for call in calls] == ["call_1", "call_1"]
    assert [json.loads(call.arguments)["expression"] for call in calls] == ["17*23 会话", "2"]


@in_pieces
@pytest.mark.parametrize("arguments", ["", "{", "no json", "[1]", '{"a": 1}{"b": 2}'])
async def test_arguments_that_are_no_json_are_passed_on(kind: Kind, arguments: str) -> None:
    said = await said_by(kind, kind.says(calls=(replace(FIRST, arguments=tuple(arguments)),)))
    assert [call.arguments for call in calls_of(said)] == [arguments]


@of_each_kind
async def test_where_no_tools_were_offered_a_call_is_nothing(kind: Kind) -> None:
    assert calls_of(await said_by(kind, kind.says("Yes.", calls=(FIRST,)), REQUEST)) == []
    with pytest.raises(ModelError, match="the model said nothing"):
        await said_by(kind, kind.says(calls=(FIRST,)), REQUEST)


# --- ends --------------------------------------------------------------------------------------------


@of_each_kind
@pytest.mark.parametrize("with_call", [False, True])
async def test_a_model_that_runs_out_of_tokens_says_so_before_its_end(kind: Kind, with_call: bool) -> None:
    calls = (FIRST,) if with_call else ()
    said = await said_by(kind, kind.says("Half", calls=calls, finish=kind.length, usage=(7, 3)))
    assert said[-2:] == [CutPiece("length"), UsagePiece(7, 3)]
    assert len(calls_of(said)) == len(calls)


async def test_gemini_gives_up_a_call_that_came_out_wrong() -> None:
    wrong = "MALFORMED_FUNCTION_CALL"
    assert CutPiece(wrong) in await said_by(GOOGLE, GOOGLE.says("I try.", finish=wrong))
    _, error = await error_of(GOOGLE, GOOGLE.says(finish=wrong))
    assert error.title == "the model stopped before its first word"
    assert wrong in error.detail
    assert error.retryable


@of_each_kind
@pytest.mark.parametrize("ending", ["end", "cut", "eof"])
async def test_a_stream_that_ends_within_a_call_broke_off(kind: Kind, ending: Any) -> None:
    half = replace(FIRST, arguments=FIRST.arguments[:2]) if kind is not GOOGLE else FIRST
    said, error = await error_of(kind, kind.says(calls=(half,), finish=None, ending=ending))
    assert error.title == "the answer broke off"
    assert error.retryable
    assert [call.name for call in calls_of(said)] == ["calculator"]


@pytest.mark.slow
@of_each_kind
async def test_silence_within_a_call_is_a_timeout(kind: Kind) -> None:
    answer = kind.says(calls=(FIRST,), finish=None, ending="stall")
    # Half a second: shorter and a busy machine falls silent by itself.
    said, error = await error_of(kind, answer, silence=0.5)
    assert "fell silent" in error.title
    assert len(calls_of(said)) == 1


@of_each_kind
@pytest.mark.parametrize(("status", "retryable"), [(400, False), (429, True), (500, True)])
async def test_refusals_are_the_same_with_tools(kind: Kind, status: int, retryable: bool) -> None:
    _, error = await error_of(kind, fails(status, f"no tools for {KEY}"))
    assert (error.status, error.retryable) == (status, retryable)
    assert KEY not in str(error)


# --- how they are offered ----------------------------------------------------------------------------


def offered(kind: Kind, body: Any) -> tuple[str, str, Any]:
    """Return (name, description, schema) of the only tool in a request."""
    match kind.name:
        case "anthropic":
            (tool,) = body["tools"]
            return tool["name"], tool["description"], tool["input_schema"]
        case "google":
            ((tool,),) = [tools["functionDeclarations"] for tools in body["tools"]]
            return tool["name"], tool["description"], tool["parameters_json_schema"]
        case _:
            (tool,) = body["tools"]
            assert "strict" not in tool["function"]
            return tuple(tool["function"][key] for key in ("name", "description", "parameters"))


@of_each_kind
async def test_a_tool_is_offered_with_its_name_words_and_schema(kind: Kind) -> None:
    body = await told_to(kind, OFFERED)
    assert offered(kind, body) == (SUM.name, SUM.description, SUM.parameters)
    assert "tools" not in await told_to(kind, REQUEST)


@pytest.mark.parametrize(
    ("kind", "model", "thinking"),
    [
        (OPENAI, "some-model", None),
        (OPENAI, "o3", None),
        (OPENAI, "gpt-5.1", "medium"),
        (OLLAMA, "qwen3:8b", "medium"),
        (ANTHROPIC, "some-model", None),
        (ANTHROPIC, "claude-3-haiku", None),
        (ANTHROPIC, "claude-haiku-4-5", {"type": "enabled", "budget_tokens": 1024}),
        (ANTHROPIC, "claude-opus-4-7", {"type": "adaptive", "display": "summarized"}),
        (GOOGLE, "some-model", None),
        (GOOGLE, "gemini-2.0-flash", None),
        (GOOGLE, "gemini-2.5-flash", {"include_thoughts": True}),
    ],
)
@pytest.mark.filterwarnings("ignore:The model 'claude:DeprecationWarning")
async def test_a_model_is_asked_to_think_aloud_where_it_can_be_asked(
    kind: Kind, model: str, thinking: Any
) -> None:
    def asked(body: Any) -> Any:
        found = body.get("reasoning_effort") or body.get("thinking")
        return found or body.get("generationConfig", {}).get("thinkingConfig")

    body = await told_to(kind, replace(OFFERED, thinking=True), model=model)
    assert asked(body) == thinking
    assert asked(await told_to(kind, OFFERED, model=model)) is None
    if isinstance(thinking, dict) and "budget_tokens" in thinking:
        assert body["max_tokens"] == OFFERED.max_tokens + thinking["budget_tokens"]
