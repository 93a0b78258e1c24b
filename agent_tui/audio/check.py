"""Why there is no sound, and what helps: a line for the screen, and records for ``agent-tui doctor``."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from agent_tui.audio.devices import (
    NO_LIBRARY,
    PULSE_BRIDGES,
    DeviceList,
    Direction,
    has_pactl,
    list_devices,
    portaudio_listed,
    pulse_answers,
)

NOUNS: Final[Mapping[Direction, str]] = {"input": "microphone", "output": "speaker"}
WSLG_SERVER: Final = Path("/mnt/wslg/PulseServer")
RUNTIME_FOLDERS: Final = Path("/run/user")


@dataclass(frozen=True, slots=True)
class SoundCheck:
    """One thing that sound needs; ``problem`` and ``fix`` are empty if it ``is_ok``."""

    name: str
    is_ok: bool
    found: str = ""  # what there is
    problem: str = ""
    fix: str = ""


@dataclass(frozen=True, slots=True)
class SoundSurroundings:
    """What sound depends on: the system, the user and the environment."""

    system: str  # as sys.platform
    is_wsl: bool = False
    is_root: bool = False
    environment: Mapping[str, str] = field(default_factory=dict)
    pulse_sockets: Sequence[str] = ()  # of PulseAudio or PipeWire servers on this machine

    @classmethod
    def of_this_process(cls) -> SoundSurroundings:
        """Return the surroundings of this process."""
        sockets = [str(WSLG_SERVER)] if WSLG_SERVER.exists() else []
        with suppress(OSError):  # a folder that we may not read
            sockets += sorted(str(found) for found in RUNTIME_FOLDERS.glob("*/pulse/native"))
        return cls(
            sys.platform,
            "microsoft" in platform.release().lower(),
            hasattr(os, "geteuid") and os.geteuid() == 0,
            os.environ,
            sockets,
        )


def no_device(direction: Direction, problem: str, around: SoundSurroundings) -> str:
    """Return one line: there is no microphone or speaker, and what helps. ``problem`` is the one of the
    device list.
    """
    if problem == NO_LIBRARY:
        return f"{NO_LIBRARY}: {library_fix(around)}"
    if problem:
        return problem
    return f"There is no {NOUNS[direction]}: {device_fix(around)}"


def library_fix(around: SoundSurroundings) -> str:
    """Return how to get PortAudio."""
    if around.system.startswith("linux"):
        return "install libportaudio2 (Debian, Ubuntu) or portaudio (Fedora, Arch)"
    return "install the package sounddevice again; it contains PortAudio"


def server_fix(around: SoundSurroundings) -> str:
    """Return the likely fault when no PulseAudio or PipeWire server answers."""
    named = around.environment.get("PULSE_SERVER", "")
    if named:
        return f"correct or unset PULSE_SERVER (nothing answers at {named})"
    if around.pulse_sockets:
        return f"set PULSE_SERVER=unix:{around.pulse_sockets[0]}"
    if around.is_wsl:
        return 'run "wsl --update" in Windows: WSLg brings the sound server'
    if not around.environment.get("XDG_RUNTIME_DIR"):
        whose = "of the user who is logged in" if around.is_root else "/run/user/$(id -u)"
        return f"set XDG_RUNTIME_DIR to the folder {whose}; the sound server is found there"
    return "start PipeWire or PulseAudio (systemctl --user start pipewire-pulse)"


def device_fix(around: SoundSurroundings) -> str:
    """Return what helps when there are no devices at all."""
    if around.system.startswith("linux"):
        return f"plug one in, or {server_fix(around)}"
    if around.system == "darwin":
        return "plug one in, or allow this terminal the microphone (System Settings, Privacy)"
    return "plug one in"


async def check_sound() -> list[SoundCheck]:
    """Return what sound needs on this machine, in the order in which to fix it. Never raises."""
    around = SoundSurroundings.of_this_process()
    raw = await portaudio_listed()
    if raw.problem:
        fix = library_fix(around) if raw.problem == NO_LIBRARY else "see what agent-tui voice devices says"
        return [SoundCheck("sound library", is_ok=False, problem=raw.problem, fix=fix)]
    checks = [SoundCheck("sound library", is_ok=True, found="PortAudio")]
    if around.system.startswith("linux"):
        checks.append(await _server_check(raw, around))
    listed = await list_devices()
    for direction, noun in NOUNS.items():
        found = listed.of(direction)
        if found:
            checks.append(SoundCheck(noun, is_ok=True, found=found[0].name))
        else:
            checks.append(SoundCheck(noun, is_ok=False, problem="none", fix=device_fix(around)))
    return checks


async def _server_check(raw: DeviceList, around: SoundSurroundings) -> SoundCheck:
    """Return the check of the server; without one it is only a problem if the sound cards need it."""
    name = "sound server"
    has_bridge = any(device.name in PULSE_BRIDGES for device in raw.devices)
    if await pulse_answers():
        if has_bridge:
            return SoundCheck(name, is_ok=True, found="PulseAudio or PipeWire")
        fix = "install libasound2-plugins (Debian, Ubuntu) or alsa-plugins-pulseaudio (Fedora, Arch)"
        return SoundCheck(name, is_ok=False, problem="ALSA has no way to PulseAudio", fix=fix)
    if raw.devices:
        found = "none answers; sound cards are used directly" if has_pactl() else "not asked: no pactl"
        return SoundCheck(name, is_ok=True, found=found)
    return SoundCheck(name, is_ok=False, problem="none answers", fix=server_fix(around))
