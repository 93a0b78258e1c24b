"""What goes wrong at an endpoint: each failure is one line a person can act on, and no secret leaks."""

from __future__ import annotations

import gzip
import json
import logging
import traceback

import pytest

from agent_tui.backend.engine.words import failure
from agent_tui.backend.models.endpoints import TRIED, ProviderAddress
from agent_tui.backend.models.model import (
    Piece,
)
from agent_tui.backend.models.remote import RemoteProvider
from agent_tui.model.errors import ModelError
from tests.backend.models.calls import KEY, REQUEST, error_of, pieces, provider, text
from tests.fakes.models.model_server import DONE, Answer, FakeModelServer, chunk, data, fails, raw, says

# --- ends that are not -------------------------------------------------------------------------------


def json_of(status: int, body: object) -> Answer:
    return Answer((json.dumps(body).encode(),), status, "application/json")


def page(status: int, text: str) -> Answer:
    return Answer((text.encode(),), status, "text/html")


FAULT = {"type": "missing", "loc": ["body", "x", 0], "msg": "Field required"}
FILTERED = {"code": "content_filter", "message": "hate was found"}


@pytest.mark.parametrize(
    ("answer", "retryable", "title", "detail"),
    [
        (fails(401, "bad key"), False, "refused the key", "LOCAL_KEY"),
        (fails(403, "not yours"), False, "refused the key", "not yours"),
        (fails(404, "model 'x' not found"), False, "no such model or path", "some-model"),
        (fails(400, "what"), False, "refused the call", "status 400: what"),
        (fails(429, "slow down", Retry_After="20"), True, "limits the rate of calls", "wait 20 s"),
        (fails(429, "pay", code="insufficient_quota"), False, "quota is used up", "pay"),
        (fails(500, "boom"), True, "server failed", "status 500: boom"),
        (fails(503, ""), True, "server failed", "status 503"),
        (Answer((b"<h1>502</h1>",), 502, "text/html"), True, "server failed", "status 502: 502"),
        (page(502, "<head><title>Bad &amp; Gateway</title>"), True, "server failed", "502: Bad & Gateway"),
        (json_of(400, [{"error": {"message": "no"}}]), False, "refused the call", "status 400: no"),
        (json_of(404, {"detail": "Not Found"}), False, "no such model", "404: Not Found. Is the model"),
        (json_of(422, {"detail": [FAULT]}), False, "refused the call", "422: body.x.0: Field required"),
        (json_of(400, {"error": FILTERED}), False, "content filter stopped the question", "hate"),
        (fails(407, "who are you"), False, "the proxy wants a password", "status 407"),
        (
            fails(429, "later", Retry_After="4000"),
            True,
            "limits the rate of calls",
            "later. It asks to wait 4,000 s",
        ),
        (
            Answer((), 302, headers={"Location": "https://me:pw@x/v2?key=k"}),
            False,
            "sends to another address",
            "status 302: to https://x/v2. Is that the address",
        ),
    ],
)
async def test_an_error_status_says_what_to_do(
    answer: Answer, retryable: bool, title: str, detail: str
) -> None:
    error = await error_of(answer)
    assert title in error.title
    assert detail in error.detail
    assert error.retryable is retryable


async def test_two_kilobytes_of_a_servers_words_are_kept_with_what_to_do_behind_them() -> None:
    said = "a fault, " * 220 + "and its end"
    error = await error_of(fails(401, said))
    assert f"{said}. The key comes from" in error.detail
    assert said in failure(error)


@pytest.mark.parametrize(
    ("where", "helps"),
    [("local", "agent-tui models setup (f4 in the program) asks for one"), (TRIED, "enter one")],
)
async def test_a_server_that_wants_a_key_is_told_when_none_is_set(where: str, helps: str) -> None:
    async with FakeModelServer() as server:
        opened = RemoteProvider(ProviderAddress(where, server.url))
        server.will(fails(401, "who are you"))
        with pytest.raises(ModelError) as caught:
            _ = [piece async for piece in opened.model("some-model").stream(REQUEST)]
        await opened.aclose()
    assert caught.value.title == f"{server.url} wants a key"
    assert caught.value.detail == f"status 401: who are you. No key is set: {helps}"


