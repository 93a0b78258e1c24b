"""``agent-tui models`` with its own backend, against providers on real sockets."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.fakes.models.model_server import FakeModelServer, fails
from tests.fakes.servers.http_server import FakeServer, answers_json
from tests.fakes.servers.rooms_server import in_thread
from tests.tui.programs import Home, home_at, own_environ

MINE = '[providers.mine]\nkind = "openai"\nbase_url = "{url}"\nmodel = "some-model"\n'


def test_with_the_demo_alone_it_says_how_to_set_one_up(tmp_path: Path) -> None:
    with home_at(tmp_path) as home:
        ran = home.main("models")
    assert (ran.returncode, ran.stdout) == (0, "demo (demo): demo\n")
    # A server of models may be running on this machine.
    assert "agent-tui models setup" in ran.stderr or "Found on this machine" in ran.stderr


async def test_each_provider_has_its_line_and_one_that_fails_is_exit_code_4(tmp_path: Path) -> None:
    async with FakeModelServer() as server:
        with home_at(tmp_path) as home:
            home.config.write_text(MINE.format(url=server.url))
            good = await asyncio.to_thread(home.main, "models")
            server.listing = fails(401, "bad key")
            bad = await asyncio.to_thread(home.main, "models")
            told = await asyncio.to_thread(home.main, "models", "--output", "json")
    assert (good.returncode, good.stdout) == (
        0,
        "mine (openai): some-model, other-model\ndemo (demo): demo\n",
    )
    assert bad.returncode == told.returncode == 4
    assert "wants a key" in bad.stdout.splitlines()[0]
    mine, demo = json.loads(told.stdout)["providers"]
    assert (mine["models"], "wants a key" in mine["error"]) == ([], True)
    assert (demo["models"], demo["error"]) == (["demo"], "")


def test_a_server_that_names_no_providers_is_not_said_to_have_the_demo(tmp_path: Path) -> None:
    with in_thread(FakeServer()) as server:
        server.on("GET", "/api/providers", answers_json({"providers": []}))
        ran = Home(tmp_path, own_environ(tmp_path)).main("models", "--url", server.url)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "this server names no providers\n")


@pytest.mark.parametrize("answer", [{"rooms": 3}, None])
def test_an_answer_that_is_no_list_of_providers_is_a_failure(tmp_path: Path, answer: object) -> None:
    with in_thread(FakeServer()) as server:
        server.on("GET", "/api/providers", answers_json(answer))
        ran = Home(tmp_path, own_environ(tmp_path)).main("models", "--url", server.url)
    assert (ran.returncode, ran.stdout) == (4, "")
    assert ran.stderr == "agent-tui: the server's answer is not a list of providers\n"


def test_a_broken_config_file_is_wrong_configuration(tmp_path: Path) -> None:
    with home_at(tmp_path) as home:
        home.config.write_text("= 3\n")
        ran = home.run("models")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "not valid TOML" in ran.stderr


def test_setting_up_needs_a_terminal_and_this_machines_backend(tmp_path: Path) -> None:
    home = Home(tmp_path, own_environ(tmp_path))
    advice = "edit the file that agent-tui config path prints"
    assert home.main("models", "setup").stderr == f"agent-tui: a screen needs a terminal: {advice}\n"
    elsewhere = home.main("models", "setup", "--url", "http://127.0.0.1:9")
    assert (elsewhere.returncode, "backend of this machine" in elsewhere.stderr) == (2, True)


def test_what_is_here_but_not_set_up_is_named_without_its_key_and_not_used(tmp_path: Path) -> None:
    with home_at(tmp_path) as own:
        home = replace(own, environ={**own.environ, "GROQ_API_KEY": "geheim-1234"})
        ran = home.main("models")
        told = home.main("models", "--output", "json")
        examined = home.main("doctor", "--json")
    assert (ran.returncode, ran.stdout) == (0, "demo (demo): demo\n")
    assert "Groq (key in GROQ_API_KEY)" in ran.stderr
    assert "press o" in ran.stderr
    found = {one["key_variable"]: one for one in json.loads(told.stdout)["found"]}
    assert (found["GROQ_API_KEY"]["name"], found["GROQ_API_KEY"]["models"]) == ("groq", 0)
    (check,) = [one for one in json.loads(examined.stdout)["checks"] if one["id"] == "models.found"]
    assert (check["status"], "key in GROQ_API_KEY" in check["detail"]) == ("ok", True)
    assert "geheim" not in ran.stdout + ran.stderr + told.stdout + told.stderr + examined.stdout
