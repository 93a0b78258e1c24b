"""A strip of one-line summaries, for agents whose panes do not fit."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import ClassVar, Final

from rich.cells import cell_len, set_cell_size
from rich.color import Color as RichColor
from rich.style import Style
from textual import events
from textual.geometry import Region
from textual.message import Message

from agent_tui.model.inert import inert_line
from widgets.cells import Clusters, cells_in
from widgets.color import ground_of, readable
from widgets.ink import DIM, FAILED, MARK, PLAIN
from widgets.layout import PaintedLine
from widgets.painted import PaintedRows
from widgets.painter import Painter, cropped, painter_of
from widgets.signs import ELLIPSIS, GUTTER
from widgets.signs import FAILED as FAILED_SIGN
from widgets.terminal.frame_clock import FrameClock

DRAW_SECONDS: Final = 0.25  # words that pass by cannot be read faster
MIN_NAME_CELLS: Final = 4
MAX_NAME_CELLS: Final = 14
WORDS_CHARACTERS: Final = 400


@dataclass(frozen=True, slots=True)
class Summary:
    """One line: the name (``color`` as sent), the sign of what the agent is doing, its words. With
    ``is_growing`` the end of the words is shown.
    """

    key: str
    name: str
    sign: str
    words: str
    color: str = ""
    is_growing: bool = False


class AgentStrip(PaintedRows):
    """Draws one line for each summary, in columns; the last one says how many more there are. Summaries are
    requested when it draws, so a chunk costs only a mark.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {"strip--dim", "strip--mark", "strip--failed"}
    DEFAULT_CSS = """
    AgentStrip {
        background: $background;
        color: $foreground;
        & > .strip--failed { color: $error; }
    }
    """

    class Chosen(Message):
        """Posted when the line of ``key`` was clicked."""

        def __init__(self, key: str) -> None:
            super().__init__()
            self.key = key

    def __init__(
        self,
        *,
        clock: FrameClock,
        summaries: Callable[[], Sequence[Summary]],
        more: Callable[[int], str],
        now: Callable[[], float] = monotonic,
        id: str | None = None,
    ) -> None:
        """``summaries()`` returns what to show now, ``more(9)`` returns "9 more"; ``now`` is in seconds."""
        super().__init__(id=id)
        self._clock = clock
        self._summaries = summaries
        self._more = more
        self._now = now
        self._columns = 1
        self._drawn_at = float("-inf")
        self._shown: list[Summary] = []

    @property
    def columns(self) -> int:
        return self._columns

    @columns.setter
    def columns(self, columns: int) -> None:
        if columns != self._columns:
            self._columns = max(1, columns)
            self.outdate()
            self.touch(at_once=True)

    def touch(self, *, at_once: bool = False) -> None:
        """Draw it within a quarter of a second, or with the next frame. O(1)."""
        if at_once:
            self._drawn_at = float("-inf")
        self._clock.mark(self)

    def draw(self) -> bool:
        """Paint the lines that changed, at most four times a second; return whether more is left to do."""
        now = self._now()
        if now - self._drawn_at < DRAW_SECONDS:
            return True
        self._drawn_at = now
        before, after = self._lines, self.repaint()
        if len(before) != len(after):
            self.refresh()
        elif changed := [
            Region(0, y, self.outer_size.width, 1)
            for y, (old, new) in enumerate(zip(before, after, strict=True))
            if old != new
        ]:
            self.refresh(*changed)
        return False

    def on_show(self) -> None:
        """Draw what came in while it was hidden."""
        self.touch(at_once=True)

    def on_click(self, event: events.Click) -> None:
        width, height = self.outer_size
        column = min(self._columns - 1, event.x * self._columns // max(1, width))
        at = column * height + event.y
        if at < len(self._shown) and not (self._hidden(height) and at == self._columns * height - 1):
            self.post_message(self.Chosen(self._shown[at].key))

    def _hidden(self, height: int) -> int:
        """Return how many summaries have no line."""
        places = self._columns * height
        return len(self._shown) - places + 1 if len(self._shown) > places else 0

    def paint(self) -> list[PaintedLine]:
        self._shown = list(self._summaries())
        width, height = self.outer_size
        painter = painter_of(self, "strip--")
        edges = [width * column // self._columns for column in range(self._columns + 1)]
        longest = max((cell_len(inert_line(summary.name)) for summary in self._shown), default=0)
        name_cells = max(MIN_NAME_CELLS, min(longest, MAX_NAME_CELLS, width // self._columns // 3))
        lines = []
        for y in range(height):
            pieces: list[tuple[str, Style]] = []
            for column in range(self._columns):
                room = edges[column + 1] - edges[column]
                pieces += self._cell(painter, column * height + y, room, name_cells, height)
            lines.append(painter.paint(pieces))
        return lines

    def _cell(
        self, painter: Painter, at: int, room: int, name_cells: int, height: int
    ) -> list[tuple[str, Style]]:
        """Return the pieces of one summary, exactly ``room`` cells wide."""
        hidden = self._hidden(height)
        if at >= len(self._shown):
            return [(" " * room, painter.look.base)]
        if hidden and at == self._columns * height - 1:
            text = cropped(f" {ELLIPSIS} {self._more(hidden)}", room)
            return [(set_cell_size(painter.own(text), room), painter.style(MARK))]
        summary = self._shown[at]
        ground = ground_of(painter.look.background, self.app.current_theme)
        color = readable(summary.color, ground, inert_line(summary.name))
        own = painter.look.base + Style(color=RichColor.parse(color))
        name = cropped(inert_line(summary.name), name_cells)
        sign = painter.own(summary.sign)
        is_failure = summary.sign == FAILED_SIGN
        head = [
            (painter.own(GUTTER) + set_cell_size(name, name_cells), own),
            (f" {sign} ", painter.style(FAILED if is_failure else PLAIN)),
        ]
        left = room - cells_in(head) - 1  # one cell between the columns
        if left < 1:
            whole = set_cell_size("".join(text for text, _ in head), room)
            return [(whole, own)]
        words = inert_line(summary.words, WORDS_CHARACTERS)
        words = cropped_left(words, left) if summary.is_growing else cropped(words, left)
        ink = FAILED if is_failure else PLAIN if summary.is_growing else DIM
        return [*head, (set_cell_size(words, left + 1), painter.style(ink))]


def cropped_left(text: str, cells: int) -> str:
    """Return the end of ``text`` in at most ``cells`` cells, after an ellipsis if it was cut."""
    if cells < 1:
        return ""
    if cell_len(text) <= cells:
        return text
    clusters = Clusters(text)
    total = clusters.edges[-1]
    first = bisect_left(clusters.edges, total - (cells - 1))
    return ELLIPSIS + text[clusters.starts[first] :].lstrip()
