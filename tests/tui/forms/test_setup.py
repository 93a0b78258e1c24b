"""Setting up a provider, with the keyboard alone, against calls and providers on real sockets."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import keyring
import pytest
from keyring.backends import fail, null
from rich.cells import cell_len
from starlette.applications import Starlette
from textual.app import App
from textual.pilot import Pilot
from textual.widgets import OptionList, Static

from agent_tui.backend.http.problem import ERROR_ANSWERS
from agent_tui.backend.http.providers import Providers
from agent_tui.backend.models.providers import Models
from agent_tui.clients.http import Net
from agent_tui.clients.rooms import RoomsClient
from agent_tui.config.file import load
from agent_tui.config.keys import keyring_fault
from agent_tui.config.presets import PRESETS, Preset
from tests.backend.served import served
from tests.fakes.agents.agent_sessions import KeptSessions
from tests.fakes.file_keyring import FileKeyring
from tests.fakes.models.model_server import Answer, FakeModelServer, fails, lists
from tui.forms.fields import Choice, Line
from tui.forms.setup import SetupScreen
from tui.found import FoundModels
from tui.language import LANGUAGES, speak
from tui.live.key_hints import Hints
from tui.screens.dialog import QuestionScreen

pytestmark = pytest.mark.slow


@asynccontextmanager
async def screen(
    path: Path,
    fault_of_keyring: str | Callable[[], str] = "",
    found: FoundModels | None = None,
    *,
    waits: bool = True,
) -> AsyncIterator[tuple[Pilot[None], SetupScreen, list[str | None]]]:
    """Give the screen in the smallest terminal, over the config file ``path``, and what it results in; with
    ``waits`` once all is done that it begins with.
    """
    models = Models(path, demo_rate=0, demo_seed=0, sessions=KeptSessions())
    results: list[str | None] = []
    app: App[None] = App()
    face = Starlette(routes=Providers(models).routes(), exception_handlers=ERROR_ANSWERS)
    async with served(face) as port, Net(f"http://127.0.0.1:{port}") as net:
        client = RoomsClient(net)

        async def opened() -> RoomsClient:
            return client

        async with app.run_test(size=(80, 24)) as pilot:
            fault = fault_of_keyring if callable(fault_of_keyring) else lambda: fault_of_keyring
            shown = SetupScreen(path, opened, fault_of_keyring=fault, found=found)
            await app.push_screen(shown, results.append)
            if waits:
                await settled(pilot)
            yield pilot, shown, results
    await models.aclose()


async def settled(pilot: Pilot[None], *keys: str) -> None:
    """Press keys and wait until what they began is done."""
    await pilot.press(*keys)
    await pilot.pause()
    while any(not worker.is_finished for worker in pilot.app.workers):  # one may begin another
        await pilot.app.workers.wait_for_complete()
        await pilot.pause()


def told(shown: SetupScreen) -> str:
    """Return the line under the form."""
    return str(shown.query_one("#telling", Static).content)


def heading(pilot: Pilot[None]) -> str:
    """Return the title of the list of models."""
    return str(pilot.app.screen.query_one(".title", Static).content)


def fill(shown: SetupScreen, **lines: str) -> None:
    """Type into lines."""
    for name, text in lines.items():
        shown.query_one(f"#{name}", Line).value = text


async def test_in_a_small_terminal_nothing_of_the_screen_below_is_seen_beside_it(tmp_path: Path) -> None:
    async with screen(tmp_path / "config.toml") as (_, shown, _):
        assert shown.query_one("#setup").region.width == 80


async def test_in_the_smallest_terminal_all_keys_are_seen_in_the_longest_language(tmp_path: Path) -> None:
    speak("ru")
    try:
        async with screen(tmp_path / "config.toml") as (pilot, shown, _):
            await pilot.resize_terminal(40, 11)  # in the program an edge is above it
            await pilot.pause()
            assert shown.query_one(Hints).region.bottom <= shown.query_one("#setup").content_region.bottom
    finally:
        speak("en")


async def test_an_endpoint_is_tested_a_model_chosen_and_both_are_saved_behind_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "config.toml"
    path.write_text('# mine\ntheme = "dark"\n')
    monkeypatch.setenv("MY_KEY", "sk-1")
    async with FakeModelServer() as server, screen(path) as (pilot, shown, results):
        fill(shown, address=server.url, variable="MY_KEY", name="local")
        await settled(pilot, "tab", "enter")
        assert "2 models found" in heading(pilot)
        await settled(pilot, "down", "enter")
        assert results == ["local"]
        assert server.requests[-1].body["model"] == "other-model"
    assert path.read_text().startswith('# mine\ntheme = "dark"\n')
    saved = load(path).providers["local"]
    assert (saved.kind, saved.base_url, saved.api_key_env, saved.model) == (
        "openai", server.url, "MY_KEY", "other-model",
    )  # fmt: skip


async def test_a_typed_key_goes_to_the_keyring_and_never_into_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "config.toml"
    monkeypatch.setenv("FILE_KEYRING", str(tmp_path / "ring.json"))
    before = keyring.get_keyring()
    keyring.set_keyring(FileKeyring())
    try:
        async with FakeModelServer() as server, screen(path) as (pilot, shown, results):
            fill(shown, address=server.url, key="sk-typed")
            await pilot.pause()
            await settled(pilot, "tab", "enter")
            await settled(pilot, "enter")
            assert results == ["local"]
    finally:
        keyring.set_keyring(before)
    assert json.loads((tmp_path / "ring.json").read_text()) == {"agent-tui/local": "sk-typed"}
    assert "sk-typed" not in path.read_text()
    assert load(path).providers["local"].keyring


async def test_a_wrong_key_is_said_and_nothing_is_saved(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    async with FakeModelServer() as server, screen(path) as (pilot, shown, results):
        server.listing = fails(401, "bad key")
        fill(shown, address=server.url, variable="", key="sk-wrong")
        await settled(pilot, "tab", "enter")
        assert "refused the key" in told(shown)
        await settled(pilot, "escape")
        assert isinstance(pilot.app.screen, QuestionScreen)  # a key was typed
        await settled(pilot, "y")
        assert results == [None]
    assert not path.exists()


async def test_saving_without_a_test_is_possible_and_says_so(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    async with screen(path) as (pilot, shown, results):
        fill(shown, address="http://127.0.0.1:9/v1", variable="")
        await settled(pilot, "f2")
        assert results == ["local"]
        (notice,) = pilot.app._notifications
        assert notice.message.endswith("not tested · no model chosen: agent-tui models setup chooses one")
    assert load(path).providers["local"].base_url == "http://127.0.0.1:9/v1"


async def test_a_test_says_for_how_long_it_has_been_running(tmp_path: Path) -> None:
    async with FakeModelServer() as server, screen(tmp_path / "config.toml") as (pilot, shown, _):
        server.listing, now = Answer(ending="stall"), 100.0
        shown.now = lambda: now
        fill(shown, address=server.url)
        await pilot.press("enter")
        await server.until(lambda: server.open == 1)
        now += 4.2
        shown.look()
        assert told(shown) == f"testing {server.url} … 4 s"
        await pilot.press("escape")
        shown.look()
        assert told(shown) == "test stopped"


@pytest.mark.parametrize(
    ("address", "location", "said"),
    [
        ("http://[::1", "", "this address cannot be used: an address looks like http://HOST:PORT/v1"),
        ("", "https://other.example/v1", "Is that the address to use?"),
    ],
)
async def test_what_is_wrong_with_an_address_calls_it_as_the_form_does(
    tmp_path: Path, address: str, location: str, said: str
) -> None:
    async with FakeModelServer() as server, screen(tmp_path / "config.toml") as (pilot, shown, _):
        server.listing = fails(302, "", Location=location)
        fill(shown, address=address or server.url)
        await settled(pilot, "enter")
        assert said in told(shown)
        assert "base_url" not in told(shown)


async def test_a_test_that_takes_long_is_stopped_by_esc_and_by_what_is_written_meanwhile(
    tmp_path: Path,
) -> None:
    path = tmp_path / "config.toml"
    async with FakeModelServer() as server, screen(path) as (pilot, shown, results):
        server.listing = Answer(ending="stall")
        fill(shown, address=server.url, variable="")
        await pilot.press("enter")
        await pilot.pause()
        await server.until(lambda: server.open == 1)
        assert told(shown).startswith("testing ")
        await pilot.press("escape")
        await pilot.pause()
        assert told(shown) == "test stopped"
        assert pilot.app.screen is shown
        await pilot.press("enter")
        await server.until(lambda: len(server.requests) == 2)
        await pilot.press("tab", "1")  # it is another address now
        await pilot.pause()
        assert told(shown) == "test stopped"
        await pilot.press("escape", "y")
        assert results == [None]


async def test_a_name_that_is_taken_is_refused_with_the_reason(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text('[providers.local]\nkind = "ollama"\n')
    async with screen(path) as (pilot, shown, results):
        fill(shown, name="local")
        await settled(pilot, "f2")
        complaint = str(shown.query_one("#field-name .complaint", Static).content)
        assert "already has a provider called local" in complaint
        assert not results


KEPT = """\
# mine
[providers.first]
kind = "ollama"   # at home

