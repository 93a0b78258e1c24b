"""The options of the backend: what they mean together, and one line for what cannot be."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_tui.backend.options import parse
from agent_tui.model.errors import ConfigError

NOBODY = "~nobody-is-called-so"
TOO_LONG = "x" * 300  # for the name of a folder


@pytest.fixture(autouse=True)
def _own_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_TUI_DATA", str(tmp_path / "data"))
    for name in ("AGENT_TUI_TOKEN", "AGENT_TUI_DEMO_RATE", "AGENT_TUI_DEMO_SEED", "AGENT_TUI_CONFIG"):
        monkeypatch.delenv(name, raising=False)


def test_embedded_keeps_its_files_in_the_data_folder(tmp_path: Path) -> None:
    settings = parse(["embedded", "--data", str(tmp_path / "new" / "data")])
    assert settings.database == tmp_path / "new" / "data" / "agent-tui.db"
    assert settings.runtime_file == tmp_path / "new" / "data" / "backend.json"
    assert settings.log_file == tmp_path / "new" / "data" / "backend.log"
    assert settings.lock_file == tmp_path / "new" / "data" / "agent-tui.db.lock"
    assert (settings.idle_seconds, settings.unwatched_seconds, settings.resume) == (30.0, 30.0, False)
    assert settings.token == ""


def test_serve_goes_on_by_itself_and_never_ends_or_pauses_because_nobody_watches() -> None:
    settings = parse(["serve"])
    assert (settings.resume, settings.idle_seconds, settings.unwatched_seconds) == (True, None, None)
    assert (settings.host, settings.port) == ("127.0.0.1", 0)
    assert not parse(["serve", "--no-resume"]).resume


def test_serve_has_a_database_of_its_own_by_default(tmp_path: Path) -> None:
    assert parse(["serve"]).database == tmp_path / "data" / "serve.db"


def test_a_database_is_an_absolute_or_a_relative_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert parse(["serve", "--database", f"sqlite:///{tmp_path}/a b.db"]).database == tmp_path / "a b.db"
    assert parse(["serve", "--database", "sqlite:///here.db"]).database == tmp_path / "here.db"


def test_two_ways_to_one_database_lead_to_one_lock(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "real.db")
    locks = {
        parse(["serve", "--database", f"sqlite:///{tmp_path}/{n}"]).lock_file for n in ("link", "real.db")
    }
    assert locks == {tmp_path / "real.db.lock"}


def test_the_token_comes_from_the_option_then_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "token"
    file.write_text("from-file\n")
    monkeypatch.setenv("AGENT_TUI_TOKEN", "from-environment")
    assert parse(["serve"]).token == "from-environment"
    assert parse(["serve", "--token", "given"]).token == "given"
    assert parse(["serve", "--token-file", str(file)]).token == "from-file"
    assert parse(["serve", "--no-token"]).token is None


def test_the_demo_model_is_set_by_option_then_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_TUI_DEMO_RATE", "0")
    monkeypatch.setenv("AGENT_TUI_DEMO_SEED", "7")
    assert (parse(["serve"]).demo_rate, parse(["serve"]).demo_seed) == (0, 7)
    assert parse(["serve", "--demo-rate", "12.5"]).demo_rate == 12.5


def test_tools_may_work_anywhere_under_embedded_and_where_serve_is_told(tmp_path: Path) -> None:
    assert parse(["embedded", "--data", str(tmp_path)]).workspaces is None
    assert parse(["serve"]).workspaces == ()
    (tmp_path / "link").symlink_to(tmp_path)
    assert parse(["serve", "--workspace", str(tmp_path / "link")]).workspaces == (tmp_path,)


def test_another_address_is_allowed_with_a_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AGENT_TUI_TOKEN", raising=False)
    assert parse(["serve", "--host", "0.0.0.0", "--token", "t"]).host == "0.0.0.0"
    assert parse(["serve", "--host", "0.0.0.0"]).token == ""  # a random one
    monkeypatch.setenv("AGENT_TUI_TOKEN", "t")
    assert parse(["serve", "--host", "0.0.0.0"]).token == "t"


def test_brackets_around_an_ipv6_address_are_taken_off() -> None:
    assert parse(["serve", "--host", "[::1]", "--no-token"]).host == "::1"


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["extra"], "unexpected argument 'extra'"),
        (["--url", "http://x"], "unexpected argument '--url'"),
        (["--tok", "t"], "unexpected argument '--tok'"),
        (["--port", "abc"], "--port: must be a whole number"),
        (["--port", "1_0"], "--port: must be a whole number"),
        (["--port", "--no-token"], "--port: needs a value"),
        (["--no-token=1"], "--no-token: takes no value"),
        (["--token-file", "x", "--no-token"], "--no-token: not together with --token-file"),
    ],
)
def test_wrong_usage_of_serve_is_said_as_that_of_every_command(arguments: list[str], line: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse(["serve", *arguments])
    assert str(caught.value) == f"{line}: see agent-tui serve --help"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "mode"),
        (["dance"], "dance"),
        (["embedded"], "--data"),
        (["embedded", "--data", "/dev/null/x"], "/dev/null/x"),
        (["embedded", "--data", "x", "--idle-seconds", "0"], "--idle-seconds"),
        (["serve", "--port", "x"], "--port"),
        (["serve", "--port", "70000"], "--port"),
        (["serve", "--port", "-1"], "--port"),
        (["serve", "--demo-rate", "-1"], "--demo-rate"),
        (["serve", "--demo-rate", "nan"], "--demo-rate"),
        *((["serve", "--demo-seed", odd], "--demo-seed") for odd in ("x", "1_0", "٣", "1.5", " 1")),
        *((["serve", "--demo-rate", odd], "--demo-rate") for odd in ("1_0", "inf", "٣")),
        (["serve", "--database", "postgresql://localhost/x"], "PostgreSQL"),
        (["serve", "--database", "mysql://x"], "mysql"),
        (["serve", "--database", "sqlite://"], "sqlite:///path/file.db"),
        (["serve", "--database", "sqlite:///:memory:"], "sqlite:///path/file.db"),
        (["serve", "--database", "sqlite:////dev/null/x.db"], "/dev/null"),
        (["serve", "--database", "sqlite:////no/such/folder/x.db"], "/no/such/folder"),
        (["serve", "--database", "sqlite:////tmp"], "is a folder"),
        (["serve", "--token", "a", "--no-token"], "--no-token"),
        (["serve", "--token", ""], "--token"),
        (["serve", "--token", "a b"], "--token"),
        (["serve", "--token-file", "/no/such/file"], "/no/such/file"),
        (["serve", "--host", "", "--token", "t"], "--host"),
        (["serve", "--host", "0.0.0.0", "--no-token"], "loopback"),
        (["serve", "--workspace", "/no/such/folder"], "/no/such/folder"),
        (["serve", "--workspace", "/dev/null"], "/dev/null"),
        (["embedded", "--data", "x", "--workspace", "."], "--workspace"),
        (["embedded", "--data", f"{NOBODY}/x"], NOBODY),
        (["serve", "--workspace", NOBODY], f"--workspace: there is no path {NOBODY}"),
        (["serve", "--workspace", "loop/x"], "loop/x"),
        (["serve", "--workspace", TOO_LONG], TOO_LONG),
        (["serve", "--database", f"sqlite:///{NOBODY}/x.db"], f"--database: there is no path {NOBODY}"),
        (["serve", "--database", "sqlite:///loop/x.db"], "loop"),
        (["serve", "--database", f"sqlite:///{TOO_LONG}/x.db"], TOO_LONG),
        (["serve", "--token-file", NOBODY], f"--token-file: there is no path {NOBODY}"),
        (["serve", "--config", NOBODY], f"--config: there is no path {NOBODY}"),
        (["serve", "--what"], "--what"),
    ],
)
def test_what_cannot_be_is_said_in_one_line(
    arguments: list[str], says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(ConfigError) as error:
        parse(arguments)
    assert says in str(error.value)
    assert "\n" not in str(error.value)
