"""What servers that speak OpenAI's really send, each its own way, and what they will not have in a call."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest

from agent_tui.backend.models.model import CutPiece, Piece, TextPiece, ThinkingPiece, UsagePiece
from agent_tui.backend.models.remote import RemoteProvider
from agent_tui.model.errors import ModelError
from tests.backend.models.calls import REQUEST, error_of, provider, text
from tests.fakes.models.model_server import DONE, Answer, FakeModelServer, chunk, data, fails, raw, says


async def said_by(*frames: bytes) -> list[Piece]:
    async with FakeModelServer() as server, provider(server.url) as opened:
        server.will(raw(*frames))
        return [piece async for piece in opened.model("m").stream(REQUEST)]


def counted(prompt: int, completion: int, **delta: Any) -> bytes:
    """Return a chunk that says what was used so far, as xAI's do."""
    finish = None if delta else "stop"
    usage = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
    return data({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}], "usage": usage})


async def test_usage_that_every_chunk_says_anew_is_not_added_up() -> None:
    said = await said_by(counted(10, 1, content="a"), counted(10, 2, content="b"), counted(10, 2), DONE)
    assert said[-1] == UsagePiece(10, 2)


async def test_comments_that_keep_a_connection_open_are_nothing() -> None:
    waiting = b": OPENROUTER PROCESSING\n\n"
    assert text(await said_by(waiting, waiting, chunk(content="a"), waiting, chunk("stop"), DONE)) == "a"


async def test_chunks_without_choices_or_a_delta_are_passed_over() -> None:
    """Azure's first says what its filter found in the question, its later ones what in the answer."""
    said = await said_by(
        data({"id": "", "model": "", "choices": [], "prompt_filter_results": [{"prompt_index": 0}]}),
        chunk(content="a"),
        data({"id": "", "choices": [{"index": 0, "finish_reason": None, "content_filter_offsets": {}}]}),
        data({"choices": None}),
        data({"choices": [{"index": 0, "delta": None, "finish_reason": "stop"}]}),
    )
    assert said == [TextPiece("a")]


async def test_thoughts_in_a_list_of_contents_are_thoughts() -> None:
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": "Hm"}, {"type": "reference"}]}
    listed = [{"type": "text", "text": "yes"}]
    said = await said_by(chunk(content=[thought]), chunk(content=listed), chunk(content="."), chunk("stop"))
    assert said == [ThinkingPiece("Hm"), TextPiece("yes"), TextPiece(".")]


@pytest.mark.parametrize("field", ["reasoning", "reasoning_content"])
async def test_thoughts_come_under_two_names_and_once_where_under_both(field: str) -> None:
    thoughts = {"reasoning": "Hm", field: "Hm"}
    said = await said_by(chunk(content="", **thoughts), chunk(content="yes"), chunk("stop"), DONE)
    assert said == [ThinkingPiece("Hm"), TextPiece("yes")]


@pytest.mark.parametrize(
    ("finish", "reason"),
    [
        ("length", "length"),
        ("model_length", "length"),
        ("MAX_TOKENS", "length"),
        ("insufficient_system_resource", "insufficient_system_resource"),
        ("network_error", "network_error"),
        ("abort", "abort"),
    ],
)
async def test_an_answer_that_had_to_stop_says_why(finish: str, reason: str) -> None:
    assert await said_by(chunk(content="a"), chunk(finish), DONE) == [TextPiece("a"), CutPiece(reason)]


@pytest.mark.parametrize("finish", ["content_filter", "sensitive", "SAFETY"])
async def test_a_filter_is_a_filter_whatever_it_is_called(finish: str) -> None:
    error = await error_of(says("Some", finish=finish))
    assert error.title == "the provider's content filter stopped the answer"
    assert error.detail == f"some-model: {finish}"


async def test_an_empty_reason_to_finish_is_none() -> None:
    with pytest.raises(ModelError, match="broke off"):
        await said_by(data({"choices": [{"delta": {"content": "a"}, "finish_reason": ""}]}))


# --- what they refuse --------------------------------------------------------------------------------

KIMI = fails(400, "invalid temperature: only 1 is allowed for this model")
TEMPERATURE = fails(400, "Unsupported value: 'temperature' does not support 0.7 with this model.")
LIMIT = fails(400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.")
EXTRA = {
    "type": "extra_forbidden",
    "loc": ["body", "stream_options"],
    "msg": "Extra inputs are not permitted",
}
OPTIONS = Answer((json.dumps({"detail": [EXTRA]}).encode(),), 422, "application/json")


async def asked(opened: RemoteProvider, model: str = "m") -> str:
    return text([piece async for piece in opened.model(model).stream(REQUEST)])


@pytest.mark.parametrize(
    ("refusals", "missing", "more"),
    [
        ((KIMI,), {"temperature"}, set()),
        ((TEMPERATURE,), {"temperature"}, set()),
        ((LIMIT,), {"max_tokens"}, {"max_completion_tokens"}),
        ((OPTIONS,), {"stream_options"}, set()),
        ((LIMIT, TEMPERATURE), {"max_tokens", "temperature"}, {"max_completion_tokens"}),
    ],
)
async def test_what_a_server_refuses_is_left_out_at_once_and_from_then_on(
    refusals: tuple[Answer, ...], missing: set[str], more: set[str]
) -> None:
    async with FakeModelServer() as server, provider(server.url) as opened:
        server.will(*refusals)
        assert await asked(opened) == "Hello there."
        assert await asked(opened) == "Hello there."
        first, *_, last, again = (request.body for request in server.requests)
        assert len(server.requests) == len(refusals) + 2
        assert first.keys() - last.keys() == missing
        assert last.keys() - first.keys() == more
        assert last == again
        assert await asked(opened, "another") == "Hello there."  # what one model refuses others may take
        assert server.requests[-1].body.keys() == first.keys()


async def test_a_server_that_refuses_again_is_not_asked_a_third_time() -> None:
    async with FakeModelServer() as server, provider(server.url) as opened:
        server.will(TEMPERATURE, TEMPERATURE)
        with pytest.raises(ModelError, match="refused the call"):
            await asked(opened)
        assert len(server.requests) == 2


async def test_what_is_refused_after_the_first_word_is_not_said_twice() -> None:
    refusal = {"message": "temperature: no", "code": "400"}
    error = await error_of(raw(chunk(content="Half"), data({"error": refusal})))  # which counts the requests
    assert error.title == "the model's server refused the call"


async def test_agents_that_are_refused_at_once_all_go_on_without() -> None:
    async with FakeModelServer() as server, provider(server.url) as opened:
        server.will(*[replace(TEMPERATURE, ending="stall")] * 3)
        asking = asyncio.gather(*(asked(opened) for _ in range(3)))
        await server.until(lambda: server.open == 3)
        server.release()
        assert set(await asking) == {"Hello there."}
        assert len(server.requests) == 6
