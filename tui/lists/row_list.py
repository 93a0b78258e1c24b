"""The rows of a list: one widget that draws only the visible ones."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from typing import ClassVar, Final, Generic, NamedTuple

from rich.color import Color as RichColor
from rich.style import Style
from textual import events
from textual.color import Color
from textual.geometry import Region
from textual.message import Message

from agent_tui.model.events import AgentInfo
from agent_tui.model.inert import inert_line
from tui.lists.listing import Listing
from tui.lists.order import age_text, moment_of
from tui.lists.texts import ColumnWidths, ItemMark, Piece, T, columns_of, row_of
from widgets.color import ground_of, readable
from widgets.ink import DIM, FAILED, PLAIN, WARNED
from widgets.layout import PaintedLine
from widgets.painted import PaintedRows
from widgets.painter import Look, Painter

CURSOR: Final = "▸ "
NO_CURSOR: Final = "  "
WHEEL_ROWS: Final = 3
SHORT_ID_CHARACTERS: Final = 4  # of an item whose name others in sight have, too
_INKS: Final = {"plain": PLAIN, "dim": DIM, "failed": FAILED, "warned": WARNED}


class _Seen(NamedTuple, Generic[T]):
    """What a row shows, with its style: a row that did not change is not painted again."""

    item: T
    mark: ItemMark
    short: str
    age: str
    is_cursor: bool
    shape: ColumnWidths


class RowList(PaintedRows, Generic[T], can_focus=True):
    """Draws a ``Listing`` with a cursor. The cursor stays on its item when the order changes.

    A change compares the visible rows and paints those that look different.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "row-list--dim",
        "row-list--failed",
        "row-list--warned",
        "row-list--cursor",
    }
    DEFAULT_CSS = """
    RowList {
        height: 1fr;
        background: $background;
        color: $foreground;
        & > .row-list--dim { color: $foreground 70%; }
        & > .row-list--failed { color: $error; }
        & > .row-list--warned { color: $warning; text-style: bold; }
        & > .row-list--cursor { background: $accent 25%; color: $foreground; }
    }
    """

    class Chosen(Message):
        """Posted when a row was clicked; the cursor is on it."""

    class Moved(Message):
        """Posted when the cursor is on another item, or its item has another state."""

    class Shaped(Message):
        """Posted when the columns have other widths."""

    def __init__(self, listing: Listing[T], marks: Mapping[str, ItemMark], *, id: str) -> None:
        """``marks`` has what the screen knows about each item, by its id."""
        super().__init__(id=id)
        self._listing = listing
        self._marks = marks
        self._cursor = ""  # the id of its item
        self._place = 0  # where it was last
        self._top = 0  # the first visible row
        self.shape = ColumnWidths(1)
        self._seen: list[_Seen[T] | None] = []
        self._painters: tuple[Painter, Painter] | None = None  # for a row, and for the cursor's
        self.rows_painted = 0  # how many rows were painted: the cost of changes

    # --- what can be asked ---

    @property
    def cursor(self) -> T | None:
        """The item under the cursor, if there is one."""
        return self._listing.get(self._cursor) if self._listing.index_of(self._cursor) is not None else None

    # --- what can be done ---

    def move(self, rows: int) -> None:
        """Move the cursor, at most to the first or the last row."""
        if len(self._listing):
            place = min(max(self._place + rows, 0), len(self._listing) - 1)
            self.go_to(self._listing[place].id)

    def move_pages(self, pages: float) -> None:
        """Move it by screens."""
        self.move(round(pages * max(2, self.outer_size.height - 1)))

    def go_to(self, item_id: str) -> None:
        """Put the cursor on an item."""
        self._cursor = item_id
        self.look()
        self.post_message(self.Moved())

    def look(self) -> None:
        """Show what changed; rows that look as before cost nothing."""
        if self._painted_for != self.outer_size or not self.is_attached:
            self._keep_cursor()
            self.refresh()
            return
        width, rows = self.outer_size.width, zip(self._lines, self.repaint(), strict=True)
        if changed := [Region(0, y, width, 1) for y, (before, now) in enumerate(rows) if before is not now]:
            self.refresh(*changed)

    def _keep_cursor(self) -> None:
        """Find the item of the cursor again, or take the one that came into its place; keep it visible."""
        length = len(self._listing)
        place = self._listing.index_of(self._cursor)
        if place is None:
            place = min(self._place, length - 1)
            self._cursor = self._listing[place].id if length else ""
        self._place = max(0, place)
        height = max(1, self.outer_size.height)
        self._top = min(max(self._top, self._place - height + 1), self._place, max(0, length - 1))
        self._top = max(0, min(self._top, length - height))

    # --- drawing ---

    def on_resize(self) -> None:
        self.repaint()

    def notify_style_update(self) -> None:
        """Repaint after a change of theme."""
        super().notify_style_update()
        self._painters = None

    def paint(self) -> list[PaintedLine]:
        """Return the visible rows; those that look as before are not painted again."""
        self._keep_cursor()
        width, height = self.outer_size
        if self._painters is None or self._painters[0].look.width != width:
            self._painters = self._painter(self.rich_style), self._painter(self._cursor_style())
            self._seen = []
        kind, listed = self._listing.kind, self._listing.listed
        has_cost = any(item.cost for item in listed)
        shape = columns_of(width, kind.extra_cells, has_use=kind.has_use, has_cost=has_cost)
        if shape != self.shape:
            self.shape = shape
            self.post_message(self.Shaped())
        before = list(zip(self._seen, self._lines, strict=False))
        rows = self._rows(listed[self._top : self._top + height])
        self._seen = [*rows, *[None] * (height - len(rows))]
        return [
            before[y][1] if y < len(before) and before[y][0] == seen else self._line(seen)
            for y, seen in enumerate(self._seen)
        ]

    def _rows(self, items: list[T]) -> list[_Seen[T]]:
        now = time.time()
        names = Counter(map(self._listing.kind.name_of, items))
        rows = []
        for item in items:
            age = age_text(now if item.status == "running" else moment_of(item.updated_at), now)
            is_one = names[self._listing.kind.name_of(item)] == 1
            short = "" if is_one else inert_line(item.id[:SHORT_ID_CHARACTERS])
            mark = self._marks.get(item.id, ItemMark())
            rows.append(_Seen(item, mark, short, age, item.id == self._cursor, self.shape))
        return rows

    def _painter(self, base: Style) -> Painter:
        width = self.outer_size.width
        filters = tuple(self.app.get_line_filters())
        look = Look(width, base, self.background_colors[1], filters=filters)
        return Painter(look, lambda name: self.get_component_rich_style(f"row-list--{name}"))

    def _cursor_style(self) -> Style:
        return self.rich_style + self.get_component_rich_style("row-list--cursor")

    def _line(self, seen: _Seen[T] | None) -> PaintedLine:
        assert self._painters is not None
        self.rows_painted += 1
        if seen is None:
            return self._painters[0].paint([])
        painter = self._painters[seen.is_cursor]
        base = painter.look.base
        row = row_of(self._listing.kind, seen.item, seen.shape, seen.age, seen.mark, seen.short)
        mark = Piece(CURSOR if seen.is_cursor else NO_CURSOR)
        pieces = []
        for piece in (mark, *row):
            style = painter.style(_INKS[piece.ink])
            if piece.agent is not None:
                style = base + Style(color=self._agent_color(piece.agent, base))
            elif seen.is_cursor and piece.ink == "dim":
                style = base  # dim text for the other rows' background cannot be read on this one
            pieces.append((painter.own(piece.text), style))
        return painter.paint(pieces, ground=base)

    def _agent_color(self, agent: AgentInfo, base: Style) -> RichColor:
        ground = self.background_colors[1] if base.bgcolor is None else Color.from_rich_color(base.bgcolor)
        below = ground_of(ground, self.app.current_theme)
        return RichColor.parse(readable(agent.color, below, inert_line(agent.name)))

    # --- the mouse ---

    def on_click(self, event: events.Click) -> None:
        place = self._top + event.y
        if place < len(self._listing):
            self.go_to(self._listing[place].id)
            self.post_message(self.Chosen())

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self.move(WHEEL_ROWS)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self.move(-WHEEL_ROWS)
