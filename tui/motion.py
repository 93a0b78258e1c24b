"""Whether the screen avoids motion, for people whom it disturbs."""

from __future__ import annotations

from collections.abc import Mapping

from agent_tui.config.file import ScreenConfig

REDUCED = "reduced"


def wants_calm(screen: ScreenConfig, environ: Mapping[str, str]) -> bool:
    """Return whether motion is reduced: by ``AGENT_TUI_MOTION``, else by ``[screen] motion``, else by
    Textual's own ``TEXTUAL_ANIMATIONS=none``. What that changes is documented in
    ``widgets.terminal.frame_clock``.
    """
    if motion := environ.get("AGENT_TUI_MOTION", ""):
        return motion == REDUCED
    return screen.motion == REDUCED or environ.get("TEXTUAL_ANIMATIONS", "").lower() == "none"
