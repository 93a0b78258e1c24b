"""What happens before the first frame, and what is left of the terminal after a crash."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fakes.terminal import ENTERS_SCREEN, LEAVES_SCREEN, terminal
from tests.tui.programs import PROGRAM, own_environ
from tui.cli.exits import UNREACHABLE

pytestmark = pytest.mark.slow

RUN = """
import sys
import tui.startup
{patch}
from tui.__main__ import main
sys.argv = ["agent-tui", "rooms", "my-room"]
sys.exit(main())
"""

SPAWNS = """
def begin(**_):
    heavy = {"textual", "typer", "httpx", "pydantic", "rich", "asyncio"} & set(sys.modules)
    print("spawned before:", sorted(heavy))
    raise SystemExit(0)
tui.startup.is_terminal = lambda: True
tui.startup.begin = begin
"""

ASKED = """
import types
def run_rooms(request):
    heavy = {"typer", "httpx", "pydantic"} & set(sys.modules)
    print(request.room, request.embedded, request.config.theme, sorted(heavy))
    return 7
sys.modules["tui.app"] = types.SimpleNamespace(run_rooms=run_rooms)
tui.startup.is_terminal = lambda: True
tui.startup.restoring = __import__("contextlib").nullcontext
class Alone(tui.runtime.Starting):
    def __init__(self, **_): pass
    def in_the_way(self, tell): return ""
tui.startup.begin = Alone
"""

# Holds the program up where it wants its screens, and tells what is loaded by then.
HELD = """
import json, sys
class Held:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "tui.places":
            with open("loaded.json", "w") as file:
                json.dump(sorted(sys.modules), file)
            open("go").close()
sys.meta_path.insert(0, Held)
from tui.__main__ import main
sys.argv = ["agent-tui", *sys.argv[1:]]
sys.exit(main())
"""
NOT_IN_FIRST_FRAME = (
    *(
        "tui.keys.actions",
        "tui.keys.keymap",
        "tui.link",
        "tui.lists.screen",
        "tui.forms.fields",
    ),
    *(
        "widgets.composer",
        "widgets.transcript.transcript",
        "agent_tui.clients",
        "agent_tui.model.events",
        "agent_tui.state",
    ),
    *("textual.widgets._text_area", "typer", "email", "http", "urllib.request"),
    *("httpx", "jsonschema", "pydantic", "pygments", "regex", "sqlalchemy"),
)

BREAKS = """
import os, sys, tty, types
def run_rooms(request):
    tty.setraw(0)
    os.write(1, b"\\x1b[?1049h\\x1b[?25l\\x1b[?1000h")
    raise RuntimeError("in the middle of a screen")
sys.modules["tui.app"] = types.SimpleNamespace(run_rooms=run_rooms)
class Alone(tui.runtime.Starting):
    def __init__(self, **_): pass
    def in_the_way(self, tell): return ""
tui.startup.begin = Alone
"""


def run(folder: Path, patch: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-P", "-c", RUN.format(patch=patch)],
        env=own_environ(folder),
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_backend_is_started_before_anything_heavy_is_loaded(tmp_path: Path) -> None:
    done = run(tmp_path, SPAWNS)
    assert (done.stdout, done.stderr) == ("spawned before: []\n", "")


def test_the_screen_is_asked_for_without_the_parser_and_its_code_is_ours(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text('theme = "light"\n', encoding="utf-8")
    done = run(tmp_path, ASKED)
    assert (done.returncode, done.stdout, done.stderr) == (7, "my-room True light []\n", "")


@pytest.mark.parametrize("arguments", [["rooms"], ["chat"], ["chat", "--new"]])
def test_the_first_frame_stands_before_a_screen_or_a_client_is_loaded(
    arguments: list[str], tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "go")
    command = [sys.executable, "-P", "-c", HELD, *arguments, "--url", "http://127.0.0.1:1"]
    with terminal(command, own_environ(tmp_path), tmp_path) as screen:
        screen.wait_for("connecting to 127.0.0.1:1…")
        (tmp_path / "go").write_bytes(b"")
        loaded = set(json.loads((tmp_path / "loaded.json").read_bytes()))
        assert "textual.app" in loaded
        assert not loaded & set(NOT_IN_FIRST_FRAME)
        screen.wait_for("reconnecting in")
        screen.send("q")
        assert screen.wait_for_end() == UNREACHABLE


@pytest.mark.parametrize("arguments", [[], ["rooms"], ["rooms", "my-room"]])
def test_a_dumb_terminal_gets_one_line_that_says_what_to_do(tmp_path: Path, arguments: list[str]) -> None:
    environ = own_environ(tmp_path) | {"TERM": "dumb"}
    with terminal([*PROGRAM, *arguments], environ, tmp_path) as screen:
        assert screen.wait_for_end() == 2
        said = bytes(screen.raw).decode()
    assert said.count("\n") == 1
    assert said.startswith("agent-tui: TERM=dumb")
    assert "rooms list" in said
    assert "\x1b" not in said
    assert not (tmp_path / "data").exists()


def test_a_screen_that_breaks_leaves_a_usable_terminal_and_one_line(tmp_path: Path) -> None:
    command = [sys.executable, "-P", "-c", RUN.format(patch=BREAKS)]
    with terminal(command, own_environ(tmp_path), tmp_path) as screen:
        screen.wait_for_bytes(LEAVES_SCREEN)
        assert screen.wait_for_end() == 1
        assert screen.is_as_before()
        said = bytes(screen.raw)
    assert said.index(ENTERS_SCREEN) < said.index(LEAVES_SCREEN)
    assert b"\x1b[?25h" in said
    assert b"\x1b[?1000l" in said
    after = said[said.rindex(b"\x1b[0m") + 4 :].decode()
    assert after.startswith("agent-tui: internal error")
    assert after.count("\n") == 1


def test_a_broken_config_file_is_one_line_before_any_screen(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("theme = 3\n", encoding="utf-8")
    with terminal(
        [*PROGRAM, "rooms", "--url", "http://127.0.0.1:1"], own_environ(tmp_path), tmp_path
    ) as screen:
        assert screen.wait_for_end() == 2
        said = bytes(screen.raw).decode()
    assert said.count("\n") == 1
    assert "theme" in said
    assert "\x1b" not in said
