"""Calls of tools as OpenAI-compatible servers stream them, each in its own way."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent_tui.backend.models.model import Piece, TextPiece, ThinkingPiece, ToolCall
from agent_tui.model.errors import ModelError
from tests.backend.models.calls import OFFERED, calls_of, provider, text
from tests.fakes.models.model_server import (
    DONE,
    Answer,
    AskedCall,
    FakeModelServer,
    call_chunk,
    chunk,
    data,
    raw,
    says,
    usage_chunk,
)

ARGUMENTS = '{"expression": "сумма 会话 🙂 \\"[DONE]\\""}'
CALL = AskedCall("call_1", "calculator", tuple(ARGUMENTS))
OTHER = AskedCall("call_2", "calculator", ('{"expression"', ': "2"}'))
MIXED = says("Сейчас ", "🙂.", thinking=("¿", "会"), calls=(CALL, OTHER), finish="tool_calls")
END = (chunk("tool_calls"), usage_chunk(7, 3), DONE)


async def said_by(answer: Answer) -> list[Piece]:
    async with FakeModelServer() as server, provider(server.url) as opened:
        server.will(answer)
        return [piece async for piece in opened.model("m").stream(OFFERED)]


def check_mixed(said: list[Piece]) -> None:
    assert "".join(piece.text for piece in said if isinstance(piece, ThinkingPiece)) == "¿会"
    assert text(said) == "Сейчас 🙂."
    assert calls_of(said) == [
        ToolCall("call_1", "calculator", ARGUMENTS),
        ToolCall("call_2", "calculator", OTHER.text),
    ]


async def test_an_answer_split_at_every_byte_says_the_same() -> None:
    check_mixed(await said_by(MIXED.split(range(len(MIXED.body)))))


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cuts=st.lists(st.integers(1, 12_000), max_size=40))
async def test_an_answer_split_anywhere_says_the_same(cuts: list[int]) -> None:
    check_mixed(await said_by(MIXED.split(cuts)))


def whole(**message: object) -> bytes:
    """Return a chunk with a whole message instead of a piece."""
    return data({"id": "c-1", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})


async def test_a_whole_message_in_a_chunk_is_the_answer() -> None:
    calls = [
        {"id": one.id, "type": "function", "function": {"name": one.name, "arguments": one.text}}
        for one in (CALL, OTHER)
    ]
    answer = {"role": "assistant", "content": "Сейчас 🙂.", "reasoning_content": "¿会", "tool_calls": calls}
    check_mixed(await said_by(raw(whole(**answer), usage_chunk(7, 3), DONE)))


async def test_a_whole_message_after_its_pieces_is_not_said_again() -> None:
    answer = raw(chunk(content="So "), chunk(content="far."), whole(content="So far."), *END)
    assert text(await said_by(answer)) == "So far."


async def test_words_after_calls_and_calls_after_words_stay_in_their_order() -> None:
    answer = raw(
        chunk(content="One. "),
        call_chunk(0, "a", "calculator", "{}"),
        chunk(content="Two."),
        call_chunk(1, "b", "calculator", "{}"),
        *END,
    )
    said = await said_by(answer)
    kinds = ["text" if isinstance(piece, TextPiece) else "call" for piece in said[:-1]]
    assert kinds == ["text", "call", "text", "call"]


@pytest.mark.parametrize(
    "frames",
    [
        (call_chunk(7, "a", "calculator", '{"n": 1}'), call_chunk(3, "b", "calculator", '{"n": 2}')),
        (call_chunk(None, "a", "calculator", '{"n": 1}'), call_chunk(None, "b", "calculator", '{"n": 2}')),
        (call_chunk(0, "a", "calculator", '{"n": 1}'), call_chunk(0, "b", "calculator", '{"n": 2}')),
        (
            call_chunk(0, "a", "calculator", '{"n"'),
            call_chunk(0, "a", "calculator", ": 1}"),
            call_chunk(1, "b", "calculator", '{"n"'),
            call_chunk(1, None, "calculator", ": 2}"),
        ),
        (
            call_chunk(0, "a", None, None),
            call_chunk(0, None, "calculator", '{"n": 1}'),
            call_chunk(1, "b", "", ""),
            call_chunk(1, None, "calculator", '{"n": 2}'),
        ),
        (
            call_chunk(0, "a", "calculator", '{"n"'),
            call_chunk(0, "", "", ": 1}"),
            call_chunk(1, "b", "calculator", '{"n"'),
            call_chunk(1, "", "", ": 2}"),
        ),
        (
            call_chunk(0, "a", "calcu", ""),
            call_chunk(1, "b", "c", None),
            call_chunk(0, None, "lator", '{"n"'),
            call_chunk(1, "b", "alculator", '{"n": 2}'),
            call_chunk(0, None, "calculator", ": 1}"),
        ),
    ],
    ids=["gaps", "no index", "one index", "name again", "name later", "empty later", "name in pieces"],
)
async def test_two_calls_are_two_however_a_server_counts_them(frames: tuple[bytes, ...]) -> None:
    calls = calls_of(await said_by(raw(*frames, *END)))
    assert [(call.id, call.name, json.loads(call.arguments)) for call in calls] == [
        ("a", "calculator", {"n": 1}),
        ("b", "calculator", {"n": 2}),
    ]


async def test_a_call_whose_name_never_comes_is_told_all_the_same() -> None:
    frames = (
        call_chunk(0, "a", None, '{"n"'),
        call_chunk(1, "b", "calculator", '{"n": 2}'),
        call_chunk(0, None, None, ": 1}"),
        chunk(content="Well."),
        call_chunk(2, "c", None, None),
    )
    assert calls_of(await said_by(raw(*frames, *END))) == [
        ToolCall("a", "", '{"n": 1}'),
        ToolCall("b", "calculator", '{"n": 2}'),
        ToolCall("c", "", ""),
    ]
    (alone,) = calls_of(await said_by(raw(call_chunk(None, "a", None, "{}"), *END)))
    assert alone == ToolCall("a", "", "{}")


async def test_a_name_that_comes_after_other_calls_is_that_calls_name() -> None:
    frames = (
        call_chunk(0, "a", None, '{"n": 1}'),
        call_chunk(1, "b", "calculator", '{"n": 2}'),
        call_chunk(0, None, "clock", None),
    )
    assert calls_of(await said_by(raw(*frames, *END))) == [
        ToolCall("a", "clock", '{"n": 1}'),
        ToolCall("b", "calculator", '{"n": 2}'),
    ]


@pytest.mark.parametrize("finish", ["stop", "tool_calls", "function_call", "eos"])
async def test_any_reason_to_finish_but_the_bad_ones_is_a_good_end(finish: str) -> None:
    said = await said_by(says(calls=(CALL,), finish=finish, done=False))
    assert calls_of(said) == [ToolCall("call_1", "calculator", ARGUMENTS)]


async def test_done_within_the_arguments_is_not_the_end_of_the_stream() -> None:
    with pytest.raises(ModelError, match="broke off"):
        await said_by(says("data: [DONE]", calls=(CALL,), finish=None, done=False, usage=None, ending="cut"))


async def test_a_server_that_ends_with_an_error_as_its_reason_is_told_after_what_it_said() -> None:
    said = await said_by(says("Half", finish="error"))
    assert "error" in [getattr(piece, "reason", "") for piece in said]
