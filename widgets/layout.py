"""A block laid out at one width, and the strips drawn from it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from textual.strip import Strip

from widgets.ink import Row


class Line(NamedTuple):
    """One painted row: ``extent`` is the number of cells until nothing but background follows."""

    strip: Strip
    extent: int


class Paints(Protocol):
    """What turns rows into lines; another one paints everything anew."""

    def line(self, row: Row, links: Sequence[str] = ()) -> Line:
        """Return ``row`` as it is drawn; ``links`` are the targets that its inks number."""
        ...


class Layout:
    """Rows of a block and the targets of its links. Each row is painted once for each painter, when it is
    first seen.
    """

    __slots__ = ("_lines", "_painter", "links", "rows")

    def __init__(self, rows: list[Row], former: Layout | None = None, links: Sequence[str] = ()) -> None:
        self.rows = rows
        self.links = links
        self._painter: Paints | None = None
        self._lines: list[Line | None] = [None] * len(rows)
        if former is not None and former.links == links:  # what the block looked like a moment ago: most rows are the same
            self._painter = former._painter
            for index, (row, old, line) in enumerate(zip(rows, former.rows, former._lines, strict=False)):
                if row == old:
                    self._lines[index] = line

    def line(self, index: int, painter: Paints) -> Line:
        """Return row ``index`` as ``painter`` paints it."""
        if self._painter is not painter:
            self._painter = painter
            self._lines = [None] * len(self.rows)
        line = self._lines[index]
        if line is None:
            line = self._lines[index] = painter.line(self.rows[index], self.links)
        return line
