"""The first ``agent-tui voice`` on a machine, on a real terminal: what is missing is offered once."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_tui.voice_parts import missing_parts, voice_folder
from tests.fakes.terminal import ENTERS_SCREEN, Terminal, terminal
from tests.tui.programs import PROGRAM, Home, own_environ, reap
from tests.tui.voice.test_setup import BUILDS, go
from tui import exits

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
    """Refuse all of it, then take the parts that are ``wanted`` and refuse the others."""
    missing = [part.name for part in missing_parts(home.data)]
    seen.wait_for("Get all of it? [Y/n]")
    seen.send("n\n")
    for name in missing:
        if name == "models" and "agent" in missing:
            continue  # nobody asks: the agent was refused
        seen.wait_for(f"Get the {name} (")
        seen.send("y\n" if name in wanted else "n\n")


def test_what_is_missing_is_named_with_its_size_licence_and_what_goes_without(home: Home) -> None:
    with terminal([*PROGRAM, "voice"], home.environ, home.folder, columns=100) as seen:
        seen.wait_for("Get all of it? [Y/n]")
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
        assert b"Get all of it?" not in seen.raw
    assert {path.name for path in voice_folder(home.data).iterdir()} & {"bin", "env", "models"} == set()


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
