"""The calls about providers, over a real socket, against providers that say what a test tells them to."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from starlette.applications import Starlette

from agent_tui.backend.http.problem import ERROR_ANSWERS
from agent_tui.backend.http.providers import Providers
from agent_tui.backend.models import listing, remote_calls
from agent_tui.backend.models.providers import Models
from tests.backend.served import served
from tests.backend.wire_client import WireClient
from tests.fakes.agents.agent_sessions import KeptSessions
from tests.fakes.models.dialects import KINDS, Kind
from tests.fakes.models.model_server import Answer, FakeModelServer, data, fails, lists, raw

OTHER = '[providers.{name}]\nkind = "{kind}"\nbase_url = "{url}"\n{more}\n'


@asynccontextmanager
async def calls(path: Path) -> AsyncIterator[WireClient]:
    """Give a client of the calls, with the config file ``path``."""
    models = Models(path, demo_rate=0, demo_seed=0, sessions=KeptSessions())
    app = Starlette(routes=Providers(models).routes(), exception_handlers=ERROR_ANSWERS)
    async with served(app) as port:
        yield WireClient(port, "")
    await models.aclose()


def google_list(*names: str) -> Answer:
    """Return a list of models in Gemini's form, one that only makes vectors among them."""
    speaking = [
        {"name": f"models/{name}", "supportedGenerationMethods": ["generateContent"]} for name in names
    ]
    vectors = {"name": "models/vectors", "supportedGenerationMethods": ["embedContent"]}
    return raw(data({"models": [*speaking, vectors]})[6:], content_type="application/json")


async def test_the_providers_are_listed_with_the_default_first_and_the_demo_last(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(
        OTHER.format(name="mine", kind="openai", url="http://a/v1", more='model = "m"\napi_key = "sk-1"')
        + '[providers.home]\nkind = "ollama"\n'
    )
    async with calls(path) as client:
        answer = await client.call("GET", "/api/providers")
    assert answer.json == {
        "providers": [
            {"id": "mine", "name": "mine", "kind": "openai", "model": "m"},
            {"id": "home", "name": "home", "kind": "ollama", "model": ""},
            {"id": "demo", "name": "demo", "kind": "demo", "model": "demo"},
        ]
    }


async def test_a_broken_config_file_is_told_in_place_of_providers(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text("no toml")
    async with calls(path) as client:
        answer = await client.call("GET", "/api/providers")
    assert (answer.status, "not valid TOML" in answer.json["title"]) == (409, True)


@pytest.mark.parametrize("kind", KINDS, ids=str)
async def test_the_models_of_each_kind_are_named(kind: Kind, tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    async with FakeModelServer() as server, calls(path) as client:
        server.listing = google_list("a", "b") if kind.name == "google" else lists("a", "b", "a")
        url = f"http://127.0.0.1:{server.port}{kind.path}"
        path.write_text(OTHER.format(name="one", kind=kind.name, url=url, more='api_key = "sk-1"'))
        answer = await client.call("GET", "/api/providers/one/models")
        asked = server.requests[0]
    assert answer.json == {"models": [{"id": "a"}, {"id": "b"}]}
    assert "sk-1" in str(asked.headers)
    assert "sk-1" not in asked.path


@pytest.mark.parametrize(
    ("answer", "status", "title"),
    [
        (fails(401, "no"), 401, "wants a key"),
        (fails(403, "no"), 401, "wants a key"),
        (fails(404, "no"), 404, "no list of models"),
        (fails(429, "slow", Retry_After="3"), 429, "limits the rate of calls"),
        (fails(500, "boom"), 502, "server failed"),
        (raw(b"<html>"), 502, "gave no answer of"),
        (raw(b"[" * 100_000), 502, "gave no answer of"),
        (raw(b'{"data": 7}'), 502, "gave no answer of"),
        (Answer((b"{",), ending="cut"), 502, "cannot connect"),
    ],
)
async def test_a_list_that_does_not_come_says_what_to_do(
    answer: Answer, status: int, title: str, tmp_path: Path
) -> None:
    path = tmp_path / "config.toml"
    async with FakeModelServer() as server, calls(path) as client:
        server.listing = answer
        path.write_text(OTHER.format(name="one", kind="openai", url=server.url, more=""))
        told = await client.call("GET", "/api/providers/one/models")
        await server.until(lambda: server.open == 0)
    assert told.status == status
    assert title in told.json["title"]


async def test_a_list_without_end_and_one_that_never_comes_are_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote_calls, "MAX_FACT_BYTES", 10_000)
    path = tmp_path / "config.toml"
    async with FakeModelServer() as server, calls(path) as client:
        path.write_text(OTHER.format(name="one", kind="openai", url=server.url, more=""))
        server.listing = raw(*[b"x" * 1000] * 30)
        assert "too long" in (await client.call("GET", "/api/providers/one/models")).json["detail"]
        monkeypatch.setattr(listing, "LIST_SECONDS", 0.2)
        server.listing = Answer(ending="stall")
        assert "did not answer" in (await client.call("GET", "/api/providers/one/models")).json["title"]
        await server.until(lambda: server.open == 0)


async def test_names_that_a_terminal_would_obey_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    async with FakeModelServer() as server, calls(path) as client:
        server.listing = lists("good", "\x1b]0;evil\x07", "x" * 500, "\u202eback")
        path.write_text(OTHER.format(name="one", kind="openai", url=server.url, more=""))
        answer = await client.call("GET", "/api/providers/one/models")
    assert answer.json == {"models": [{"id": "good"}]}


async def test_a_provider_that_is_not_there_is_a_404_and_the_demo_offers_itself(tmp_path: Path) -> None:
    async with calls(tmp_path / "config.toml") as client:
        assert (await client.call("GET", "/api/providers/absent/models")).status == 404
        answer = await client.call("GET", "/api/providers/demo/models")
    assert answer.json == {"models": [{"id": "demo"}]}


async def test_a_test_lists_and_with_a_model_lets_it_speak(tmp_path: Path) -> None:
    async with FakeModelServer() as server, calls(tmp_path / "config.toml") as client:
        asked = {"kind": "openai", "base_url": server.url, "api_key": "sk-1"}
        listed = await client.call("POST", "/api/providers/test", asked)
        spoken = await client.call("POST", "/api/providers/test", {**asked, "model": "some-model"})
        server.will(fails(401, "the list is for everybody, words are not"))
        refused = await client.call("POST", "/api/providers/test", {**asked, "model": "some-model"})
        await server.until(lambda: server.open == 0)
    assert listed.json["models"] == spoken.json["models"] == [{"id": "some-model"}, {"id": "other-model"}]
    assert spoken.json["answer_seconds"] >= 0
    assert (refused.status, "refused the key" in refused.json["title"]) == (401, True)


@pytest.mark.parametrize(
    ("fields", "status", "word"),
    [
        ({}, 422, "kind"),
        ({"kind": "other"}, 422, "kind"),
        ({"kind": "openai"}, 422, "base_url"),
        ({"kind": "openai", "base_url": "ftp://x"}, 422, "base_url"),
        ({"kind": "ollama", "api_key": 7}, 422, "api_key"),
        ({"kind": "ollama", "api_key_env": "SURELY_NOT_SET_1"}, 409, "SURELY_NOT_SET_1"),
    ],
)
async def test_a_test_that_makes_no_sense_names_the_field(
    fields: dict[str, object], status: int, word: str, tmp_path: Path
) -> None:
    async with calls(tmp_path / "config.toml") as client:
        answer = await client.call("POST", "/api/providers/test", fields)
    assert answer.status == status
    assert word in answer.json["title"]
