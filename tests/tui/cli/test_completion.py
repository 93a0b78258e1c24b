"""What a shell offers at TAB, asked through the real shells where they are installed."""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_tui.model.errors import ConfigError
from tests.tui.programs import Home, own_environ, reap
from tui.cli.completion import set_up
from tui.cli.declared import COMMANDS, ROOT
from tui.cli.pages import help_page

HOSTILE = 'evil $(touch PWNED) `touch PWNED` "; touch PWNED; \x1b]0;t\x07'
BIN = Path(sys.executable).parent
SECONDS = 20.0


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    folder = tmp_path_factory.mktemp("completion")
    environ = {**own_environ(folder), "PATH": f"{BIN}:{os.environ['PATH']}", "HOME": str(folder)}
    home = Home(folder, environ)
    (folder / "config.toml").write_text(
        '[backends.work]\nkind = "rooms"\nurl = "http://127.0.0.1:9"\n'
        '[providers.local]\nkind = "openai"\nbase_url = "http://127.0.0.1:9/v1"\nmodel = "m"\n'
    )
    home.api("POST", "/api/rooms", {"task": "Why?", "name": "My room"})
    home.api("POST", "/api/rooms", {"task": "Why?", "name": HOSTILE})
    home.api("POST", "/api/conversations", {"title": "A chat"})
    home.main("backend", "stop")
    yield home
    home.main("backend", "stop")
    reap(folder / "data")


def offered(home: Home, *words: str) -> dict[str, str]:
    """Return what may come in place of the last word, and what each is."""
    done = home.main(*words, _AGENT_TUI_COMPLETE="lines")
    assert (done.returncode, done.stderr) == (0, "")
    return dict(line.split("\t") for line in done.stdout.splitlines())


@pytest.mark.parametrize("command", ["show", "delete", "pause", "resume", "run", "export"])
def test_rooms_are_offered_by_name_or_id_and_no_backend_is_started(home: Home, command: str) -> None:
    found = offered(home, "rooms", command, "")
    assert found["My room"] == "idle"
    (hostile,) = [word for word in found if word != "My room"]
    assert len(hostile) == 12
    assert hostile.isalnum()
    assert "\x1b" not in found[hostile]
    assert home.main("backend", "status").stdout == "not running\n"


def test_what_else_takes_a_name_has_its_names_offered(home: Home) -> None:
    assert {"list", "show", "My room"} <= offered(home, "rooms", "").keys()
    assert list(offered(home, "conversations", "show", "")) == ["A chat"]
    assert list(offered(home, "chat", "")) == ["A chat"]
    assert list(offered(home, "ask", "--conversation", "")) == ["A chat"]
    assert list(offered(home, "ask", "--provider", "")) == ["local", "demo"]
    assert list(offered(home, "--backend", "")) == ["work", "embedded"]
    assert list(offered(home, "rooms", "list", "--backend", "e")) == ["embedded"]
    assert "critic" in offered(home, "rooms", "new", "--template", "cr")
    assert list(offered(home, "rooms", "run", "--mode", "p")) == ["parallel"]
    assert {path.split()[0] for path in COMMANDS} <= offered(home, "").keys()
    assert offered(home, "--backend", "work", "rooms", "pa").keys() == {"pause"}


def test_options_are_those_that_the_command_takes(home: Home) -> None:
    serve = offered(home, "serve", "--")
    assert {"--host", "--port", "--database", "--no-token", "--token-file"} < serve.keys()
    assert not {"--url", "--backend"} & serve.keys()
    for command in (["config", "show"], ["config"], ["backend", "status"], ["doctor"], ["voice", "setup"]):
        assert not {"--url", "--token", "--backend"} & offered(home, *command, "--").keys()
    for command in ([], ["rooms"], ["rooms", "list"], ["models"], ["voice"]):
        assert {"--url", "--token", "--backend"} < offered(home, *command, "--").keys()


def test_a_word_is_known_in_its_quotes_and_a_value_behind_its_sign(home: Home) -> None:
    for begun in ("My\\ r", '"My r', "'My r", "My\\"):
        assert "My room" in offered(home, "rooms", "show", begun)
    assert list(offered(home, "rooms", "list", "--output=j")) == ["--output=json"]
    assert list(offered(home, "rooms", "list", "--backend=e")) == ["--backend=embedded"]


