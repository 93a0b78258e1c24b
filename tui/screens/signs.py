"""The signs of design.md: one cell wide each, with an ASCII twin for terminals that cannot show them."""

from __future__ import annotations

import locale
import os
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Signs:
    """One set of signs."""

    speaking: str = "●"
    waiting: str = "◌"
    thinking: str = "◔"
    paused: str = "‖"
    done: str = "✓"
    failed: str = "✗"
    cut: str = "┄"


UNICODE = Signs()
ASCII = Signs("*", ".", "~", '"', "+", "x", "-")


def wants_ascii(environ: Mapping[str, str] = os.environ) -> bool:
    """Whether the terminal cannot be trusted with anything but ASCII."""
    if environ.get("AGENT_TUI_ASCII"):
        return True
    return environ.get("TERM") == "linux" or "utf" not in locale.getpreferredencoding(False).lower()
