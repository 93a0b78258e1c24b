"""Why there is no sound, and what helps."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from agent_tui.audio.check import SoundSurroundings, check_sound, no_device
from agent_tui.audio.devices import NO_LIBRARY


@pytest.mark.parametrize(
    ("around", "helps"),
    [
        (
            SoundSurroundings("linux", is_root=True),
            "set XDG_RUNTIME_DIR to the folder of the user who is logged in",
        ),
        (SoundSurroundings("linux"), "set XDG_RUNTIME_DIR to the folder /run/user/$(id -u)"),
        (
            SoundSurroundings("linux", is_root=True, pulse_sockets=["/run/user/1000/pulse/native"]),
            "set PULSE_SERVER=unix:/run/user/1000/pulse/native",
        ),
        (SoundSurroundings("linux", is_wsl=True), 'run "wsl --update" in Windows'),
        (
            SoundSurroundings("linux", is_wsl=True, pulse_sockets=["/mnt/wslg/PulseServer"]),
            "set PULSE_SERVER=unix:/mnt/wslg/PulseServer",
        ),
        (
            SoundSurroundings("linux", environment={"PULSE_SERVER": "tcp:host"}),
            "correct or unset PULSE_SERVER (nothing answers at tcp:host)",
        ),
        (
            SoundSurroundings("linux", environment={"XDG_RUNTIME_DIR": "/run/user/1"}),
            "start PipeWire or PulseAudio",
        ),
        (SoundSurroundings("darwin"), "allow this terminal the microphone"),
    ],
)
def test_a_missing_microphone_comes_with_what_helps_here(around: SoundSurroundings, helps: str) -> None:
    line = no_device("input", "", around)
    assert line.startswith("There is no microphone: plug one in")
    assert helps in line
    assert "\n" not in line


def test_missing_portaudio_names_the_package() -> None:
    line = no_device("output", NO_LIBRARY, SoundSurroundings("linux"))
    assert (
        line
        == "PortAudio is not installed: install libportaudio2 (Debian, Ubuntu) or portaudio (Fedora, Arch)"
    )


async def test_without_portaudio_nothing_else_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The import of sounddevice fails as it does where libportaudio2 is not installed."""
    (tmp_path / "sounddevice.py").write_text("raise OSError('PortAudio library not found')")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *sys.path]))
    (check,) = await check_sound()
    assert (check.name, check.is_ok, check.problem) == ("sound library", False, NO_LIBRARY)
    assert check.fix
