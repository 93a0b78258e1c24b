"""Which model speaks for an agent, as the config file says at that moment."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from agent_tui.backend.models.model import TextPiece
from agent_tui.backend.models.providers import DEMO, Models
from agent_tui.config.file import load
from agent_tui.model.errors import ModelError
from tests.backend.models.talk import TASKS, ask
from tests.fakes.agents.agent_sessions import KeptSessions
from tests.fakes.models.model_server import FakeModelServer, fails

LOCAL = '[providers.local]\nkind = "openai"\nbase_url = "{url}"\nmodel = "small"\n'


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "config.toml"


@pytest_asyncio.fixture
async def models(path: Path) -> AsyncIterator[Models]:
    opened = Models(path, demo_rate=0, demo_seed=0, sessions=KeptSessions())
    yield opened
    await opened.aclose()


def write(path: Path, text: str, *, later: int = 0) -> None:
    """Write the file with a time of its own, so that a change is seen whatever the clock's grain."""
    path.write_text(text)
    path.chmod(0o600)
    time = 1_700_000_000 + later
    os.utime(path, (time, time))


async def first_words(models: Models, provider_id: str, model: str = "") -> str:
    speaker, _ = models.open(provider_id, model)
    async for piece in speaker.stream(ask(TASKS["en"])):
        if isinstance(piece, TextPiece):
            return piece.text
    return ""


async def test_without_a_file_the_demo_speaks(models: Models) -> None:
    assert models.default_provider() == DEMO == "demo"
    assert models.default_model(DEMO) == "demo"
    speaker, max_tokens = models.open(DEMO, "")
    assert speaker.name == "demo"
    assert max_tokens == 0


async def test_the_first_provider_of_the_file_is_the_default(models: Models, path: Path) -> None:
    write(
        path, LOCAL.format(url="http://a/v1") + '[providers.other]\nkind = "openai"\nbase_url = "http://b"\n'
    )
    assert models.default_provider() == "local"
    assert models.default_model("local") == "small"
    assert models.default_model("other") == "gpt-4"
    assert models.default_model("nobody") == "gpt-4"


def test_a_kind_without_a_model_of_last_resort_says_how_to_choose_one(models: Models, path: Path) -> None:
    path.write_text('[providers.near]\nkind = "ollama"\n')
    assert models.default_model("near") == ""
    with pytest.raises(ModelError, match="no model is chosen for near"):
        models.open("near", "")


async def test_only_a_provider_that_is_known_not_to_be_there_is_refused(models: Models, path: Path) -> None:
    models.check(DEMO)
    with pytest.raises(ModelError, match="no provider called 'local': only the demo is set up"):
        models.check("local")
    write(path, LOCAL.format(url="http://a/v1"))
    models.check("local")
    with pytest.raises(ModelError, match="the config file has: local, demo"):
        models.check("other")


async def test_while_the_file_is_broken_no_provider_is_the_default_and_only_the_demo_can_be_named(
    models: Models, path: Path
) -> None:
    write(path, LOCAL.format(url="http://a/v1"))
    assert models.default_provider() == "local"
    for later, (text, why) in enumerate(
        (
            ("[providers.local\n", r"config.toml: not valid TOML: .*line 1"),
            (LOCAL.format(url="http://a/v1") + "max_tokens = inf\n", "local.max_tokens: is too large"),
        ),
        1,
    ):
        write(path, text, later=later)
        models.check(DEMO)
        for asked in (
            models.default_provider,
            lambda: models.check("local"),
            lambda: models.open("local", ""),
        ):
            with pytest.raises(ModelError, match=why):
                asked()


async def test_an_agents_model_comes_first_then_the_providers(models: Models, path: Path) -> None:
    write(path, LOCAL.format(url="http://a/v1") + "max_tokens = 77\n")
    named, max_tokens = models.open("local", "large")
    assert (named.name, max_tokens) == ("large", 77)
    assert models.open("local", "")[0].name == "small"


async def test_the_demo_goes_on_beside_providers(models: Models, path: Path) -> None:
    write(path, LOCAL.format(url="http://a/v1"))
    assert (await first_words(models, DEMO)).strip()


async def test_a_provider_that_is_not_there_is_named_with_those_that_are(models: Models, path: Path) -> None:
    write(path, LOCAL.format(url="http://a/v1"))
    with pytest.raises(ModelError) as caught:
        models.open("cloud", "")
    assert "'cloud'" in caught.value.title
    assert "local, demo" in caught.value.detail
    assert not caught.value.retryable


