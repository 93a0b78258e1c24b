"""What a shell offers at TAB, asked through the real shells where they are installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tui.programs import Home, own_environ, reap
from tui.cli.arguments import help_page as asked_page
from tui.cli.declared import COMMANDS, ROOT
from tui.cli.pages import help_page

HOSTILE = 'evil $(touch PWNED) `touch PWNED` "; touch PWNED; \\$(touch PWNED) \x1b]0;t\x07'
BIN = Path(sys.executable).parent


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    folder = tmp_path_factory.mktemp("completion")
    environ = {**own_environ(folder), "PATH": f"{BIN}:{os.environ['PATH']}", "HOME": str(folder)}
    home = Home(folder, environ)
    (folder / "config.toml").write_text(
        '[backends.work]\nkind = "rooms"\nurl = "http://127.0.0.1:9"\n'
        '[providers.local]\nkind = "openai"\nbase_url = "http://127.0.0.1:9/v1"\nmodel = "m"\n'
    )
    home.api("POST", "/api/rooms", {"task": "Why?", "name": "plain-room"})
    home.api("POST", "/api/rooms", {"task": "Why?", "name": HOSTILE})
    home.api("POST", "/api/conversations", {"title": "A chat"})
    home.main("backend", "stop")
    yield home
    home.main("backend", "stop")
    reap(folder / "data")


def offered(home: Home, *words: str) -> dict[str, str]:
    """Return what fish would offer in place of the last word, and what each is."""
    asked = {
        "_TYPER_COMPLETE_ARGS": " ".join(["agent-tui", *words]),
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
    }
    done = home.main(_AGENT_TUI_COMPLETE="complete_fish", **asked)
    assert (done.returncode, done.stderr) == (0, "")
    lines = [line.partition("\t") for line in done.stdout.splitlines() if line]
    return {word: about for word, _, about in lines}


@pytest.mark.parametrize("command", ["show", "delete", "pause", "resume", "run", "export"])
def test_rooms_are_offered_by_name_or_id_and_no_backend_is_started(home: Home, command: str) -> None:
    found = offered(home, "rooms", command, "")
    assert found["plain-room"] == "idle"
    (hostile,) = [word for word in found if word != "plain-room"]
    assert len(hostile) == 12
    assert hostile.isalnum()
    assert not set("$`\"'\\;()\x1b") & set(found[hostile])
    assert home.main("backend", "status").stdout == "not running\n"


def test_what_else_takes_a_name_has_its_names_offered(home: Home) -> None:
    assert {"list", "show", "plain-room"} <= offered(home, "rooms", "").keys()
    for words in (("conversations", "show"), ("chat",), ("ask", "--conversation")):
        (about,) = offered(home, *words, "").values()
        assert about.startswith("A chat")
    assert list(offered(home, "ask", "--provider", "")) == ["local", "demo"]
    assert "critic" in offered(home, "rooms", "new", "--template", "cr")
    assert list(offered(home, "rooms", "run", "--mode", "p")) == ["parallel"]
    assert {path.split()[0] for path in COMMANDS} <= offered(home, "").keys()
    assert offered(home, "--backend", "work", "rooms", "pa").keys() == {"pause"}
    assert "--task" in offered(home, "rooms", "new", "--ta")


def test_the_options_that_name_a_server_are_offered_everywhere_and_the_names_of_servers(home: Home) -> None:
    for words in ((), ("rooms",), ("rooms", "list"), ("ask", "Why?")):
        assert {"--url", "--token-file", "--backend"} <= offered(home, *words, "--").keys()
        assert list(offered(home, *words, "--backend", "")) == ["work", "embedded"]
    assert list(offered(home, "--backend=w")) == ["work"]


def test_what_an_option_is_takes_one_line_and_is_in_the_language_of_the_person(home: Home) -> None:
    assert all(word.startswith("--") for word in offered(home, "rooms", "new", "--"))
    asked = {"_TYPER_COMPLETE_ARGS": "agent-tui rooms new --ta", "_TYPER_COMPLETE_FISH_ACTION": "get-args"}
    done = home.run(_AGENT_TUI_COMPLETE="complete_fish", LANG="ru_RU.UTF-8", **asked)
    assert done.stdout == "--task\tзадача комнаты\n"


@pytest.mark.parametrize("where", [["--backend", "work"], ["--url=http://127.0.0.1:9"]])
def test_what_is_on_this_machine_is_not_offered_for_another_server(home: Home, where: list[str]) -> None:
    assert offered(home, "rooms", *where, "show", "") == {}
    assert "plain-room" not in offered(home, *where, "rooms", "")
    assert offered(home, *where, "conversations", "show", "") == {}
    assert offered(home, *where, "ask", "--provider", "") == {}
    assert len(offered(home, "--backend", "embedded", "chat", "")) == 1


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


def test_a_tab_loads_no_screen_and_no_client(home: Home) -> None:
    code = (
        "import sys; from tui.__main__ import main; main(); "
        "print({'textual', 'httpx', 'sqlalchemy'} & set(sys.modules), file=sys.stderr)"
    )
    asked = {"COMP_WORDS": "agent-tui rooms show ", "COMP_CWORD": "3"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**home.environ, "_AGENT_TUI_COMPLETE": "complete_bash", **asked},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == "set()\n"
    assert "plain-room" in done.stdout


# --- the scripts -------------------------------------------------------------------------------------------


def test_each_shell_has_its_own_script(home: Home) -> None:
    for shell in ("bash", "zsh", "fish"):
        for words in (["--show-completion", shell], [f"--show-completion={shell}"]):
            done = home.main(*words)
            assert (done.returncode, done.stderr) == (0, "")
            assert f"complete_{shell}" in done.stdout
    refused = home.main("--show-completion", "csh")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "bash, zsh, fish" in refused.stderr


# Each asks its own completion for what follows `agent-tui rooms show `, as at a TAB.
ASKS = {
    "bash": 'source ~/.bash_completions/agent-tui.sh; COMP_WORDS=(agent-tui rooms show ""); COMP_CWORD=3; '
    '_agent_tui_completion agent-tui; printf "%s\\n" "${COMPREPLY[@]}"',
    "fish": "complete -C 'agent-tui rooms show '",
    # At the first TAB of a shell, which loads the script.
    "zsh": "fpath+=~/.zfunc; autoload -Uz compinit; compinit -u; _arguments() { print -r -- $1; }; "
    "words=(agent-tui rooms show ''); CURRENT=4; _agent-tui",
}


@pytest.mark.slow
@pytest.mark.parametrize("shell", ASKS)
def test_each_shell_completes_and_runs_nothing_of_a_name(home: Home, tmp_path: Path, shell: str) -> None:
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed")
    assert home.main("--install-completion", shell).returncode == 0
    environ = {**home.environ, "XDG_CONFIG_HOME": str(home.folder / ".config")}
    done = subprocess.run(
        [program, "-c", ASKS[shell]], env=environ, cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert "plain-room" in done.stdout
    assert not (tmp_path / "PWNED").exists()


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


@pytest.mark.parametrize("option", ["--install-completion", "--show-completion"])
def test_help_on_an_option_of_completion_is_the_page_that_names_it(option: str) -> None:
    assert [asked_page([option, word]) for word in ("--help", "-h")] == ["", ""]


def test_completion_that_cannot_be_written_says_the_file_and_why(tmp_path: Path) -> None:
    (tmp_path / ".bash_completions").touch()
    environ = {**own_environ(tmp_path), "PATH": f"{BIN}:{os.environ['PATH']}", "HOME": str(tmp_path)}
    done = Home(tmp_path, environ).main("--install-completion", "bash")
    assert (done.returncode, done.stdout) == (2, "")
    assert (
        done.stderr == f"agent-tui: completion cannot be set up: {tmp_path}/.bash_completions: File exists\n"
    )
