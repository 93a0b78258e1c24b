"""Four kinds of provider, one behaviour: words, thoughts, usage, ends, errors, and leaving."""

from __future__ import annotations

import asyncio

import pytest

from agent_tui.backend.models.model import CutPiece, TextPiece, ThinkingPiece, UsagePiece
from agent_tui.model.errors import ModelError
from tests.backend.models.calls import KEY, REQUEST, text
from tests.backend.models.calls import provider_of as provider
from tests.fakes.models.dialects import KINDS, Kind, event
from tests.fakes.models.model_server import Answer, FakeModelServer, data, fails, raw

of_each_kind = pytest.mark.parametrize("kind", KINDS, ids=str)


async def error_of(kind: Kind, answer: Answer, *, silence: float = 30.0) -> ModelError:
    """Return the error that ``answer`` ends in; checks that it was asked once and let go."""
    async with FakeModelServer() as server, provider(server, kind, silence=silence) as opened:
        server.will(answer)
        with pytest.raises(ModelError) as caught:
            _ = [piece async for piece in opened.model("some-model").stream(REQUEST)]
        await server.until(lambda: server.open == 0)
        assert [asked.method for asked in server.requests].count("POST") == 1
        return caught.value


@of_each_kind
async def test_thoughts_words_and_usage_come_in_the_pieces_they_were_said_in(kind: Kind) -> None:
    async with FakeModelServer() as server, provider(server, kind) as opened:
        server.will(kind.says("Sess", "ions 会话", thinking=("Hm", "m."), usage=(41, 12)))
        said = [piece async for piece in opened.model("some-model").stream(REQUEST)]
    assert said[:2] == [ThinkingPiece("Hm"), ThinkingPiece("m.")]
    assert text(said) == "Sessions 会话"
    assert next(piece for piece in said if isinstance(piece, TextPiece)) == TextPiece("Sess")
    assert said[-1] == UsagePiece(41, 12)


@of_each_kind
async def test_the_request_says_who_we_are_and_what_was_said(kind: Kind) -> None:
    async with FakeModelServer() as server, provider(server, kind) as opened:
        server.will(kind.says("Yes."))
        _ = [piece async for piece in opened.model("some-model").stream(REQUEST)]
        asked = server.requests[0]
    told = str(asked.body)
    assert "You are Mika" in told
    assert "[Ada]: I disagree." in told
    assert "321" in told  # max_tokens
    assert KEY in str(asked.headers)
    assert KEY not in asked.path
    assert not [name for name in asked.headers if name.startswith("x-stainless")]


async def test_a_server_with_the_messages_api_gets_the_key_in_the_header_that_it_lists_its_models_for() -> (
    None
):
    anthropic = KINDS[2]
    async with FakeModelServer() as server, provider(server, anthropic) as opened:
        server.will(anthropic.says("Yes."))
        _ = [piece async for piece in opened.model("some-model").stream(REQUEST)]
        assert server.requests[0].headers["x-api-key"] == KEY


@of_each_kind
async def test_without_a_key_the_call_is_made_all_the_same(kind: Kind) -> None:
    async with FakeModelServer() as server, provider(server, kind, key="") as opened:
        server.will(kind.says("Yes."))
        said = [piece async for piece in opened.model("some-model").stream(REQUEST)]
    assert text(said) == "Yes."


@of_each_kind
async def test_an_answer_that_used_its_tokens_up_counts(kind: Kind) -> None:
    async with FakeModelServer() as server, provider(server, kind) as opened:
        server.will(kind.says("All I", " could.", finish=kind.length))
        said = [piece async for piece in opened.model("some-model").stream(REQUEST)]
    assert text(said) == "All I could."


@of_each_kind
@pytest.mark.parametrize("ending", ["end", "cut", "eof"])
async def test_a_stream_without_a_reason_to_finish_broke_off(kind: Kind, ending: str) -> None:
    error = await error_of(kind, kind.says("Half", finish=None, ending=ending))  # type: ignore[arg-type]
    assert error.title == "the answer broke off"
    assert error.retryable


@of_each_kind
@pytest.mark.parametrize("seconds", [0.2])
async def test_a_server_that_falls_silent_is_given_up(kind: Kind, seconds: float) -> None:
    error = await error_of(kind, kind.says("Half", finish=None, ending="stall"), silence=seconds)
    assert "fell silent" in error.title
    assert error.retryable


@of_each_kind
async def test_a_filtered_answer_says_so(kind: Kind) -> None:
    error = await error_of(kind, kind.says("Some", finish=kind.filtered))
    assert error.title == "the provider's content filter stopped the answer"


