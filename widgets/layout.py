"""A block laid out at one width, and the strips drawn from it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from rich.style import Style
from textual.geometry import Region
from textual.strip import Strip

from widgets.ink import LINK_SHIFT, Row

if TYPE_CHECKING:
    from widgets.markdown.letters import LetterRows
    from widgets.markdown.offsets import RowOffsets
    from widgets.painter import Painter


class PaintedStrip(Strip):
    """A row for Textual. A plain ``Strip`` keeps itself in its own cache when all of it is requested, so that
    it stays in memory until the garbage collector runs. This one does not.
    """

    __slots__ = ()

    def divide(self, cuts: Iterable[int]) -> Sequence[Strip]:
        ends = [cut for cut in cuts if cut <= self.cell_length]
        return [self] if ends == [self.cell_length] else super().divide(ends)

    def crop(self, start: int, end: int | None = None) -> Strip:
        cropped = super().crop(start, end)
        if type(cropped) is Strip:  # divided next: same layout, and only its own cache refers to it
            cropped.__class__ = PaintedStrip
        return cropped


class PaintedLine(NamedTuple):
    """One painted row. ``extent`` is its number of cells without the background at its end; a terminal may
    take more for it, unless that ``is_sure``.
    """

    strip: Strip
    extent: int
    is_sure: bool = True


class Tone(NamedTuple):
    """How a message looks: its colour, whether it is dim because it no longer counts, and the component whose
    background it has (a card).
    """

    color: str = ""
    who: str = ""
    is_faded: bool = False
    card: str = ""


PLAIN_TONE: Final = Tone()


class Layout:
    """Rows of a block, painted once for each painter. The first ``apart`` rows are the gap between two
    messages.
    """

    __slots__ = ("_lines", "_painter", "apart", "letters", "links", "offsets", "rows", "tone")

    def __init__(
        self,
        rows: list[Row],
        former: Layout | None = None,
        links: Sequence[str] = (),
        *,
        tone: Tone = PLAIN_TONE,
        apart: int = 0,
    ) -> None:
        """``former`` is the layout of the block a moment ago: most rows are the same."""
        self.rows = rows
        self.links = links
        self.tone = tone
        self.apart = apart
        self.offsets: list[RowOffsets] | None = None  # of the rows, once something in it is selected
        self.letters: LetterRows | None = None  # of the rows, once something in it is found
        self._painter: Painter | None = None
        self._lines: list[PaintedLine | None] = [None] * len(rows)
        if former is not None:
            self._painter = former._painter
            same = _same(former.links, links)
            for index, (row, old, line) in enumerate(zip(rows, former.rows, former._lines, strict=False)):
                if row == old and (not links or all(ink >> LINK_SHIFT <= same for _, ink in row)):
                    self._lines[index] = line

    def line(self, index: int, painter: Painter) -> PaintedLine:
        if self._painter is not painter:
            self._painter = painter
            self._lines = [None] * len(self.rows)
        line = self._lines[index]
        if line is None:
            own = painter if index < self.apart else painter.of(self.tone)
            line = self._lines[index] = own.line(self.rows[index], self.links)
        return line

    def lines(self, start: int, end: int, painter: Painter) -> list[PaintedLine]:
        """Return the lines from ``start`` to ``end``. In most frames they are all painted already."""
        if self._painter is painter:
            painted = [line for line in self._lines[start:end] if line is not None]
            if len(painted) == end - start:
                return painted
        return [self.line(index, painter) for index in range(start, end)]

    def keep(self, start: int, end: int) -> None:
        """Drop the painted lines except those from ``start`` to ``end``: they take twenty times the memory of
        the rows.
        """
        count = len(self.rows)
        self._lines[:start] = [None] * min(start, count)
        self._lines[end:] = [None] * max(0, count - end)

    def with_caret(self, index: int, painter: Painter) -> PaintedLine:
        return painter.of(self.tone).with_caret(self.rows[index], self.links)


class Span(NamedTuple):
    """Rows ``start`` to ``end`` of a message's part, which are visible."""

    message: int
    part: int
    start: int
    end: int
    layout: Layout


def _same(old: Sequence[str], new: Sequence[str]) -> int:
    """Return how many targets of links are the same, counted from the first."""
    for index, (before, after) in enumerate(zip(old, new, strict=False)):
        if before != after:
            return index
    return min(len(old), len(new))


def strips_in(
    crop: Region, width: int, lines: Sequence[PaintedLine], ground: Style | None = None
) -> list[Strip]:
    """Return what Textual requests from a widget: its ``lines`` in ``crop``, on rows of ``ground``."""
    strips = [line.strip for line in lines[crop.y : crop.bottom]]
    if missing := crop.height - len(strips):
        strips += [Strip.blank(width, ground)] * missing
    if crop.x == 0 and crop.width == width:
        return strips
    return [strip.crop(crop.x, crop.right) for strip in strips]
