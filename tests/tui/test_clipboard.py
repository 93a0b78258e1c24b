from __future__ import annotations

import asyncio
import os
import stat
from base64 import b64decode, b64encode
from pathlib import Path
from typing import Any

import pyte
import pytest
from textual.app import App
from textual.pilot import Pilot

from tests.fakes.named_pipe import read_pipe
from tests.widgets.apps import CountingDriver
from tui import clipboard
from tui.clipboard import MAX_OSC52_BYTES, CopyResult, copy, notice, osc52, tools


class Tools:
    """A folder of programs that a test wrote, and nothing else on PATH."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def environ(self, **more: str) -> dict[str, str]:
        return {"PATH": str(self.folder), **more}

    def arguments(self, name: str) -> str:
        """Return what a program was called with."""
        return (self.folder / f"{name}.kept.arguments").read_text()

    def add(self, name: str, script: str = "") -> Path:
        """Write a program that keeps its arguments and what it is given, and then runs ``script``."""
        kept = self.folder / f"{name}.kept"
        program = self.folder / name
        program.write_text(f'#!/bin/sh\necho "$@" > {kept}.arguments\n/bin/cat > {kept}\n{script}\n')
        program.chmod(0o755)
        return kept


@pytest.fixture
def fakes(tmp_path: Path) -> Tools:
    folder = tmp_path / "bin"
    folder.mkdir()
    return Tools(folder)


@pytest.fixture
def data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(clipboard, "data_path", lambda: tmp_path / "data")
    return tmp_path / "data"


async def copied(text: str, environ: dict[str, str]) -> tuple[CopyResult, str]:
    """Copy in an app on a counting terminal; return what was done and what was written."""
    app: App[None] = App()
    app.driver_class = CountingDriver
    result: list[tuple[CopyResult, str]] = []

    async def act(pilot: Pilot[Any]) -> None:
        await pilot.pause()
        driver = app._driver
        assert isinstance(driver, CountingDriver)
        driver.written = ""
        done = await copy(app, text, environ)
        result.append((done, driver.written))
        app.exit()

    await app.run_async(headless=False, size=(40, 5), auto_pilot=act)
    return result[0]


async def test_a_text_goes_to_the_terminal(fakes: Tools) -> None:
    text = "two\nлинии 行"
    done, written = await copied(text, fakes.environ())
    assert done == CopyResult(2, ("terminal",))
    assert written == f"\x1b]52;c;{b64encode(text.encode()).decode()}\x07"


async def test_in_tmux_it_goes_through_tmux_and_into_its_buffer(fakes: Tools) -> None:
    kept = fakes.add("tmux")
    done, written = await copied("words", fakes.environ(TMUX="/tmp/tmux,1,0"))
    assert done.ways == ("terminal", "tmux")
    assert written == "\x1bPtmux;\x1b\x1b]52;c;d29yZHM=\x07\x1b\\"
    assert kept.read_text() == "words"
    assert fakes.arguments("tmux") == "load-buffer -w -\n"


def test_for_gnu_screen_it_is_cut_into_pieces_that_make_the_whole_again() -> None:
    sequence = osc52("words " * 100, {"STY": "1.pts"})
    pieces = sequence.split("\x1b\\")
    assert pieces.pop() == ""
    assert all(piece.startswith("\x1bP") and len(piece) <= 78 for piece in pieces)
    whole = "".join(piece.removeprefix("\x1bP") for piece in pieces)
    assert whole == osc52("words " * 100, {})


def test_nothing_of_it_is_drawn_or_obeyed() -> None:
    screen = pyte.Screen(40, 3)
    pyte.Stream(screen).feed("before " + osc52("\x1b[2J\x07 words", {}) + "after")
    assert screen.display[0].rstrip() == "before after"


@pytest.mark.parametrize(
    ("environ", "names"),
    [
        ({"WAYLAND_DISPLAY": "w", "DISPLAY": ":0"}, ["wl-copy", "xclip", "xsel"]),
        ({"DISPLAY": ":0"}, ["xclip", "xsel"]),
        ({}, []),
        ({"SSH_CONNECTION": "a"}, []),
        ({"SSH_CONNECTION": "a", "DISPLAY": "localhost:10"}, ["xclip", "xsel"]),
    ],
)
def test_only_tools_that_can_work_are_asked(environ: dict[str, str], names: list[str]) -> None:
    local = [] if "SSH_CONNECTION" in environ else ["pbcopy", "clip.exe", "termux-clipboard-set"]
    assert [command[0] for command in tools(environ)] == names + local


async def test_the_tool_gets_the_text(fakes: Tools) -> None:
    kept = fakes.add("xclip")
    done, _ = await copied("words $(id) `id`", fakes.environ(DISPLAY=":0"))
    assert done.ways == ("terminal", "tool")
    assert kept.read_text() == "words $(id) `id`"
    assert fakes.arguments("xclip") == "-selection clipboard -in\n"


async def test_a_tool_that_fails_is_passed_over_for_the_next_one(fakes: Tools) -> None:
    fakes.add("wl-copy", "exit 1")
    (fakes.folder / "xclip").write_text("no program at all")
    (fakes.folder / "xclip").chmod(0o755)
    kept = fakes.add("xsel")
    done, _ = await copied("words", fakes.environ(WAYLAND_DISPLAY="w", DISPLAY=":0"))
    assert done.ways == ("terminal", "tool")
    assert kept.read_text() == "words"


async def test_windows_gets_its_own_encoding(fakes: Tools) -> None:
    kept = fakes.add("clip.exe")
    await copied("行", fakes.environ())
    assert kept.read_bytes() == "行".encode("utf-16-le")


async def test_a_tool_that_takes_too_long_is_given_up(fakes: Tools, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clipboard, "TOOL_SECONDS", 0)
    fakes.add("xclip", "exec /bin/sleep 1000")
    done, _ = await copied("words", fakes.environ(DISPLAY=":0"))
    assert done == CopyResult(1, ("terminal",))


async def test_a_tool_is_ended_when_the_program_is(fakes: Tools) -> None:
    ready = fakes.folder / "ready"
    os.mkfifo(ready)
    program = fakes.folder / "xclip"
    program.write_text(f"#!/bin/sh\necho $$ > {ready}\nexec /bin/sleep 1000\n")
    program.chmod(0o755)
    app: App[None] = App()
    task = asyncio.create_task(copy(app, "words", fakes.environ(DISPLAY=":0")))
    pid = int(await read_pipe(ready))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


async def test_a_text_too_long_for_the_terminal_is_not_cut_but_kept(fakes: Tools, data_folder: Path) -> None:
    text = "行\n" * MAX_OSC52_BYTES
    done, written = await copied(text, fakes.environ())
    assert written == ""
    assert done == CopyResult(MAX_OSC52_BYTES, ("file",), data_folder / "copied.md")
    assert done.file is not None
    assert done.file.read_text() == text
    assert stat.S_IMODE(done.file.stat().st_mode) == 0o600
    assert str(done.file) in notice(done, "message")


async def test_a_long_text_goes_to_a_tool_where_there_is_one(fakes: Tools) -> None:
    kept = fakes.add("wl-copy")
    text = "words\n" * MAX_OSC52_BYTES
    done, _ = await copied(text, fakes.environ(WAYLAND_DISPLAY="w"))
    assert done == CopyResult(MAX_OSC52_BYTES, ("tool",))
    assert kept.read_text() == text
    assert done.file is None


@pytest.fixture
def no_folder(data_folder: Path) -> None:
    data_folder.write_text("a file")


@pytest.mark.usefixtures("no_folder")
async def test_a_file_that_cannot_be_written_is_said(fakes: Tools) -> None:
    done, _ = await copied("words " * MAX_OSC52_BYTES, fakes.environ())
    assert done.ways == ()
    assert done.problem
    assert done.problem in notice(done, "message")


def test_the_longest_text_that_is_sent_arrives_whole() -> None:
    text = "x" * (MAX_OSC52_BYTES // 4 * 3)
    data = osc52(text, {}).removeprefix("\x1b]52;c;").removesuffix("\x07")
    assert b64decode(data).decode() == text
    assert osc52(text + "xxx", {}) == ""


def test_what_was_done_is_said_in_one_line() -> None:
    assert notice(CopyResult(1, ("terminal",)), "message") == "copied 1 line"
    assert notice(CopyResult(12, ("tool",)), "selection") == "copied 12 lines"
    assert notice(CopyResult(0, ()), "code") == "no code block in view"
    assert notice(CopyResult(0, ()), "message") == "nothing to copy here"


async def test_nothing_is_written_for_nothing(fakes: Tools) -> None:
    kept = fakes.add("tmux")
    assert await copied("", fakes.environ(TMUX="x")) == (CopyResult(0, ()), "")
    assert not kept.exists()
