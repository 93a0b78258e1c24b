"""Models that are here already: real servers on ports of the test, and keys in the environment."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from agent_tui.clients.nearby import MAX_ANSWER_BYTES
from agent_tui.config.presets import PRESETS, Preset, preset_of
from tests.fakes.servers.http_server import FakeServer, Reply, Request, Responder, answers
from tui.found import FoundModels, find, found_line, keys_in

MODELS = {"object": "list", "data": [{"id": "a"}, {"id": "b"}, {"id": "b"}, {"name": "c"}, "d"]}


def at(server: FakeServer, name: str = "llamacpp") -> Preset:
    return replace(PRESETS[name], base_url=f"{server.url}/v1")


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for preset in PRESETS.values():
        for variable in preset.variables:
            monkeypatch.delenv(variable, raising=False)


async def test_a_server_on_this_machine_is_found_with_the_number_of_its_models(tmp_path: Path) -> None:
    async with FakeServer() as server:
        server.on("GET", "/v1/models", answers(json.dumps(MODELS).encode()))
        (found,) = await find(tmp_path / "config.toml", [at(server), PRESETS["openai"]])
    assert (found.address, found.models, found.text) == (f"{server.url}/v1", 2, "llama.cpp (2 models)")
    assert [request.headers.get("authorization") for request in server.requests] == [None]


async def test_a_server_at_the_port_of_another_is_told_by_its_models(tmp_path: Path) -> None:
    async with FakeServer() as server:
        body = {"data": [{"id": "a", "owned_by": "vllm"}]}
        server.on("GET", "/v1/models", answers(json.dumps(body).encode()))
        (found,) = await find(tmp_path / "config.toml", [at(server)])
    assert found.text == "vLLM (1 model)"


@pytest.mark.parametrize(
    "respond",
    [
        answers(b"<html>hello</html>"),
        answers(b"[" * 100_000),
        answers(b'{"data": 3}'),
        answers(b"\xff\xfe\x00"),
        answers(b'{"data": [], "x": "' + b"y" * MAX_ANSWER_BYTES + b'"}'),
        answers(b"{}", 404),
        answers(b"", 302, {"Location": "http://127.0.0.1:9/elsewhere"}),
        answers(b"\x1f\x8b" * 50, 200, {"Content-Encoding": "gzip"}),
    ],
    ids=["page", "deep", "number", "bytes", "long", "missing", "moved", "packed"],
)
async def test_what_is_no_list_of_models_is_nothing(tmp_path: Path, respond: Responder) -> None:
    async with FakeServer() as server:
        server.on("GET", "/v1/models", respond)
        assert await find(tmp_path / "config.toml", [at(server)]) == []


async def test_a_server_that_never_ends_its_answer_holds_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agent_tui.clients.nearby.ASK_SECONDS", 0.1)

    async def respond(request: Request, reply: Reply) -> None:
        await reply.head(200, chunked=False)
        await reply.raw(b'{"data": [')
        await reply.stay()

    async with FakeServer() as server:
        server.on("GET", "/v1/models", respond)
        assert await find(tmp_path / "config.toml", [at(server)]) == []


async def test_a_proxy_of_the_environment_is_never_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with FakeServer() as server, FakeServer() as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        monkeypatch.setenv("ALL_PROXY", proxy.url)
        server.on("GET", "/v1/models", answers(json.dumps(MODELS).encode()))
        assert len(await find(tmp_path / "config.toml", [at(server)])) == 1
        assert proxy.accepted == 0


async def test_what_the_config_file_has_is_not_found_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "config.toml"
    monkeypatch.setenv("GROQ_API_KEY", "sk-secret")
    monkeypatch.setenv("MISTRAL_API_KEY", "sk-secret")
    async with FakeServer() as server:
        server.on("GET", "/v1/models", answers(json.dumps(MODELS).encode()))
        assert [one.preset.id for one in await find(path, [at(server)])] == ["llamacpp", "groq", "mistral"]
        path.write_text(
            f'[providers.mine]\nkind = "openai"\nbase_url = "http://localhost:{server.port}/v1"\n'
            '[providers.fast]\nkind = "openai"\nbase_url = "http://x.example"\napi_key_env = "GROQ_API_KEY"\n'
        )
        assert [one.preset.id for one in await find(path, [at(server)])] == ["mistral"]


def test_a_key_is_found_by_its_variable_and_never_read_out() -> None:
    found = keys_in({"GOOGLE_API_KEY": "sk-secret", "OPENAI_API_KEY": " ", "OTHER_API_KEY": "x"})
    assert [(one.preset.id, one.variable) for one in found] == [("google", "GOOGLE_API_KEY")]
    assert "secret" not in repr(found)


def test_the_line_names_three_or_what_fits_and_counts_the_others() -> None:
    some = [FoundModels(preset, preset.base_url, preset.variable) for preset in PRESETS.values()]
    keyed = [one for one in some if one.variable]
    assert str(found_line(keyed[:1], "o", 76)) == (
        "Found on this machine: OpenAI (key in OPENAI_API_KEY) – o uses it"
    )
    assert f"· {len(keyed) - 3} more – o chooses one" in str(found_line(keyed, "o", 200))
    named = str(found_line(keyed, "o", 100))
    assert (len(named) <= 100, f"· {len(keyed) - 1} more – o" in named) == (True, True)
    assert str(found_line(keyed, "o", 10)) == named  # one is always named


def test_at_eighty_columns_one_provider_and_its_key_stand_in_one_line() -> None:
    for preset in PRESETS.values():
        line = found_line([FoundModels(preset, preset.base_url, preset.variable, 12)], "o", 76)
        assert line.cell_length <= 76, line


@pytest.mark.parametrize(
    ("kind", "address", "preset"),
    [
        ("openai", "https://api.groq.com/openai/v1", "groq"),
        ("openai", "http://10.0.0.7/v1", "openai"),
        ("ollama", "http://10.0.0.7/v1", "ollama"),
        ("google", "https://generativelanguage.googleapis.com", "google"),
    ],
)
def test_a_provider_is_known_by_its_address(kind: str, address: str, preset: str) -> None:
    assert preset_of(kind, address).id == preset
