"""Copying, through the terminal (OSC 52), the terminal multiplexer and the clipboard tools of this machine.

The terminal never says whether it took the text, so every way that may work is used. None of them goes
through a shell or can block the screen. A text that cannot be copied is kept in a file.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from base64 import b64encode
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from textual.app import App

from agent_tui.config.file import data_path
from agent_tui.model.errors import ConfigError
from agent_tui.whole_file import write_whole
from tui.screens.localised import localised
from tui.screens.words import say, say_count
from widgets.terminal.private import driver_of

MAX_OSC52_BYTES: Final = 100_000  # of base64; terminals cut or drop longer texts
SCREEN_PIECE_BYTES: Final = 76  # GNU screen drops longer strings
TOOL_SECONDS: Final = 2.0
FILE_NAME: Final = "copied.md"

Way = Literal["terminal", "tmux", "tool", "file"]


@dataclass(frozen=True, slots=True)
class CopyResult:
    """What happened to a text: its lines, the ways it was copied, and the file it is kept in, if any.

    If no way worked the text is lost, and ``problem`` says why.
    """

    lines: int
    ways: tuple[Way, ...]
    file: Path | None = None
    problem: str = ""


async def copy(app: App[Any], text: str, environ: Mapping[str, str] = os.environ) -> CopyResult:
    """Copy ``text`` to wherever the person can paste it from. Never raises because of a tool.

    ``environ`` says which terminal and which tools there are.
    """
    lines = len(text.splitlines())
    if not text:
        return CopyResult(0, ())
    ways: list[Way] = []
    sequence, driver = osc52(text, environ), driver_of(app)
    if sequence and driver is not None:  # Textual's own way to copy does not know multiplexers
        driver.write(sequence)
        ways.append("terminal")
    if environ.get("TMUX") and await _run(("tmux", "load-buffer", "-w", "-"), text.encode(), environ):
        ways.append("tmux")
    for command in tools(environ):
        encoding = "utf-16-le" if command[0] == "clip.exe" else "utf-8"
        if await _run(command, text.encode(encoding), environ):
            ways.append("tool")
            break
    if ways:
        return CopyResult(lines, tuple(ways))
    file = data_path() / FILE_NAME
    try:
        await asyncio.to_thread(write_whole, file, text.encode(), is_private=True)
    except ConfigError as error:
        return CopyResult(lines, (), problem=error.detail)
    return CopyResult(lines, ("file",), file)


def notice(copied: CopyResult, what: str) -> str:
    """Return the sentence that says what was done; ``what`` was copied: a message, code or a selection."""
    if copied.problem:
        return say("copy.failed", problem=localised(copied.problem))
    if copied.file is not None:
        return say("copy.file", file=copied.file)
    if not copied.lines:
        return say("copy.no_code" if what == "code" else "copy.nothing")
    return say_count("copy.lines", copied.lines)


def osc52(text: str, environ: Mapping[str, str]) -> str:
    """Return the sequence that copies ``text``, wrapped for tmux or GNU screen; "" if it is too long."""
    data = b64encode(text.encode()).decode("ascii")
    if len(data) > MAX_OSC52_BYTES:
        return ""
    sequence = f"\x1b]52;c;{data}\x07"
    if environ.get("TMUX"):
        return "\x1bPtmux;" + sequence.replace("\x1b", "\x1b\x1b") + "\x1b\\"
    if environ.get("STY"):
        size = SCREEN_PIECE_BYTES
        pieces = [sequence[at : at + size] for at in range(0, len(sequence), size)]
        return "".join([f"\x1bP{piece}\x1b\\" for piece in pieces])
    return sequence


def tools(environ: Mapping[str, str]) -> Iterator[tuple[str, ...]]:
    """Yield the clipboard tools that can work here, best first.

    Over SSH, the clipboard of this machine is not the person's, unless their display is forwarded.
    """
    if environ.get("WAYLAND_DISPLAY"):
        yield ("wl-copy",)
    if environ.get("DISPLAY"):
        yield "xclip", "-selection", "clipboard", "-in"
        yield "xsel", "--clipboard", "--input"
    if not environ.get("SSH_CONNECTION"):
        yield ("pbcopy",)
        yield ("clip.exe",)
        yield ("termux-clipboard-set",)


async def _run(command: tuple[str, ...], data: bytes, environ: Mapping[str, str]) -> bool:
    """Pass ``data`` to a tool on its standard input; return whether it took it in time."""
    path = shutil.which(command[0], path=environ.get("PATH", os.defpath))
    if path is None:
        return False
    pipe, quiet = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
    try:
        process = await asyncio.create_subprocess_exec(
            path, *command[1:], stdin=pipe, stdout=quiet, stderr=quiet, env=dict(environ)
        )
    except OSError:
        return False
    try:
        async with asyncio.timeout(TOOL_SECONDS):
            await process.communicate(data)
    except TimeoutError:
        return False
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
    return process.returncode == 0