async def test_a_login_in_the_address_that_is_refused_is_told_as_that() -> None:
    async with FakeModelServer() as server:
        opened = RemoteProvider(ProviderAddress(TRIED, server.url.replace("//", "//me:pa55word@")))
        server.will(fails(401, "who are you"))
        with pytest.raises(ModelError) as caught:
            _ = [piece async for piece in opened.model("some-model").stream(REQUEST)]
        await opened.aclose()
    assert caught.value.title == f"{server.url} refused the key"
    assert caught.value.detail == "status 401: who are you. The key is the login in the address"


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
        raw(data({"choices": [{"message": {"tool_calls": ["x"]}}]})),
        raw(b"data: " + b"[" * 5000 + b"\n\n"),
    ],
)
async def test_rubbish_is_an_error_that_names_the_address(answer: Answer) -> None:
    error = await error_of(answer)
    assert "no answer of an OpenAI-compatible server" in error.title
    assert "127.0.0.1" in error.title
    assert "base_url" in error.detail
    assert not error.retryable


async def test_rubbish_after_the_first_word_asks_nobody_about_the_address() -> None:
    error = await error_of(raw(chunk(content="Half"), b"data: {not json}\n\n"))
    assert error.title == "the answer broke off"
    assert error.detail.startswith("some-model: what the server sent next cannot be read: ")
    assert "base_url" not in error.detail


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (json_of(200, {"error": {"message": "no endpoints found"}}), "? Instead it said: no endpoints found"),
        (page(200, "<html><title>Sign in</title><p>Your name"), "? Instead it said: Sign in"),
    ],
)
async def test_an_answer_that_is_no_stream_is_told_by_its_words(answer: Answer, said: str) -> None:
    error = await error_of(answer)
    assert "no answer of an OpenAI-compatible server" in error.title
    assert said in error.detail


@pytest.mark.parametrize(
    "answer",
    [
        says("Half", ending="cut", finish=None, done=False, usage=None),
        says("Half", finish=None, done=False, usage=None),
        says("Half", ending="eof", finish=None, done=False, usage=None),
        raw(),
        Answer(ending="cut"),
        Answer((chunk(content="Half")[:40],), ending="cut"),
    ],
    ids=["cut", "end without finish", "eof without finish", "empty", "cut at once", "cut in a frame"],
)
async def test_a_stream_without_its_end_broke_off(answer: Answer) -> None:
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
        ({"message": "slow", "code": "rate_limit_exceeded"}, True, "limits the rate of calls"),
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
    with pytest.raises(ModelError) as caught:
        await pieces("http://127.0.0.1:9/v1")
    assert caught.value.title == "cannot connect to http://127.0.0.1:9/v1"
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
    from agent_tui.backend.models import remote_calls  # lazily, as everybody imports it

    monkeypatch.setattr(remote_calls, "MAX_ANSWER_BYTES", 20_000)
    error = await error_of(raw(*[b"x" * 1000] * 30))
    assert error.title == "the answer is too long"


@pytest.mark.parametrize("status", [200, 500])
async def test_an_answer_that_comes_packed_is_refused_before_it_is_unpacked(status: int) -> None:
    packed = gzip.compress(b"data: " + b"x" * 1_000_000)
    error = await error_of(Answer((packed,), status, headers={"Content-Encoding": "gzip"}))
    assert error.title == "the answer came packed"


# --- secrets -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "answer",
    [
        fails(401, f"Incorrect API key: {KEY}"),
        fails(500, "x" * 3_990 + KEY),
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
                repr(ProviderAddress("local", url, KEY)),
            ]
    told = "\n".join(shown) + caplog.text
    assert "ModelError" in told
    for secret in (KEY, KEY[:12], "pa55word", "qu3ry"):
        assert secret not in told


@pytest.mark.parametrize(
    "body",
    [b'{"error": ' * 900 + b"1" + b"}" * 900, b"[" * 990 + b"]" * 990, b"<title" * 500_000],
    ids=["errors in errors", "brackets", "beginnings of a title"],
)
async def test_an_error_made_to_be_dear_is_told_like_any_other(body: bytes) -> None:
    error = await error_of(Answer((body,), 500, "text/html"))
    assert error.title == "the model's server failed"


async def test_what_a_server_says_in_an_error_cannot_move_the_cursor() -> None:
    error = await error_of(fails(500, "\x1b]0;title\x07\u202eevil\nline"))
    assert "\x1b" not in str(error)
    assert "\n" not in error.detail
    assert "evil line" in error.detail
