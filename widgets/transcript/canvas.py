"""The rows of a transcript as they are on the screen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.style import Style
from textual.color import Color
from textual.geometry import Region

from widgets.color import ground_of, readable
from widgets.ink import DIM
from widgets.layout import PaintedLine
from widgets.painter import Look, Painter
from widgets.signs import BELOW
from widgets.units import UnitWords
from widgets.wrap import wrap

if TYPE_CHECKING:
    from widgets.transcript.transcript import Transcript

NEW: Final = "{count} new"  # rows below the visible ones


class Canvas:
    """Composes the rows of a transcript for its size, theme and colour, and finds those that changed."""

    def __init__(self, transcript: Transcript) -> None:
        self._transcript = transcript
        self.lines: list[PaintedLine] = []
        self.head_height = 0  # rows above the messages
        self.painter: Painter | None = None
        self.color = ""  # the agent's, as the server sent it, made readable
        self.who = ""  # chooses a colour if ``color`` is not one
        self.has_divider = False  # at the right edge
        self.instead = ""  # shown while there is no message
        self._ground: tuple[Style, Color] | None = None
        self._painted_for: tuple[object, ...] = ()  # what the painter's look was made from

    def divide(self, has_divider: bool) -> None:
        if has_divider != self.has_divider:
            self.has_divider = has_divider
            self._transcript.clock.mark(self._transcript)

    def forget_style(self) -> None:
        self.painter = None
        self._ground = None

    @property
    def is_outdated(self) -> bool:
        """Whether the rows have another size or theme than the transcript now."""
        width, height = self._transcript.outer_size
        return self.painter is None or self.painter.look.width != width or len(self.lines) != height

    def compose(self) -> list[Region] | None:
        """Compose the rows. Return the regions that changed, ``None`` if the number of rows changed."""
        before, self.lines = self.lines, self._compose_lines()
        if len(before) != len(self.lines):
            return None
        width = self._transcript.outer_size.width
        return [
            Region(0, y, width if self._covers(old, new) else max(new.extent, old.extent), 1)
            for y, (old, new) in enumerate(zip(before, self.lines, strict=True))
            if new.strip is not old.strip and new != old
        ]

    def _covers(self, old: PaintedLine, new: PaintedLine) -> bool:
        """Whether all of ``new`` is painted over ``old``, which may reach further than we count: the end of a
        row that does so, too, would be painted over the pane beside this one.
        """
        return not old.is_sure and (new.is_sure or not self.has_divider)

    def _compose_lines(self) -> list[PaintedLine]:
        transcript, view = self._transcript, self._transcript.view
        width, height = transcript.outer_size
        if width < 1 or height < 1:
            return []
        painter = self.current_painter()
        head = transcript.head(painter)[:height]
        self.head_height = len(head)
        room = height - len(head)
        view.resize(painter.room, room)
        lines: list[PaintedLine] = []
        spans = view.frame()
        caret = spans[-1] if view.has_caret and not transcript.clock.is_calm else None
        for span in spans:
            lines += span.layout.lines(span.start, span.end - (span is caret), painter)
        if caret is not None:
            lines.append(caret.layout.with_caret(caret.end - 1, painter))
        if not spans and self.instead:
            rows = wrap([(self.instead, DIM)], painter.room)
            lines = [painter.blank, *(painter.line(row, ()) for row in rows)][:room]
        lines = transcript.reader.overlaid(lines, painter)
        lines += [painter.blank] * (room - len(lines))
        if not view.follow and lines:
            new = UnitWords.word(NEW).format(count=f"{view.rows_new:,}") if view.rows_new else ""
            label = f" {BELOW} {new} " if new else f" {BELOW} "
            lines[-1] = painter.with_label(lines[-1], label)
            for row in scroll_bar(*view.position(), len(lines)):
                lines[row] = painter.with_scroll_mark(lines[row])
        return head + lines

    def current_painter(self) -> Painter:
        transcript = self._transcript
        width, filters = transcript.outer_size.width, tuple(transcript.app.get_line_filters())
        shown = width, self.color, self.who, self.has_divider, transcript.app.theme, filters
        if self.painter is not None and shown == self._painted_for:
            return self.painter
        if self._ground is None:
            self._ground = transcript.rich_style, transcript.background_colors[1]
        base, background = self._ground
        ground = ground_of(background, transcript.app.current_theme)
        look = Look(
            width=width,
            base=base,
            background=background,
            color=readable(self.color, ground, self.who),
            ground=ground,
            has_divider=self.has_divider,
            filters=filters,
        )
        if self.painter is None or self.painter.look != look:
            self.painter = Painter(
                look, lambda name: transcript.get_component_rich_style(f"transcript--{name}")
            )
        self._painted_for = shown
        return self.painter


def scroll_bar(above: int, total: int, height: int) -> range:
    """Return the rows of the scroll bar in a pane of ``height`` rows: its length is the visible share of
    ``total``. It touches an edge only at the end. Empty if everything is visible.
    """
    if height < 1 or total <= height:
        return range(0)
    length = max(1, height * height // total)
    free = height - length
    first = round(free * above / (total - height))
    if above > 0:
        first = max(first, min(1, free))
    if above < total - height:
        first = min(first, max(0, free - 1))
    first = max(0, min(first, free))
    return range(first, first + length)
