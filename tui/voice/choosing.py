"""The lists of a voice session: devices, and files to send."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from agent_tui.model.inert import inert_line
from agent_tui.paths import file_exists
from tui.screens.choose import Candidate, Candidates, ChooseScreen
from tui.screens.words import say
from tui.voice.run import VoiceRun

if TYPE_CHECKING:
    from agent_tui.audio.devices import Direction

MOST_FILES: Final = 500
MAX_NAME_CHARACTERS: Final = 80


def device_screen(run: VoiceRun) -> ChooseScreen:
    """Return the dialog that closes with a device: its direction and its name, "" for the default."""

    async def load() -> Candidates:
        inputs, outputs = await run.source.devices()
        return [*_rows("input", inputs), *_rows("output", outputs)]

    return ChooseScreen(say("voice.devices.title"), load, f"input {run.request.input_name}")


def _rows(direction: Direction, names: Sequence[str]) -> list[Candidate]:
    """Return the system's default and the named devices, if there are any."""
    what = say(f"voice.devices.{direction}")
    return [
        Candidate(f"{direction} {name}", f"{what} · {device_name(name)}") for name in ("", *names) if names
    ]


def device_name(name: str) -> str:
    return inert_line(name, MAX_NAME_CHARACTERS) or say("voice.device.default")


def file_screen(folder: Path) -> ChooseScreen:
    """Return the dialog that closes with the path of a file in ``folder``, or with a typed one."""
    return ChooseScreen(
        say("voice.file.title"), partial(asyncio.to_thread, _files, folder), "", may_type=True
    )


def _files(folder: Path) -> list[Candidate]:
    try:
        names = sorted(path.name for path in folder.iterdir() if file_exists(path))
    except OSError:
        return []
    return [
        Candidate(str(folder / name), inert_line(name, MAX_NAME_CHARACTERS)) for name in names[:MOST_FILES]
    ]
