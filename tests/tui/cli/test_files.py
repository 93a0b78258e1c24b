"""Rooms from files and agents from templates, on the command line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tui.programs import Home, home_at, one_line, own_environ


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    """One backend for the whole module."""
    with home_at(tmp_path_factory.mktemp("files"), begun=True) as home:
        yield home


def test_a_room_file_makes_the_room_and_options_are_stronger(home: Home, tmp_path: Path) -> None:
    file = tmp_path / "room.toml"
    file.write_text(
        'task = "Which tea?"\nname = "filed"\nrounds = 2\nmode = "parallel"\nodd = 1\n'
        '[[agents]]\ntemplate = "critic"\n[[agents]]\nname = "Ada"\nprompt = "You like tea."\n',
        encoding="utf-8",
    )
    home.config.touch()
    done = home.main("rooms", "new", "--from", str(file), "--rounds", "5", "--output", "json")
    assert (done.returncode, done.stderr) == (0, f"{file}: odd: unknown key, ignored\n")
    room = json.loads(done.stdout)
    assert (room["name"], room["task"], room["execution_mode"]) == ("filed", "Which tea?", "parallel")
    assert room["max_rounds"] == 5
    critic, ada = room["agents"]
    assert (critic["name"], ada["name"], ada["system_prompt"]) == ("Critic", "Ada", "You like tea.")
    assert critic["system_prompt"].startswith("You are the critic")


def test_a_room_is_made_with_tools_and_their_folder(home: Home, tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    file = tmp_path / "room.toml"
    file.write_text('task = "Which tea?"\ntools = ["calculator"]\nworkspace = "work"\n', encoding="utf-8")
    done = home.main("rooms", "new", "--from", str(file), "--output", "json")
    room = json.loads(done.stdout)
    assert (room["enabled_tools"], room["workspace"]) == (["calculator"], str(tmp_path.resolve() / "work"))
    options = ["--tool", "read_file", "--tool", "search_files", "--workspace", str(tmp_path)]
    room = json.loads(home.main("rooms", "new", "--from", str(file), *options, "--output", "json").stdout)
    assert (room["enabled_tools"], room["workspace"]) == (
        ["read_file", "search_files"],
        str(tmp_path.resolve()),
    )
    done = home.main("rooms", "new", "--task", "T", "--workspace", str(tmp_path / "none"))
    assert (done.returncode, done.stdout) == (2, "")
    assert "workspace" in one_line(done.stderr)


@pytest.mark.parametrize(
    "command",
    ["rooms new --task T --tool read", "rooms run --task T --tool read", "rooms run tooled --tool read"],
)
def test_a_tool_that_is_not_there_makes_and_changes_no_room(home: Home, command: str) -> None:
    if "tooled" in command:
        home.new_room("T", name="tooled")
    rooms = home.api("GET", "/api/rooms")["rooms"]
    done = home.main(*command.split())
    assert (done.returncode, done.stdout) == (2, "")
    assert "there is no tool read" in one_line(done.stderr)
    assert home.api("GET", "/api/rooms")["rooms"] == rooms


def test_agents_come_from_templates_in_the_language_of_the_task(home: Home) -> None:
    chosen = ["--template", "critic", "--template", "tester", "--agent", "Ada=m1"]
    done = home.main("rooms", "new", "--task", "Какой чай лучше?", *chosen, "--output", "json")
    assert done.returncode == 0, done.stderr
    assert [agent["name"] for agent in json.loads(done.stdout)["agents"]] == ["Критик", "Тестировщик", "Ada"]


def test_an_argument_that_is_a_room_file_is_made_and_run(home: Home) -> None:
    file = home.folder / "run-me.toml"
    text = 'task = "Which tea?"\nname = "run from a file"\nrounds = 1\n[[agents]]\nname = "Ada"\n'
    file.write_text(text, encoding="utf-8")
    done = home.run("rooms", "run", "run-me.toml", "--output", "json")
    assert done.returncode == 0, done.stderr
    value = json.loads(done.stdout)
    assert (value["reason"], value["room"]["name"]) == ("completed", "run from a file")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("task = 3", "task: must be a string"),
        ("task = ", "not valid TOML"),
        ("name = 'no task'", "task: is missing"),
        ("task = 'T'\nrounds = 0", "rounds: must be a whole number from 1 to 1,000"),
        ("task = 'T'\nmode = 'both'", 'mode: is "both"; known: sequential, parallel'),
        ("task = 'T'\n[[agents]]\ntemplate = 'x'", 'agents[1].template: there is no template "x"; known: '),
    ],
)
def test_a_mistake_in_a_room_file_is_one_line_with_file_and_key(
    tmp_path: Path, text: str, complaint: str
) -> None:
    file = tmp_path / "room.toml"
    file.write_text(text, encoding="utf-8")
    for command in (["rooms", "new", "--from", str(file)], ["rooms", "run", str(file)]):
        done = Home(tmp_path, own_environ(tmp_path)).main(*command)
        assert (done.returncode, done.stdout) == (2, "")
        assert one_line(done.stderr).startswith(f"{file}: {complaint}")
    assert not (tmp_path / "data").exists()


def test_a_folder_that_is_not_there_is_complained_of_once(home: Home, tmp_path: Path) -> None:
    done = home.main("rooms", "new", "--task", "T", "--workspace", str(tmp_path / "nowhere"))
    assert (done.returncode, one_line(done.stderr).count("must be a folder that exists")) == (2, 1)


def test_a_shipped_template_becomes_a_file_to_edit_once(tmp_path: Path) -> None:
    home = Home(tmp_path, own_environ(tmp_path))
    done = home.main("rooms", "templates", "--keep", "critic")
    path = tmp_path / "agents" / "critic.toml"
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{path}\n", "")
    listed = json.loads(home.main("rooms", "templates", "--output", "json").stdout)["templates"]
    assert [template["id"] for template in listed if template["own"]] == ["critic"]
    assert set(next(template for template in listed if template["own"])["texts"]) == {"en", "zh", "ru"}
    path.write_text("[en\nname = 'half done'", encoding="utf-8")
    again = home.main("rooms", "templates", "--keep", "critic")
    assert (again.returncode, again.stdout) == (2, "")
    assert "your own already" in one_line(again.stderr)
    assert path.read_text(encoding="utf-8") == "[en\nname = 'half done'"


@pytest.mark.parametrize("template_id", ["nobody", "../critic", " ", "a\x1b[31mb"])
def test_a_template_that_is_not_there_is_not_kept(tmp_path: Path, template_id: str) -> None:
    home = Home(tmp_path, own_environ(tmp_path))
    done = home.main("rooms", "templates", "--keep", template_id)
    assert (done.returncode, done.stdout) == (2, "")
    assert "there is no template" in one_line(done.stderr)
    assert "\x1b" not in done.stderr
    assert not (tmp_path / "agents").exists()


def test_templates_are_listed_and_a_broken_one_of_the_users_is_one_line(tmp_path: Path) -> None:
    home = Home(tmp_path, own_environ(tmp_path))
    (tmp_path / "agents").mkdir()
    (tmp_path / "agents" / "mine.toml").write_text("[en]\nname = 'Mine'\nprompt = 'P'\n", encoding="utf-8")
    (tmp_path / "agents" / "broken.toml").write_text("[en", encoding="utf-8")
    done = home.main("rooms", "templates")
    assert done.returncode == 0
    assert done.stderr.count("\n") == 1
    assert "broken.toml" in done.stderr
    assert len(done.stdout.splitlines()) == 1 + 14 + 1
    listed = json.loads(home.main("rooms", "templates", "--output", "json").stdout)["templates"]
    (mine,) = [template for template in listed if template["own"]]
    assert mine["texts"] == {"en": {"name": "Mine", "summary": "", "prompt": "P"}}
    assert not (tmp_path / "data").exists()
