"""The config file: what it may say, and one clear line for everything it may not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agent_tui.config.file import Config, ScreenConfig, config_path, data_path, downloads_path, load
from agent_tui.model.errors import ConfigError
from agent_tui.redaction import hide_secrets

GOOD = """
theme = "light"
[backends.work]
kind = "rooms"
url = "http://127.0.0.1:8000/base/"
token_env = "WORK_TOKEN"
paths = { run = "/go/{room_id}" }
[providers.local]
kind = "openai"
base_url = "http://127.0.0.1:11434/v1"
api_key_env = "LOCAL_KEY"
model = "some-model"
[providers.second]
kind = "openai"
base_url = "https://example.test/v1"
"""


def read(tmp_path: Path, text: str) -> Config:
    path = tmp_path / "config.toml"
    path.write_text(text, encoding="utf-8")
    path.chmod(0o600)
    return load(path)


def test_a_good_file_is_read_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = read(tmp_path, GOOD)
    backend, provider = config.backends["work"], config.providers["local"]
    assert (backend.kind, backend.url, backend.timeout) == ("rooms", "http://127.0.0.1:8000/base/", 30)
    assert backend.paths == {"run": "/go/{room_id}"}
    assert (provider.model, provider.key(), config.theme) == ("some-model", "", "light")
    monkeypatch.setenv("LOCAL_KEY", "from the environment")
    assert provider.key() == "from the environment"
    assert list(config.providers) == ["local", "second"]
    assert config.warnings == ()


def test_agents_of_others_have_settings_of_their_own(tmp_path: Path) -> None:
    tasks = "[backends.t]\nkind = 'tasks'\nurl = 'http://x'\n"
    socket = "[backends.s]\nkind = 'socket'\nurl = 'ws://x/base'\n"
    config = read(tmp_path, tasks + socket)
    both = config.backends["t"], config.backends["s"]
    assert (both[0].total_timeout, both[0].engine_type, both[0].timeout) == (120, "claude_api", 30)
    assert (both[1].workspace, both[1].chat_path) == ("", None)
    assert config.warnings == ()
    tasks += "total_timeout = 5\nengine_type = 'claude_agent_sdk'\nworkspace = '/x'\n"
    socket += "workspace = '/mnt'\nchat_path = ''\ntotal_timeout = 'ignored'\n"
    config = read(tmp_path, tasks + socket)
    both = config.backends["t"], config.backends["s"]
    assert (both[0].total_timeout, both[0].engine_type, both[0].workspace) == (5, "claude_agent_sdk", "")
    assert (both[1].workspace, both[1].chat_path) == ("/mnt", "")
    assert config.warnings == (
        "backends.t.workspace: unknown setting, ignored",
        "backends.s.total_timeout: unknown setting, ignored",
    )


@pytest.mark.parametrize(
    "table", ["[backends.t]\nkind = 'tasks'\nurl", "[providers.t]\nkind = 'google'\nbase_ur"]
)
def test_an_unknown_setting_of_a_server_is_an_error(tmp_path: Path, table: str) -> None:
    with pytest.raises(ConfigError, match=r"unknown setting; known: .*timeout"):
        read(tmp_path, f"{table} = 'http://x'\ntoken_en = 'KEY'\n")


def test_a_folder_of_an_agent_is_an_absolute_path_or_an_error(tmp_path: Path) -> None:
    socket = "[backends.s]\nkind = 'socket'\nurl = 'ws://x/base'\nworkspace = "
    assert read(tmp_path, f"{socket}'~/here'").backends["s"].workspace == str(Path.home() / "here")
    with pytest.raises(ConfigError, match=r"config.toml: backends.s.workspace: there is no path ~nobody"):
        read(tmp_path, f"{socket}'~nobody-is-called-so'")


def test_a_missing_file_is_an_empty_config(tmp_path: Path) -> None:
    config = load(tmp_path / "nothing" / "config.toml")
    assert (dict(config.backends), dict(config.providers)) == ({}, {})


def test_a_pipe_in_place_of_the_file_is_refused_instead_of_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "config.toml")
    with pytest.raises(ConfigError, match=r"config.toml: cannot be read: it is a pipe, not a file"):
        load(tmp_path / "config.toml")


def test_a_link_that_leads_nowhere_is_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "config.toml").symlink_to(tmp_path / "gone.toml")
    with pytest.raises(ConfigError, match=r"config.toml: cannot be read: No such file or directory"):
        load(tmp_path / "config.toml")


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("theme = [", "not valid TOML"),
        ("theme = 4", "theme"),
        ("backends = 1", "backends"),
        ("[backends]\nx = 1", "backends.x"),
        ("[backends.embedded]\nkind='rooms'\nurl='http://x'", "reserved"),
        ("[backends.x]\nkind='nope'\nurl='http://x'", "backends.x.kind"),
        ("[backends.x]\nurl='http://x'", "backends.x.kind"),
        ("[backends.x]\nkind='rooms'", "backends.x.url"),
        ("[backends.x]\nkind='rooms'\nurl='ftp://x'", "backends.x.url"),
        ("[backends.x]\nkind='tasks'\nurl='ws://x'", "backends.x.url"),
        ("[backends.x]\nkind='socket'\nurl='ws://[::1'", "backends.x.url"),
        ("[backends.x]\nkind='rooms'\nurl='http://:80'", "backends.x.url"),
        ("[mcp.x]\nurl='http://x:port'", "mcp.x.url"),
        ("[backends.x]\nkind='tasks'\nurl='http://x'\ntotal_timeout=0", "backends.x.total_timeout"),
        ("[backends.x]\nkind='tasks'\nurl='http://x'\nengine_type='foo'", "backends.x.engine_type"),
        ("[backends.x]\nkind='socket'\nurl='http://x'\nworkspace=1", "backends.x.workspace"),
        ("[backends.x]\nkind='rooms'\nurl='http://x'\ntimeout=0", "backends.x.timeout"),
        ("[backends.x]\nkind='rooms'\nurl='http://x'\ntimeout=nan", "backends.x.timeout"),
        ("[backends.x]\nkind='rooms'\nurl='http://x'\ntimeout=inf", "backends.x.timeout"),
        (f"[backends.x]\nkind='rooms'\nurl='http://x'\ntimeout={10**400}", "backends.x.timeout"),
        ("[backends.x]\nkind='rooms'\nurl='http://x'\npaths={a=1}", "backends.x.paths"),
        ("[providers.demo]\nkind='openai'\nbase_url='http://x'", "reserved"),
        ("[providers.x]\nkind='magic'\nbase_url='http://x'", "providers.x.kind"),
        ("[providers.x]\nkind='openai'", "providers.x.base_url"),
        ("[providers.x]\nkind='openai'\nbase_url='http://[::1'", "providers.x.base_url"),
        ("[providers.x]\nkind='openai'\nbase_url='http://x'\nmax_tokens='many'", "providers.x.max_tokens"),
    ],
)
def test_what_is_wrong_is_named_with_its_key(tmp_path: Path, text: str, named: str) -> None:
    with pytest.raises(ConfigError) as error:
        read(tmp_path, text)
    assert named in str(error.value)
    assert "config.toml" in str(error.value)
    assert "\n" not in error.value.title


def test_a_byte_order_mark_is_no_part_of_the_file(tmp_path: Path) -> None:
    assert read(tmp_path, "\ufefftheme = 'light'").theme == "light"


def test_bytes_that_are_no_text_are_refused_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="not valid TOML"):
        load(path)


def test_a_folder_in_place_of_the_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        load(tmp_path)


def test_a_table_that_nobody_knows_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError, match=r"config.toml: provider: no such table; known: backends, providers"
    ):
        read(tmp_path, "[provider.x]\nkind='openai'\nbase_url='http://x'\n")


def test_unknown_settings_and_readable_secrets_are_warned_about(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(
        "extra=1\n[providers.x]\nkind='openai'\nbase_url='http://x'\napi_key='k'\n[tools]\nalow=[]\n"
    )
    path.chmod(0o644)
    warnings = "\n".join(load(path).warnings)
    assert "tools.alow" in warnings
    assert "extra" in warnings
    assert "chmod 600" in warnings


def test_keys_are_read_by_their_ids_with_and_without_quotes_around_them(tmp_path: Path) -> None:
    written = "[keys]\n'room.zoom' = 'f5'\npane.find = 'ctrl+f,/'\npane.find_next = ''\n"
    config = read(tmp_path, written)
    assert config.keys == {"room.zoom": "f5", "pane.find": "ctrl+f,/", "pane.find_next": ""}
    assert config.warnings == ()


def test_the_theme_may_be_with_the_screen_and_what_is_before_all_tables_wins(tmp_path: Path) -> None:
    with_screen = read(tmp_path, "[screen]\ntheme = 'nord'")
    assert (with_screen.theme, with_screen.warnings) == ("nord", ())
    assert read(tmp_path, "theme = 'light'\n[screen]\ntheme = 'nord'").theme == "light"


def test_the_screen_is_set_by_its_table_and_has_defaults(tmp_path: Path) -> None:
    assert read(tmp_path, "").screen == ScreenConfig("full", 30, True, None)
    written = "[screen]\nmotion = 'reduced'\nframe_rate = 10\nmouse = false\nascii = true"
    assert read(tmp_path, written).screen == ScreenConfig("reduced", 10, False, True)


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        ("keys = 1", "keys: must be a table"),
        ("[keys]\na.b = 1", "keys.a.b: must be a string"),
        ("[keys]\na = ['f5']", "keys.a: must be a string"),
        ("screen = 'big'", "screen: must be a table"),
        ("[screen]\nmotion = 'none'", 'screen.motion: must be one of "full", "reduced"'),
        ("[screen]\nframe_rate = 0", "screen.frame_rate: must be from 1 to 60"),
        ("[screen]\nframe_rate = 61", "screen.frame_rate"),
        ("[screen]\nframe_rate = true", "screen.frame_rate"),
        ("[screen]\nmouse = 1", "screen.mouse: must be true or false"),
        ("[screen]\nascii = 'no'", "screen.ascii"),
        ("[screen]\ncolor = 1", "screen.color: unknown setting"),
        ("[screen]\ntheme = 1", "screen.theme: must be the name of a theme"),
    ],
)
def test_what_is_wrong_with_keys_and_screen_is_a_warning_and_the_default_holds(
    tmp_path: Path, text: str, warning: str
) -> None:
    config = read(tmp_path, text)
    assert len(config.warnings) == 1
    assert warning in config.warnings[0]
    assert (dict(config.keys), config.screen) == ({}, ScreenConfig())


def test_secrets_are_never_shown(tmp_path: Path) -> None:
    config = read(tmp_path, "[providers.x]\nkind='openai'\nbase_url='http://x'\napi_key='sesame'\n")
    assert "sesame" not in repr(config)
    shown = hide_secrets(
        {"providers": {"x": {"api_key": "sesame", "model": "m"}}, "list": [{"token": "sesame"}]}
    )
    assert "sesame" not in str(shown)
    assert shown["providers"]["x"]["model"] == "m"


def test_the_paths_can_be_moved_by_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_TUI_CONFIG", str(tmp_path / "c.toml"))
    monkeypatch.setenv("AGENT_TUI_DATA", str(tmp_path / "d"))
    assert (config_path(), data_path()) == (tmp_path / "c.toml", tmp_path / "d")
    monkeypatch.delenv("AGENT_TUI_CONFIG")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))
    assert config_path() == tmp_path / "xdg" / "agent-tui" / "config.toml"


def test_each_kind_of_provider_has_its_own_usual_address(tmp_path: Path) -> None:
    tables = [f'[providers.{kind}]\nkind = "{kind}"\n' for kind in ("ollama", "anthropic", "google")]
    found = read(tmp_path, "".join(tables)).providers
    assert found["ollama"].base_url == "http://127.0.0.1:11434/v1"
    assert found["anthropic"].base_url.startswith("https://")
    assert found["google"].base_url.startswith("https://")
    with pytest.raises(ConfigError, match="base_url"):
        read(tmp_path, '[providers.mine]\nkind = "openai"\n')


def test_a_provider_says_what_its_context_and_tokens_are(tmp_path: Path) -> None:
    more = "keyring = true\ncontext_tokens = 8000\ninput_price = 0\noutput_price = 2.5\n"
    more += "timeout = 30\nnum_ctx = 9000\n"
    found = read(tmp_path, '[providers.a]\nkind = "ollama"\n' + more).providers["a"]
    assert (found.keyring, found.context_tokens) == (True, 8000)
    assert (found.timeout, found.num_ctx) == (30.0, 9000)
    assert (found.input_price, found.output_price) == (0.0, 2.5)
    plain = read(tmp_path, '[providers.a]\nkind = "ollama"\n').providers["a"]
    assert (plain.keyring, plain.context_tokens, plain.timeout, plain.num_ctx) == (False, None, None, None)
    assert (plain.input_price, plain.output_price, plain.max_tokens) == (None, None, None)


@pytest.mark.parametrize(
    ("line", "key"),
    [
        ('keyring = "yes"', "keyring"),
        ("context_tokens = 0", "context_tokens"),
        ("input_price = -1", "input_price"),
        ("output_price = true", "output_price"),
        ("output_price = nan", "output_price"),
        ("max_tokens = 0", "max_tokens"),
        ("max_tokens = 1.5", "max_tokens: must be a whole number"),
        ("context_tokens = 0.5", "context_tokens: must be a whole number"),
        ("timeout = 0", "timeout"),
        ("timeout = inf", "timeout"),
        ("max_tokens = inf", "max_tokens"),
        ("context_tokens = 1_000_000_000_000_000", "context_tokens"),
        (f"num_ctx = {10**400}", "num_ctx"),
        (f"input_price = {10**400}", "input_price"),
        ("output_price = 1e300", "output_price"),
        ('timeout = "long"', "timeout"),
        ("num_ctx = -1", "num_ctx"),
    ],
)
def test_what_a_provider_cannot_say_is_named_by_its_key(line: str, key: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=f"providers.a.{key}"):
        read(tmp_path, f'[providers.a]\nkind = "ollama"\n{line}\n')


@pytest.mark.usefixtures("no_home")
def test_downloads_of_a_user_without_a_home_folder_are_in_the_data_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENT_TUI_DATA", str(tmp_path))
    assert downloads_path() == tmp_path / "downloads"