@pytest.mark.parametrize("where", [["--backend", "work"], ["--url=http://127.0.0.1:9"]])
def test_what_is_on_this_machine_is_not_offered_for_another_server(home: Home, where: list[str]) -> None:
    assert offered(home, "rooms", "show", *where, "") == {}
    assert "My room" not in offered(home, *where, "rooms", "")
    assert offered(home, *where, "conversations", "show", "") == {}
    assert offered(home, *where, "ask", "--provider", "") == {}
    assert list(offered(home, "--backend", "embedded", "chat", "")) == ["A chat"]


def test_a_tab_never_complains(home: Home, tmp_path: Path) -> None:
    assert offered(home, "rooms", "show", "nonsense") == {}
    assert offered(home, "rooms", "show", "--output", "nonsense", "") is not None
    config = tmp_path / "config.toml"
    elsewhere = {"AGENT_TUI_DATA": str(tmp_path), "AGENT_TUI_CONFIG": str(config)}
    broken = Home(tmp_path, {**home.environ, **elsewhere})
    (tmp_path / "agent-tui.db").write_text("no database")
    assert offered(broken, "rooms", "show", "") == {}
    config.write_text("[")
    assert offered(broken, "ask", "--provider", "") == {}
    assert home.main("rooms", "", _AGENT_TUI_COMPLETE="complete_zsh").stdout == ""  # that one evaluated it


