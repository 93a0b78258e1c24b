"""A script is never answered by the demo model in place of a provider that was meant."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tui.programs import Home, finish, home_at, one_line, own_environ, served

TASK = ("--task", "Which tea?", "--rounds", "1")
ASKING = (
    ("ask", "Which tea?"),
    ("rooms", "run", *TASK),
    ("rooms", "new", *TASK),
    ("rooms", "list"),
    ("conversations", "list"),
)
BROKEN = '[providers.local]\nkind = "openai"\nmodel = smollm2\n'
DEMO_TOLD = "the demo model would answer, but nothing names it"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    with home_at(tmp_path_factory.mktemp("home"), begun=True) as found:
        yield found


@pytest.mark.parametrize("command", ASKING, ids=" ".join)
def test_a_broken_config_file_is_one_line_that_names_the_file_and_the_place(
    command: tuple[str, ...], tmp_path: Path
) -> None:
    home = Home(tmp_path, own_environ(tmp_path))  # no backend is started
    home.config.write_text(BROKEN)
    ran = home.main(*command)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert one_line(ran.stderr).startswith(f"{home.config}: not valid TOML: ")
    assert "line 3" in ran.stderr
    assert not home.data.exists()


@pytest.mark.parametrize("place", ["AGENT_TUI_CONFIG", "XDG_CONFIG_HOME"])
def test_a_misspelt_table_of_providers_is_not_answered_by_the_demo_model(place: str, tmp_path: Path) -> None:
    home = Home(tmp_path, own_environ(tmp_path))  # no backend is started
    file = home.config if place == "AGENT_TUI_CONFIG" else tmp_path / "agent-tui" / "config.toml"
    file.parent.mkdir(exist_ok=True)
    file.write_text('[provider.local]\nkind = "ollama"\n')
    named = {} if place == "AGENT_TUI_CONFIG" else {"AGENT_TUI_CONFIG": "", place: str(tmp_path)}
    for command in (*ASKING, ("config", "check")):
        ran = home.main(*command, **named)
        assert (ran.returncode, ran.stdout) == (2, "")
        assert one_line(ran.stderr).startswith(f"{file}: provider: no such table")


def test_a_config_file_that_breaks_while_the_backend_runs_stops_every_command_and_call(
    tmp_path: Path,
) -> None:
    with home_at(tmp_path) as home:
        asked = home.main("ask", "Which tea?")  # the backend runs from here on
        assert asked.returncode == 0
        room_id = home.new_room("Which tea?", max_rounds=1)
        home.config.write_text(BROKEN)
        for command in (*ASKING, ("rooms", "run", room_id)):
            ran = home.main(*command)
            assert (ran.returncode, ran.stdout) == (2, "")
            assert "not valid TOML" in one_line(ran.stderr)
        for path, body in (("/api/rooms", {"task": "Which tea?"}), ("/api/conversations", {})):
            refused = home.api("POST", path, body)
            assert (refused["status"], f"{home.config}: not valid TOML" in refused["detail"]) == (422, True)
        named = home.api("POST", "/api/rooms", {"task": "T", "provider_id": "demo"})["id"]
        assert {room["id"] for room in home.api("GET", "/api/rooms")["rooms"]} == {room_id, named}


def test_a_server_does_not_start_with_a_broken_config_file(tmp_path: Path) -> None:
    home = Home(tmp_path, own_environ(tmp_path))
    home.config.write_text(BROKEN)
    serve = home.start("serve", "--no-token", "--database", f"sqlite:///{tmp_path / 'a.db'}")
    out, err = finish(serve)
    assert (serve.returncode, out) == (2, "")
    assert "not valid TOML" in one_line(err)


def test_a_config_file_that_is_named_and_not_there_is_told_where_the_demo_model_speaks(home: Home) -> None:
    told = f"there is no file {home.config} (AGENT_TUI_CONFIG): the demo model answers"
    home.config.unlink(missing_ok=True)
    for command in ASKING[:3]:
        ran = home.main(*command)
        assert (ran.returncode, ran.stderr.splitlines().count(told)) == (0, 1)
        assert told not in home.main(*command, "--provider", "demo").stderr
    home.config.touch()
    assert told not in home.main(*ASKING[0]).stderr
    assert told not in home.main("rooms", "list").stderr


@pytest.mark.parametrize("command", ASKING[:3], ids=" ".join)
@pytest.mark.parametrize("how", ["option", "variable"])
def test_strict_refuses_the_demo_model_where_nothing_names_it(
    command: tuple[str, ...], how: str, home: Home
) -> None:
    before = home.api("GET", "/api/rooms")
    ran = home.main(*command, "--strict") if how == "option" else home.main(*command, AGENT_TUI_STRICT="1")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert one_line(ran.stderr).startswith(DEMO_TOLD)
    assert home.api("GET", "/api/rooms") == before


@pytest.mark.parametrize("command", ASKING[:3], ids=" ".join)
def test_strict_takes_the_demo_model_where_it_is_named(command: tuple[str, ...], home: Home) -> None:
    ran = home.main(*command, "--strict", "--provider", "demo")
    assert (ran.returncode, bool(ran.stdout)) == (0, True)


def test_strict_refuses_rooms_and_conversations_in_which_the_demo_model_speaks(home: Home) -> None:
    room_id = home.new_room("Which tea?", max_rounds=1)
    chat_id = home.api("POST", "/api/conversations", {"title": "Teas"})["id"]
    for command in (("rooms", "run", room_id), ("ask", "Which?", "--conversation", chat_id)):
        ran = home.main(*command, "--strict")
        assert (ran.returncode, ran.stdout) == (2, "")
        assert one_line(ran.stderr).startswith(DEMO_TOLD)
    assert home.room(room_id)["status"] == "idle"
    assert home.main("ask", "Which?", "--conversation", chat_id, "--strict", "--provider", "demo").stdout
    assert home.main("rooms", "run", room_id, "--strict", "--provider", "demo").returncode == 0
    assert home.main("rooms", "run", room_id, "--provider", "demo").returncode == 2


def test_strict_holds_for_another_server_too(tmp_path: Path) -> None:
    home = Home(tmp_path, own_environ(tmp_path))
    with served(home, "--demo-rate", "0") as (_, url):
        ran = home.main("ask", "Which tea?", "--strict", "--url", url)
    assert (ran.returncode, ran.stdout) == (2, "")


def test_the_provider_of_a_new_room_is_that_of_all_agents_that_name_none(tmp_path: Path) -> None:
    with home_at(tmp_path) as home:
        home.config.write_text(
            '[providers.one]\nkind = "ollama"\nmodel = "a"\n[providers.two]\nkind = "ollama"\nmodel = "b"\n'
        )
        for agents in ((), ("--agent", "Ada", "--agent", "Bob=c")):
            made = home.answer("rooms", "new", *TASK, *agents, "--provider", "two", "--output", "json")
            spoken = {(agent["provider_id"], agent["model"]) for agent in made["agents"]}
            assert spoken == {("two", "b"), *({("two", "c")} if agents else ())}
        unknown = home.main("rooms", "new", *TASK, "--provider", "three")
        assert (unknown.returncode, "no provider called 'three'" in unknown.stderr) == (2, True)
        there = home.main("rooms", "run", made["id"], "--provider", "two")
        assert (there.returncode, "--provider is for a new room" in there.stderr) == (2, True)
