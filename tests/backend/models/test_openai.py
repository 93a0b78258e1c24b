"""OpenAI-compatible endpoints: what is sent, what comes back, and leaving early."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from contextlib import aclosing
from dataclasses import replace

import pytest

from agent_tui.backend.models.model import (
    ChatMessage,
    ModelRequest,
    TextPiece,
    ThinkingPiece,
    UsagePiece,
)
from tests.backend.models.calls import KEY, REQUEST, pieces, provider, text
from tests.fakes.models.model_server import DONE, Answer, FakeModelServer, chunk, data, raw, says

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


@pytest.mark.parametrize(
    ("odd", "shown"),
    [(b"\xe9", "\ufffd"), (b"\xed\xa0\x80", "\ufffd" * 3), (b"\\ud800", "\ufffd"), (b"\xe4\xbc", "\ufffd")],
    ids=["Latin-1", "half a pair", "half a pair in JSON", "half a letter"],
)
@pytest.mark.parametrize("cut", [0, 1, 2, 3])
async def test_a_byte_that_is_no_text_is_replaced_and_the_answer_goes_on(
    odd: bytes, shown: str, cut: int
) -> None:
    answer = raw(chunk(content="Un caf#, merci."), chunk(content=" 会话"), chunk("stop"), DONE)
    answer = replace(answer, pieces=(answer.body.replace(b"#", odd),))
    async with FakeModelServer() as server:
        server.will(answer.split([answer.body.index(odd) + cut]))
        assert text(await pieces(server.url)) == f"Un caf{shown}, merci. 会话"


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


# --- start-up ----------------------------------------------------------------------------------------

FIRST_CALL = """
import asyncio, gc, json, sys, threading
from agent_tui.backend.models.model import ModelRequest
from agent_tui.backend.models.endpoints import ProviderAddress
from agent_tui.backend.models.remote import RemoteProvider
from agent_tui.model.errors import ModelError
HEAVY = ("pydantic_ai", "openai", "httpx2", "httpx", "pydantic")
SDKS = ("pydantic_ai", "openai", "anthropic", "google")
before = [name for name in HEAVY if name in sys.modules]
blocking = []

def watch(event, args):
    if event == "import" and threading.current_thread() is threading.main_thread():
        blocking.append(args[0])

async def call(kind):
    provider = RemoteProvider(ProviderAddress("local", "http://127.0.0.1:9/v1", kind=kind))
    try:
        async for _ in provider.model("m").stream(ModelRequest((), "m", "A", "t", 1, 1)):
            pass
    except ModelError as error:
        return error.title
    finally:
        await provider.aclose()

sys.addaudithook(watch)
titles = {asyncio.run(call(kind)) for kind in ("openai", "anthropic", "google")}
blocking = [name for name in blocking if name.partition(".")[0] in SDKS or "dialects" in name]
stays = gc.isenabled() and gc.get_freeze_count() > 100_000  # all that was imported is left out of every look
print(json.dumps({"before": before, "titles": sorted(titles), "blocking": blocking, "stays": stays}))
"""


@pytest.mark.slow
def test_the_heavy_imports_wait_for_the_first_call_and_run_beside_the_event_loop() -> None:
    done = subprocess.run([sys.executable, "-c", FIRST_CALL], capture_output=True, text=True, check=True)
    told = json.loads(done.stdout)
    titles = ["cannot connect to http://127.0.0.1:9/v1"]
    assert told == {"before": [], "titles": titles, "blocking": [], "stays": True}
