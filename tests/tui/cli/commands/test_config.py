"""``agent-tui config``."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from tests.tui.programs import Home, one_line, own_environ

SECRETS = """
[backends.work]
kind = "rooms"
url = "http://user:geheim@127.0.0.1:1"
token = "geheim"
[providers.local]
kind = "openai"
base_url = "http://127.0.0.1:2/v1"
api_key = "geheim"
model = "some-model"
"""


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path, own_environ(tmp_path))  # no command here starts a backend


def test_path_is_absolute_and_alone_on_its_line(home: Home) -> None:
    done = home.run("config", "path")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{home.config}\n", "")
    relative = home.main("config", "path", AGENT_TUI_CONFIG="some/where.toml")
    assert relative.stdout == f"{home.folder / 'some' / 'where.toml'}\n"


def test_path_is_in_the_users_folder_by_default(home: Home) -> None:
    done = home.main("config", "path", AGENT_TUI_CONFIG="", XDG_CONFIG_HOME=str(home.folder / "xdg"))
    assert done.stdout == f"{home.folder / 'xdg' / 'agent-tui' / 'config.toml'}\n"


@pytest.mark.usefixtures("no_home")
def test_who_has_no_home_folder_is_told_which_variables_to_set(home: Home) -> None:
    environ = {key: value for key, value in home.environ.items() if key not in ("HOME", "AGENT_TUI_DATA")}
    done = Home(home.folder, environ).main("rooms", "list")
    assert done.returncode == 2
    assert one_line(done.stderr) == "this user has no home folder: set HOME or AGENT_TUI_DATA"


def test_show_hides_every_secret_and_keeps_the_rest(home: Home) -> None:
    home.config.write_text(SECRETS, encoding="utf-8")
    done = home.main("config", "show")
    assert done.returncode == 0
    assert "geheim" not in done.stdout + done.stderr
    shown = tomllib.loads(done.stdout)
    assert shown["providers"]["local"]["model"] == "some-model"
    assert shown["providers"]["local"]["api_key"] == "********"
    assert shown["backends"]["work"]["kind"] == "rooms"


HIDING = """
[providers.local]
kind = "openai"
base_url = "http://user:geheim@127.0.0.1:1/v1?key=geheim&plain=geheim"
[backends.work]
kind = "rooms"
url = "http://127.0.0.1:1/?geheim"
[mcp.files]
command = "files-server"
args = ["--root", "geheim", "-y", "--token=geheim", "-pgeheim", "https://a.example/?key=geheim"]
env = { LOGIN = "geheim" }
[mcp.far]
url = "https://a:geheim@tools.example/mcp?api_key=geheim"
"""


def test_show_hides_arguments_logins_and_queries_wherever_they_stand(home: Home) -> None:
    home.config.write_text(HIDING, encoding="utf-8")
    done = home.main("config", "show")
    assert done.returncode == 0
    assert "geheim" not in done.stdout + done.stderr
    shown = tomllib.loads(done.stdout)
    hidden = "********"
    assert shown["providers"]["local"]["base_url"] == (
        f"http://{hidden}@127.0.0.1:1/v1?key={hidden}&plain={hidden}"
    )
    assert shown["backends"]["work"]["url"] == f"http://127.0.0.1:1/?{hidden}"
    assert shown["mcp"]["files"]["args"] == ["--root", hidden, "-y", f"--token={hidden}", hidden, hidden]
    assert shown["mcp"]["far"]["url"] == f"https://{hidden}@tools.example/mcp?api_key={hidden}"


@pytest.mark.slow
def test_no_command_prints_a_key_that_stands_in_an_address(home: Home) -> None:
    home.config.write_text(HIDING, encoding="utf-8")
    try:
        for command in ("config check", "doctor", "models", "tools list", "rooms list --backend work"):
            done = home.main(*command.split())
            log = home.data / "backend.log"
            logged = log.read_text(encoding="utf-8") if log.exists() else ""
            assert "geheim" not in done.stdout + done.stderr + logged, command
        done = home.main("rooms", "list", "--url", "http://127.0.0.1:1/?key=geheim")
        assert (done.returncode, "geheim" in done.stderr) == (2, False)
    finally:
        home.stop()


def test_variables_for_commands_are_checked(home: Home) -> None:
    for wrong in ('"HOME"', "[1]", '["A B"]', '["A=B"]'):
        home.config.write_text(f"[tools]\npass_env = {wrong}\n", encoding="utf-8")
        done = home.main("config", "check")
        assert (done.returncode, done.stdout) == (2, "")
        assert "tools.pass_env" in one_line(done.stderr)
    home.config.write_text('[tools]\npass_env = ["NOT_SET_ANYWHERE"]\n', encoding="utf-8")
    said = "tools.pass_env: NOT_SET_ANYWHERE is not set in this environment\n"
    assert home.main("config", "check").stdout == said


def test_a_file_that_is_unusable_stops_every_command_but_those_that_mend_it(home: Home) -> None:
    for text in ('[backends.x]\nkind = "foo"\n', "[provider.x]\n", "theme = ["):
        home.config.write_text(text, encoding="utf-8")
        done = home.main("config", "check")
        assert (done.returncode, done.stdout) == (2, ""), text
        assert one_line(done.stderr).startswith(f"{home.config}: "), text
    home.config.write_text("theme = 3", encoding="utf-8")
    for command in ("config show", "config check", "backend status", "backend status --output json"):
        done = home.main(*command.split())
        assert (done.returncode, done.stdout) == (2, ""), command
        assert one_line(done.stderr).startswith(f"{home.config}: ")
    assert home.main("config", "path").stdout == f"{home.config}\n"
    assert home.main("backend", "stop").returncode == 0
    doctor = home.main("doctor", "--json")
    assert doctor.returncode == 4
    (check,) = [one for one in json.loads(doctor.stdout)["checks"] if one["id"] == "config"]
    assert check["status"] == "failed"


def test_show_without_a_file_says_so_in_a_comment(home: Home) -> None:
    done = home.main("config", "show")
    assert done.returncode == 0
    assert tomllib.loads(done.stdout) == {}
    assert str(home.config) in done.stdout


def test_check_is_ok_with_and_without_a_file(home: Home) -> None:
    assert home.main("config", "check").stdout.startswith("ok")
    home.config.write_text('[backends.a]\nkind = "rooms"\nurl = "http://127.0.0.1:1"\n', encoding="utf-8")
    done = home.main("config", "check")
    assert (done.returncode, done.stdout) == (0, f"ok: {home.config}\n")


def test_check_prints_one_line_for_each_warning(home: Home) -> None:
    text = SECRETS + 'api_key_env = "NOT_SET_ANYWHERE"\n[tools]\nsurprise = 1\n'
    home.config.write_text(text, encoding="utf-8")
    home.config.chmod(0o644)
    done = home.main("config", "check")
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert len(lines) == 3
    assert any("surprise" in line for line in lines)
    assert any("chmod 600" in line for line in lines)
    assert any("NOT_SET_ANYWHERE" in line for line in lines)
    promised = " ".join(home.main("config", "check", "--help").stdout.split())
    assert "can be used is not a failure: the exit code is 0" in promised


def test_what_is_said_of_voice_is_shown_without_secrets_and_checked(home: Home) -> None:
    home.config.write_text(
        '[voice]\nurl = "wss://u:geheim@voice.example"\nkey = "geheim"\nsecret = "geheim"\n'
        'secret_env = "NOT_SET_ANYWHERE"\nvolume = 3\n[voice.agent]\nname = "a"\nmood = "good"\n',
        encoding="utf-8",
    )
    home.config.chmod(0o600)
    shown = home.main("config", "show")
    assert (shown.returncode, "geheim" in shown.stdout) == (0, False)
    assert tomllib.loads(shown.stdout)["voice"]["agent"]["name"] == "a"
    assert home.main("config", "check").stdout.splitlines() == [
        "voice.volume: unknown setting, ignored",
        "voice.agent.mood: unknown setting, ignored",
        "voice.secret_env: NOT_SET_ANYWHERE is not set in this environment",
    ]


def test_check_names_keys_themes_and_screen_settings_that_cannot_hold(home: Home) -> None:
    own = home.folder / "themes"
    own.mkdir()
    (own / "mine.toml").write_text("background = 'blue-ish'\n", encoding="utf-8")
    text = """
