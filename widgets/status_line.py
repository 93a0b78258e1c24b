"""One row of a screen's frame, with fields at the left, in the middle and at the right."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, Final

from rich.cells import cell_len
from rich.style import Style
from textual import events
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from agent_tui.model.inert import inert_line
from widgets.cells import cells_in
from widgets.ink import DIM, FAILED, PLAIN, STRONG, WARNED
from widgets.layout import PaintedLine, strips_in
from widgets.painter import Painter, cropped, painter_of
from widgets.signs import DOT
from widgets.signs import FAILED as FAILED_SIGN

SEPARATOR: Final = f" {DOT} "
SEPARATOR_CELLS: Final = 3
GAP_CELLS: Final = 2  # at least, between fields
MIN_LEFT_CELLS: Final = 8


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a field. ``key`` is drawn bold before it. If the row is too narrow, parts with the highest
    ``rank`` are left out first, those with rank 0 never. ``warns``: it needs a person's attention.
    ``ending``: what a text keeps if it is cut.
    """

    text: str
    rank: int = 0
    key: str = ""
    warns: bool = False
    ending: str = ""

    @property
    def whole(self) -> str:
        return f"{self.key} {self.text}".strip() + self.ending


Parts = Iterable[Part | str]


class StatusLine(Widget):
    """A row with fields of parts. It paints itself, and only when something changed."""

    ALLOW_SELECT = False
    COMPONENT_CLASSES: ClassVar[set[str]] = {"status-line--dim", "status-line--failed", "status-line--warned"}
    DEFAULT_CSS = """
    StatusLine {
        width: 1fr;
        height: 1;
        background: $background;
        color: $foreground;
        & > .status-line--dim { color: $foreground 70%; }
        & > .status-line--failed { color: $error; }
        & > .status-line--warned { color: $text-warning; }
    }
    """

    class KeyClicked(Message):
        """Posted when a part with a key was clicked."""

        def __init__(self, key: str) -> None:
            super().__init__()
            self.key = key

    def __init__(
        self,
        *,
        is_dim: bool = False,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        """``is_dim`` draws the left and middle fields dim (hints); without it they are plain, and the subject
        is bold.
        """
        super().__init__(id=id, classes=classes)
        self._is_dim = is_dim
        self._fields: tuple[list[Part], list[Part], list[Part]] = ([], [], [])
        self._line: PaintedLine | None = None
        self._painted_for = 0  # width
        self._keys: list[tuple[int, int, str]] = []  # from which cell to which each key with its words is

    def show(self, left: Parts = (), middle: Parts = (), right: Parts = ()) -> None:
        """Show these parts; plain strings are parts with rank 0. Costs nothing if they are shown already."""
        fields = (_clean(left), _clean(middle), _clean(right))
        if fields != self._fields:
            self._fields = fields
            self._line = None
            self.refresh()

    @property
    def text(self) -> str:
        return self.render_lines(Region(0, 0, self.outer_size.width, 1))[0].text

    def render_lines(self, crop: Region) -> list[Strip]:
        width = self.outer_size.width
        if self._line is None or self._painted_for != width:
            self._line = self._painted()
            self._painted_for = width
        return strips_in(crop, width, [self._line])

    def render_line(self, y: int) -> Strip:
        return self.render_lines(Region(0, y, self.outer_size.width, 1))[0]

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._line = None

    def on_click(self, event: events.Click) -> None:
        """Post the key whose words were clicked."""
        for start, end, key in self._keys:
            if start <= event.x < end:
                event.stop()
                self.post_message(self.KeyClicked(key))

    def _painted(self) -> PaintedLine:
        painter = painter_of(self, "status-line--")
        look, room, gutter = painter.look, painter.room, painter.gutter
        quiet = DIM if self._is_dim else PLAIN
        left, middle, right = fitted(self._fields, room)
        right_pieces = _pieces(painter, right, PLAIN, room)
        middle_pieces = _pieces(painter, middle, quiet, room)
        right_cells, middle_cells = cells_in(right_pieces), cells_in(middle_pieces)
        # The right field keeps a sixth of the row, so that the middle one does not move with every word.
        slot = max(right_cells + GAP_CELLS, look.width // 6) if right_cells else 0
        gap = GAP_CELLS if middle_cells else 0
        reserved = right_cells + middle_cells + gap + (GAP_CELLS if right_cells else 0)
        title = DIM if self._is_dim else STRONG
        left_pieces = _pieces(painter, left, title, max(0, room - reserved))
        space = room - cells_in(left_pieces) - middle_cells - right_cells
        free = space - gap if left_pieces else space
        after = max(0, min(slot - right_cells, free)) if middle_cells else 0
        at_right = gutter + room - right_cells
        self._keys = [
            *_keys(left, gutter, cells_in(left_pieces)),
            *_keys(middle, at_right - after - middle_cells, middle_cells),
            *_keys(right, at_right, right_cells),
        ]
        before = " " * max(0, space - after)
        middle_pieces = [(before, look.base), *middle_pieces, (" " * after, look.base)]
        return painter.paint([*left_pieces, *middle_pieces, *right_pieces], gutter)


def fitted(
    fields: tuple[list[Part], list[Part], list[Part]], room: int
) -> tuple[list[Part], list[Part], list[Part]]:
    """Return the fields without the parts that do not fit into ``room`` cells, the highest rank removed
    first, of one rank the rightmost. A left field of one part is first cut to half the row, and to a third
    before parts with rank 1 are removed.
    """
    is_title = len(fields[0]) == 1 and not fields[0][0].key
    places = [(part.rank, at, place) for at, field in enumerate(fields) for place, part in enumerate(field)]
    cells = {(at, place): cell_len(fields[at][place].whole) + SEPARATOR_CELLS for _, at, place in places}
    taken = [0, 0, 0]  # by each field, with a separator after the last part, too
    for (at, _), wanted in cells.items():
        taken[at] += wanted
    for rank, at, place in [*sorted(places, reverse=True), (0, 0, 0)]:
        left_cells, middle_cells, right_cells = taken
        if is_title:
            left_cells = min(left_cells, room // (2 if rank > 1 else 3) + SEPARATOR_CELLS)
        between = (GAP_CELLS - SEPARATOR_CELLS) * (3 - taken.count(0)) - GAP_CELLS
        if not rank or left_cells + middle_cells + right_cells + between <= room:
            break
        taken[at] -= cells.pop((at, place))
    left, middle, right = (
        [part for place, part in enumerate(field) if (at, place) in cells] for at, field in enumerate(fields)
    )
    if middle and MIN_LEFT_CELLS + _cells_of(middle) + _cells_of(right) + 2 * GAP_CELLS > room:
        middle = []
    return left, middle, right


def _keys(parts: Iterable[Part], start: int, cells: int) -> Iterator[tuple[int, int, str]]:
    """Yield the places of parts with a key in a field that begins at ``start`` and is ``cells`` wide."""
    at, found = start, list(parts)
    while found and not found[-1].key:  # most fields have none, and this runs with every key
        found.pop()
    for part in found:
        end = at + cell_len(part.whole)
        if part.key and end <= start + cells:
            yield at, end, part.key
        at = end + cell_len(SEPARATOR)


def _clean(parts: Parts) -> list[Part]:
    found = [Part(part) if isinstance(part, str) else part for part in parts]
    return [
        replace(part, text=text, key=part.key and inert_line(part.key))
        for part in found
        if (text := part.text and inert_line(part.text)) or part.key
    ]


def _cells_of(parts: list[Part]) -> int:
    return cell_len(SEPARATOR.join([part.whole for part in parts]))


def _pieces(painter: Painter, parts: list[Part], ink: int, room: int) -> list[tuple[str, Style]]:
    """Return the parts of a field as styled texts, cut after ``room`` cells, which parts with an ending
    share.
    """
    texts: list[tuple[str, int, str]] = []
    for part in parts:
        own = FAILED if part.text.startswith(FAILED_SIGN) else WARNED if part.warns else ink
        if texts:
            texts.append((SEPARATOR, ink, ""))
        if part.key:
            texts.append((part.key, STRONG, ""))
        texts.append((f" {part.text}" if part.key and part.text else part.text, own, part.ending))
    pieces: list[tuple[str, Style]] = []
    endings = sum(bool(ending) for _, _, ending in texts)
    for text, own, ending in texts:
        if ending:
            text = cropped(text, room // endings - cell_len(ending)) + ending
            endings -= 1
        shown = cropped(text, room)
        if shown:
            pieces.append((painter.own(shown), painter.style(own)))
        room -= cell_len(shown)
        if shown != text:
            break
    return pieces
