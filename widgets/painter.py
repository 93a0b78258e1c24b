"""Turns rows into strips: inks become the theme's styles, and rows get margins and full width. Textual's
style cache is not used, so the app's line filters are applied here, once for each strip.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from rich.cells import cell_len, set_cell_size
from rich.color import Color as RichColor
from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.filter import LineFilter
from textual.widget import Widget

from widgets import ink as inks
from widgets.cells import cells_in, has_known_width
from widgets.color import Ground, readable
from widgets.ink import Row
from widgets.layout import PLAIN_TONE, PaintedLine, PaintedStrip, Tone
from widgets.markdown.links import safe_target
from widgets.signs import ASCII_SIGNS, DIVIDER, ELLIPSIS, GUTTER, GUTTER_FOCUSED, SCROLL_MARK, twin
from widgets.signs import CARET as CARET_SIGN

MARGIN_FROM: Final = 8  # narrower panes have no margins
_ATTRIBUTES: Final = (
    (inks.STRONG, Style(bold=True)),
    (inks.EMPHASIS, Style(italic=True)),
    (inks.STRIKE, Style(strike=True)),
)
BLACK: Final = Ground("#000000")
CARD: Final = "card"  # the card of a tool that is running or has run
ASK: Final = "ask"  # the card of a tool that needs approval
ASKS: Final = "asks"  # its head row
PEOPLE: Final = "people"  # instead of a colour: plain text, none of the agents' hues
_GROUNDS: Final = inks.ADDED | inks.REMOVED  # lines of a diff have these as their background up to the margin
_SIGNS: Final = inks.MARK | inks.DIM | inks.FAILED | inks.CARET  # inks that only our own signs and words have
_INKS: Final = (1 << inks.LINK_SHIFT) - 1  # without the number of a link
# A link repeats its target on every row. Only the first ones of a row with many long targets can be opened,
# so that no text makes a frame of megabytes.
TARGETS_PER_ROW: Final = 4096  # characters
MAX_OWNERS: Final = 64
MAX_FINALS: Final = 1024  # every target of a link creates some


@dataclass(frozen=True, slots=True)
class Look:
    """Everything that decides how a row is painted; each painter is made for one look."""

    width: int
    base: Style
    background: Color
    color: str = ""  # of the caret
    bar: str = ""  # the colour of a bar in the gutter and of titles, where there is one
    is_faded: bool = False  # it no longer counts: all of it is dim
    card: str = ""  # the component with the rows' background; that of ASKS has one colour for all words
    ground: Ground = BLACK  # the background on which colours of the bar must be readable
    has_divider: bool = False
    filters: tuple[LineFilter, ...] = ()

    @property
    def is_ascii(self) -> bool:
        """Whether our signs are shown as their ASCII twins."""
        return ASCII_SIGNS in self.filters


@dataclass(slots=True)
class Painter:
    """Paints rows for one look. ``component`` returns the style of a component by its name."""

    look: Look
    component: Callable[[str], Style]
    _styles: dict[int, Style] = field(default_factory=dict)
    _owners: dict[Tone, Painter] = field(default_factory=dict)
    _finals: dict[Style, Style] = field(default_factory=dict)  # what the filters turn styles into
    _blank: PaintedLine | None = None

    def of(self, tone: Tone) -> Painter:
        """Return the painter of messages in a tone, whose colour may be any text; ``self`` for the default
        tone.
        """
        if tone == PLAIN_TONE:
            return self
        own = self._owners.get(tone)
        if own is None:
            if len(self._owners) >= MAX_OWNERS:
                self._owners.clear()
            on = self._card(tone.card) if tone.card else self
            bar = on._bar(tone.color, tone.who) or on.look.bar
            look = replace(on.look, bar=bar, is_faded=tone.is_faded)
            own = self._owners[tone] = Painter(look, on.component)
        return own

    def _card(self, card: str) -> Painter:
        """Return the painter of rows with a background of their own; the colour of an ask is that of its
        edge.
        """
        own, plain = self.component(card), self.look.base.bgcolor
        ground = Style(bgcolor=own.bgcolor)
        is_flat = card == ASKS
        look = replace(
            self.look,
            base=own if is_flat else self.look.base + ground,
            bar="" if card != ASK or own.color is None else own.color.name,
            card=card,
        )
        if own.bgcolor is not None and own.bgcolor.triplet is not None and look.ground.color:
            look = replace(look, ground=replace(look.ground, color=own.bgcolor.triplet.hex))

        def component(name: str) -> Style:
            style = self.component(name)
            return style + ground if style.bgcolor == plain else style

        return Painter(look, component)

    def _bar(self, color: str, who: str) -> str:
        if color == PEOPLE:
            return self.look.base.color.name if self.look.base.color is not None else "default"
        return readable(color, self.look.ground, who) if color or who else ""

    @property
    def gutter(self) -> int:
        """Empty cells at the left."""
        return 1 if self.look.width >= MARGIN_FROM else 0

    @property
    def room(self) -> int:
        """Cells for the words of a row; at least one."""
        right = self.look.has_divider + 1 if self.look.width >= MARGIN_FROM else 0
        return max(1, self.look.width - self.gutter - right)

    def style(self, ink: int) -> Style:
        style = self._styles.get(ink)
        if style is None:
            style = self.look.base
            names = ["dim"] if self.look.is_faded else [name for flag, name in inks.COMPONENTS if ink & flag]
            if self.look.card == ASKS:
                names = []
            for name in names:
                own = self.component(name)
                # A component without a background of its own is on top of its container's.
                is_plain = own.bgcolor == self.look.base.bgcolor
                style += own + Style(bgcolor=style.bgcolor) if is_plain else own
            for flag, attribute in _ATTRIBUTES:
                if ink & flag:
                    style += attribute
            caret = self.look.bar or self.look.color
            if ink & inks.CARET and caret:
                style += Style(color=RichColor.parse(caret))
            if ink & inks.TITLE and self.look.bar:
                style += Style(color=RichColor.parse(self.look.bar), bold=True)
            self._styles[ink] = style
        return style

    def line(self, row: Row, links: Sequence[str] = ()) -> PaintedLine:
        """Return ``row`` between the margins. ``links`` are the targets that its inks number; safe ones can
        be opened. The background of code reaches to the margin, and so does that of a diff's added and
        removed lines.
        """
        styles, seen = self._styles, 0  # this runs for every row of every changed frame
        with_twins = _SIGNS if self.look.is_ascii else 0
        pieces: list[tuple[str, Style]] = []
        for text, ink in row:
            seen |= ink
            style = styles.get(ink & _INKS) or self.style(ink & _INKS)
            pieces.append((twin(text) if ink & with_twins else text, style))
        if links:
            pieces = self._linked(pieces, row, links)
        if seen & inks.FENCE:
            used = cells_in(row)
            pieces.append((" " * (self.room - used), self.style(row[-1][1] & _GROUNDS | inks.FENCE)))
        ground = self.look.base if self.look.card else None
        if not self.look.bar or not self.gutter:
            return self.paint(pieces, self.gutter, ground)
        bar = self.look.base + Style(color=RichColor.parse(self.look.bar))
        edge = GUTTER_FOCUSED if self.look.card == ASK else GUTTER
        return self.paint([(self.own(edge), bar), *pieces], ground=ground)

    def _linked(
        self, pieces: list[tuple[str, Style]], row: Row, links: Sequence[str]
    ) -> list[tuple[str, Style]]:
        left = TARGETS_PER_ROW
        for index, ((text, style), (_, ink)) in enumerate(zip(pieces, row, strict=True)):
            number = ink >> inks.LINK_SHIFT
            target = safe_target(links[number - 1]) if 0 < number <= len(links) else ""
            if target and len(target) <= left:
                left -= len(target)
                pieces[index] = text, style + Style(link=target)
        return pieces

    @property
    def blank(self) -> PaintedLine:
        if self._blank is None:
            self._blank = self.line(())
        return self._blank

    def with_caret(self, row: Row, links: Sequence[str] = ()) -> PaintedLine:
        """Return ``row`` with the caret after its last word, if there is a cell for it."""
        if cells_in(row) >= self.room:
            return self.line(row, links)
        ground = row[-1][1] & (inks.FENCE | _GROUNDS) if row else 0
        return self.line((*row, (CARET_SIGN, inks.CARET | ground)), links)

    def paint(
        self, pieces: Sequence[tuple[str, Style]], left: int = 0, ground: Style | None = None
    ) -> PaintedLine:
        """Return a full row of text pieces that fit, beginning ``left`` cells from the left, on
        ``ground``.
        """
        look = self.look
        base = ground or look.base
        used = left + cells_in(pieces)
        divider = look.has_divider and look.width >= MARGIN_FROM
        extent = look.width if ground else used
        rest = max(0, look.width - divider - used)
        segments = _join_segments([(" " * left, base), *pieces, (" " * rest, base)])
        if divider:
            segments.append(Segment(self.own(DIVIDER), self.style(inks.MARK)))
        is_sure = all(has_known_width(text) for text, _ in pieces)
        return PaintedLine(PaintedStrip(self.filtered(segments), look.width), extent, is_sure)

    def with_label(self, line: PaintedLine, label: str) -> PaintedLine:
        """Return ``line`` with a label over its right end; an ellipsis stands for words below it."""
        right = self.gutter + self.room
        if cell_len(label) > right:
            label = cropped(label.strip(), right)
        left = right - cell_len(label)
        if line.strip.crop(left, right).text.strip():
            label = ELLIPSIS + label[1:]
        label = self.own(label)
        return self.over(line, left, right, [Segment(label, self.look.base + self.component("below"))])

    def with_scroll_mark(self, line: PaintedLine) -> PaintedLine:
        """Return ``line`` with a piece of the scroll bar in its right margin, if it has one."""
        right = self.gutter + self.room
        if self.look.width < MARGIN_FROM:
            return line
        return self.over(line, right, right + 1, [Segment(self.own(SCROLL_MARK), self.style(inks.MARK))])

    def over(self, line: PaintedLine, left: int, right: int, segments: list[Segment]) -> PaintedLine:
        """Return ``line`` with ``segments`` over its cells ``left`` up to ``right``."""
        width = self.look.width
        segments = [*line.strip.crop(0, left), *self.filtered(segments), *line.strip.crop(right, width)]
        return PaintedLine(PaintedStrip(segments, width), max(line.extent, right), line.is_sure)

    def filtered(self, segments: list[Segment]) -> list[Segment]:
        return [Segment(text, style and self._final(style)) for text, style, _ in segments]

    def _final(self, style: Style) -> Style:
        """Return a style after the app's filters. Each style passes them once, since they look at nothing
        else.
        """
        final = self._finals.get(style)
        if final is None:
            segments = [Segment(" ", style)]
            for line_filter in self.look.filters:
                segments = line_filter.apply(segments, self.look.background)
            final = _identified(segments[0].style or style)
            if len(self._finals) >= MAX_FINALS:
                self._finals.clear()
            self._finals[style] = final
        return final

    def own(self, text: str) -> str:
        """Return a text of ours in signs that this terminal can show."""
        return twin(text) if self.look.is_ascii else text


def painter_of(widget: Widget, prefix: str) -> Painter:
    """Return the painter of a widget with one or a few rows; its component classes begin with ``prefix``."""
    look = Look(
        width=widget.outer_size.width,
        base=widget.rich_style,
        background=widget.background_colors[1],
        filters=tuple(widget.app.get_line_filters()),
    )
    return Painter(look, lambda name: widget.get_component_rich_style(prefix + name))


def _identified(style: Style) -> Style:
    """Return a style whose link has an id made from its target: terminals treat cells with one id as one
    link. Rich makes a new id with each addition and does not accept one, so it is set here, on a copy.
    """
    target = style.link
    if not target:
        return style
    style = style.copy()
    style._link_id = f"{zlib.crc32(target.encode()):08x}"
    return style


def _join_segments(pieces: Sequence[tuple[str, Style]]) -> list[Segment]:
    """Return pieces as segments, as few as there are styles: each takes some forty bytes. Spaces take the
    style of what follows if that does not show on a space.
    """
    segments: list[Segment] = []
    text, style = "", Style.null()
    for piece, own in pieces:
        if not piece:
            continue
        if text and own is not style and own != style and (text.strip(" ") or not _looks_empty(style, own)):
            segments.append(Segment(text, style))
            text = ""
        text, style = text + piece, own
    if text:
        segments.append(Segment(text, style))
    return segments


def _looks_empty(space: Style, style: Style) -> bool:
    """Whether a space in ``style`` looks like a space in ``space``."""
    marks = (space.underline, space.strike, space.reverse, style.underline, style.strike, style.reverse)
    return space.bgcolor == style.bgcolor and not any(marks)


def cropped(text: str, cells: int) -> str:
    """Return ``text`` in at most ``cells`` cells, with an ellipsis if it was cut."""
    if cells < 1:
        return ""
    if cell_len(text) <= cells:
        return text
    return set_cell_size(text, cells - 1).rstrip() + ELLIPSIS
