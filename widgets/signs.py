"""Signs of ours and their ASCII twins, for terminals that cannot show them (one cell each)."""

from __future__ import annotations

from typing import Final

CARET: Final = "▌"
GUTTER: Final = "▎"
GUTTER_FOCUSED: Final = "█"
DIVIDER: Final = "│"
BELOW: Final = "▼"
FAILED: Final = "✗"
ELLIPSIS: Final = "…"
DOT: Final = "·"

_TWINS: Final = str.maketrans(
    {
        "●": "*",
        "◌": ".",
        "◔": "~",
        "‖": '"',
        "✓": "+",
        "✗": "x",
        "┄": "-",
        "▸": ">",
        "▾": "v",
        "›": ">",
        "↓": "v",
        "▼": "v",
        "▎": "|",
        "▌": "_",
        "█": "#",
        "│": "|",
        "─": "-",
        "┼": "+",
        "•": "*",
        "◦": "-",
        "·": "-",
        "…": "~",
        "–": "-",
    }
)


def twin(text: str) -> str:
    """Return ``text`` with every sign of ours replaced by its ASCII twin."""
    return text.translate(_TWINS)
