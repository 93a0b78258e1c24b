"""Rows to strips: inks become the theme's styles, rows get their margins and full width.

Widgets that draw with this bypass Textual's style cache (borders, padding and opacity of the stylesheet do
not show), so the app's line filters are applied here, once for each strip.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from rich.cells import cell_len, set_cell_size
from rich.color import Color as RichColor
from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.filter import LineFilter
from textual.strip import Strip

from widgets.ink import (
    CARET,
    CODE,
    DIM,
    EMPHASIS,
    FAILED,
    FENCE,
    HEADING,
    LINK,
    MARK,
    QUOTE,
    STRIKE,
    STRONG,
    Row,
)
from widgets.layout import Line
from widgets.signs import CARET as CARET_SIGN
from widgets.signs import DIVIDER, ELLIPSIS, twin

MARGIN_FROM: Final = 8  # narrower panes have no margins
COMPONENTS: Final = (  # ink, name: later ones win
    (QUOTE, "quote"),
    (HEADING, "heading"),
    (DIM, "dim"),
    (MARK, "mark"),
    (LINK, "link"),
    (CODE, "code"),
    (FENCE, "fence"),
    (FAILED, "failed"),
)
_ATTRIBUTES: Final = (
    (STRONG, Style(bold=True)),
    (EMPHASIS, Style(italic=True)),
    (STRIKE, Style(strike=True)),
)


@dataclass(frozen=True, slots=True)
class Look:
    """Everything that decides how a row is painted; a painter is made for one look."""

    width: int
    base: Style
    background: Color
    color: str = ""  # of the caret
    has_divider: bool = False
    ascii_only: bool = False
    filters: tuple[LineFilter, ...] = ()


@dataclass(slots=True)
class Painter:
    """Paints rows for one look. ``component`` gives the style of a component by its name."""

    look: Look
    component: Callable[[str], Style]
    _styles: dict[int, Style] = field(default_factory=dict)
    _blank: Line | None = None

    @property
    def gutter(self) -> int:
        """Cells left free at the left."""
        return 1 if self.look.width >= MARGIN_FROM else 0

    @property
    def room(self) -> int:
        """Cells that a row may take; at least one."""
        right = self.look.has_divider + 1 if self.look.width >= MARGIN_FROM else 0
        return max(1, self.look.width - self.gutter - right)

    def style(self, ink: int) -> Style:
        """Return the style of an ink."""
        style = self._styles.get(ink)
        if style is None:
            style = self.look.base
            for flag, name in COMPONENTS:
                if ink & flag:
                    style += self.component(name)
            for flag, attribute in _ATTRIBUTES:
                if ink & flag:
                    style += attribute
            if ink & CARET and self.look.color:
                style += Style(color=RichColor.parse(self.look.color))
            self._styles[ink] = style
        return style

    def line(self, row: Row, links: Sequence[str] = ()) -> Line:
        """Return ``row`` between the margins; ``links`` are the targets that its inks number."""
        return self.paint(
            [(self._segment_text(text, ink), self.style(ink)) for text, ink in row], self.gutter
        )

    @property
    def blank(self) -> Line:
        """An empty row."""
        if self._blank is None:
            self._blank = self.line(())
        return self._blank

    def with_caret(self, row: Row) -> Line:
        """Return ``row`` with the caret after its last word, if there is a cell for it."""
        if sum(cell_len(text) for text, _ in row) >= self.room:
            return self.line(row)
        return self.line((*row, (CARET_SIGN, CARET)))

    def paint(self, pieces: Sequence[tuple[str, Style]], left: int = 0, ground: Style | None = None) -> Line:
        """Return a full row of text pieces that fit, ``left`` cells from the left, on ``ground``."""
        look = self.look
        base = ground or look.base
        used = left + sum(cell_len(text) for text, _ in pieces)
        divider = look.has_divider and look.width >= MARGIN_FROM
        extent = look.width if ground else used
        rest = max(0, look.width - divider - used)
        segments = _joined([(" " * left, base), *pieces, (" " * rest, base)])
        if divider:
            segments.append(Segment(twin(DIVIDER) if look.ascii_only else DIVIDER, self.style(MARK)))
        return Line(Strip(self._filtered(segments), look.width), extent)

    def with_label(self, line: Line, label: str) -> Line:
        """Return ``line`` with a label over its right end."""
        right = self.gutter + self.room
        label = self.own(label)
        if cell_len(label) > right:
            label = cropped(label.strip(), right)
        left = right - cell_len(label)
        over = self._filtered([Segment(label, self.look.base + self.component("below"))])
        width = self.look.width
        segments = [*line.strip.crop(0, left), *over, *line.strip.crop(right, width)]
        return Line(Strip(segments, width), right)

    def _filtered(self, segments: list[Segment]) -> list[Segment]:
        """Return segments as the app's filters want them; each passes once."""
        for line_filter in self.look.filters:
            segments = line_filter.apply(segments, self.look.background)
        return segments

    def own(self, text: str) -> str:
        """Return a text of ours as this terminal can show it."""
        return twin(text) if self.look.ascii_only else text

    def _segment_text(self, text: str, ink: int) -> str:
        return self.own(text) if ink & (MARK | DIM | FAILED | CARET) else text


def _joined(pieces: Sequence[tuple[str, Style]]) -> list[Segment]:
    """Return pieces as segments, as few as there are styles: each costs some forty bytes of its own.

    Spaces take the style of what follows them where that shows nothing of itself on a space.
    """
    segments: list[Segment] = []
    text, style = "", Style.null()
    for piece, own in pieces:
        if not piece:
            continue
        if text and own != style and (text.strip(" ") or not _looks_empty(style, own)):
            segments.append(Segment(text, style))
            text = ""
        text, style = text + piece, own
    if text:
        segments.append(Segment(text, style))
    return segments


def _looks_empty(space: Style, style: Style) -> bool:
    """Whether a space in ``style`` looks like one in ``space``."""
    marks = (space.underline, space.strike, space.reverse, style.underline, style.strike, style.reverse)
    return space.bgcolor == style.bgcolor and not any(marks)


def cropped(text: str, cells: int) -> str:
    """Return ``text`` in at most ``cells`` cells, with an ellipsis where something is missing."""
    if cells < 1:
        return ""
    if cell_len(text) <= cells:
        return text
    return set_cell_size(text, cells - 1).rstrip() + ELLIPSIS
