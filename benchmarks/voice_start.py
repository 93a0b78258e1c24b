"""Whether ``agent-tui rooms`` starts as fast with the code of voice as without.

Two copies of the program are started in turn, each in a pty: a whole one, and one from which voice was taken
out, so that nothing of it can be imported.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from statistics import median

import agent_tui
from benchmarks.startup import FRAMES, PROGRAM, shown_seconds
from benchmarks.table import row

SOURCE = Path(agent_tui.__file__).parents[1]
PACKAGES = ("agent_tui", "tui", "widgets", "themes")
TAKEN_OUT = ("agent_tui/audio", "agent_tui/voice_agent", "agent_tui/clients/voice")
# What the rest of the program imports of tui/voice: as little as it starts with.
STANDS_IN = {
    "commands.py": (
        "import typer\nvoice = typer.Typer()\n"
        "@voice.callback(invoke_without_command=True)\ndef _voice() -> None: ...\n"
    ),
    "opening.py": "class VoiceOpening:\n    def __init__(self, source): ...\n",
    "screen.py": "from textual.screen import Screen\nclass VoiceScreen(Screen):\n    BINDINGS = []\n",
}
KEPT = ("__init__.py", "request.py", "words.py")


def main() -> None:
    """Print the row."""
    with tempfile.TemporaryDirectory() as name:
        whole, cut = Path(name, "whole"), Path(name, "cut")
        for folder in (whole, cut):
            _copy(folder)
        _take_voice_out(cut)
        for folder in (whole, cut):  # Python compiles what is new to it
            _first_frame(folder)
        pairs = [(_first_frame(whole), _first_frame(cut)) for _ in range(FRAMES)]
    with_voice, without = (median(column) for column in zip(*pairs, strict=True))
    note = f"{with_voice:.2f} s with it, {without:.2f} s without"
    row("start of rooms, against one without voice", "1.0 ×", f"{with_voice / without:.2f} ×", note)


def _copy(folder: Path) -> None:
    for package in PACKAGES:
        shutil.copytree(SOURCE / package, folder / package, ignore=shutil.ignore_patterns("__pycache__"))


def _take_voice_out(folder: Path) -> None:
    for place in TAKEN_OUT:
        shutil.rmtree(folder / place)
    voice = folder / "tui" / "voice"
    for file in voice.iterdir():
        if file.is_dir():
            shutil.rmtree(file)
        elif file.name not in KEPT:
            file.unlink()
    for name, text in STANDS_IN.items():
        (voice / name).write_text(text, encoding="utf-8")


def _first_frame(folder: Path) -> float:
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = str(folder)
    try:
        return shown_seconds([*PROGRAM, "rooms"], "the backend")
    finally:
        if before is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = before


if __name__ == "__main__":
    main()
