"""Signs of ours and their ASCII twins, for terminals that cannot show them (one cell each)."""

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
NEEDS_YOU: Final = "‖"  # of a step: it waits until it is allowed
FOLDED: Final = "▸"
UNFOLDED: Final = "▾"
ELLIPSIS: Final = "…"
DOT: Final = "·"
TASK: Final = "☐"  # a task that is not done
DONE: Final = "☑"
IMAGE: Final = "▣"  # before the words of an image

# Each sign, with its twin behind it.
_PAIRS: Final = """
    ●* ◌. ◔~ ‖" ✓+ ✗x ┄- ▸> ▾v ›> ↓v ↑^ ↳\\ ▼v ▎| ▐# ▌_ █# │| ─- ┼+ •* ◦- ·- …~ –- −- ☐o ☑x ▣#
"""
_TWINS: Final = {ord(pair[0]): pair[1] for pair in _PAIRS.split()}


def twin(text: str) -> str:
    """Return ``text`` with every sign of ours replaced by its ASCII twin."""
    return text.translate(_TWINS)
