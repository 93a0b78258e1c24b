"""The rows of a diff: behind line numbers, and side by side where there is room.

The old file stands on the left then and the new one on the right, but for a hunk that only adds or only takes
away.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Final, NamedTuple

from rich.cells import cell_len

from widgets.ink import FENCE, MARK, REMOVED, Row, Run, text_of
from widgets.markdown.diff import At, Side
from widgets.markdown.highlight import Drawn
from widgets.wrap import wrap

SPLIT_FROM: Final = 112  # cells of a fence: those of a pane of 120, within a card or a list
DIVIDER: Final = " │ "
GOES_ON: Final = "↳"  # in the column of the numbers: the row goes on with the line above it


class Shown(NamedTuple):
    """One row, and the lines that stand in it: ``left`` up to character ``middle``, then ``right``; -1 is
    none. Where all of the row is of one line ``middle`` is 0. ``change`` has the lines that were taken away
    and those that came for them.
    """

    row: Row
    left: int
    right: int
    middle: int
    change: range


def composed(lines: Sequence[Drawn], bars: tuple[str, str], width: int) -> list[Shown]:
    """Return the rows of lines of a diff, at most ``width`` cells wide, each with where it stands.

    The first of ``bars`` is before each row; the second where a row goes on with a line that has no number.
    """
    every = [_Line(runs, at if isinstance(at, At) else At()) for _, runs, at in lines]
    out: list[Shown] = []
    line = 0
    while line < len(every):
        at = every[line].at
        if width < SPLIT_FROM or not at.is_change or at.side == "head":
            change = range(line, line + 1)
            out += [Shown(row, line, line, 0, change) for row in every[line].rows(bars, width)]
        else:
            change = range(
                line, _end(every, _end(every, line, "old"), "new") if at.side != "both" else line + 1
            )
            out += _beside(every, change, bars[0], width)
        line = change.stop
    return out


class _Line(NamedTuple):
    """A line of a diff and where it stands."""

    runs: Sequence[Run]
    at: At

    def rows(self, bars: tuple[str, str], width: int, side: Side = "both") -> list[Row]:
        """Return the rows of the line, behind its number in the file of one ``side``."""
        at, ink = self.at, MARK | FENCE
        has_room = width - len(bars[0]) > 3 * at.digits
        if not at.digits or at.side == "head" or not has_room:
            first, *others = wrap(self.runs, width - len(bars[0]), words=False)
            return [((bars[0], ink), *first), *(((bars[1], ink), *row) for row in others)]
        number = str(at.old if "old" in (side, at.side) else at.new) if at.is_numbered else ""
        columns = [f"{text:>{at.digits}} " for text in (number, GOES_ON)]
        rows = wrap(self.runs, width - len(bars[0]) - len(columns[0]), words=False)
        return [((bars[0] + columns[index > 0], ink), *row) for index, row in enumerate(rows)]


def _end(lines: Sequence[_Line], start: int, side: Side) -> int:
    """Return where the lines of one side that begin at ``start`` end."""
    return next((at for at in range(start, len(lines)) if lines[at].at.side != side), len(lines))


def _beside(lines: Sequence[_Line], change: range, bar: str, width: int) -> Iterator[Shown]:
    """Yield the rows of a change, or of a line that both files have: old beside new."""
    middle = _end(lines, change.start, "old")
    is_both = lines[change.start].at.side == "both"
    olds, news = (change, change) if is_both else (range(change.start, middle), range(middle, change.stop))
    half = (width - len(bar) - len(DIVIDER)) // 2
    for left, right in zip_longest(olds, news, fillvalue=-1):
        old = lines[left].rows(("", ""), half, "old") if left >= 0 else []
        new = lines[right].rows(("", ""), half, "new") if right >= 0 else []
        for first, second in zip_longest(old, new, fillvalue=()):
            ink = FENCE | (first[-1][1] & REMOVED if first else 0)
            blank = " " * (half - cell_len(text_of(first)))
            beside = ((bar, MARK | FENCE), *first, (blank, ink), (DIVIDER, MARK | FENCE))
            yield Shown((*beside, *second), left, right, len(text_of(beside)), change)