async def test_a_question_that_gemini_blocks_says_so() -> None:
    blocked = raw(data({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}))
    error = await error_of(KINDS[3], blocked)
    assert error.title == "the provider's content filter stopped the answer"
    assert (error.detail, error.retryable) == ("some-model: PROHIBITED_CONTENT", False)


@pytest.mark.parametrize("reason", ["OTHER", "LANGUAGE", "TOO_MANY_TOOL_CALLS", "MALFORMED_FUNCTION_CALL"])
async def test_an_answer_that_gemini_gives_up_says_why(reason: str) -> None:
    gemini = KINDS[3]
    error = await error_of(gemini, gemini.says(finish=reason))
    assert error.title == "the model stopped before its first word"
    assert (error.detail, error.retryable) == (f"some-model: {reason}", True)
    async with FakeModelServer() as server, provider(server, gemini) as opened:
        server.will(gemini.says("Half", finish=reason))
        said = [piece async for piece in opened.model("some-model").stream(REQUEST)]
    assert said == [TextPiece("Half"), CutPiece(reason), UsagePiece(7, 3)]


@of_each_kind
async def test_tokens_used_up_before_the_first_word_name_the_setting(kind: Kind) -> None:
    error = await error_of(kind, kind.says(thinking=("long",), finish=kind.length))
    assert error.title == "the model said nothing"
    assert "max_tokens" in error.detail


@of_each_kind
@pytest.mark.parametrize("status", [429, 503, 529])
async def test_how_long_to_wait_is_what_the_provider_asks_for(kind: Kind, status: int) -> None:
    error = await error_of(kind, fails(status, "slow down", Retry_After="20"))
    assert error.retryable
    assert error.retry_after == 20
    assert error.status == status


@of_each_kind
async def test_a_wrong_key_names_where_the_key_comes_from(kind: Kind) -> None:
    error = await error_of(kind, fails(401, f"invalid key {KEY}"))
    assert "refused the key" in error.title
    assert "ONE_KEY" in error.detail
    assert KEY not in str(error)
    assert (error.retryable, error.status) == (False, 401)


@of_each_kind
async def test_a_model_that_is_not_there_is_told_with_some_that_are(kind: Kind) -> None:
    async with FakeModelServer() as server, provider(server, kind) as opened:
        server.will(fails(404, "no such model"))
        if kind.name == "google":
            listed = {"models": [{"name": "models/other-model"}, {"name": "models/third"}]}
            server.listing = raw(data(listed)[6:], content_type="application/json")
        with pytest.raises(ModelError) as caught:
            _ = [piece async for piece in opened.model("absent").stream(REQUEST)]
    assert "no such model" in caught.value.title
    assert "other-model" in caught.value.detail


@of_each_kind
async def test_a_server_that_fails_may_be_asked_again(kind: Kind) -> None:
    error = await error_of(kind, fails(500, "boom"))
    assert "server failed" in error.title
    assert error.retryable


RUBBISH = (raw(b"<html>hello</html>", content_type="text/html"), raw(b"data: {not json}\n\n"), raw(data(42)))


@of_each_kind
@pytest.mark.parametrize("answer", [*RUBBISH, None], ids=["html", "no json", "number", "shape"])
async def test_rubbish_ends_the_call_with_one_line(kind: Kind, answer: Answer | None) -> None:
    error = await error_of(kind, answer or raw(kind.shape))
    assert "127.0.0.1" in error.title or "broke off" in error.title
    assert "\n" not in str(error)


@of_each_kind
async def test_empty_choices_are_no_answer(kind: Kind) -> None:
    error = await error_of(kind, raw(data({"choices": [], "candidates": []})))
    assert "broke off" in error.title or "gave no answer of" in error.title


async def test_an_overload_in_the_middle_of_a_stream_may_be_asked_again() -> None:
    anthropic = KINDS[2]
    overload = event("error", error={"type": "overloaded_error", "message": "busy"})
    begun = anthropic.says("Half", finish=None)
    error = await error_of(anthropic, raw(*begun.pieces, overload))
    assert "server failed" in error.title
    assert "busy" in error.detail
    assert (error.retryable, error.status) == (True, 529)


@of_each_kind
async def test_cancelling_closes_the_connection(kind: Kind) -> None:
    async with FakeModelServer() as server, provider(server, kind) as opened:
        server.will(kind.says("Half", finish=None, ending="stall"))
        first = asyncio.Event()

        async def speak() -> None:
            async for _ in opened.model("m").stream(REQUEST):
                first.set()

        speaking = asyncio.create_task(speak())
        await first.wait()
        assert server.open == 1
        speaking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await speaking
        await server.until(lambda: server.open == 0)
        server.will(kind.says("Again."))
        assert text([piece async for piece in opened.model("m").stream(REQUEST)]) == "Again."
