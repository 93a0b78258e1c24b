"""How many panes fit side by side: pure arithmetic on cells."""

from __future__ import annotations

from dataclasses import dataclass

LEAST_PANE_CELLS = 26
LEAST_PANE_ROWS = 6


@dataclass(frozen=True, slots=True)
class Layout:
    """Columns and rows of the grid; ``one_only`` when only the focused pane can be shown readably."""

    columns: int
    rows: int
    one_only: bool = False


def layout(panes: int, width: int, height: int) -> Layout:
    """Return how to arrange ``panes`` in ``width`` × ``height`` cells: side by side first, then below."""
    widest = max(1, min(panes, width // LEAST_PANE_CELLS))
    rows = -(-panes // widest)
    if panes > 1 and (width < LEAST_PANE_CELLS or (rows > 1 and height // rows < LEAST_PANE_ROWS)):
        return Layout(1, 1, one_only=True)
    return Layout(-(-panes // rows), rows) if panes else Layout(1, 1)
