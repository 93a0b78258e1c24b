"""How much a model can be told: read where it can be read, learned from errors, and never exceeded."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent_tui.backend.engine.context.trimming import left_out, prompt_tokens
from agent_tui.backend.models import contexts
from agent_tui.backend.models.contexts import limit_named
from agent_tui.backend.models.endpoints import ProviderAddress
from agent_tui.backend.models.model import (
    CallPiece,
    ChatMessage,
    CutPiece,
    Image,
    ModelRequest,
    NotePiece,
    Piece,
    TextPiece,
    ThinkingPiece,
    ToolCall,
    UsagePiece,
)
from agent_tui.backend.models.providers import Models
from agent_tui.backend.models.remote import RemoteProvider
from agent_tui.model.errors import ModelError
from tests.backend.models.calls import OFFERED, SUM, text
from tests.fakes.agents.agent_sessions import KeptSessions
from tests.fakes.models.model_server import Answer, FakeModelServer, fails, raw, says, tells
from tests.fakes.models.pictures import PNG

HISTORY = tuple(
    ChatMessage("assistant" if at % 2 else "user", f"{at:03}" + "word " * 400, stays=not at)
    for at in range(30)
)
LONG = ModelRequest(
    messages=(ChatMessage("system", "You are Mika."), *HISTORY, ChatMessage("user", "Well?")),
    model="some-model",
    speaker="Mika",
    task="Well?",
    round=1,
    max_rounds=1,
    max_tokens=1_000,
)


@asynccontextmanager
async def opened(server: FakeModelServer, kind: str = "openai", **more: Any) -> AsyncIterator[RemoteProvider]:
    provider = RemoteProvider(ProviderAddress("local", server.url, "key", "KEY", 30.0, kind, **more))
    try:
        yield provider
    finally:
        await provider.aclose()


async def asked(provider: RemoteProvider, request: ModelRequest = LONG) -> list[Piece]:
    return [piece async for piece in provider.model("some-model").stream(request)]


def told(server: FakeModelServer) -> Sequence[dict[str, Any]]:
    messages: Sequence[dict[str, Any]] = server.requests[-1].body["messages"]
    return messages


def words_told(server: FakeModelServer) -> int:
    return sum(len(message["content"]) for message in told(server)) // 4


def trimmed(pieces: Sequence[Piece]) -> int:
    return next((p.count for p in pieces if isinstance(p, NotePiece) and p.note == "trimmed"), 0)


def listing(**fields: object) -> Answer:
    return tells({"object": "list", "data": [{"id": "some-model", **fields}]})


PS = {"models": [{"name": "some-model:latest", "context_length": 4096}]}
SERVERS: dict[str, dict[str, Answer]] = {
    "vLLM": {"/v1/models": listing(max_model_len=4096)},
    "OpenRouter": {"/v1/models": listing(context_length=4096)},
    "llama.cpp": {
        "/v1/models": listing(meta={"n_ctx_train": 131072}),
        "/props": tells({"default_generation_settings": {"n_ctx": 4096}}),
    },
    "llama.cpp without props": {"/v1/models": listing(meta={"n_ctx_train": 4096})},
    "LM Studio": {
        "/v1/models": listing(),
        "/api/v0/models": tells(
            {"data": [{"id": "some-model", "loaded_context_length": 4096, "max_context_length": 131072}]}
        ),
    },
    "Ollama behind /v1": {"/v1/models": listing(), "/api/ps": tells(PS)},
    "LiteLLM": {
        "/v1/models": listing(),
        "/model/info": tells(
            {"data": [{"model_name": "some-model", "model_info": {"max_input_tokens": 4096}}]}
        ),
    },
}


@pytest.mark.parametrize("name", SERVERS)
async def test_a_context_is_read_where_the_server_says_it_and_the_oldest_are_left_out(name: str) -> None:
    async with FakeModelServer() as server, opened(server) as provider:
        server.facts = {**SERVERS[name]}
        pieces = await asked(provider)
        assert provider.contexts == {"some-model": 4096}
        assert trimmed(pieces) > 15
        assert told(server)[1]["content"].startswith(HISTORY[0].content)  # the task stays
        assert told(server)[-1]["content"].endswith("Well?")
        assert 1_000 < words_told(server) + 1_000 < 4096
        reads = len(server.reads)
        await asked(provider)
        assert len(server.reads) - reads <= 1  # of Ollama alone, whose model may have been loaded anew


async def test_a_context_that_changed_is_read_again_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    def studio(tokens: int) -> dict[str, Answer]:
        loaded = {"id": "some-model", "loaded_context_length": tokens}
        return {"/v1/models": listing(), "/api/v0/models": tells({"data": [loaded]})}

    async with FakeModelServer() as server, opened(server) as provider:
        server.facts = {**studio(8192)}
        await asked(provider)
        server.facts = {**studio(4096)}
        await asked(provider)
        assert provider.contexts == {"some-model": 8192}
        monkeypatch.setattr(contexts, "AGAIN_SECONDS", 0.0)
        await asked(provider)
        assert provider.contexts == {"some-model": 4096}
        assert words_told(server) + 1_000 < 4096
        server.facts = {"/v1/models": listing()}  # it tells nothing for once
        await asked(provider)
        assert provider.contexts == {"some-model": 4096}
        server.facts = {**studio(16384)}
        await asked(provider)
        assert provider.contexts == {"some-model": 16384}


BUSY: dict[str, tuple[dict[str, Answer], dict[str, Answer]]] = {  # what it tells, and what while it is busy
    "llama.cpp": (SERVERS["llama.cpp"], {"/v1/models": listing(meta={"n_ctx_train": 131072})}),
    "LM Studio": (
        SERVERS["LM Studio"],
        {
            "/v1/models": listing(),
            "/api/v0/models": tells({"data": [{"id": "some-model", "max_context_length": 131072}]}),
        },
    ),
}


@pytest.mark.parametrize("name", BUSY)
async def test_a_server_that_is_busy_does_not_raise_a_context(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(contexts, "AGAIN_SECONDS", 0.0)
    free, busy = BUSY[name]
    async with FakeModelServer() as server, opened(server) as provider:
        server.facts = {**busy}
        await asked(provider)
        assert provider.contexts == {"some-model": 131072}
        server.facts = {**free}
        await asked(provider)
        assert provider.contexts == {"some-model": 4096}
        server.will(fails(400, NAMED.replace("4096", "3000")))
        await asked(provider)
        server.facts = {**busy}
        await asked(provider)
        assert provider.contexts == {"some-model": 3000}


async def test_a_short_prompt_asks_for_nothing_first() -> None:
    async with FakeModelServer() as server, opened(server) as provider:
        await asked(provider, OFFERED)
        assert [request.path for request in (*server.requests, *server.reads)] == ["/v1/chat/completions"]


async def test_what_the_config_file_says_comes_first() -> None:
    async with FakeModelServer() as server, opened(server, context_tokens=8192) as provider:
        server.facts = {"/v1/models": listing(max_model_len=4096)}
        await asked(provider)
        assert 4096 < words_told(server) + 1_000 < 8192
        assert not server.reads


NAMED = "This model's maximum context length is 4096 tokens. However, you requested 15000 tokens."


@pytest.mark.parametrize(
    "refused",
    [fails(400, NAMED), fails(400, NAMED, code="context_length_exceeded"), fails(413, NAMED)],
    ids=["words", "code", "too large"],
)
async def test_a_limit_that_an_error_names_is_kept_to_once_more_and_from_then_on(refused: Answer) -> None:
    async with FakeModelServer() as server, opened(server) as provider:
        server.will(refused)
        pieces = await asked(provider)
        assert text(pieces) == "Hello there."
        assert trimmed(pieces) > 15
        posts = [request for request in server.requests if request.method == "POST"]
        assert len(posts) == 2
        await asked(provider)
        assert len([request for request in server.requests if request.method == "POST"]) == 3
        assert provider.contexts["some-model"] == 4096


async def test_an_error_that_names_no_limit_is_followed_by_a_shorter_call() -> None:
    async with FakeModelServer() as server, opened(server) as provider:
        server.will(fails(400, "…", code="context_length_exceeded"))
        assert text(await asked(provider)) == "Hello there."
        first, second = (r.body["messages"] for r in server.requests if r.method == "POST")
        assert len(str(second)) < len(str(first)) * 0.8


@pytest.mark.parametrize(
    "ended", [Answer(ending="cut"), says(finish="stop", usage=None)], ids=["llama-cpp-python", "LiteLLM"]
)
async def test_a_stream_that_ends_before_its_first_word_is_asked_why_once(ended: Answer) -> None:
    limit = fails(
        400, "Requested tokens (15346) exceed context window of 4096", code="context_length_exceeded"
    )
    async with FakeModelServer() as server, opened(server) as provider:
        server.will(ended, limit)
        pieces = await asked(provider)
        assert (text(pieces), provider.contexts["some-model"]) == ("Hello there.", 4096)
        assert trimmed(pieces) > 15
        bodies = [request.body for request in server.requests if request.method == "POST"]
        assert [body.get("stream", False) for body in bodies] == [True, False, True]
    async with FakeModelServer() as server, opened(server) as provider:
        server.will(ended, fails(400, "no"), ended)
        for calls in (2, 3):
            with pytest.raises(ModelError, match=r"broke off|said nothing"):
                await asked(provider)
            assert len([request for request in server.requests if request.method == "POST"]) == calls


async def test_a_call_that_stays_too_long_fails_after_a_few() -> None:
    async with FakeModelServer() as server, opened(server) as provider:
        server.default = fails(400, "it exceeds the available context size")
        with pytest.raises(ModelError) as caught:
            await asked(provider)
        assert caught.value.title == "the conversation is too long for the model"
        assert "available context size" in caught.value.detail
        assert 1 < len([request for request in server.requests if request.method == "POST"]) <= 4


@pytest.mark.parametrize(
    ("error", "tokens"),
    [
        (NAMED, 4096),
        ("This endpoint's maximum context length is 4,096 tokens", 4096),
        ("Requested tokens (620) exceed context window of 512", 512),
        ("the request exceeds the available context size (4096 tokens), try increasing it", 4096),
        ("{'type': 'exceed_context_size_error', 'n_prompt_tokens': 5000, 'n_ctx': 4096}", 4096),
        ("prompt is too long: 208310 tokens > 200000 maximum", 200_000),
        (
            "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
            1_048_576,
        ),
        ("This model's maximum prompt length is 131072 but the request contains 140000 tokens.", 131_072),
        ("the model is loaded with context length of only 4096 tokens", 4096),
        ("`inputs` tokens + `max_new_tokens` must be <= 8193", 8193),
        ("the input length exceeds the context length", 0),
        (f"maximum context length is {'9' * 5000} tokens", 0),
    ],
)
def test_the_limit_in_the_words_of_each_server(error: str, tokens: int) -> None:
    assert limit_named(error) == tokens


def test_messages_that_were_left_out_before_count_with_those_left_out_now() -> None:
    from agent_tui.backend.engine.context.trimming import fitted

    request = replace(LONG, messages=(*LONG.messages[:2], left_out(7), *LONG.messages[2:]))
    _, fitting = fitted(request, 4096, limits_answer=False)
    assert fitting.left_out == fitted(LONG, 4096, limits_answer=False)[1].left_out + 7


def test_tools_and_the_answer_have_their_part_of_the_context() -> None:
    from agent_tui.backend.engine.context.trimming import fitted

    big = replace(SUM, description="x" * 4_000)
    request, _ = fitted(replace(LONG, tools=(big,)), 4096, limits_answer=False)
    assert prompt_tokens(request) + request.max_tokens <= 4096
    assert 0 < request.max_tokens <= 1_000
    unlimited, _ = fitted(replace(LONG, max_tokens=0), 4096, limits_answer=False)
    assert unlimited.max_tokens == 0
    limited, _ = fitted(replace(LONG, max_tokens=0), 4096, limits_answer=True)
    assert prompt_tokens(limited) + limited.max_tokens <= 4096


async def test_what_was_learned_is_known_to_the_engine(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    models = Models(path, demo_rate=0, demo_seed=0, sessions=KeptSessions())
    async with FakeModelServer() as server:
        path.write_text(
            f'[providers.local]\nkind = "openai"\nbase_url = "{server.url}"\nmodel = "some-model"\n'
        )
        server.facts = {"/v1/models": listing(max_model_len=4096)}
        speaker, _ = models.open("local", "")
        before = models.terms("local", "some-model").context_tokens
        _ = [piece async for piece in speaker.stream(LONG)]
        assert models.terms("local", "some-model").context_tokens == 4096 < before
        await models.aclose()


# --- Ollama ------------------------------------------------------------------------------------------------


class Ollama(FakeModelServer):
    """Says what Ollama 0.17 says: nothing of a model before it is loaded."""

    def __init__(self, context: int = 4096) -> None:
        super().__init__()
        self.context = context
        self.loaded = False
        self.facts = {"/api/ps": self._ps, "/api/generate": self._load}

    def _ps(self, _request: object) -> Answer:
        entry = {"name": "some-model:latest", "context_length": self.context}
        return tells({"models": [entry] if self.loaded else []})

    def _load(self, request: Any) -> Answer:
        self.loaded = True
        self.context = request.body.get("options", {}).get("num_ctx", self.context)
        return tells({"model": "some-model", "response": "", "done": True, "done_reason": "load"})


async def test_a_model_that_is_not_loaded_is_loaded_first_and_that_is_told() -> None:
    async with Ollama() as server, opened(server, "ollama") as provider:
        pieces = await asked(provider)
        assert pieces[0] == NotePiece("loading")
        assert trimmed(pieces) > 15
        again = await asked(provider)
        assert NotePiece("loading") not in again
        assert provider.contexts == {"some-model": 4096}
        assert server.requests[-1].body["max_tokens"] == 1_000


async def test_of_a_model_that_ollama_says_has_no_tools_none_are_sent_and_none_take_room() -> None:
    big = replace(SUM, description="x" * 40_000)
    async with Ollama() as server, opened(server, "ollama") as provider:
        server.facts["/api/show"] = tells({"capabilities": ["completion"]})
        for _ in range(2):
            pieces = await asked(provider, replace(OFFERED, tools=(big,)))
            assert (NotePiece("no_tools") in pieces, text(pieces)) == (True, "Hello there.")
            assert "tools" not in server.requests[-1].body
        assert len([read for read in server.reads if read.path == "/api/show"]) == 1
    async with Ollama() as server, opened(server, "ollama") as provider:
        server.facts["/api/show"] = tells({"capabilities": ["completion", "tools"]})
        with pytest.raises(ModelError, match="its answer and its tools among them"):
            await asked(provider, replace(OFFERED, tools=(big,)))


async def test_a_model_that_ollama_says_cannot_see_is_told_of_images_in_words() -> None:
    shown = ChatMessage("user", "[image a.png]", images=(Image("image/png", PNG),))
    request = replace(OFFERED, messages=(*OFFERED.messages, shown))
    for capabilities, sees in ((["completion", "tools"], False), (["completion", "tools", "vision"], True)):
        async with Ollama(32_768) as server, opened(server, "ollama") as provider:
            server.facts["/api/show"] = tells({"capabilities": capabilities})
            pieces = await asked(provider, request)
            assert (NotePiece("no_images") not in pieces, text(pieces)) == (sees, "Hello there.")
            assert provider.refuses("some-model") == (frozenset() if sees else {"images"})
            told = json.dumps(server.requests[-1].body)
            assert ("data:image/png;base64," in told, "[image a.png]" in told) == (sees, True)


async def test_a_prompt_that_ollama_would_cut_without_a_word_is_not_sent() -> None:
    huge = ChatMessage("user", "word " * 8_000)
    async with Ollama() as server, opened(server, "ollama") as provider:
        with pytest.raises(ModelError) as caught:
            await asked(provider, replace(LONG, messages=(huge,)))
        assert not server.requests
    assert caught.value.title == "the conversation is too long for the model"
    assert caught.value.detail.startswith("some-model takes 4,096 tokens")
    assert "providers.local.num_ctx" in caught.value.detail


def lines(*values: object) -> Answer:
    written = [json.dumps(value).encode() + b"\n" for value in values]
    return raw(*written, content_type="application/x-ndjson")


CALL = {"id": "call_a1", "function": {"index": 0, "name": "calculator", "arguments": {"expression": "1+1"}}}
ANSWERED = lines(
    {"message": {"role": "assistant", "content": "", "thinking": "Hm."}, "done": False},
    {"message": {"role": "assistant", "content": "Let me "}, "done": False},
    {"message": {"role": "assistant", "content": "see.", "tool_calls": [CALL]}, "done": False},
    {
        "message": {"role": "assistant", "content": ""},
        "done": True,
        "done_reason": "stop",
        "prompt_eval_count": 11,
        "eval_count": 4,
    },
)


async def test_num_ctx_is_sent_to_ollamas_own_api_and_counts_as_the_context() -> None:
    async with Ollama(32_768) as server, opened(server, "ollama", num_ctx=2048) as provider:
        server.facts["/api/chat"] = ANSWERED.split([10, 90, 200])
        pieces = await asked(provider, replace(LONG, tools=(SUM,)))
        loads, (chat,) = (
            [r.body for r in server.reads if r.path == path] for path in ("/api/generate", "/api/chat")
        )
        assert loads == [{"model": "some-model", "options": {"num_ctx": 2048}}]
    assert (chat["options"]["num_ctx"], chat["truncate"]) == (2048, False)
    assert 0 < chat["options"]["num_predict"] < 1_000
    assert chat["tools"][0]["function"]["name"] == "calculator"
    assert sum(len(message["content"]) for message in chat["messages"]) // 4 < 2048
    assert [type(piece) for piece in pieces if not isinstance(piece, NotePiece)] == [
        ThinkingPiece,
        TextPiece,
        TextPiece,
        CallPiece,
        UsagePiece,
    ]
    assert text(pieces) == "Let me see."
    call = next(piece for piece in pieces if isinstance(piece, CallPiece))
    assert (call.id, call.name, json.loads(call.arguments)) == (
        "call_a1",
        "calculator",
        {"expression": "1+1"},
    )
    assert pieces[-1] == UsagePiece(11, 4)


async def test_images_go_to_ollamas_own_api_too() -> None:
    image = Image("image/png", b"\x89PNG\r\n\x1a\n")
    seen = ChatMessage("user", "See.", images=(image,))
    result = ChatMessage("tool", "a picture", call_id="call_1", name="calculator", images=(image,))
    called = ChatMessage("assistant", "", calls=(ToolCall("call_1", "calculator", "{}"),))
    request = replace(OFFERED, messages=(*OFFERED.messages, seen, called, result))
    async with Ollama(32_768) as server, opened(server, "ollama", num_ctx=8192) as provider:
        server.facts["/api/chat"] = ANSWERED
        await asked(provider, request)
        (chat,) = (r.body for r in server.reads if r.path == "/api/chat")
    assert [message["images"] for message in chat["messages"] if "images" in message] == [
        ["iVBORw0KGgo="]
    ] * 2


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (lines({"error": "the runner died"}), "the runner died"),
        (lines({"message": {"content": "Half"}, "done": False}), "broke off"),
        (raw(b"no json\n"), "gave no answer of Ollama"),
        (fails(404, "model 'some-model' not found"), "no such model"),
    ],
    ids=["an error", "no end", "no json", "no model"],
)
async def test_what_goes_wrong_there_is_told_as_elsewhere(answer: Answer, said: str) -> None:
    async with Ollama() as server, opened(server, "ollama", num_ctx=2048) as provider:
        server.facts["/api/chat"] = answer
        with pytest.raises(ModelError, match=said):
            await asked(provider, OFFERED)


async def test_an_answer_that_ran_out_of_tokens_says_so() -> None:
    async with Ollama() as server, opened(server, "ollama", num_ctx=2048) as provider:
        server.facts["/api/chat"] = lines(
            {"message": {"content": "Half"}, "done": False},
            {"message": {"content": ""}, "done": True, "done_reason": "length"},
        )
        assert CutPiece("length") in await asked(provider, OFFERED)


async def test_a_server_that_loads_its_model_is_asked_until_it_has() -> None:
    async with FakeModelServer() as server, opened(server) as provider:
        server.will(fails(503, "Loading model"), fails(503, "Loading model"))
        pieces = await asked(provider, OFFERED)
        assert [piece for piece in pieces if isinstance(piece, NotePiece)] == [NotePiece("loading")]
        assert text(pieces) == "Hello there."


# --- what models refuse ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "refused",
    [
        fails(400, "registry.ollama.ai/library/smol:latest does not support tools"),
        fails(400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'),
        fails(404, "No endpoints found that support tool use. Try disabling calculator."),
        fails(500, "tools param requires --jinja flag"),
        fails(400, "tool calling is not supported with this model"),
        fails(400, "does not support parameters: ['tools'], for model=x"),
    ],
    ids=["Ollama", "vLLM", "OpenRouter", "llama.cpp", "Groq", "LiteLLM"],
)
async def test_a_model_that_takes_no_tools_is_asked_without_and_that_is_told_each_time(
    refused: Answer,
) -> None:
    async with FakeModelServer() as server, opened(server) as provider:
        server.will(refused)
        for calls in (2, 3):
            pieces = await asked(provider, OFFERED)
            assert pieces[0] == NotePiece("no_tools")
            assert text(pieces) == "Hello there."
            assert len(server.requests) == calls
            assert "tools" not in server.requests[-1].body
        assert NotePiece("no_tools") not in await asked(provider, replace(OFFERED, tools=()))


async def test_a_schema_that_a_server_does_not_like_is_not_taken_for_a_model_without_tools() -> None:
    async with FakeModelServer() as server, opened(server) as provider:
        server.default = fails(400, "Invalid schema for function 'calculator': 'oneOf' is not supported")
        with pytest.raises(ModelError, match="refused the call"):
            await asked(provider, OFFERED)
        assert len(server.requests) == 1


async def test_a_model_that_cannot_think_aloud_is_asked_without() -> None:
    async with FakeModelServer() as server, opened(server) as provider:
        server.will(fails(400, '"some-model" does not support thinking'), says("Yes."))
        assert text(await asked(provider, replace(OFFERED, thinking=True))) == "Yes."
