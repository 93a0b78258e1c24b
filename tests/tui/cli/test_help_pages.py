"""The help pages against the parser: nothing forgotten, nothing promised that is not there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from agent_tui.model.records import RoomInfo
from agent_tui.model.settings import settings_of
from tui.cli.arguments import CONNECTION_OPTIONS, take_connection
from tui.cli.declared import COMMANDS, NEW_ROOM, ROOT
from tui.cli.pages import help_page
from tui.cli.tree import OPEN_ROOM, parser

OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
MAX_COLUMNS = 80
EVERYWHERE = {*CONNECTION_OPTIONS, "--help"}
# What the backend's own parser reads (agent_tui/backend/options.py); `serve` hands it on unread.
SERVE = {
    *("--host", "--port", "--database", "--token", "--token-file", "--no-token"),
    *("--demo-rate", "--demo-seed", "--no-resume", "--workspace"),
}


def commands(command: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    yield path, command
    for name, child in getattr(command, "commands", {}).items():
        if name != OPEN_ROOM:
            yield from commands(child, f"{path} {name}".strip())


TREE = dict(commands(parser()))
HELP = {path: help_page(path) for path in (ROOT, *COMMANDS)}


def options(path: str) -> set[str]:
    return {opt for param in TREE[path].params for opt in param.opts if opt.startswith("--")}


def test_every_command_has_its_page_and_every_page_its_command() -> None:
    assert set(HELP) == set(TREE)


def test_the_quick_look_knows_which_options_take_a_value() -> None:
    known = {
        (path, opt): not getattr(param, "is_flag", True)
        for path, command in TREE.items()
        for param in command.params
        for opt in param.opts
        if path and opt.startswith("-")
    }
    for (path, option), has_value in known.items():
        connection, rest = take_connection([*path.split(), option, "--url", "http://127.0.0.1:1"])
        assert (connection.url is None) == has_value, (path, option)
        assert (rest[-1] == "http://127.0.0.1:1") == has_value, (path, option)


def test_every_setting_of_a_room_that_has_an_option_is_declared_among_those_of_a_new_room() -> None:
    declared = {option.name for option in NEW_ROOM if option.setting}
    assert declared == {setting.option for setting in settings_of(RoomInfo).values()} - {""}


@pytest.mark.parametrize("path", sorted(HELP))
def test_a_page_names_the_options_of_its_command_and_no_others(path: str) -> None:
    named = set(OPTION.findall(HELP[path])) - EVERYWHERE
    if path == "rooms resume":  # points at an option of its neighbour
        named -= {"--keep-running"}
    known = SERVE if path == "serve" else options(path)
    if not path:  # answered before the commands are looked at
        known = known | {"--install-completion", "--show-completion"}
    assert named == known - EVERYWHERE


@pytest.mark.parametrize("path", sorted(HELP))
def test_a_page_begins_with_its_usage_and_fits_a_terminal(path: str) -> None:
    lines = HELP[path].splitlines()
    assert lines[0].startswith(f"Usage: agent-tui {path}".rstrip())
    assert max(map(len, lines)) <= MAX_COLUMNS
    assert HELP[path].endswith("\n")
    assert not HELP[path].endswith("\n\n")
