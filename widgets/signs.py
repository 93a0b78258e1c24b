"""Our signs and their ASCII twins (one cell each), for terminals that cannot show them."""

from __future__ import annotations

from typing import Final

CARET: Final = "▌"
GUTTER: Final = "▎"
GUTTER_FOCUSED: Final = "█"
DIVIDER: Final = "│"
BELOW: Final = "▼"
SCROLL_MARK: Final = "▐"
FAILED: Final = "✗"
WARNS: Final = "!"
NEEDS_YOU: Final = "‖"  # of a step that waits for approval
FOLDED: Final = "▸"
UNFOLDED: Final = "▾"
ELLIPSIS: Final = "…"
DOT: Final = "·"
TASK: Final = "☐"  # an open task
DONE: Final = "☑"
IMAGE: Final = "▣"  # before the words of an image

# Each sign, followed by its twin.
_PAIRS: Final = """
    ●* ◌. ◔~ ‖" ✓+ ✗x ┄- ▸> ▾v ›> ↓v ↑^ ↳\\ ▼v ▎| ▐# ▌_ █# │| ─- ┼+ •* ◦- ·- …~ –- −- ☐o ☑x ▣#
"""
_TWINS: Final = {ord(pair[0]): pair[1] for pair in _PAIRS.split()}


def twin(text: str) -> str:
    """Return ``text`` with every sign of ours replaced by its ASCII twin."""
    return text.translate(_TWINS)
