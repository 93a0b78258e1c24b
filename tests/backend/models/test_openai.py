"""OpenAI-compatible endpoints: what is said, what went wrong and what never leaks."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import subprocess
import sys
import traceback
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent_tui.backend.models.model import (
    ChatMessage,
    ModelRequest,
    Piece,
    TextPiece,
    ThinkingPiece,
    UsagePiece,
)
from agent_tui.backend.models.openai import Endpoint, OpenAIProvider
from agent_tui.errors import ModelError
from tests.fakes.model_server import DONE, Answer, FakeModelServer, chunk, data, fails, raw, says

KEY = "sk-very-secret-key"
REQUEST = ModelRequest(
    messages=(
        ChatMessage("system", "You are Mika, a critic."),
        ChatMessage("user", "Should sessions live in Redis?"),
        ChatMessage("assistant", "Perhaps."),
        ChatMessage("user", "[Ada]: I disagree."),
    ),
    model="some-model",
    speaker="Mika",
    task="Should sessions live in Redis?",
    round=1,
    max_rounds=2,
    max_tokens=321,
)


@asynccontextmanager
async def provider(url: str, *, key: str = KEY, silence: float = 30.0) -> AsyncIterator[OpenAIProvider]:
    opened = OpenAIProvider(Endpoint("local", url, key, "LOCAL_KEY", silence))
    try:
        yield opened
    finally:
        await opened.aclose()


async def pieces(url: str, *answers: Answer, model: str = "some-model") -> list[Piece]:
    async with provider(url) as opened:
        return [piece async for piece in opened.model(model).stream(REQUEST)]


def text(said: list[Piece]) -> str:
    return "".join(piece.text for piece in said if isinstance(piece, TextPiece))


async def error_of(answer: Answer, *, silence: float = 30.0) -> ModelError:
    async with FakeModelServer() as server, provider(server.url, silence=silence) as opened:
        server.will(answer)
        with pytest.raises(ModelError) as caught:
            _ = [piece async for piece in opened.model("some-model").stream(REQUEST)]
        await server.until(lambda: server.open == 0)
        assert len(server.requests) == 1, "the SDK must not try again by itself"
        return caught.value


# --- what is sent and what comes back ---------------------------------------------------------------


async def test_text_thinking_and_usage_arrive_as_pieces_in_order() -> None:
    async with FakeModelServer() as server:
        server.will(says("Re", "dis, ", "no.", thinking=("Hm", "m"), usage=(11, 5)))
        said = await pieces(server.url)
    assert said == [
        ThinkingPiece("Hm"),
        ThinkingPiece("m"),
        TextPiece("Re"),
        TextPiece("dis, "),
        TextPiece("no."),
        UsagePiece(11, 5),
    ]


async def test_the_request_carries_messages_model_key_temperature_and_the_token_limit() -> None:
    async with FakeModelServer() as server:
        await pieces(server.url, model="my/model")
        request = server.requests[0]
    assert (request.method, request.path) == ("POST", "/v1/chat/completions")
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.body["messages"] == [
        {"role": "system", "content": "You are Mika, a critic."},
        {"role": "user", "content": "Should sessions live in Redis?"},
        {"role": "assistant", "content": "Perhaps."},
        {"role": "user", "content": "[Ada]: I disagree."},
    ]
    assert request.body["model"] == "my/model"
    assert request.body["temperature"] == 0.7
    assert request.body["max_tokens"] == 321
    assert request.body["stream"] is True


async def test_nothing_about_this_machine_or_an_openai_account_is_sent_to_other_hosts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_ORG_ID", "my-organisation")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "my-project")
    async with FakeModelServer() as server:
        await pieces(server.url)
        headers = server.requests[0].headers
    assert not [name for name in headers if name.startswith(("x-stainless-", "openai-"))]


async def test_without_a_key_a_placeholder_is_sent_and_never_the_openai_key_of_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    async with FakeModelServer() as server, provider(server.url, key="") as opened:
        _ = [piece async for piece in opened.model("some-model").stream(REQUEST)]
        assert server.requests[0].headers["authorization"] == "Bearer none"


async def test_a_login_in_the_address_is_sent_as_basic_authorisation() -> None:
    async with FakeModelServer() as server:
        await pieces(server.url.replace("//", "//someone:pass%20word@"))
        assert server.requests[0].headers["authorization"] == "Basic c29tZW9uZTpwYXNzIHdvcmQ="


async def test_a_proxy_of_the_environment_is_not_asked_for_an_address_on_this_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    async with FakeModelServer() as server:
        assert text(await pieces(server.url)) == "Hello there."


@pytest.mark.parametrize("model", ["o3", "gpt-5", "gpt-4o"])
async def test_a_model_that_refuses_a_temperature_is_not_sent_one_and_nothing_warns(model: str) -> None:
    async with FakeModelServer() as server:
        await pieces(server.url, model=model)
        assert ("temperature" in server.requests[0].body) is (model == "gpt-4o")


async def test_half_a_surrogate_pair_said_by_another_agent_can_still_be_sent() -> None:
    told = ModelRequest((ChatMessage("user", "a\ud800b"),), "m", "A", "t", 1, 1)
    async with FakeModelServer() as server, provider(server.url) as opened:
        _ = [piece async for piece in opened.model("m").stream(told)]
        assert server.requests[0].body["messages"] == [{"role": "user", "content": "a\ufffdb"}]


async def test_calls_share_one_connection_pool_and_it_is_closed_at_the_end() -> None:
    async with FakeModelServer() as server:
        async with provider(server.url) as opened:
            for name in ("one", "two", "one"):
                _ = [piece async for piece in opened.model(name).stream(REQUEST)]
            assert len(server.requests) == 3
            assert server.connections == 1
            await opened.aclose()
        with pytest.raises(RuntimeError, match="closed"):
            await opened.connection()


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cuts=st.lists(st.integers(1, 1200), max_size=30))
async def test_bytes_split_anywhere_say_the_same(cuts: list[int]) -> None:
    async with FakeModelServer() as server:
        server.will(says("Сессии ", "живут ", "в 会话 🙂.", thinking=("¿",)).split(cuts))
        said = await pieces(server.url)
    assert text(said) == "Сессии живут в 会话 🙂."
    assert said[0] == ThinkingPiece("¿")


# --- ends that are good ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "answer",
    [
        says("All."),
        says("All.", finish="length"),
        says("All.", usage=None),
        says("All.", done=False),
        says("All.", finish=None),
        says("All.", done=False, ending="eof"),
        says("All.", ending="stall"),
        raw(data({"choices": []}), chunk(content="All."), data({"choices": None}), chunk("stop"), DONE),
        raw(b": keep-alive\n\n", chunk(content="All."), b": again\n", chunk("stop"), DONE),
        raw(chunk(content="All.").replace(b"\n", b"\r\n"), chunk("stop"), DONE),
    ],
    ids=[
        "plain",
        "length",
        "no usage",
        "no DONE",
        "no finish",
        "eof",
        "kept open",
        "no choices",
        "comments",
        "crlf",
    ],
)
async def test_a_good_end_is_any_of(answer: Answer) -> None:
    async with FakeModelServer() as server:
        server.will(answer)
        assert text(await pieces(server.url)) == "All."


async def test_what_a_model_says_when_it_refuses_is_its_answer() -> None:
    async with FakeModelServer() as server:
        server.will(raw(chunk(refusal="I would "), chunk(refusal="rather not."), chunk("stop"), DONE))
        assert text(await pieces(server.url)) == "I would rather not."


async def test_without_reported_usage_no_usage_piece_comes() -> None:
    async with FakeModelServer() as server:
        server.will(says("All.", usage=None))
        assert await pieces(server.url) == [TextPiece("All.")]


# --- ends that are not -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "retryable", "title", "detail"),
    [
        (fails(401, "bad key"), False, "refused the key", "LOCAL_KEY"),
        (fails(403, "not yours"), False, "refused the key", "not yours"),
        (fails(404, "model 'x' not found"), False, "no such model or path", "some-model"),
        (fails(400, "what"), False, "refused the call", "status 400: what"),
        (fails(400, "…", code="context_length_exceeded"), False, "too long for the model", ""),
        (fails(429, "slow down", Retry_After="20"), True, "wants fewer calls", "wait 20 s"),
        (fails(429, "pay", code="insufficient_quota"), False, "quota is used up", "pay"),
        (fails(500, "boom"), True, "server failed", "status 500: boom"),
        (fails(503, ""), True, "server failed", "status 503"),
        (Answer((b"<h1>502</h1>",), 502, "text/html"), True, "server failed", "<h1>502</h1>"),
        (Answer((), 302, headers={"Location": "/x"}), False, "no answer of an OpenAI-compatible", "/v1"),
    ],
)
async def test_an_error_status_says_what_to_do(
    answer: Answer, retryable: bool, title: str, detail: str
) -> None:
    error = await error_of(answer)
    assert title in error.title
    assert detail in error.detail
    assert error.retryable is retryable


@pytest.mark.parametrize(
    "answer",
    [
        raw(b"<html>hello</html>", content_type="text/html"),
        raw(b'{"answer": 42}', content_type="application/json"),
        raw(b"data: {not json}\n\n"),
        raw(b"data: \xff\xfe\n\n"),
        raw(data(42)),
        raw(data([1])),
        raw(data({"choices": 7})),
        raw(data({"choices": [{"delta": "word"}]})),
        raw(data({"choices": ["x"]})),
        raw(b"data: " + b"[" * 5000 + b"\n\n"),
    ],
)
async def test_rubbish_is_an_error_that_names_the_address(answer: Answer) -> None:
    error = await error_of(answer)
    assert "no answer of an OpenAI-compatible server" in error.title
    assert "127.0.0.1" in error.title
    assert "base_url" in error.detail
    assert not error.retryable


@pytest.mark.parametrize(
    "answer",
    [
        says("Half", ending="cut", finish=None, done=False, usage=None),
        says("Half", finish=None, done=False, usage=None),
        says("Half", ending="eof", finish=None, done=False, usage=None),
        raw(),
        Answer(ending="cut"),
        says("Half", ending="cut").split([40]),
    ],
    ids=["cut", "end without finish", "eof without finish", "empty", "cut at once", "cut in a frame"],
)
async def test_a_stream_without_its_end_broke_off(answer: Answer) -> None:
    if answer.ending == "cut" and len(answer.pieces) == 2:
        answer = Answer(answer.pieces[:1], ending="cut")
    error = await error_of(answer)
    assert error.title == "the answer broke off"
    assert error.retryable


async def test_the_words_before_the_break_are_given_out() -> None:
    said: list[Piece] = []
    async with FakeModelServer() as server, provider(server.url) as opened:
        server.will(says("Half ", "a word", ending="cut", finish=None, done=False, usage=None))
        stream = opened.model("m").stream(REQUEST)
        said += [await anext(stream), await anext(stream)]
        with pytest.raises(ModelError):
            await anext(stream)
    assert text(said) == "Half a word"


@pytest.mark.parametrize(
    ("answer", "retryable", "detail"),
    [
        (raw(chunk("stop"), DONE), True, "at once"),
        (raw(DONE), True, "at once"),
        (says(" ", "\n"), True, "at once"),
        (raw(data({"choices": []}), DONE), True, "at once"),
        (says(thinking=("long",), finish="length"), False, "max_tokens"),
    ],
)
async def test_an_answer_without_a_word_is_an_error(answer: Answer, retryable: bool, detail: str) -> None:
    error = await error_of(answer)
    assert error.title == "the model said nothing"
    assert detail in error.detail
    assert error.retryable is retryable


async def test_a_filtered_answer_says_so() -> None:
    error = await error_of(says("Some", finish="content_filter"))
    assert error.title == "the provider's content filter stopped the answer"
    assert not error.retryable


@pytest.mark.parametrize(
    ("body", "retryable", "title"),
    [
        ({"message": "overloaded", "code": "server_error"}, True, "server failed"),
        ({"message": "slow", "code": "rate_limit_exceeded"}, True, "wants fewer calls"),
        ({"message": "pay", "code": "insufficient_quota"}, False, "quota is used up"),
        ({"message": "odd"}, True, "reported an error"),
    ],
)
async def test_an_error_inside_the_stream_is_told(body: dict[str, str], retryable: bool, title: str) -> None:
    error = await error_of(raw(chunk(content="Some "), data({"error": body})))
    assert title in error.title
    assert body["message"] in error.detail
    assert error.retryable is retryable


async def test_a_server_that_falls_silent_is_a_timeout() -> None:
    error = await error_of(says("Half", ending="stall", finish=None, done=False), silence=0.05)
    assert "fell silent" in error.title
    assert "0.05 s" in error.detail
    assert error.retryable


async def test_nobody_at_the_address_is_said_with_the_address() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(ModelError) as caught:
        await pieces(f"http://127.0.0.1:{port}/v1")
    assert caught.value.title == f"cannot connect to http://127.0.0.1:{port}/v1"
    assert "Is the server running" in caught.value.detail
    assert caught.value.retryable


@pytest.mark.parametrize("url", ["http://", "http://host:port/v1", "http://me:pa55word@[::1/v1"])
async def test_an_address_that_is_none_is_said_without_quoting_it(url: str) -> None:
    with pytest.raises(ModelError) as caught:
        await pieces(url)
    shown = "".join(traceback.format_exception(caught.value))
    assert "base_url" in str(caught.value)
    assert "pa55word" not in shown


async def test_an_endless_answer_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    from agent_tui.backend.models import openai_calls  # lazily, as everybody imports it

    monkeypatch.setattr(openai_calls, "MAX_ANSWER_BYTES", 20_000)
    error = await error_of(raw(*[b"x" * 1000] * 30))
    assert error.title == "the answer is too long"


# --- leaving -----------------------------------------------------------------------------------------


async def test_cancelling_closes_the_connection_and_the_next_call_works() -> None:
    async with FakeModelServer() as server, provider(server.url) as opened:
        server.will(says("Half", ending="stall", finish=None, done=False, usage=None))
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
        assert [piece async for piece in opened.model("m").stream(REQUEST)]


async def test_cancelling_before_the_first_byte_closes_the_connection() -> None:
    async with FakeModelServer() as server, provider(server.url) as opened:
        server.will(Answer(ending="stall"))

        async def speak() -> None:
            async for _ in opened.model("m").stream(REQUEST):
                pass

        speaking = asyncio.create_task(speak())
        await server.until(lambda: server.open == 1)
        speaking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await speaking
        await server.until(lambda: server.open == 0)
        assert len(server.requests) == 1


async def test_closing_the_stream_early_closes_the_connection() -> None:
    async with FakeModelServer() as server, provider(server.url) as opened:
        server.will(says("Half", ending="stall", finish=None, done=False, usage=None))
        async with aclosing(opened.model("m").stream(REQUEST)) as stream:
            assert await anext(stream) == TextPiece("Half")
        await server.until(lambda: server.open == 0)
        assert server.open == 0


# --- secrets -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "answer",
    [
        fails(401, f"Incorrect API key: {KEY}"),
        fails(500, "x" * 290 + KEY),
        Answer((f"no key {KEY} here, pa55word".encode(),), 403, "text/plain"),
        raw(data({"error": {"message": f"{KEY} is wrong"}})),
        raw(b"data: {" + KEY.encode() + b"}\n\n"),
        says("Half", ending="cut", finish=None, done=False),
    ],
)
async def test_neither_key_nor_login_appear_in_errors_reprs_or_logs(
    answer: Answer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with FakeModelServer() as server:
        url = server.url.replace("//", "//someone:pa55word@") + "?token=qu3ry"
        async with provider(url) as opened:
            server.will(answer)
            model = opened.model("m")
            with pytest.raises(ModelError) as caught:
                _ = [piece async for piece in model.stream(REQUEST)]
            connection = await opened.connection()
            shown = [
                *traceback.format_exception(caught.value),
                repr(caught.value),
                repr(model),
                repr(opened),
                repr(connection),
                repr(Endpoint("local", url, KEY)),
            ]
    told = "\n".join(shown) + caplog.text
    assert "ModelError" in told
    for secret in (KEY, KEY[:12], "pa55word", "qu3ry"):
        assert secret not in told


async def test_what_a_server_says_in_an_error_cannot_move_the_cursor() -> None:
    error = await error_of(fails(500, "\x1b]0;title\x07\u202eevil\nline"))
    assert "\x1b" not in str(error)
    assert "\n" not in error.detail
    assert "evil line" in error.detail


# --- start-up ----------------------------------------------------------------------------------------

FIRST_CALL = """
import asyncio, json, sys, threading
from agent_tui.backend.models.model import ModelRequest
from agent_tui.backend.models.openai import Endpoint, OpenAIProvider
from agent_tui.errors import ModelError
HEAVY = ("pydantic_ai", "openai", "httpx2", "httpx", "pydantic")
before = [name for name in HEAVY if name in sys.modules]
threads = {}

def watch(event, args):
    if event == "import":
        threads.setdefault(args[0], threading.current_thread() is threading.main_thread())

async def call():
    provider = OpenAIProvider(Endpoint("local", "http://127.0.0.1:9/v1"))
    try:
        async for _ in provider.model("m").stream(ModelRequest((), "m", "A", "t", 1, 1)):
            pass
    except ModelError as error:
        return error.title
    finally:
        await provider.aclose()

sys.addaudithook(watch)
title = asyncio.run(call())
print(json.dumps({"before": before, "title": title, "blocking": threads["pydantic_ai"]}))
"""


def test_the_heavy_imports_wait_for_the_first_call_and_run_beside_the_event_loop() -> None:
    done = subprocess.run([sys.executable, "-c", FIRST_CALL], capture_output=True, text=True, check=True)
    told = json.loads(done.stdout)
    assert told == {"before": [], "title": "cannot connect to http://127.0.0.1:9/v1", "blocking": False}
