"""The lists of a voice session: devices, and files to send."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Final

from agent_tui.model.inert import inert_line
from tui.screens.choose import Candidate, Candidates, ChooseScreen
from tui.screens.words import say
from tui.voice.run import VoiceRun

INPUT: Final = "in "  # before the name of a microphone, in what is chosen; before that of a speaker:
OUTPUT: Final = "out "
MOST_FILES: Final = 500
MAX_NAME_CHARACTERS: Final = 80


def device_screen(run: VoiceRun) -> ChooseScreen:
    """Return the dialog that closes with a device for ``chosen_device``."""

    async def load() -> Candidates:
        inputs, outputs = await run.source.devices()
        return [*_rows(INPUT, "voice.devices.input", inputs), *_rows(OUTPUT, "voice.devices.output", outputs)]

    return ChooseScreen(say("voice.devices.title"), load, f"{INPUT}{run.request.input_name}")


def _rows(kind: str, what: str, names: Sequence[str]) -> list[Candidate]:
    if not names:
        return []
    default = Candidate(kind, f"{say(what)} · {say('voice.device.default')}")
    rows = [
        Candidate(f"{kind}{name}", f"{say(what)} · {inert_line(name, MAX_NAME_CHARACTERS)}") for name in names
    ]
    return [default, *rows]


async def take_device(run: VoiceRun, value: str) -> str:
    """Change to the chosen device; return what to say about it."""
    is_input = value.startswith(INPUT)
    name = value.removeprefix(INPUT if is_input else OUTPUT)
    await (run.choose(input_name=name) if is_input else run.choose(output_name=name))
    what = say("voice.devices.input" if is_input else "voice.devices.output")
    shown = inert_line(name, MAX_NAME_CHARACTERS) or say("voice.device.default")
    return say("voice.devices.chosen", what=what, name=shown)


def file_screen(folder: Path) -> ChooseScreen:
    """Return the dialog that closes with the path of a file in ``folder``, or with a typed one."""
    load: Callable[[], Awaitable[Candidates]] = lambda: asyncio.to_thread(_files, folder)  # noqa: E731
    return ChooseScreen(say("voice.file.title"), load, "", may_type=True)


def _files(folder: Path) -> list[Candidate]:
    try:
        names = sorted(path.name for path in folder.iterdir() if path.is_file())
    except OSError:
        return []
    return [
        Candidate(str(folder / name), inert_line(name, MAX_NAME_CHARACTERS)) for name in names[:MOST_FILES]
    ]
