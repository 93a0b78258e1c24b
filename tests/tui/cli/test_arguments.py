"""The command line before any heavy import."""

from __future__ import annotations

import pytest

from agent_tui.model.errors import ConfigError
from tui.cli.arguments import Connection, ScreenArguments, help_page, screen_arguments, take_connection


@pytest.mark.parametrize(
    "arguments",
    [
        ["--url", "http://a", "rooms", "list"],
        ["rooms", "--url", "http://a", "list"],
        ["rooms", "list", "--url", "http://a"],
        ["rooms", "list", "--url=http://a"],
    ],
)
def test_the_server_may_be_named_at_every_level(arguments: list[str]) -> None:
    assert take_connection(arguments) == (Connection(url="http://a"), ["rooms", "list"])


def test_all_three_options_are_taken_and_the_last_of_each_counts() -> None:
    arguments = ["--token=t", "--url", "http://a", "rooms", "--backend", "b", "--url", "http://b"]
    assert take_connection(arguments) == (Connection("http://b", "t", "b"), ["rooms"])


def test_nothing_is_taken_behind_two_dashes() -> None:
    arguments = ["rooms", "--", "--url", "http://a"]
    assert take_connection(arguments) == (Connection(), arguments)


def test_the_options_of_serve_are_its_own() -> None:
    arguments = ["serve", "--token", "t", "--port", "1"]
    assert take_connection(arguments) == (Connection(), arguments)


def test_the_value_of_another_option_is_never_taken_for_one() -> None:
    arguments = ["rooms", "new", "--task", "--url", "--name", "--token=x"]
    assert take_connection(arguments) == (Connection(), arguments)


@pytest.mark.parametrize("arguments", [["--url"], ["--url="], ["rooms", "--token", ""], ["--backend"]])
def test_an_option_without_its_value_is_wrong_usage(arguments: list[str]) -> None:
    with pytest.raises(ConfigError, match="needs a value"):
        take_connection(arguments)


def test_a_token_never_shows_in_what_is_logged() -> None:
    assert "geheim" not in repr(Connection(token="geheim"))


@pytest.mark.parametrize(
    ("rest", "asked"),
    [
        ([], ScreenArguments(home=True)),
        (["rooms"], ScreenArguments()),
        (["rooms", "my-room"], ScreenArguments("my-room")),
        (["rooms", "--", "list"], ScreenArguments("list")),
        (["rooms", "--", "--odd"], ScreenArguments("--odd")),
        (["rooms", "--plain", "--", "list"], ScreenArguments("list", is_plain=True)),
        (["rooms", "--", "--plain"], ScreenArguments("--plain")),
        (["chat"], ScreenArguments(chat="")),
        (["chat", "--new"], ScreenArguments(chat="", is_new=True)),
        (["chat", "last week"], ScreenArguments(chat="last week")),
        (["chat", "--", "--new"], ScreenArguments(chat="--new")),
    ],
)
def test_these_command_lines_ask_for_a_screen(rest: list[str], asked: ScreenArguments) -> None:
    assert screen_arguments(rest) == asked


@pytest.mark.parametrize(
    "rest",
    [
        ["rooms", "list"],
        ["rooms", "run"],
        ["rooms", ""],
        ["rooms", "-x"],
        ["rooms", "a", "b"],
        ["chat", " "],
        ["chat", "-x"],
        ["chat", "--new", "a"],
        ["chat", "--help"],
        ["serve"],
        ["nonsense"],
    ],
)
def test_these_do_not(rest: list[str]) -> None:
    assert screen_arguments(rest) is None


@pytest.mark.parametrize(
    ("rest", "page"),
    [
        (["--help"], ""),
        (["rooms", "--help"], "rooms"),
        (["rooms", "run", "--help"], "rooms run"),
        (["serve", "--help"], "serve"),
        (["nonsense", "--help"], None),
        (["rooms", "my-room", "--help"], None),
        (["rooms", "run"], None),
    ],
)
def test_help_pages_are_found_without_the_parser(rest: list[str], page: str | None) -> None:
    assert help_page(rest) == page
