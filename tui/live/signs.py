"""The signs of design.md, one cell wide each. On a terminal that has only ASCII their twins are drawn."""

from __future__ import annotations

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
    return environ.get("TERM") == "linux" or not is_utf8(locale_of_letters(environ))


def locale_of_letters(environ: Mapping[str, str]) -> str:
    """Return the locale that says which letters the terminal shows, "" if there is none. It is looked up in
    the environment: Python itself always says UTF-8 under C and POSIX (PEP 540).
    """
    return next((environ[key] for key in ("LC_ALL", "LC_CTYPE", "LANG") if environ.get(key)), "")


def is_utf8(locale: str) -> bool:
    return "utf8" in locale.lower().replace("-", "")
