"""The completion popup: a list above a line, with what can complete the typed text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, NamedTuple

from rich.cells import cell_len
from rich.style import Style
from textual import events, on
from textual.widget import Widget

from agent_tui.model.inert import inert_line
from widgets.ink import DIM
from widgets.layout import PaintedLine
from widgets.painted import PaintedRows
from widgets.painter import Painter, cropped, painter_of
from widgets.signs import BELOW, FOLDED, GUTTER

MOST_ROWS: Final = 8
MAX_CHARACTERS: Final = 200  # of a row
LEAST_ABOUT_CELLS: Final = 12  # shorter descriptions are left out
GAP: Final = "  "


@dataclass(frozen=True, slots=True)
class Suggestion:
    """One completion: ``text`` is shown in the list, its ``marks`` were typed, ``about`` describes it,
    ``word`` is inserted. ``is_all``: ``enter`` also sends it, since nothing has to follow.
    """

    text: str
    word: str
    about: str = ""
    marks: tuple[int, ...] = ()
    is_all: bool = False


class Completion(NamedTuple):
    """What can replace the last ``length`` characters before the cursor, the best first."""

    length: int = 0
    choices: tuple[Suggestion, ...] = ()


class ChoiceList(PaintedRows):
    """Covers what is above its parent's first row. It never has the focus: the line says what to show."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "choice-list--dim",
        "choice-list--edge",
        "choice-list--marked",
        "choice-list--cursor",
    }
    DEFAULT_CSS = """
    ChoiceList {
        overlay: screen;
        display: none;
        width: 100%;
        height: 1;
        background: $panel;
        color: $foreground;
        & > .choice-list--edge { color: $accent; }
        & > .choice-list--marked { text-style: bold underline; }
    }
    """

    def __init__(self, taken: Callable[[int], None]) -> None:
        """``taken`` is called with the index of a choice that was clicked."""
        super().__init__()
        self._taken = taken
        self.was_moved = False  # the marked choice was selected by hand
        self._choices: Sequence[Suggestion] = ()
        self._at = 0
        self._top = 0

    @property
    def is_open(self) -> bool:
        return bool(self._choices)

    @property
    def marked(self) -> Suggestion | None:
        return self._choices[self._at] if self._choices else None

    def show(self, choices: Sequence[Suggestion]) -> None:
        """Show these choices, the first one marked; an empty list closes it."""
        if choices != self._choices:
            self._choices, self._at, self._top, self.was_moved = choices, 0, 0, False
            self._fit()

    def move(self, step: int) -> None:
        """Move the mark; after the last choice comes the first."""
        if self._choices:
            self._at, self.was_moved = (self._at + step) % len(self._choices), True
            self._fit()

    def _fit(self) -> None:
        """Set the height: all choices, as far as there is room above the line."""
        parent = self.parent
        above = parent.region.y if isinstance(parent, Widget) else 0
        rows = max(0, min(len(self._choices), MOST_ROWS, above))
        self._top = max(min(self._top, self._at), self._at - rows + 1, 0)
        if rows:
            self.styles.height, self.styles.offset = rows, (0, -rows)
        self.display = rows > 0
        self.outdate()

    def paint(self) -> list[PaintedLine]:
        painter = painter_of(self, "choice-list--")
        shown = self._choices[self._top : self._top + self.outer_size.height]
        cells = max((cell_len(inert_line(choice.text)) for choice in shown), default=0)
        more = len(self._choices) - self._top - len(shown)
        return [
            self._row(painter, choice, cells, more if choice is shown[-1] else 0, is_marked=place == self._at)
            for place, choice in enumerate(shown, self._top)
        ]

    def _row(
        self, painter: Painter, choice: Suggestion, cells: int, more: int, *, is_marked: bool
    ) -> PaintedLine:
        """Return one choice; ``more`` of them follow below the last row, which says so at its end."""
        base, dim = self.rich_style, painter.style(DIM)
        if is_marked:
            base = dim = base + self.get_component_rich_style("choice-list--cursor")
        hit = self.get_component_rich_style("choice-list--marked")
        letters = base + Style(bold=hit.bold, underline=hit.underline)
        tail = f" {BELOW} {more} " if more else ""
        room = painter.room - cell_len(tail)
        text = cropped(inert_line(choice.text, MAX_CHARACTERS), room - 2)
        marks = set(choice.marks) if inert_line(choice.text, MAX_CHARACTERS) == choice.text else set()
        pieces = [(painter.own(f"{FOLDED} " if is_marked else "  "), base)]
        pieces += [(painter.own(letter), letters if at in marks else base) for at, letter in enumerate(text)]
        left = room - 2 - max(cells, cell_len(text)) - len(GAP)
        if choice.about and left >= LEAST_ABOUT_CELLS:
            space = " " * (max(cells, cell_len(text)) - cell_len(text)) + GAP
            about = cropped(inert_line(choice.about, MAX_CHARACTERS), left)
            pieces += [(space, base), (painter.own(about), dim)]
        if tail:
            used = sum(cell_len(piece) for piece, _ in pieces)
            pieces.append((painter.own(" " * max(0, room - used) + tail), dim))
        accent = self.get_component_rich_style("choice-list--edge").color
        edge = base if is_marked else base + Style(color=accent)
        return painter.paint([(painter.own(GUTTER) * painter.gutter, edge), *pieces], ground=base)

    def on_click(self, event: events.Click) -> None:
        event.stop()
        if self._top + event.y < len(self._choices):
            self._taken(self._top + event.y)

    @on(events.MouseScrollDown)
    @on(events.MouseScrollUp)
    def _wheel(self, event: events.MouseEvent) -> None:
        event.stop()
        self.move(1 if isinstance(event, events.MouseScrollDown) else -1)
