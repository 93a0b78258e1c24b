"""Takes the README's pictures: the real screen over a real backend, in a folder that is thrown away."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import Final

from rich.cells import cell_len
from textual.pilot import Pilot

from agent_tui.config import load
from agent_tui.state.room import RoomState
from tui import runtime
from tui.app import AgentTuiApp
from tui.request import ScreenRequest
from tui.screens.room import RoomScreen

HERE = Path(__file__).parent
# The terminal font comes from the reader's machine: a picture in a README must load nothing.
WEB_FONTS = re.compile(r"@font-face\s*{.*?}\s*", re.S)
# Rich gives every text the length of its characters; wide ones take two cells each.
TEXT = re.compile(r'(<text[^>]*textLength=")([0-9.]+)("[^>]*>)([^<]*)(?=</text>)')
TASK: Final = "Should sessions live in Redis or PostgreSQL?"
NAMES: Final = (
    *("Mika", "Ada", "老王", "Noor", "Вера", "Juno", "Tomás", "Ines"),
    *("Kofi", "Yuki", "Лев", "Sana", "Otto", "李雷", "Rosa", "Zed"),
)


@dataclass(frozen=True, slots=True)
class Picture:
    """What is to be seen: so many agents on a screen of ``size`` once they said so many ``tokens``, after
    ``keys``, in a theme.
    """

    name: str
    size: tuple[int, int]
    agents: int
    tokens: int
    keys: Sequence[str] = ()
    theme: str = "dark"


PICTURES: Final = (
    Picture("room", (120, 30), 3, 700),
    Picture("sixteen", (200, 60), 16, 4500),
    Picture("small", (80, 24), 4, 900),
    Picture("paused", (80, 24), 3, 700, ["p"]),
    Picture("timeline", (120, 30), 4, 1800, ["t", "slash", *"decide", "enter", "N"], "fjord"),
    Picture("themes", (120, 30), 3, 900, ["ctrl+t", "down", "down"]),
    Picture("help", (120, 40), 3, 700, ["question_mark"], "light"),
)


async def until(pilot: Pilot[int], holds: Callable[[RoomState], bool]) -> None:
    """Wait until the state of the room under the dialogs is as wanted."""
    while not any(
        isinstance(screen, RoomScreen) and holds(screen.state) for screen in pilot.app.screen_stack
    ):
        await pilot.pause(0.05)


async def take(picture: Picture, room_id: str) -> None:
    """Open the room, start it, wait for words, press the keys, write what is on the screen as an SVG file."""
    app = AgentTuiApp(ScreenRequest(runtime.begin(), room_id, load()))
    async with app.run_test(size=picture.size) as pilot:
        await until(pilot, lambda state: state.loaded)
        await pilot.press("p")
        await until(pilot, lambda state: state.tokens > picture.tokens and len(state.speaking) > 1)
        for key in picture.keys:
            await pilot.press(key)
            await pilot.pause(0.1)
        if picture.keys == ["p"]:
            await until(pilot, lambda state: state.status == "paused")
        await pilot.pause(0.7)  # the headers look at the speed twice a second
        svg = TEXT.sub(with_cells, WEB_FONTS.sub("", app.export_screenshot(title="agent-tui rooms")))
        (HERE / f"{picture.name}.svg").write_text(svg, encoding="utf-8")


def with_cells(text: re.Match[str]) -> str:
    """Return a text of an SVG file with the length that its cells take."""
    words = unescape(text[4])
    length = float(text[2]) * cell_len(words) / max(1, len(words))
    return f"{text[1]}{length:g}{text[3]}{text[4]}"


def new_room(agents: int) -> str:
    """Make a room through the command line and return its id."""
    named = [word for name in NAMES[:agents] for word in ("--agent", name)]
    command = [
        sys.executable,
        "-P",
        "-m",
        "tui",
        "rooms",
        "new",
        "--task",
        TASK,
        "--mode",
        "parallel",
        *named,
    ]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def main() -> None:
    """Take all pictures, or those whose names are given."""
    wanted = sys.argv[1:]
    os.environ |= {"AGENT_TUI_DEMO_RATE": "60", "LANG": "C.UTF-8"}
    for picture in PICTURES:
        if wanted and picture.name not in wanted:
            continue
        with tempfile.TemporaryDirectory() as folder:
            os.environ |= {"AGENT_TUI_DATA": folder, "AGENT_TUI_CONFIG": f"{folder}/config.toml"}
            Path(folder, "config.toml").write_text(f'theme = "{picture.theme}"\n', encoding="utf-8")
            try:
                asyncio.run(take(picture, new_room(picture.agents)))
            finally:
                runtime.stop()


if __name__ == "__main__":
    main()
