"""What ``records`` declares of a room's setting is what options, room files and exports take and write."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent_tui.model.events import RoomInfo
from agent_tui.model.settings import Setting, settings_of
from tests.fakes.settings import another, too_much
from tests.tui.programs import Home, home_at, one_line

SETTINGS = settings_of(RoomInfo).values()


def of_each(*, option: bool = False) -> pytest.MarkDecorator:
    found = [setting for setting in SETTINGS if setting.option or not option]
    return pytest.mark.parametrize("setting", found, ids=lambda setting: setting.name)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    with home_at(tmp_path_factory.mktemp("settings")) as home:
        yield home


def words(setting: Setting, value: Any) -> list[str]:
    """Return an option with its value as it is written on the command line."""
    if setting.type is bool:
        return [setting.option]
    return [setting.option, str(value[0] if setting.type is tuple else value)]


def made(home: Home, *arguments: str) -> Any:
    done = home.main("rooms", "new", *arguments, "--output", "json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@of_each(option=True)
def test_an_option_says_the_setting_of_a_new_room(home: Home, tmp_path: Path, setting: Setting) -> None:
    value = another(setting, tmp_path.resolve())
    task = [] if setting.required else ["--task", "Tea?"]
    assert made(home, *task, *words(setting, value))[setting.name] == value


@of_each(option=True)
def test_an_option_with_what_cannot_be_makes_no_room(home: Home, setting: Setting) -> None:
    if setting.type is not bool and (setting.choices or setting.type in (int, float)):
        wrong = "neither" if setting.choices else str(setting.type(setting.least) - 1)
        done = home.main("rooms", "new", "--task", "Tea?", setting.option, wrong)
        assert (done.returncode, done.stdout) == (2, "")
        assert setting.option in one_line(done.stderr)


@of_each(option=True)
def test_an_option_changes_a_room_that_is_there_or_is_refused_for_it(
    home: Home, tmp_path: Path, setting: Setting
) -> None:
    room_id = made(home, "--task", "Tea?", "--rounds", "1", "--agent", "Ada")["id"]
    value = another(setting, tmp_path.resolve())
    done = home.main("rooms", "run", room_id, *words(setting, value), "--output", "json")
    if setting.of_made:
        assert (
            json.loads(home.main("rooms", "show", room_id, "--output", "json").stdout)[setting.name] == value
        )
    else:
        assert done.returncode == 2
        assert one_line(done.stderr).startswith(f"{setting.option} is for a new room")


@of_each()
def test_a_room_file_says_the_setting_and_an_export_writes_it(
    home: Home, tmp_path: Path, setting: Setting
) -> None:
    value = another(setting, tmp_path.resolve())
    file = tmp_path / "room.toml"
    task = "" if setting.required else 'task = "Tea?"\n'
    file.write_text(f"{task}{setting.called} = {json.dumps(value)}\n", encoding="utf-8")
    if not setting.in_new:
        done = home.main("rooms", "new", "--from", str(file))
        assert f"{setting.called}: unknown key, ignored" in done.stderr
        return
    room = made(home, "--from", str(file))
    assert room[setting.name] == value
    text = home.main("rooms", "export", room["id"], "--format", "toml").stdout
    file.write_text(text, encoding="utf-8")
    assert f"\n{setting.called} = " in f"\n{text}"
    assert made(home, "--from", str(file))[setting.name] == value


@of_each()
def test_a_room_file_with_what_cannot_be_makes_no_room(home: Home, tmp_path: Path, setting: Setting) -> None:
    value = too_much(setting)
    if not setting.in_new or value is None or setting.is_folder:  # a folder is beside the file
        return
    file = tmp_path / "room.toml"
    file.write_text(
        f'task = "Tea?"\n{setting.called} = {json.dumps(value)}\n'.replace('task = "Tea?"\ntask', "task")
    )
    done = home.main("rooms", "new", "--from", str(file))
    assert (done.returncode in (2, 4, 6), done.stdout) == (True, "")
    assert setting.called in one_line(done.stderr) or setting.name in done.stderr
