"""Our signs and their ASCII twins (one cell each), for terminals that cannot show them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

if TYPE_CHECKING:
    from textual.app import App
    from textual.widget import Widget

CARET: Final = "▌"
GUTTER: Final = "▎"
GUTTER_FOCUSED: Final = "█"
DIVIDER: Final = "│"
BELOW: Final = "▼"
SCROLL_MARK: Final = "▐"
FAILED: Final = "✗"
CUT: Final = "┄"
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
    ●* ◌. ◔~ ‖" ✓+ ✗x ┄- ▸> ▾v ‹< ›> ↓v ↑^ ↳\\ ▼v ▏| ▎| ▐# ▌_ █#
    │| ─- ┼+ ╭+ ╮+ ╰+ ╯+ •* ◦- ·- …~ –- −- ☐o ☑x ▣#
"""
_TWINS: Final = {ord(pair[0]): pair[1] for pair in _PAIRS.split()}


def twin(text: str) -> str:
    """Return ``text`` with every sign of ours replaced by its ASCII twin."""
    return text.translate(_TWINS)


class AsciiSigns(LineFilter):
    """Turns our signs into their ASCII twins in all that Textual's own widgets draw. Widgets that paint
    themselves do that on their own, for what is ours: the words of agents stay as they are.
    """

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        return [
            part if part.control or part.text.isascii() else Segment(twin(part.text), part.style)
            for part in segments
        ]


ASCII_SIGNS: Final = AsciiSigns()  # among the line filters of an app whose terminal has only ASCII


def is_ascii(shown: App[Any] | Widget) -> bool:
    """Return whether an app, or the app of a widget, shows our signs as their ASCII twins."""
    return ASCII_SIGNS in shown.get_line_filters()