theme = "neon"
[keys]
"room.zom" = "f5"
"room.zoom" = "ctrl+zz"
"app.help" = "p"
"room.continue" = "ctrl+q"
[screen]
motion = "none"
"""
    home.config.write_text(text, encoding="utf-8")
    done = home.main("config", "check")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    beginnings = [
        "screen.motion: must be",
        "keys.room.zom: no such action; did you mean room.zoom?",
        "keys.room.zoom: no key named 'ctrl+zz'",
        "keys.room.continue: ctrl+q always stays",
        "keys.app.help: takes p from room.pause, which has space left",
        "keys.app.help: takes p from rooms.pause, which has no key now",
        "theme 'neon' is not known",
        f"{own / 'mine.toml'}: background",
    ]
    assert [line[: len(beginning)] for line, beginning in zip(lines, beginnings, strict=True)] == beginnings


def test_check_names_patterns_that_fit_no_call_and_variables_that_tool_servers_miss(home: Home) -> None:
    text = """
[tools]
allow = ["run_command(make *)", "run_command(", "calculator(2*)"]
[mcp.tickets]
command = "tickets"
env_from = ["NOT_SET_ANYWHERE"]
[mcp.far]
url = "http://127.0.0.1:1/"
token_env = "NOT_SET_EITHER"
"""
    home.config.write_text(text, encoding="utf-8")
    done = home.main("config", "check")
    assert (done.returncode, done.stderr) == (0, "")
    assert [line.partition(" ")[0] for line in done.stdout.splitlines()] == [
        *("mcp.tickets.env_from:", "mcp.far.token_env:", "tools.allow:", "tools.allow:")
    ]


def test_keys_lists_every_action_with_the_keys_of_now(home: Home) -> None:
    home.config.write_text('[keys]\n"room.zoom" = "ctrl+x,f5"\n"app.help" = ""\n', encoding="utf-8")
    done = home.main("config", "keys")
    assert (done.returncode, done.stderr) == (0, "")
    rows = {line.split()[0]: line for line in done.stdout.splitlines()}
    assert "ctrl+x, f5" in rows["room.zoom"]
    assert "Show the keys" in rows["app.help"]
    assert " – " in rows["app.help"]
    listed = home.answer("config", "keys", "--output", "json")["keys"]
    assert [entry["id"] for entry in listed] == list(rows)
    zoom = next(entry for entry in listed if entry["id"] == "room.zoom")
    assert (zoom["keys"], zoom["default"], zoom["where"]) == (["ctrl+x", "f5"], ["z"], "room")


def test_the_keys_that_are_listed_can_be_written_back(home: Home) -> None:
    listed = home.answer("config", "keys", "--output", "json")["keys"]
    lines = [f'"{entry["id"]}" = {json.dumps(",".join(entry["keys"]))}' for entry in listed]
    home.config.write_text("[keys]\n" + "\n".join(lines) + "\n", encoding="utf-8")
    assert home.answer("config", "keys", "--output", "json")["keys"] == listed


def test_keys_complains_on_stderr_about_what_cannot_hold(home: Home) -> None:
    home.config.write_text('[keys]\n"room.zom" = "f5"\n', encoding="utf-8")
    done = home.main("config", "keys")
    assert done.returncode == 0
    assert done.stderr == "keys.room.zom: no such action; did you mean room.zoom?\n"


@pytest.mark.parametrize(
    "text", ["no toml at all", "[backends.a]\nkind = 'nonsense'\nurl = 'http://x'", "providers = 3", "\xff\n"]
)
@pytest.mark.parametrize("command", ["check", "show"])
def test_an_error_is_one_line_and_exit_code_2(home: Home, text: str, command: str) -> None:
    home.config.write_text(text, encoding="latin-1")
    done = home.main("config", command)
    if command == "show" and done.returncode == 0:
        assert tomllib.loads(done.stdout)  # it is TOML, only its meaning is wrong
        return
    assert (done.returncode, done.stdout) == (2, "")
    assert str(home.config) in one_line(done.stderr)


def test_flags_that_point_elsewhere_are_refused(home: Home) -> None:
    done = home.main("config", "path", "--url", "http://127.0.0.1:1")
    assert (done.returncode, done.stdout) == (2, "")
    assert "--url" in one_line(done.stderr)
