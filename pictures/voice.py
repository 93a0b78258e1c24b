"""A voice room for the pictures: a voice of the offline models talks, over a PulseAudio without devices."""

from __future__ import annotations

import asyncio
import os
import shutil
import wave
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from textual.pilot import Pilot

from agent_tui.state.voice import VoiceState
from agent_tui.voice_agent.speaking.voices import Voice
from agent_tui.voice_parts import missing_parts
from pictures.scenes import HEADER_SECONDS, LOOK_SECONDS, press, write
from tests.fakes.voice.pulse import COMMANDS, Pulse
from tests.voice_agent.console_peer import RATE, spoken, usual_voice
from tui.live.ask_bar import AskBar
from tui.voice.screen import VoiceScreen

SOUND: Final = "sound"  # the folder, below the home folder, of the PulseAudio


def why_not() -> str:
    """Return what is missing here for pictures of voice, "" for nothing."""
    missing = [command for command in COMMANDS if shutil.which(command) is None]
    return ", ".join([*missing, *(part.name for part in missing_parts())])


@contextmanager
def sound(folder: Path, *, has_devices: bool) -> Iterator[None]:
    """Let this program's sound be that of a PulseAudio in ``folder``, or none at all."""
    place = folder / SOUND
    place.mkdir()
    (place / "run").mkdir(mode=0o700)
    os.environ["XDG_RUNTIME_DIR"] = str(place / "run")
    if not has_devices:
        yield
        return
    pulse = Pulse(place)
    try:
        yield
    finally:
        pulse.stop()


async def talked(pilot: Pilot[int]) -> None:
    """Ask, cut in, have a room paused, and ask on."""
    await until(pilot, lambda state: state.phase == "listening" and len(state.lines) == 1)
    await says("What rooms are running?")
    await until(pilot, lambda state: state.phase == "speaking" and "Two rooms" in newest(state))
    await says("Pause the service room, please.")
    await until(pilot, lambda state: state.phase == "listening" and "is paused" in newest(state))
    await says("And what is the other one about, the one that has not started?")
    await until(pilot, lambda state: state.phase == "user_speaking" and "other" in newest(state))


async def typed(pilot: Pilot[int]) -> None:
    """Have a tool ask, where there is no microphone."""
    await until(pilot, lambda state: state.phase == "listening" and len(state.lines) == 1)
    await press(pilot, ["tab"])
    await write(pilot, "resume the redis room", "enter")
    while not isinstance(pilot.app.screen.focused, AskBar):
        await pilot.pause(LOOK_SECONDS)
    await pilot.pause(HEADER_SECONDS)


# --- the parts ---------------------------------------------------------------------------------------------


async def says(text: str) -> None:
    """Begin to say ``text`` into the microphone."""
    path = Path(os.environ["XDG_RUNTIME_DIR"]) / "said.wav"
    voice = await Voice.start(usual_voice())
    try:
        words = await spoken(voice, text)
    finally:
        await voice.aclose()
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes(words)
    await asyncio.create_subprocess_exec("paplay", "--device=voice", str(path))


async def until(pilot: Pilot[int], holds: Callable[[VoiceState], bool]) -> None:
    """Wait until the state of the session is as wanted."""
    while not any(
        isinstance(screen, VoiceScreen) and holds(screen.state) for screen in pilot.app.screen_stack
    ):
        await pilot.pause(LOOK_SECONDS)
    await pilot.pause(HEADER_SECONDS)


def newest(state: VoiceState) -> str:
    """Return the words of the newest line."""
    said = [line.text.text for line in state.lines.all.values() if line.kind in ("person", "agent")]
    return said[-1] if said else ""
