"""What voice needs on this machine besides the program, and where it is: server, agent's Python, models."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from pathlib import Path

from agent_tui.config import data_path

SERVER_VARIABLE = "LIVEKIT_SERVER"


def voice_folder(data: Path | None = None) -> Path:
    """Return the folder in the data folder where ``voice setup`` keeps all it fetched."""
    return (data or data_path()) / "voice"


def find_server(data: Path | None = None) -> Path | None:
    """Return the livekit-server to run: the variable's, the one on PATH, else the one that was set up."""
    named = os.environ.get(SERVER_VARIABLE, "") or shutil.which("livekit-server")
    if named:
        return Path(named)
    kept = voice_folder(data) / "bin" / "livekit-server"
    return kept if kept.is_file() else None


def find_agent_python(data: Path | None = None) -> Path | None:
    """Return the Python that can run ``agent_tui.voice_agent``: the one that was set up, else this one."""
    kept = voice_folder(data) / "env" / "bin" / "python"
    if kept.is_file():
        return kept
    return Path(sys.executable) if importlib.util.find_spec("livekit.agents") else None
