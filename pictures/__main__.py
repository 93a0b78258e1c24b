"""Takes the pictures of README and docs: the real screen over a real backend, in a folder thrown away."""

from __future__ import annotations

import asyncio
import os
import re
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from agent_tui.config.file import load
from pictures import moving, scenes, voice
from pictures.chats import many_chats, new_chat
from pictures.film import placed
from pictures.rooms import many_rooms, new_room, rooms_to_talk_about
from tui import runtime
from tui.app import AgentTuiApp
from tui.request import ScreenRequest
from tui.voice.request import VoiceRequest

HERE = Path(__file__).parent
# The terminal font comes from the reader's machine: a picture in a README must load nothing.
WEB_FONTS = re.compile(r"@font-face\s*{.*?}\s*", re.S)
# Rich cuts the last row three units too early: through the tails of its letters.
CUT = re.compile(r'(-clip-terminal">\s*<rect x="0" y="0" width="[0-9.]+" height=")([0-9.]+)')
MORE: Final = 3
# A provider that is not there: what a room says of one that fails.
OFFICE: Final = '[providers.office]\nkind = "openai"\nbase_url = "http://127.0.0.1:9/v1"\nmodel = "large"\n'

SUMS: Final = "What is 17 * 23 + 4, and what time is it in Tokyo?"
FOLDED: Final = ("▸ current_time", "▸ calculator")


@dataclass(frozen=True, slots=True)
class Picture:
    """What is to be seen: a screen of ``size`` after ``scene``, over one room of so many agents; over many
    rooms without any; over a new chat, or many of them; over a voice room with sound, or without; of home.
    """

    name: str
    size: tuple[int, int]
    scene: scenes.Scene
    agents: int = 0
    theme: str = "dark"
    rate: int = 60  # tokens per second of each agent
    chats: Literal["", "one", "many"] = ""
    voice: Literal["", "heard", "typed"] = ""
    home: bool = False


PICTURES: Final = (
    Picture("home", (100, 22), scenes.home, rate=15, home=True),
    Picture("sixteen", (200, 60), scenes.room(2200), 16),
    Picture("small", (80, 24), scenes.room(900), 4),
    Picture("paused", (80, 24), scenes.room(700, "p"), 3),
    Picture("timeline", (120, 30), scenes.room(1800, "t", "slash", *"decide", "enter", "N"), 4, "fjord"),
    Picture("themes", (120, 30), scenes.room(900, "ctrl+t", "down", "down"), 3),
    Picture("speaking", (120, 30), scenes.words, 3, rate=15),
    Picture("list", (120, 14), scenes.listed),
    Picture("new", (120, 30), scenes.new),
    Picture("setup", (120, 24), scenes.setup),
    Picture("chat", (120, 30), scenes.asked(SUMS, unfolds=FOLDED), rate=400, chats="one"),
    Picture("asks", (120, 30), scenes.asks, rate=400, chats="one"),
    Picture("chats", (120, 30), scenes.searched, rate=0, chats="many"),
    Picture("voice", (100, 24), voice.talked, rate=15, voice="heard"),
    Picture("typed", (80, 24), voice.typed, rate=15, voice="typed"),
)


async def take(picture: Picture) -> None:
    """Play the scene, write what is on the screen then as an SVG file."""
    if picture.chats:
        await (many_chats if picture.chats == "many" else new_chat)(Path.home() / "shop")
    elif picture.voice or picture.home:
        await rooms_to_talk_about()
    elif not picture.agents:
        await many_rooms()
    chat = "" if picture.chats else None
    joined = VoiceRequest(uses_aec=False) if picture.voice else None
    asked = ScreenRequest(runtime.begin(), None, load(), home=picture.home, chat=chat, voice=joined)
    app = AgentTuiApp(asked)
    command = "voice --room demo" if picture.voice else "rooms" if chat is None else "chat"
    title = "agent-tui" if picture.home else f"agent-tui {command}"
    async with app.run_test(size=picture.size) as pilot:
        await picture.scene(pilot)
        svg = placed(WEB_FONTS.sub("", app.export_screenshot(title=title)))
        svg = CUT.sub(lambda found: f"{found[1]}{float(found[2]) + MORE:g}", svg)
        (HERE / f"{picture.name}.svg").write_text(svg, encoding="utf-8")


def main() -> None:
    """Take all pictures, or those whose names are given; "moving" is the one that moves."""
    wanted = sys.argv[1:]
    os.environ |= {"LANG": "C.UTF-8", "LOGNAME": "you", "OPENROUTER_API_KEY": "of nobody"}  # home offers it
    if not wanted or "moving" in wanted:
        (HERE / "moving.svg").write_text(moving.film(), encoding="utf-8")
    for picture in PICTURES:
        if wanted and picture.name not in wanted:
            continue
        if picture.voice and (missing := voice.why_not()):
            sys.stderr.write(f"{picture.name}.svg is not taken: {missing} not on this machine\n")
            continue
        with tempfile.TemporaryDirectory() as folder:
            os.environ |= {"AGENT_TUI_DATA": folder, "AGENT_TUI_CONFIG": f"{folder}/config.toml"}
            os.environ["HOME"] = folder  # where the tools of a chat have their files
            os.environ["AGENT_TUI_DEMO_RATE"] = str(picture.rate)
            is_list = not (picture.agents or picture.chats or picture.voice or picture.home)
            config = f'theme = "{picture.theme}"\n{OFFICE if is_list else ""}'
            Path(folder, "config.toml").write_text(config, encoding="utf-8")
            try:
                if picture.agents:
                    new_room(picture.agents)
                with voice.sound(Path(folder), has_devices=picture.voice == "heard"):
                    asyncio.run(take(picture))
            finally:
                runtime.stop()


if __name__ == "__main__":
    main()