async def test_a_missing_key_is_named_by_its_variable(
    models: Models, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(path, LOCAL.format(url="http://a/v1") + 'api_key_env = "LOCAL_KEY"\n')
    monkeypatch.delenv("LOCAL_KEY", raising=False)
    with pytest.raises(ModelError) as caught:
        models.open("local", "")
    assert "LOCAL_KEY" in caught.value.title
    monkeypatch.setenv("LOCAL_KEY", "sk-1")
    assert models.open("local", "")[0].name == "small"


async def test_the_key_of_the_environment_is_sent(
    models: Models, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCAL_KEY", "sk-environment")
    async with FakeModelServer() as server:
        write(path, LOCAL.format(url=server.url) + 'api_key_env = "LOCAL_KEY"\napi_key = "sk-file"\n')
        assert await first_words(models, "local") == "Hello "
        assert server.requests[0].headers["authorization"] == "Bearer sk-environment"
        assert server.requests[0].body["model"] == "small"
        await models.aclose()


@pytest.mark.parametrize(("value", "whence"), [("sk-1", "LOCAL_KEY"), ("", "providers.local.api_key")])
async def test_a_refused_key_is_named_by_where_it_was_found(
    models: Models, path: Path, monkeypatch: pytest.MonkeyPatch, value: str, whence: str
) -> None:
    monkeypatch.setenv("LOCAL_KEY", value)
    async with FakeModelServer() as server:
        server.will(fails(401, "no"))
        write(path, LOCAL.format(url=server.url) + 'api_key_env = "LOCAL_KEY"\napi_key = "sk-file"\n')
        with pytest.raises(ModelError) as caught:
            await first_words(models, "local")
        assert caught.value.detail.endswith(f"The key comes from {whence}")
        await models.aclose()


async def test_no_repr_shows_a_key_or_a_login(models: Models, path: Path) -> None:
    write(path, LOCAL.format(url="http://me:pa55word@a/v1") + 'api_key = "sk-file"\n')
    speaker, _ = models.open("local", "")
    shown = repr((load(path), speaker, models, vars(models)))
    assert "local" in shown
    assert "pa55word" not in shown
    assert "sk-file" not in shown


async def test_the_file_is_read_again_when_it_changed(models: Models, path: Path) -> None:
    assert models.default_provider() == DEMO
    write(path, LOCAL.format(url="http://a/v1"))
    assert models.default_provider() == "local"
    write(path, LOCAL.format(url="http://a/v1").replace("small", "large"), later=1)
    assert models.default_model("local") == "large"
    write(path, "", later=2)
    assert models.default_provider() == DEMO


async def test_the_file_is_not_read_again_when_it_did_not_change(models: Models, path: Path) -> None:
    write(path, LOCAL.format(url="http://a/v1"))
    assert models.default_model("local") == "small"
    write(path, LOCAL.format(url="http://a/v1").replace("small", "large"))  # same size, same time
    assert models.default_model("local") == "small"


async def test_a_file_that_broke_stops_providers_but_not_the_demo(models: Models, path: Path) -> None:
    write(path, LOCAL.format(url="http://a/v1"))
    assert models.default_provider() == "local"
    write(path, '[providers.local]\nkind = "openai"\n', later=1)
    with pytest.raises(ModelError) as caught:
        models.open("local", "")
    assert str(path) in caught.value.title
    assert "base_url" in caught.value.title
    assert models.default_model("local") == "small"
    assert (await first_words(models, DEMO)).strip()
    write(path, LOCAL.format(url="http://a/v1"), later=2)
    assert models.open("local", "")[0].name == "small"


async def test_a_file_broken_from_the_start_has_no_default_provider(models: Models, path: Path) -> None:
    write(path, "not toml at all [")
    with pytest.raises(ModelError, match="not valid TOML"):
        models.default_provider()
    with pytest.raises(ModelError, match="not valid TOML"):
        models.open("local", "")


async def test_models_of_one_provider_share_its_connections(models: Models, path: Path) -> None:
    async with FakeModelServer() as server:
        write(path, LOCAL.format(url=server.url))
        for name in ("one", "two"):
            speaker, _ = models.open("local", name)
            assert [piece async for piece in speaker.stream(ask(TASKS["en"]))]
        assert server.connections == 1
        await models.aclose()


async def test_a_turn_under_way_outlives_a_change_of_its_provider(models: Models, path: Path) -> None:
    async with FakeModelServer() as server:
        write(path, LOCAL.format(url=server.url))
        speaker, _ = models.open("local", "")
        stream = speaker.stream(ask(TASKS["en"]))
        assert await anext(stream) == TextPiece("Hello ")
        write(path, LOCAL.format(url=server.url + "/other"), later=1)
        assert models.open("local", "")[0].name == "small"
        assert await anext(stream) == TextPiece("there.")
        assert [piece async for piece in stream]
        await models.aclose()


async def test_without_a_path_it_is_the_users_own_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(path, LOCAL.format(url="http://a/v1"))
    monkeypatch.setenv("AGENT_TUI_CONFIG", str(path))
    assert Models(None, demo_rate=0, demo_seed=0, sessions=KeptSessions()).default_provider() == "local"
