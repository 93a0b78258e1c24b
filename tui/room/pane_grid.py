"""The places of a room's panes: pure arithmetic on cells.

Side by side while they can be read, below one another when that reads better, and one large pane over a
strip of one-line summaries when there is no room for either. A wider screen never has fewer columns and a
taller one never more, so that dragging a window does not shuffle the panes back and forth.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import Final

from textual.geometry import Region

LEAST_PANE_CELLS: Final = 30
LEAST_PANE_ROWS: Final = 6
GOOD_PANE_CELLS: Final = 40  # a line of prose, or of code, that the eye can follow
GOOD_PANE_ROWS: Final = 12
SMALL_SCREEN_CELLS: Final = 100  # narrower screens show one large pane rather than several cramped ones

LEAST_SUMMARY_CELLS: Final = 24
MAX_STRIP_COLUMNS: Final = 3
LOW_STRIP_ROWS: Final = 3  # a strip this low is never made lower by another column


@dataclass(frozen=True, slots=True)
class Arrangement:
    """A place, in cells of the area, for each pane (``None``: not shown), and for the strip if any."""

    places: tuple[Region | None, ...]
    strip: Region | None = None
    strip_columns: int = 1


def arrange(panes: int, focused: int, width: int, height: int, *, is_zoomed: bool = False) -> Arrangement:
    """Return the places of ``panes``; only ``focused`` (from 0) if not all fit, or if ``is_zoomed``."""
    if panes < 1 or width < 1 or height < 1:
        return Arrangement((None,) * max(0, panes))
    rows = grid_rows(panes, width, height)
    if rows and not (is_zoomed and panes > 1):
        return Arrangement(tuple(_grid(panes, rows, width, height)))
    large = over_strip(0 if is_zoomed else panes - 1, width, height)
    return replace(large, places=(None,) * focused + large.places + (None,) * (panes - focused - 1))


def over_strip(summaries: int, width: int, height: int) -> Arrangement:
    """Return the place of one large pane, and below it a strip of so many one-line summaries."""
    strip_rows, columns = strip_shape(summaries, width, height)
    strip = Region(0, height - strip_rows, width, strip_rows) if strip_rows else None
    return Arrangement((Region(0, 0, width, height - strip_rows),), strip, columns)


def grid_rows(panes: int, width: int, height: int) -> int:
    """Return how many rows of panes read best, or 0 when no grid can be read.

    Panes get worse to read as they fall short of a good width or height; beyond it nothing is gained. Among
    equals the fewest rows win: tall panes keep more of a text in sight.
    """
    if panes == 1:
        return 1
    best, best_rows = Fraction(0), 0
    for rows in range(1, panes + 1):
        columns = -(-panes // rows)
        if width // columns < LEAST_PANE_CELLS or height // rows < LEAST_PANE_ROWS:
            continue
        good_cells, good_rows = GOOD_PANE_CELLS * columns, GOOD_PANE_ROWS * rows
        # A fraction: equals must be equal, or the windows of some sizes would shuffle.
        quality = Fraction(min(width, good_cells) * min(height, good_rows), good_cells * good_rows)
        if quality > best:
            best, best_rows = quality, rows
    if best < 1 and width < SMALL_SCREEN_CELLS:
        return 0
    return best_rows


def _grid(panes: int, rows: int, width: int, height: int) -> list[Region]:
    """Return places row by row, the fuller rows first; each row is filled to its end."""
    fewest, fuller = divmod(panes, rows)
    places: list[Region] = []
    for row in range(rows):
        top, bottom = height * row // rows, height * (row + 1) // rows
        columns = fewest + (row < fuller)
        edges = [width * column // columns for column in range(columns + 1)]
        places += [Region(left, top, right - left, bottom - top) for left, right in pairwise(edges)]
    return places


def strip_shape(summaries: int, width: int, height: int) -> tuple[int, int]:
    """Return (rows, columns) of a strip: at most a third of the height, none if the pane gets too low."""
    most = min((height + 2) // 3, height - LEAST_PANE_ROWS)
    if summaries < 1 or most < 1:
        return 0, 1
    low = min(most, max(LOW_STRIP_ROWS, height // 4))
    widest = max(1, min(MAX_STRIP_COLUMNS, width // LEAST_SUMMARY_CELLS))
    columns = next((count for count in range(1, widest) if -(-summaries // count) <= low), widest)
    return min(most, -(-summaries // columns)), columns