def test_a_tab_loads_no_screen_and_no_client(home: Home) -> None:
    code = (
        "import sys; from tui.__main__ import main; main(); "
        "print({'textual', 'httpx', 'sqlalchemy'} & set(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "rooms", "show", ""],
        env={**home.environ, "_AGENT_TUI_COMPLETE": "lines"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == "set()\n"
    assert "My room" in done.stdout


# --- the scripts -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shell", "has"),
    [("bash", "complete -o default -F"), ("zsh", "#compdef agent-tui"), ("fish", "complete -c agent-tui")],
)
def test_each_shell_has_its_own_script(home: Home, shell: str, has: str) -> None:
    for words in (["--show-completion", shell], [f"--show-completion={shell}"]):
        done = home.main(*words)
        assert (done.returncode, done.stderr) == (0, "")
        assert has in done.stdout
    refused = home.main("--show-completion", "csh")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "bash, zsh, fish" in refused.stderr


def test_nobody_without_a_home_gets_a_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(uid: int) -> None:
        raise KeyError(uid)

    monkeypatch.delenv("HOME")
    monkeypatch.setattr("pwd.getpwuid", unknown)
    with pytest.raises(ConfigError, match="completion cannot be set up"):
        set_up("--install-completion", "bash")


def installed(shell: str) -> str:
    path = shutil.which(shell)
    if path is None:
        pytest.skip(f"{shell} is not installed")
    return path


def test_bash_completes_and_runs_nothing_of_a_name(home: Home, tmp_path: Path) -> None:
    bash = installed("bash")
    assert home.main("--install-completion", "bash").returncode == 0
    script = (
        'source ~/.bash_completions/agent-tui.sh; COMP_WORDS=(agent-tui rooms show ""); COMP_CWORD=3; '
        'COMP_LINE="agent-tui rooms show "; COMP_POINT=21; '
        '_agent_tui; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(
        [bash, "-c", script], env=home.environ, cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert "My\\ room" in done.stdout.splitlines()
    assert not (tmp_path / "PWNED").exists()


@pytest.mark.parametrize(
    ("typed", "becomes"),
    [
        ("rooms show My\\ r", "rooms show My\\ room "),
        ('rooms show "My r', 'rooms show "My room" '),
        ("rooms show 'My r", "rooms show 'My room' "),
        ("rooms list --output=j", "rooms list --output=json "),
        ("--url http://127.0.0.1:9 rooms pa", "--url http://127.0.0.1:9 rooms pause "),
        ("--backend=emb", "--backend=embedded "),
    ],
)
def test_bash_replaces_what_was_typed_in_its_own_quotes(home: Home, typed: str, becomes: str) -> None:
    line = f"agent-tui {typed}"
    last = re.split(r"(?<!\\)(?<![\"']My)[ =:]", line)[-1]
    done = home.main(line, last, _AGENT_TUI_COMPLETE="bash")
    assert (done.returncode, done.stderr) == (0, "")
    (word,) = done.stdout.splitlines()
    quote = last[0] if last[0] in "\"'" else ""
    assert f"{line[: len(line) - len(last)]}{quote}{word}{quote} " == f"agent-tui {becomes}"


def test_the_first_tab_in_a_new_bash_completes(home: Home, tmp_path: Path) -> None:
    bash = installed("bash")
    assert home.main("--install-completion", "bash").returncode == 0
    ours, theirs = pty.openpty()
    environ = {**home.environ, "TERM": "xterm", "PS1": "> "}
    running = subprocess.Popen(
        [bash, "-i"], stdin=theirs, stdout=theirs, stderr=theirs, env=environ, cwd=tmp_path
    )
    os.close(theirs)
    try:
        os.write(ours, b"printf 'REA%s\\n' DY\r")
        read_until(ours, "READY\r\n")
        for typed, shown in (("My\\ r", "My\\ room "), ('"My r', '"My room" '), ("'My r", "'My room' ")):
            os.write(ours, f"\x15agent-tui rooms show {typed}\t".encode())
            read_until(ours, f"rooms show {shown}")
        os.write(ours, b"\x15agent-tui rooms list --output=j\t")
        read_until(ours, "--output=json ")
        assert not (tmp_path / "PWNED").exists()
    finally:
        running.kill()
        running.wait()
        os.close(ours)


def test_fish_completes(home: Home, tmp_path: Path) -> None:
    fish = installed("fish")
    assert home.main("--install-completion", "fish").returncode == 0
    done = subprocess.run(
        [fish, "-c", "complete -C 'agent-tui rooms show '"],
        env={**home.environ, "XDG_CONFIG_HOME": str(home.folder / ".config")},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert any(line.split("\t")[0] in ("My room", r"My\ room") for line in done.stdout.splitlines())
    assert not (tmp_path / "PWNED").exists()


def test_the_first_tab_in_a_new_zsh_completes(home: Home, tmp_path: Path) -> None:
    zsh = installed("zsh")
    assert home.main("--install-completion", "zsh").returncode == 0
    ours, theirs = pty.openpty()
    environ = {**home.environ, "TERM": "xterm", "PS1": "> "}
    running = subprocess.Popen(
        [zsh, "-i"], stdin=theirs, stdout=theirs, stderr=theirs, env=environ, cwd=tmp_path
    )
    os.close(theirs)
    try:
        read_until(ours, "> ")
        os.write(ours, b"print READY\r")
        read_until(ours, "READY\r\n")
        os.write(ours, b"agent-tui rooms show M\t")
        assert "My\\ room" in read_until(ours, "My\\ room")
        os.write(ours, b"\x15agent-tui rooms show \t")
        read_until(ours, "idle")
        assert not (tmp_path / "PWNED").exists()
    finally:
        running.kill()
        running.wait()
        os.close(ours)


def read_until(descriptor: int, part: str) -> str:
    """Return what a terminal shows until ``part`` is in it."""
    seen, end = b"", time.monotonic() + SECONDS
    while part.encode() not in seen:
        assert time.monotonic() < end, seen
        if select.select([descriptor], [], [], 0.1)[0]:
            seen += os.read(descriptor, 65536)
    return seen.decode(errors="replace")


def test_a_shell_is_told_what_commands_and_options_are_for(home: Home) -> None:
    assert offered(home, "conversations", "")["rename"] == "rename a chat"
    assert offered(home, "rooms", "new", "--task")["--task"] == "what the room is about"


# --- help --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", [ROOT, *COMMANDS])
def test_h_is_help_everywhere(home: Home, page: str) -> None:
    done = home.main(*page.split(), "-h")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == help_page(page)


def test_h_is_help_behind_other_words_too(home: Home) -> None:
    page = help_page("rooms run").strip()
    assert home.main("rooms", "run", "a-room", "--rounds", "3", "-h").stdout.strip() == page
    assert home.main("ask", "Why?", "-h").stdout.strip() == help_page("ask").strip()
    assert home.run("serve", "--port", "0", "-h").returncode == 0
