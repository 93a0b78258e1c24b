"""``agent-tui doctor`` in broken surroundings: what it says about each, and what it never says."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from agent_tui.config.file import BackendConfig, ProviderConfig, load
from tests.fakes.servers.http_server import FakeServer, answers, answers_json
from tests.fakes.servers.rooms_server import LogRoom, LogRoomsServer, in_thread
from tests.tui.programs import Home, home_at, one_line, own_environ
from tui.cli.doctor import machine as doctor_machine
from tui.cli.doctor import servers as doctor_servers
from tui.cli.doctor import terminal as doctor_terminal
from tui.cli.doctor import voice as doctor_voice
from tui.cli.doctor.checks import Check, Surroundings, lines
from tui.runtime import Endpoint

GOOD = {
    "TERM": "xterm-256color",
    "COLORTERM": "truecolor",
    "LANG": "C.UTF-8",
    "PATH": "",
}
SECRET = "geheim-1234"


def surroundings(
    folder: Path, size: tuple[int, int] | None = (120, 40), mounts: str = "", **environ: str
) -> Surroundings:
    return Surroundings({**GOOD, **environ}, folder / "config.toml", folder / "data", size, mounts)


def said(found: Iterator[Check] | list[Check], check_id: str) -> list[str]:
    """Return the lines about one check, none when it is as it should be."""
    (check,) = [check for check in found if check.id == check_id]
    return [] if check.status == "ok" else lines(check)


# --- the terminal -----------------------------------------------------------------------------------------


def test_a_good_terminal_is_ok_throughout(tmp_path: Path) -> None:
    assert {check.status for check in doctor_terminal.checks(surroundings(tmp_path))} == {"ok"}


TERMINALS: list[tuple[str, dict[str, str], list[str]]] = [
    (
        "terminal.kind",
        {"TERM": ""},
        ["FAILED  terminal: TERM is not set", "          → export TERM=xterm-256color"],
    ),
    (
        "terminal.kind",
        {"TERM": "dumb"},
        ["FAILED  terminal: TERM=dumb cannot show a screen", "          → export TERM=xterm-256color"],
    ),
    (
        "terminal.colors",
        {"COLORTERM": ""},
        [
            "warning colours: 256: COLORTERM does not say truecolor",
            "          → export COLORTERM=truecolor, if the terminal can (most can)",
        ],
    ),
    (
        "terminal.colors",
        {"NO_COLOR": "1"},
        [
            "warning colours: NO_COLOR is set: agents differ by name alone",
            "          → unset NO_COLOR, if you want colours",
        ],
    ),
    (
        "terminal.locale",
        {"LC_ALL": "de_DE.ISO-8859-1"},
        [
            "FAILED  letters: the locale de_DE.ISO-8859-1 is not UTF-8",
            "          → export LANG=C.UTF-8",
        ],
    ),
    (
        "terminal.locale",
        {"LANG": ""},
        ["FAILED  letters: no locale is set", "          → export LANG=C.UTF-8"],
    ),
    (
        "terminal.multiplexer",
        {"STY": "1.pts"},
        [
            "warning multiplexer: GNU screen: 256 colours, long selections are not copied",
            "          → tmux does both",
        ],
    ),
    (
        "terminal.multiplexer",
        {"TMUX": "/nowhere,1,0"},
        ["warning tmux: it does not answer", "          → tmux show -s"],
    ),
    (
        "clipboard",
        {"DISPLAY": ":0"},
        [
            "warning clipboard: no tool: copying goes through the terminal (OSC 52) alone, which some refuse",
            "          → install wl-clipboard or xclip",
        ],
    ),
]


@pytest.mark.parametrize(("check_id", "environ", "expected"), TERMINALS)
def test_a_terminal_that_lacks_something_is_told_what_to_do(
    tmp_path: Path, check_id: str, environ: dict[str, str], expected: list[str]
) -> None:
    here = replace(surroundings(tmp_path), environ={**GOOD, **environ})
    assert said(doctor_terminal.checks(here), check_id) == expected


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        ((10, 3), ["FAILED  size: 10 × 3", "          → make the window larger than 20 × 5"]),
        ((60, 20), ["warning size: 60 × 20", "          → 80 × 24 shows several agents at once"]),
        (None, ["skipped size: the output is not a terminal"]),
    ],
)
def test_a_window_that_is_small_is_told_so(
    tmp_path: Path, size: tuple[int, int] | None, expected: list[str]
) -> None:
    assert said(doctor_terminal.checks(surroundings(tmp_path, size)), "terminal.size") == expected


def test_a_tmux_that_keeps_the_clipboard_is_told_what_to_set(tmp_path: Path) -> None:
    tmux = tmp_path / "tmux"
    answers_of = 'case "$3" in set-clipboard) echo off;; escape-time) echo 500;; *) echo screen;; esac'
    tmux.write_text(f"#!/bin/sh\n{answers_of}\n", encoding="utf-8")
    tmux.chmod(0o755)
    found = doctor_terminal.checks(surroundings(tmp_path, TMUX="/t,1,0", PATH=f"{tmp_path}"))
    terminal = 'set -s default-terminal "tmux-256color"'
    assert said(found, "terminal.multiplexer") == [
        "warning tmux: copying does not reach the terminal, the escape key waits 500 ms, few colours",
        f"          → set -s set-clipboard on; set -s escape-time 10; {terminal} (in ~/.tmux.conf)",
    ]


# --- files ------------------------------------------------------------------------------------------------


def test_a_config_that_is_no_toml_or_has_a_wrong_key_fails_and_names_the_place(tmp_path: Path) -> None:
    here = surroundings(tmp_path)
    here.config.write_text("[providers", encoding="utf-8")
    check, read = doctor_machine.config(here)
    assert (check.status, read, check.fix) == ("failed", None, f"edit {here.config}")
    assert lines(check)[0].startswith(f"FAILED  config file: {here.config}: not valid TOML: ")
    here.config.write_text("[backends.work]\nkind = 'chat'\n", encoding="utf-8")
    assert lines(doctor_machine.config(here)[0])[0] == (
        f"FAILED  config file: {here.config}: backends.work.url: is missing"
    )


def test_a_setting_that_means_nothing_is_a_warning(tmp_path: Path) -> None:
    here = surroundings(tmp_path)
    here.config.write_text("odd = 1\nodder = 2\n", encoding="utf-8")
    assert lines(doctor_machine.config(here)[0]) == [
        "warning config file: odd: unknown setting, ignored (and 1 more)",
        "          → agent-tui config check names all",
    ]


def test_a_broken_template_of_the_users_is_a_warning(tmp_path: Path) -> None:
    (tmp_path / "agents").mkdir()
    (tmp_path / "agents" / "mine.toml").write_text("[en]\nname = 'N'\n", encoding="utf-8")
    assert said(doctor_machine.checks(surroundings(tmp_path)), "templates") == [
        f"warning agent templates: {tmp_path}/agents/mine.toml: en.prompt: is missing",
        f"          → correct or remove it in {tmp_path}/agents",
    ]


def test_a_data_folder_that_cannot_be_made_fails(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file", encoding="utf-8")
    assert said(doctor_machine.checks(surroundings(tmp_path)), "data.writable") == [
        f"FAILED  data folder: {tmp_path}/data: File exists",
        "          → make it writable, or name another one: export AGENT_TUI_DATA=FOLDER",
    ]


@pytest.mark.parametrize("name", ["loop", "x" * 300])
def test_a_data_folder_that_cannot_be_looked_at_fails_alone(tmp_path: Path, name: str) -> None:
    (tmp_path / "loop").symlink_to("loop")
    here = replace(surroundings(tmp_path, mounts="/dev/sda1 / ext4 rw 0 0"), data=tmp_path / name)
    assert [one.id for one in doctor_machine.checks(here) if one.status == "failed"] == ["data.writable"]
    assert not doctor_voice.is_used(here, None)
    assert doctor_voice.agent(here.data, "skipped").status != "failed"


@pytest.mark.skipif(os.getuid() == 0, reason="root may write everywhere")
def test_a_data_folder_of_somebody_else_fails(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir(mode=0o500)
    first, _ = said(doctor_machine.checks(surroundings(tmp_path)), "data.writable")
    assert first == f"FAILED  data folder: {tmp_path}/data: Permission denied"


def test_a_data_folder_on_a_network_file_system_fails(tmp_path: Path) -> None:
    mounts = f"/dev/sda1 / ext4 rw 0 0\nserver:/home {tmp_path.resolve()} nfs4 rw 0 0\n"
    assert said(doctor_machine.checks(surroundings(tmp_path, mounts=mounts)), "data.file_system") == [
        "FAILED  file system of the data folder: nfs4, over a network: the database may be damaged there",
        "          → export AGENT_TUI_DATA=FOLDER with a folder on a disk of this machine",
    ]


def _rubbish(path: Path) -> None:
    path.write_bytes(b"this is no database" * 100)


def _of_another_program(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE t (x)")
    connection.close()


def _damaged(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE alembic_version (version_num)")
        connection.execute("CREATE TABLE t (x)")
        connection.executemany("INSERT INTO t VALUES (?)", [("x" * 3000,)] * 50)
    connection.close()
    data = bytearray(path.read_bytes())
    data[-4096 * 10 :] = b"\xff" * 4096 * 10
    path.write_bytes(data)


@pytest.mark.parametrize(
    ("spoil", "detail"),
    [
        (_rubbish, "{path}: file is not a database"),
        (_of_another_program, "{path} is of another program"),
        (_damaged, "{path}: "),
    ],
)
def test_a_database_that_cannot_be_used_fails(
    tmp_path: Path, spoil: Callable[[Path], None], detail: str
) -> None:
    here = surroundings(tmp_path)
    here.data.mkdir()
    path = here.data / "agent-tui.db"
    spoil(path)
    first, fix = said(doctor_machine.checks(here), "database")
    assert first.startswith(f"FAILED  database: {detail.format(path=path)}")
    assert fix == f"          → keep a copy of {path}, then move it away: a new one is made"


def test_a_database_of_a_newer_version_fails_with_the_advice_to_update(tmp_path: Path) -> None:
    here = surroundings(tmp_path)
    here.data.mkdir()
    path = here.data / "agent-tui.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE alembic_version AS SELECT '9999' AS version_num")
    assert said(doctor_machine.checks(here), "database") == [
        f"FAILED  database: {path} was written by a newer version",
        "          → update the program",
    ]


# --- servers ----------------------------------------------------------------------------------------------


def provider(folder: Path, *settings: str) -> ProviderConfig:
    file = folder / "providers.toml"
    file.write_text("\n".join(["[providers.local]", 'kind = "openai"', *settings]), encoding="utf-8")
    return load(file).providers["local"]


def asked(folder: Path, models: object, status: int = 200) -> list[str]:
    """Return what is said about a provider of whose models the backend says that."""
    server = FakeServer()
    server.on("GET", "/api/providers", answers_json({"providers": []}))
    server.on("GET", "/api/providers/local/models", answers_json(models, status))
    configured = provider(folder, 'base_url = "http://127.0.0.1:1/v1"', 'model = "m1"')
    with in_thread(server):
        endpoint = Endpoint(server.url, SECRET, "0", 1)
        return said([doctor_servers.provider_check(configured, endpoint)], "providers.local")


def test_a_provider_is_judged_by_what_the_backend_says_of_it(tmp_path: Path) -> None:
    assert asked(tmp_path, {"models": [{"id": "m1"}, {"id": "m2"}]}) == []
    assert asked(tmp_path, {"models": [{"id": "m2"}, {"id": "m3"}]}) == [
        'FAILED  provider local: it has no model "m1"',
        "          → name another one in the config file: m2, m3",
    ]
    wrong_key = asked(tmp_path, {"title": "The key is wrong", "detail": "It said no."}, 401)
    assert wrong_key[0].startswith("FAILED  provider local: ")
    assert wrong_key[1] == "          → put the right key into providers.local, then agent-tui backend stop"
    offline = asked(tmp_path, {"title": "Nobody answers"}, 502)
    assert offline[1] == "          → start it, or correct providers.local.base_url"
    wrong_path = asked(tmp_path, {"title": "no list of models at http://127.0.0.1:1/v2"}, 404)
    assert wrong_path[1] == "          → start it, or correct providers.local.base_url"
    no_keyring = asked(tmp_path, {"title": "this system's keyring cannot be used"}, 409)
    assert "agent-tui models setup" in no_keyring[1]


def test_a_provider_whose_key_is_not_there_fails_before_anybody_is_asked(tmp_path: Path) -> None:
    configured = provider(tmp_path, 'base_url = "http://127.0.0.1:1/v1"', 'api_key_env = "NOT_SET_HERE"')
    assert said([doctor_servers.provider_check(configured, None)], "providers.local") == [
        "FAILED  provider local: NOT_SET_HERE is not set in this environment",
        "          → export NOT_SET_HERE=KEY, then agent-tui backend stop",
    ]


def test_where_the_backend_does_not_ask_a_provider_that_is_not_there_fails(tmp_path: Path) -> None:
    configured = provider(tmp_path, 'base_url = "http://127.0.0.1:9"')
    assert said([doctor_servers.provider_check(configured, None)], "providers.local") == [
        "FAILED  provider local: nobody answers: Connection refused",
        "          → start it, or correct providers.local.base_url",
    ]


def server_said(url: str, kind: str = "rooms", token: str = SECRET, token_env: str = "") -> list[str]:
    backend = BackendConfig("work", kind, url, token, token_env, 5.0)
    return said([doctor_servers.server_check({}, backend)], "backends.work")


def test_other_servers_are_asked_and_their_refusals_told() -> None:
    with in_thread(LogRoomsServer(LogRoom("r1"))) as server:
        assert server_said(server.url) == []
        server.on("GET", "/api/rooms", answers_json({"title": "No"}, 401))
        assert server_said(server.url) == [
            "FAILED  server work: the token is refused",
            "          → put the right token into backends.work.token",
        ]
        server.on("GET", "/api/rooms", answers("<html>hello", 200, {"Content-Type": "text/html"}))
        assert server_said(server.url)[-1] == "          → correct backends.work.url or .kind"
    assert server_said("http://127.0.0.1:9")[-1] == "          → start it, or correct backends.work.url"
    assert (
        server_said("http://127.0.0.1:9", "chat")[-1] == "          → start it, or correct backends.work.url"
    )
    with in_thread(FakeServer()) as silent:  # it has no such calls, and says so
        assert server_said(silent.url, "chat") == []
        assert server_said(silent.url) == []
    assert server_said("http://127.0.0.1:1", token="", token_env="NOT_SET_HERE") == [
        "FAILED  server work: NOT_SET_HERE is not set in this environment",
        "          → export NOT_SET_HERE=TOKEN",
    ]


# --- the command ------------------------------------------------------------------------------------------


def without_wrong(fields: Mapping[str, object]) -> bool:
    return set(fields) == {"id", "ok", "status", "title", "detail", "fix"}


def test_a_machine_in_order_is_code_0_and_one_object(tmp_path: Path) -> None:
    with home_at(tmp_path) as home:
        done = home.run("doctor", "--json")
        text = home.main("doctor")
    assert (done.returncode, done.stderr) == (0, "")
    value = json.loads(done.stdout)
    assert set(value) == {"ok", "checks"}
    assert value["ok"] is True
    assert all(without_wrong(check) for check in value["checks"])
    assert {"backend", "database", "config", "data.writable", "providers", "clipboard"} <= {
        check["id"] for check in value["checks"]
    }
    assert (text.returncode, text.stderr) == (0, "")
    assert text.stdout.splitlines()[-1].startswith("nothing failed, ")


def test_a_broken_machine_is_code_4_with_a_fix_for_each_failure_and_no_secret(tmp_path: Path) -> None:
    settings = (
        f'[providers.local]\nkind = "openai"\nbase_url = "http://u:{SECRET}@127.0.0.1:1/v1"\n'
        f'api_key = "{SECRET}"\nmodel = "m1"\n[backends.work]\nkind = "rooms"\n'
        f'url = "http://u:{SECRET}@127.0.0.1:1"\ntoken = "{SECRET}"\n'
    )
    with home_at(tmp_path) as home:
        home.config.write_text(settings, encoding="utf-8")
        done = home.main("doctor", "--json", TERM="dumb")
        text = home.main("doctor")
    assert done.returncode == text.returncode == 4
    value = json.loads(done.stdout)
    failed = [check for check in value["checks"] if not check["ok"]]
    assert value["ok"] is False
    assert {"terminal.kind", "providers.local", "backends.work"} <= {check["id"] for check in failed}
    assert all(check["fix"] for check in failed)
    assert "checks failed" in one_line(text.stderr)
    for words in (done.stdout, done.stderr, text.stdout, text.stderr):
        assert SECRET not in words
        assert "Traceback" not in words


@pytest.mark.parametrize(
    ("spoil", "failed"),
    [
        (lambda home: home.config.write_text("[", encoding="utf-8"), {"config"}),
        (lambda home: home.data.write_text("a file", encoding="utf-8"), {"data.writable", "backend"}),
        (
            lambda home: (home.data.mkdir(), (home.data / "agent-tui.db").write_bytes(b"rubbish" * 1000)),
            {"database", "backend"},
        ),
    ],
)
def test_what_keeps_the_backend_from_starting_is_told_without_a_traceback(
    tmp_path: Path, spoil: Callable[[Home], object], failed: set[str]
) -> None:
    home = Home(tmp_path, own_environ(tmp_path))
    spoil(home)
    try:
        done = home.main("doctor", "--json")
    finally:
        if home.data.is_dir():
            home.stop()
    assert done.returncode == 4
    assert "Traceback" not in done.stdout + done.stderr
    found = {check["id"]: check for check in json.loads(done.stdout)["checks"]}
    assert failed <= {check_id for check_id, check in found.items() if not check["ok"]}
    assert all(found[check_id]["fix"] for check_id in failed)
