"""The parts of the config file that speak of tools."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_tui.config.file import Config, load, read_table
from agent_tui.model.errors import ConfigError
from agent_tui.redaction import hide_secrets

GOOD = """
[tools]
allow = ["run_command(make -n *)", "calculator"]
private_hosts = ["127.0.0.1:8000", "Wiki.Home", "[::1]:80"]
[mcp.files]
command = "files-server"
args = ["--root", "/tmp"]
env = { MODE = "quiet" }
env_from = ["FILES_LOGIN"]
read_only = ["list"]
[mcp.far-away_1]
url = "https://tools.example.org/mcp"
token_env = "FAR_TOKEN"
"""


def read(tmp_path: Path, text: str) -> Config:
    path = tmp_path / "config.toml"
    path.write_text(text, encoding="utf-8")
    path.chmod(0o600)
    return load(path)


def test_tools_and_servers_are_read_whole(tmp_path: Path) -> None:
    config = read(tmp_path, GOOD)
    assert config.tools.allow == ("run_command(make -n *)", "calculator")
    assert config.tools.private_hosts == ("127.0.0.1:8000", "wiki.home", "[::1]:80")
    files, far = config.mcp["files"], config.mcp["far-away_1"]
    assert (files.command, files.args, files.env) == ("files-server", ("--root", "/tmp"), {"MODE": "quiet"})
    assert (files.env_from, files.read_only, files.url) == (("FILES_LOGIN",), ("list",), "")
    assert (far.url, far.token_env, far.command) == ("https://tools.example.org/mcp", "FAR_TOKEN", "")
    assert config.warnings == ()


def test_a_file_that_says_nothing_of_tools_allows_nothing(tmp_path: Path) -> None:
    config = read(tmp_path, "")
    assert (config.tools.allow, config.tools.private_hosts, dict(config.mcp)) == ((), (), {})


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ('[tools]\nallow = "run_command"', "tools.allow"),
        ("[tools]\nallow = [1]", "tools.allow"),
        ('[tools]\nprivate_hosts = ["http://127.0.0.1/"]', "tools.private_hosts"),
        ('[tools]\nprivate_hosts = [""]', "tools.private_hosts"),
        ("mcp = 1", "mcp"),
        ("[mcp]\na = 1", "mcp.a"),
        ("[mcp.a]", "mcp.a"),
        ('[mcp.a]\ncommand = "x"\nurl = "http://y"', "mcp.a"),
        ('[mcp.a]\nurl = "ftp://y"', "mcp.a.url"),
        ('[mcp.a__b]\ncommand = "x"', "mcp.a__b"),
        ('[mcp."a b"]\ncommand = "x"', "mcp.a b"),
        ("[mcp." + "a" * 33 + ']\ncommand = "x"', "mcp.aaa"),
        ('[mcp.a]\ncommand = "x"\nargs = "y"', "mcp.a.args"),
        ('[mcp.a]\ncommand = "x"\nargs = ["a\\u0000"]', "mcp.a.args"),
        ('[mcp.a]\ncommand = "x"\nenv = { A = 1 }', "mcp.a.env"),
        ('[mcp.a]\ncommand = "x"\nenv = { "A=B" = "1" }', "mcp.a"),
        ('[mcp.a]\ncommand = "x"\nenv_from = ["A B"]', "mcp.a"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, text: str, named: str) -> None:
    with pytest.raises(ConfigError) as error:
        read(tmp_path, text)
    assert named in error.value.title


def test_unknown_settings_are_warned_about(tmp_path: Path) -> None:
    config = read(tmp_path, '[tools]\nalow = []\n[mcp.a]\ncommand = "x"\ncwd = "/"')
    assert config.warnings == ("tools.alow: unknown setting, ignored", "mcp.a.cwd: unknown setting, ignored")


def test_what_a_server_is_given_is_not_shown(tmp_path: Path) -> None:
    config = read(tmp_path, '[mcp.a]\ncommand = "x"\nargs = ["--login=abc"]\nenv = { LOGIN = "abc" }')
    assert "abc" not in repr(config)
    shown = hide_secrets(read_table(config.path))
    assert shown["mcp"]["a"]["env"] == {"LOGIN": "********"}
