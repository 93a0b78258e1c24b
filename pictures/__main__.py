"""Takes the README's pictures: the real screen over a real backend, in a folder that is thrown away."""

from __future__ import annotations

import asyncio
import os
import re
import tempfile
from collections.abc import Callable
from pathlib import Path

from textual.pilot import Pilot

from agent_tui.config import load
from agent_tui.state.room import RoomState
from tui import runtime
from tui.app import AgentTuiApp
from tui.request import ScreenRequest
from tui.screens.room import RoomScreen

HERE = Path(__file__).parent
WIDE, SMALL = (120, 30), (80, 24)
# The terminal font comes from the reader's machine: a picture in a README must load nothing.
WEB_FONTS = re.compile(r"@font-face\s*{.*?}\s*", re.S)


async def until(pilot: Pilot[int], holds: Callable[[RoomState], bool]) -> None:
    """Wait until the state of the room on the screen is as wanted."""
    while not (isinstance(pilot.app.screen, RoomScreen) and holds(pilot.app.screen.state)):
        await pilot.pause(0.05)
    await pilot.pause(0.7)  # the headers look at the speed twice a second


def save(pilot: Pilot[int], name: str) -> None:
    """Write what is on the screen as an SVG file."""
    svg = pilot.app.export_screenshot(title="agent-tui rooms")
    (HERE / f"{name}.svg").write_text(WEB_FONTS.sub("", svg), encoding="utf-8")


async def take(name: str, size: tuple[int, int], *, keys: str, ready: Callable[[RoomState], bool]) -> None:
    """Open the rooms, wait for words, press ``keys``, wait until ``ready``, take the picture."""
    app = AgentTuiApp(ScreenRequest(runtime.begin(), None, load()))
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda state: state.tokens > 600 and len(state.speaking) == 3)
        await pilot.press(*keys)
        await until(pilot, ready)
        save(pilot, name)


def picture(name: str, size: tuple[int, int], *, keys: str, ready: Callable[[RoomState], bool]) -> None:
    """Take one picture of a new demo room, in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"AGENT_TUI_DATA": folder, "AGENT_TUI_CONFIG": f"{folder}/config.toml"}
        try:
            asyncio.run(take(name, size, keys=keys, ready=ready))
        finally:
            runtime.stop()


def main() -> None:
    """Take both pictures."""
    os.environ |= {"AGENT_TUI_DEMO_RATE": "60", "LANG": "C.UTF-8"}
    picture("room", WIDE, keys="", ready=lambda state: state.tokens > 700)
    picture("paused", SMALL, keys="p", ready=lambda state: state.status == "paused")


if __name__ == "__main__":
    main()
