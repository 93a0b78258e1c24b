"""The signs of design.md, one cell wide each. On a terminal that has only ASCII their twins are drawn."""

from __future__ import annotations

import locale
import os
from collections.abc import Mapping
from typing import Final

SPEAKING: Final = "●"
WAITING: Final = "◌"
THINKING: Final = "◔"
PAUSED: Final = "‖"
DONE: Final = "✓"
FAILED: Final = "✗"
CUT: Final = "┄"
WARNS: Final = "!"


def wants_ascii(environ: Mapping[str, str] = os.environ) -> bool:
    """Whether the terminal cannot be trusted with anything but ASCII."""
    if environ.get("AGENT_TUI_ASCII"):
        return True
    return environ.get("TERM") == "linux" or "utf" not in locale.getpreferredencoding(False).lower()
