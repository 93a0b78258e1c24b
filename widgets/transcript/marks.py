"""Marks over painted rows: the selection, and what was found."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Final, NamedTuple

from rich.segment import Segment
from rich.style import Style
from textual.filter import Monochrome, NoColor

from widgets.cells import Clusters
from widgets.ink import Row, text_of
from widgets.layout import PaintedLine
from widgets.painter import Painter

CHOSEN_SIGN: Final = "▸"
CHOSEN_STEP: Final = "›"  # in the row of the chosen step: CHOSEN_SIGN is the sign of a folded one
SEAM_SIGN: Final = "┄"  # beside the row in which a text was interrupted and continued
KEPT_LINES: Final = 256


class Mark(NamedTuple):
    """Cells ``start`` to ``end`` of a row, without the gutter, and the component for their style."""

    start: int
    end: int
    component: str


def cells_of(row: Row, first: int, last: int) -> tuple[int, int]:
    """Return the cells that characters ``first`` to ``last`` of a row take; wide ones count whole."""
    clusters = Clusters(text_of(row))
    start = _cluster_of(clusters, first)
    end = _cluster_of(clusters, last - 1) + 1 if last > first else start
    return clusters.edges[start], clusters.edges[min(end, len(clusters))]


def character_at(row: Row, cell: int) -> int:
    """Return the index of the character whose cluster is at a cell; after the row, its length."""
    clusters = Clusters(text_of(row))
    if cell >= clusters.edges[-1]:
        return clusters.starts[-1]
    return clusters.starts[bisect_right(clusters.edges, cell, hi=len(clusters)) - 1]


def _cluster_of(clusters: Clusters, character: int) -> int:
    return max(0, bisect_right(clusters.starts, character, hi=len(clusters)) - 1)


class MarkedLines:
    """Keeps marked rows, so that each is made once for as many frames as it does not change."""

    def __init__(self) -> None:
        # By the id of the row without marks. The row is kept, too: while it exists, its id is not used again.
        self._lines: dict[int, tuple[PaintedLine, Sequence[Mark], PaintedLine]] = {}

    def line(self, line: PaintedLine, marks: Sequence[Mark], painter: Painter) -> PaintedLine:
        """Return ``with_marks`` of these arguments, from the cache if possible."""
        kept = self._lines.get(id(line))
        if kept is None or kept[0] is not line or kept[1] != marks:
            if len(self._lines) >= KEPT_LINES:
                self._lines.clear()
            kept = self._lines[id(line)] = line, marks, with_marks(line, marks, painter)
        return kept[2]


def with_marks(line: PaintedLine, marks: Sequence[Mark], painter: Painter) -> PaintedLine:
    """Return a painted row with marks; later marks are on top of earlier ones."""
    for mark in marks:
        start = painter.gutter + mark.start
        end = min(painter.gutter + mark.end, painter.gutter + painter.room)
        if start < end:
            style = mark_style(painter, mark.component)
            inside = [(text, own or Style.null()) for text, own, _ in line.strip.crop(start, end) if text]
            line = painter.over(line, start, end, [Segment(text, own + style) for text, own in inside])
    return line


def mark_style(painter: Painter, component: str) -> Style:
    """Return the style of a mark; without colours the mark is visible by its attributes."""
    style = painter.component(component)
    if any(isinstance(line_filter, (Monochrome, NoColor)) for line_filter in painter.look.filters):
        style += Style(underline=True) if component == "found" else Style(reverse=True)
    return style


def with_sign(line: PaintedLine, sign: str, painter: Painter, *, is_dim: bool = False) -> PaintedLine:
    """Return a painted row with a one-cell sign in its gutter, if it has one, in the colour that is there."""
    if not painter.gutter:
        return line
    [first, *_] = line.strip.crop(0, 1)
    style = (first.style or painter.look.base).update_link(None) + Style(bold=not is_dim, dim=is_dim)
    return painter.over(line, 0, 1, [Segment(painter.own(sign), style)])
