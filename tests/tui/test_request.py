"""Which server a command talks to: flags before environment before file before the embedded one."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_tui.model.errors import ConfigError
from tui.cli.arguments import Connection
from tui.request import Server, other_server, wants_embedded
from tui.startup import choose_source

CONFIG = """
[backends.work]
kind = "rooms"
url = "http://127.0.0.1:7001/base"
token = "from-file"
token_env = "WORK_TOKEN"
timeout = 7
paths = { run = "/go/{room_id}" }
[backends.talk]
kind = "chat"
url = "http://127.0.0.1:7002"
"""


@pytest.fixture(autouse=True)
def own_config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "config.toml"
    path.write_text(CONFIG, encoding="utf-8")
    monkeypatch.setenv("AGENT_TUI_CONFIG", str(path))
    for name in ("AGENT_TUI_URL", "AGENT_TUI_TOKEN", "WORK_TOKEN"):
        monkeypatch.delenv(name, raising=False)


def test_without_a_word_it_is_the_embedded_backend() -> None:
    assert wants_embedded(Connection())


def test_the_environment_names_a_server_and_its_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_TUI_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("AGENT_TUI_TOKEN", "env")
    assert not wants_embedded(Connection())
    assert other_server(Connection()) == Server("http://127.0.0.1:1", "env")


def test_flags_are_stronger_than_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_TUI_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("AGENT_TUI_TOKEN", "env")
    flags = Connection(url="http://127.0.0.1:2", token="flag")
    assert other_server(flags) == Server("http://127.0.0.1:2", "flag")
    assert wants_embedded(Connection(backend="embedded"))


def test_the_file_gives_url_token_timeout_and_paths() -> None:
    expected = Server(
        "http://127.0.0.1:7001/base", "from-file", 7.0, {"run": "/go/{room_id}"}, run_timeout=7.0
    )
    assert other_server(Connection(backend="work")) == expected


def test_a_token_comes_from_flag_then_environment_then_its_own_variable_then_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("WORK_TOKEN", "own")
    assert other_server(Connection(backend="work")).token == "own"
    monkeypatch.setenv("AGENT_TUI_TOKEN", "env")
    assert other_server(Connection(backend="work")).token == "env"
    assert other_server(Connection(backend="work", token="flag")).token == "flag"


@pytest.mark.parametrize(
    ("connection", "words"),
    [
        (Connection(backend="nowhere"), "nowhere"),
        (Connection(backend="talk"), "chat"),
        (Connection(backend="work", url="http://127.0.0.1:1"), "two servers"),
        (Connection(backend="embedded", url="http://127.0.0.1:1"), "two servers"),
        (Connection(url="ftp://x"), "--url"),
        (Connection(url="http://"), "--url"),
        (Connection(url="http://x:99999"), "--url"),
        (Connection(token="t"), "--token"),
    ],
)
def test_what_makes_no_sense_is_wrong_usage(connection: Connection, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        choose_source(connection)


@pytest.mark.parametrize("url", ["flag", "variable"])
def test_a_broken_file_is_reported_also_where_it_does_not_name_the_server(
    url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "config.toml").write_text("[provider.local]\n", encoding="utf-8")
    if url == "variable":
        monkeypatch.setenv("AGENT_TUI_URL", "http://127.0.0.1:1")
    with pytest.raises(ConfigError, match="provider: no such table"):
        choose_source(Connection(url="http://127.0.0.1:1" if url == "flag" else None))


def test_a_token_never_shows_in_a_repr() -> None:
    assert "geheim" not in repr(Server("http://127.0.0.1:1", "geheim"))
