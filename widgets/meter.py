"""How loud one direction of a conversation is: a bar, its peak, and dBFS."""

from __future__ import annotations

from typing import ClassVar, Final

from rich.cells import cell_len, set_cell_size
from textual.geometry import Region

from agent_tui.model.inert import inert_line
from widgets.layout import PaintedLine
from widgets.painted import PaintedRows
from widgets.painter import cropped, painter_of
from widgets.signs import is_ascii
from widgets.terminal.frame_clock import FrameClock
from widgets.units import UnitWords

QUIETEST_DBFS: Final = -60.0  # the left end of the bar; anything quieter is silence
LABEL_CELLS: Final = 7  # at least, with a blank on both sides
TEXT_CELLS: Final = 10
EIGHTHS: Final = "▏▎▍▌▋▊▉█"
REST: Final = "·"
PEAK: Final = "▏"
MINUS: Final = "−"
QUIET: Final = "quiet"
CLIPPING: Final = "clipping"

Piece = tuple[str, str]  # characters, and the component whose style they have ("": plain)


class Meter(PaintedRows):
    """A label, the bar, and a number or a word. The clock repaints only cells that changed."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "meter--label",
        "meter--bar",
        "meter--rest",
        "meter--peak",
        "meter--clipping",
    }
    DEFAULT_CSS = """
    Meter {
        width: 36;
        height: 1;
        background: $background;
        color: $foreground;
        & > .meter--label { text-style: bold; }
        & > .meter--bar { color: $success; }
        & > .meter--rest { color: $foreground 30%; }
        & > .meter--peak { color: $foreground; }
        & > .meter--clipping { color: $error; text-style: bold; }
    }
    """

    def __init__(self, label: str, *, clock: FrameClock, label_cells: int = LABEL_CELLS) -> None:
        super().__init__()
        self._label = label
        self._label_cells = max(LABEL_CELLS, label_cells)
        self._clock = clock
        self._level: tuple[float, float, bool] = (QUIETEST_DBFS, QUIETEST_DBFS, False)
        self._word = ""
        self._shown: list[Piece] = []

    def show(self, rms: float, peak: float, *, is_clipping: bool = False, word: str = "") -> None:
        """Show a level in dBFS and its peak, or ``word`` ("muted") instead of the number. Costs nothing if no
        cell would change.
        """
        self._level, self._word = (rms, peak, is_clipping), word
        if self._pieces(self.outer_size.width) != self._shown:
            self._clock.mark(self)

    @property
    def text(self) -> str:
        return super().text.rstrip()

    @property
    def _level_text(self) -> str:
        rms, _, is_clipping = self._level
        if self._word:
            return self._word
        if is_clipping:
            return UnitWords.word(CLIPPING)
        if rms <= QUIETEST_DBFS:
            return UnitWords.word(QUIET)
        return f"{MINUS if rms < 0 else ''}{abs(rms):.0f} {UnitWords.units['dB']}"

    def draw(self) -> bool:
        """Repaint the cells that changed; nothing is left for later."""
        before = _cells(self._shown)
        self.repaint()
        after = _cells(self._shown)
        if len(before) != len(after):
            self.refresh()
            return False
        differ = [x for x, (old, new) in enumerate(zip(before, after, strict=True)) if old != new]
        if differ:
            self.refresh(Region(differ[0], 0, differ[-1] - differ[0] + 1, 1))
        return False

    def paint(self) -> list[PaintedLine]:
        width = self.outer_size.width
        painter = painter_of(self, "meter--")
        pieces = self._shown = self._pieces(width)
        base = painter.look.base
        styles = {name: base + painter.component(name) if name else base for _, name in pieces}
        return [painter.paint([(painter.own(text), styles[name]) for text, name in pieces])]

    def _pieces(self, width: int) -> list[Piece]:
        rms, peak, is_clipping = self._level
        bar = max(0, width - self._label_cells - TEXT_CELLS - 2)
        label = cropped(f" {inert_line(self._label)}", self._label_cells)
        pieces: list[Piece] = [(set_cell_size(label, min(self._label_cells, width)), "label")]
        pieces += self._bar(bar, share_of(rms), share_of(peak))
        level_text = cropped(self._level_text, TEXT_CELLS)
        room = max(0, width - self._label_cells - bar)
        text = set_cell_size(f"  {level_text}", room)
        pieces.append((text, "clipping" if is_clipping and not self._word else ""))
        return pieces

    def _bar(self, cells: int, share: float, peak: float) -> list[Piece]:
        eighths = round(share * 8 * cells)
        if is_ascii(self):
            full, part = round(eighths / 8), ""
        else:
            full, part = eighths // 8, EIGHTHS[eighths % 8 - 1] if eighths % 8 else ""
        bar = "█" * full + part
        rest = REST * (cells - len(bar))
        at = min(cells - 1, round(peak * cells))
        if peak <= 0 or at < len(bar) or not rest:
            return [(bar, "bar"), (rest, "rest")]
        before = at - len(bar)
        return [(bar, "bar"), (rest[:before], "rest"), (PEAK, "peak"), (rest[before + 1 :], "rest")]


def _cells(pieces: list[Piece]) -> list[Piece]:
    """Return what each cell shows: a wide character is in two of them."""
    return [(sign, name) for text, name in pieces for sign in text for _ in range(cell_len(sign))]


def share_of(dbfs: float) -> float:
    """Return which part of the bar a level fills, from 0 to 1."""
    return min(1.0, max(0.0, 1.0 - dbfs / QUIETEST_DBFS))