[providers.local]
kind = "openai"
base_url = "URL"  # the big one
api_key = "sk-kept"
model = "other-model"
max_tokens = 900

[screen]
mouse = false
"""


def choice(shown: SetupScreen, name: str) -> str:
    return str(shown.query_one(f"#{name}", Choice).content)


async def test_a_provider_that_is_there_is_changed_and_its_key_is_kept_but_never_shown(
    tmp_path: Path,
) -> None:
    path = tmp_path / "config.toml"
    async with FakeModelServer() as server:
        path.write_text(KEPT.replace("URL", server.url))
        async with screen(path) as (pilot, shown, results):
            await settled(pilot, "right", "right")
            assert "edit local" in choice(shown, "which")
            assert shown.query_one("#address", Line).value == server.url
            assert shown.query_one("#key", Line).value == ""
            assert shown.query_one("#key", Line).placeholder.startswith("saved")
            assert shown.query_one("#name", Line).disabled
            await settled(pilot, "tab", "enter")
            assert pilot.app.screen.query_one(OptionList).highlighted == 1  # the model it has
            await settled(pilot, "up", "enter")
            assert results == ["local"]
            assert server.requests[-1].headers["authorization"] == "Bearer sk-kept"
        assert path.read_text() == KEPT.replace("URL", server.url).replace('"other-model"', '"some-model"')


async def test_a_new_key_takes_the_place_of_the_kept_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "config.toml"
    path.write_text(KEPT.replace("URL", "http://127.0.0.1:9/v1"))
    monkeypatch.setenv("FILE_KEYRING", str(tmp_path / "ring.json"))
    before = keyring.get_keyring()
    keyring.set_keyring(FileKeyring())
    try:
        async with screen(path) as (pilot, shown, results):
            await settled(pilot, "left")
            fill(shown, key="sk-new")
            await settled(pilot, "f2")
            assert results == ["local"]
        async with screen(path) as (pilot, shown, results):
            await settled(pilot, "left")
            assert shown.query_one("#key", Line).placeholder.startswith("saved")
            await settled(pilot, "f8")
            await settled(pilot, "y")
            assert any("removed from" in one.message for one in pilot.app._notifications)
            assert "new" in choice(shown, "which")
            await settled(pilot, "escape")
            assert results == [None]
    finally:
        keyring.set_keyring(before)
    assert json.loads((tmp_path / "ring.json").read_text()) == {"agent-tui/local": None}
    assert path.read_text() == (
        '# mine\n[providers.first]\nkind = "ollama"   # at home\n\n[screen]\nmouse = false\n'
    )


async def test_a_provider_is_removed_only_when_that_is_meant(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    kept = KEPT.replace("URL", "http://127.0.0.1:9/v1")
    path.write_text(kept)
    async with screen(path) as (pilot, shown, _):
        await settled(pilot, "f8")
        assert "choose an existing provider" in told(shown)
        await settled(pilot, "right", "f8")
        assert isinstance(pilot.app.screen, QuestionScreen)
        await settled(pilot, "escape")
    assert path.read_text() == kept


async def test_going_back_to_a_new_one_empties_the_form(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(KEPT.replace("URL", "http://somebody:secret@127.0.0.1:9/v1"))
    async with screen(path) as (pilot, shown, _):
        await settled(pilot, "left")
        assert shown.query_one("#address", Line).value == "http://127.0.0.1:9/v1"
        await settled(pilot, "f2")
    assert "somebody:secret@" in path.read_text()
    async with screen(path) as (pilot, shown, _):
        await settled(pilot, "left", "right")
        assert shown.query_one("#name", Line).placeholder == "default: openai"
        assert not shown.query_one("#name", Line).disabled


async def test_what_is_wrong_stands_below_its_field_which_has_the_focus(tmp_path: Path) -> None:
    async with screen(tmp_path / "config.toml") as (pilot, shown, results):
        fill(shown, variable="not a variable", name="имя")
        await settled(pilot, "f2")
        assert "a variable's name has" in str(shown.query_one("#field-variable .complaint", Static).content)
        assert shown.query_one("#variable").has_focus
        fill(shown, variable="")
        await settled(pilot, "f2")
        assert shown.query_one("#name").has_focus
        assert results == []


async def test_esc_goes_back_at_once_where_only_the_kind_was_looked_through(tmp_path: Path) -> None:
    async with screen(tmp_path / "config.toml") as (pilot, _, results):
        await settled(pilot, "right", "right", "escape")
        assert results == [None]


async def test_without_a_keyring_that_is_said_before_a_key_is_typed_and_the_file_keeps_it_for_its_owner_alone(
    tmp_path: Path,
) -> None:
    path = tmp_path / "config.toml"
    path.write_text('theme = "dark"\n')
    path.chmod(0o644)
    async with FakeModelServer() as server, screen(path, "it is off") as (pilot, shown, results):
        assert "which only you can read" in shown.query_one("#key", Line).placeholder
        assert shown.query_one("#key", Line).placeholder.startswith("saved in the config file")
        fill(shown, address=server.url, key="sk-typed")
        await pilot.pause()
        await settled(pilot, "tab", "enter")
        await settled(pilot, "enter")
        assert results == ["local"]
        assert server.requests[-1].headers["authorization"] == "Bearer sk-typed"
    assert path.stat().st_mode & 0o777 == 0o600
    saved = load(path)
    assert (saved.providers["local"].api_key, saved.providers["local"].keyring) == ("sk-typed", False)
    assert (saved.theme, saved.warnings) == ("dark", ())
    assert os.listdir(tmp_path) == ["config.toml"]  # noqa: PTH208 - in an async test


@pytest.mark.parametrize("language", LANGUAGES)
async def test_in_a_small_terminal_it_is_said_whole_where_a_key_is_kept(
    tmp_path: Path, language: str
) -> None:
    speak(language)
    try:
        async with screen(tmp_path / "config.toml", "it is off") as (_, shown, _):
            line = shown.query_one("#key", Line)
            assert cell_len(line.placeholder) <= line.content_size.width
    finally:
        speak("en")


async def test_a_key_that_was_in_the_keyring_moves_to_the_file_where_there_is_no_keyring(
    tmp_path: Path,
) -> None:
    path = tmp_path / "config.toml"
    path.write_text('[providers.local]\nkind = "ollama"\nkeyring = true\n')
    async with screen(path, "it is switched off") as (pilot, shown, results):
        await settled(pilot, "right")
        fill(shown, key="sk-new")
        await settled(pilot, "f2")
        assert results == ["local"]
    saved = load(path).providers["local"]
    assert (saved.api_key, saved.keyring) == ("sk-new", False)


def test_a_system_without_a_keyring_says_so_and_one_with_a_keyring_says_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FILE_KEYRING", str(tmp_path / "ring.json"))
    before = keyring.get_keyring()
    try:
        for ring, fault in (
            (FileKeyring(), ""),
            (fail.Keyring(), "this system's keyring cannot be used"),  # type: ignore[no-untyped-call]
            (null.Keyring(), "it is switched off"),  # type: ignore[no-untyped-call]
        ):
            keyring.set_keyring(ring)
            assert keyring_fault() == fault
    finally:
        keyring.set_keyring(before)


async def test_of_a_gateway_without_a_list_a_models_name_is_typed_tested_and_saved(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    async with FakeModelServer() as server, screen(path) as (pilot, shown, results):
        server.listing = fails(404, "Not Found")
        fill(shown, address=server.url, variable="")
        await settled(pilot, "tab", "enter")
        assert "no list of models at" in heading(pilot)
        assert "Type the name of a model" in heading(pilot)
        assert heading(pilot).endswith(" (it often ends in /v1)?")
        title = pilot.app.screen.query_one(".title", Static)
        assert title.region.height == 2  # all of it is seen
        assert title.region.right <= 80
        await settled(pilot, *"my-model", "enter")
        assert results == ["local"]
        assert server.requests[-1].body["model"] == "my-model"
    assert load(path).providers["local"].model == "my-model"


async def test_a_model_that_is_not_in_the_list_can_be_typed_too(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    async with FakeModelServer() as server, screen(path) as (pilot, shown, results):
        fill(shown, address=server.url, variable="")
        await settled(pilot, "tab", "enter")
        server.will(fails(404, "there is no such model"))
        await settled(pilot, *"hidden", "enter")
        assert "no such model" in told(shown)
        await settled(pilot, "enter")
        await settled(pilot, *"hidden", "enter")
        assert results == ["local"]
    assert load(path).providers["local"].model == "hidden"


async def test_a_model_is_tested_with_the_call_that_a_chat_makes_and_what_it_refuses_is_said(
    tmp_path: Path,
) -> None:
    path = tmp_path / "config.toml"
    async with FakeModelServer() as server, screen(path) as (pilot, shown, results):
        fill(shown, address=server.url, variable="")
        await settled(pilot, "tab", "enter")
        server.will(fails(400, "some-model does not support tools"))
        await settled(pilot, "enter")
        with_tools, without = (request.body for request in server.requests if request.method == "POST")
        assert with_tools["tools"]
        assert "tools" not in without
        assert results == ["local"]
        assert any("this model cannot use tools" in notice.message for notice in pilot.app._notifications)


# --- what is known, and what is found here -----------------------------------------------------------------


@pytest.mark.parametrize("preset", PRESETS.values(), ids=list(PRESETS))
async def test_each_provider_that_people_know_fills_in_where_it_is_and_what_holds_its_key(
    tmp_path: Path, preset: Preset
) -> None:
    path = tmp_path / "config.toml"
    async with screen(path) as (pilot, shown, results):
        while shown.query_one("#kind", Choice).value != preset.id:
            await pilot.press("right")
        await settled(pilot, "f2")
        assert results == [preset.id]
    saved = load(path).providers[preset.id]
    assert (saved.kind, saved.base_url, saved.api_key_env) == (
        preset.kind,
        preset.base_url,
        preset.variable,
    )


async def test_a_server_that_was_found_is_set_up_with_one_key(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    async with FakeModelServer() as server:
        found = FoundModels(PRESETS["llamacpp"], server.url, models=2)
        async with screen(path, "it is switched off", found=found) as (pilot, _, results):
            assert pilot.app.screen.query_one(OptionList).option_count == 2
            await settled(pilot, "enter")
            assert results == ["llamacpp"]
        async with screen(tmp_path / "other.toml", found=found) as (pilot, _, results):
            await settled(pilot, "escape")
            assert results == [None]
    saved = load(path).providers["llamacpp"]
    assert (saved.kind, saved.base_url, saved.model) == ("openai", server.url, "some-model")
    assert (saved.api_key, saved.api_key_env) == ("", "")


async def test_a_provider_whose_key_was_found_in_the_environment_is_set_up_with_one_key_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GROQ_API_KEY", "sk-in-the-environment")
    path = tmp_path / "config.toml"
    async with FakeModelServer() as server:
        found = FoundModels(PRESETS["groq"], server.url, "GROQ_API_KEY")
        async with screen(path, "it is switched off", found=found) as (pilot, _, results):
            assert pilot.app.screen.query_one(OptionList).option_count == 2
            await settled(pilot, "enter")
            assert results == ["groq"]
    saved = load(path).providers["groq"]
    assert (saved.api_key_env, "sk-in-the" in path.read_text()) == ("GROQ_API_KEY", False)


async def test_a_server_that_was_found_and_is_gone_gets_its_form(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    found = FoundModels(PRESETS["llamacpp"], "http://127.0.0.1:9/v1", models=2)
    async with screen(path, found=found) as (pilot, shown, results):
        assert "cannot connect" in told(shown)
        assert shown.query_one("#address", Line).value == "http://127.0.0.1:9/v1"
        await settled(pilot, "escape")
        assert results == [None]


async def test_the_test_of_a_server_that_was_found_is_stopped_by_esc(tmp_path: Path) -> None:
    async with FakeModelServer() as server:
        server.listing = Answer(ending="stall")
        found = FoundModels(PRESETS["llamacpp"], server.url, models=2)
        async with screen(tmp_path / "config.toml", found=found, waits=False) as (pilot, shown, results):
            await server.until(lambda: server.open == 1)
            await settled(pilot, "escape")
            assert told(shown) == "test stopped"
            await settled(pilot, "escape")
            assert results == [None]


async def test_models_that_answer_nobody_come_last(tmp_path: Path) -> None:
    async with FakeModelServer() as server:
        server.listing = lists("nomic-embed-text:latest", "qwen3:8b", "bge-m3", "gemma3")
        found = FoundModels(PRESETS["ollama"], server.url, models=4)
        async with screen(tmp_path / "config.toml", found=found) as (pilot, _, results):
            offered = pilot.app.screen.query_one(OptionList)
            names = [str(option.prompt) for option in offered.options]
            assert names == ["qwen3:8b", "gemma3", "nomic-embed-text:latest", "bge-m3"]
            await settled(pilot, "enter")
            assert results == ["ollama"]


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("http://127.0.0.1:5000/v1", "local"),
        ("http://localhost:5000/v1", "local"),
        ("http://[::1]:5000/v1", "local"),
        ("http://127.0.0.1:1234/v1", "lmstudio"),
        ("https://api.groq.com/openai/v1", "groq"),
        ("http://10.0.0.7/v1", "10-0-0-7"),
        ("https://models.example.com/v1", "models-example-com"),
        ("https://api.openai.com/v1", "openai"),
        ("http://[", "openai"),
    ],
)
async def test_a_server_that_was_typed_in_is_named_after_its_host(
    tmp_path: Path, address: str, name: str
) -> None:
    async with screen(tmp_path / "config.toml") as (pilot, shown, _):
        fill(shown, address=address)
        await pilot.pause()
        assert shown.query_one("#name", Line).placeholder == f"default: {name}"
        is_openai = address == PRESETS["openai"].base_url
        assert ("OPENAI_API_KEY" in shown.query_one("#variable", Line).placeholder) is is_openai


async def test_a_key_that_was_found_stays_in_its_variable_and_leaving_asks_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "config.toml"
    path.write_text('[providers.mine]\nkind = "openai"\nbase_url = "http://x.example"\n')
    monkeypatch.setenv("GOOGLE_API_KEY", "sk-secret")
    found = FoundModels(PRESETS["google"], PRESETS["google"].base_url, "GOOGLE_API_KEY")
    async with screen(path, found=found) as (pilot, _, results):
        await settled(pilot, "escape")
        assert results == [None]
    async with screen(path, found=found) as (pilot, _, results):
        await settled(pilot, "f2")
    assert load(path).providers["google"].api_key_env == "GOOGLE_API_KEY"
    assert "sk-secret" not in path.read_text()


async def test_the_longest_answer_is_set_where_the_provider_is(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    async with screen(path) as (pilot, shown, results):
        fill(shown, address="http://127.0.0.1:9/v1", name="local", limit="many")
        await settled(pilot, "f2")
        assert results == []
        complaint = shown.query_one("#field-limit .complaint", Static)
        assert "enter a number of tokens, or leave it empty" in str(complaint.content)
        fill(shown, limit="4000")
        await settled(pilot, "f2")
        assert results == ["local"]
    assert load(path).providers["local"].max_tokens == 4000
    async with screen(path) as (pilot, shown, results):
        await settled(pilot, "right")
        assert shown.query_one("#limit", Line).value == "4000"
        fill(shown, limit="")
        await settled(pilot, "f2")
    assert load(path).providers["local"].max_tokens is None
