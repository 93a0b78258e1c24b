"""Widgets that paint their own rows: borders, padding and scrollbars from stylesheets do not apply."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.segment import Segment
from rich.style import Style
from textual.geometry import Region, Size
from textual.strip import Strip
from textual.widget import Widget

from widgets.layout import PaintedLine, strips_in

if TYPE_CHECKING:  # for the first frame
    from textual.widgets import OptionList


def is_shown(widget: Widget) -> bool:
    """Return whether the widget is visible, with only transparent screens (dialogs) above it."""
    if not widget.is_attached or not widget.is_on_screen:
        return False
    stack = widget.app.screen_stack
    if widget.screen not in stack:
        return False
    above = stack[stack.index(widget.screen) + 1 :]
    return all(screen.styles.background.a < 1 for screen in above)


def plain_on_cursor(strip: Strip, shown: OptionList) -> Strip:
    """Return a row of a list; muted words of the cursor's are plain: they could not be read on its ground."""
    cursor = shown.get_component_rich_style("option-list--option-highlighted")
    muted = shown.app.theme_variables["text-muted"]

    def is_lost(style: Style) -> bool:
        if style.color is None or style.color.triplet is None:
            return False
        return style.bgcolor == cursor.bgcolor and style.color.triplet.hex == muted.lower()

    plain = Style(color=cursor.color)
    parts = [
        Segment(part.text, part.style + plain) if part.style and is_lost(part.style) else part
        for part in strip
    ]
    return Strip(parts, strip.cell_length)


class PaintedRows(Widget):
    """Keeps the rows that ``paint`` returns until the size or the theme changes, or ``repaint`` is called."""

    ALLOW_SELECT = False

    _lines: list[PaintedLine] = []  # noqa: RUF012 - never changed in place
    _painted_for: Size | None = None

    def paint(self) -> list[PaintedLine]:
        """Return the rows for the current size."""
        raise NotImplementedError

    def repaint(self) -> list[PaintedLine]:
        self._painted_for, self._lines = self.outer_size, self.paint()
        return self._lines

    def outdate(self) -> None:
        """Repaint all of it with the screen's next frame."""
        self._painted_for = None
        self.refresh()

    @property
    def is_shown(self) -> bool:
        return is_shown(self)

    @property
    def texts(self) -> list[str]:
        """The text of the current rows."""
        return [strip.text for strip in self.render_lines(self.outer_size.region)]

    @property
    def text(self) -> str:
        """The text of the current first row."""
        return self.texts[0]

    def render_lines(self, crop: Region) -> list[Strip]:
        if not self.is_attached:  # it was just removed, and is painted once more
            return [Strip.blank(crop.width)] * crop.height
        if self._painted_for != self.outer_size:
            self.repaint()
        ground = self.rich_style if crop.bottom > len(self._lines) else None
        return strips_in(crop, self.outer_size.width, self._lines, ground)

    def render_line(self, y: int) -> Strip:
        return self.render_lines(Region(0, y, self.outer_size.width, 1))[0]

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._painted_for = None
