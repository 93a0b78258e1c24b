"""Unified diffs: the kind of each line, its numbers in both files, and its rows: side by side if there is
room.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from rich.cells import cell_len

from widgets.ink import ADDED, COMMENT, FENCE, MARK, NAME, REMOVED, STRONG, Row, Run, text_of
from widgets.signs import ELLIPSIS
from widgets.wrap import cut, wrap

if TYPE_CHECKING:
    from widgets.markdown.highlight import DrawnLine

NAMES: Final = frozenset(("diff", "patch", "udiff"))  # of languages, as models write them
LEAST_DIGITS: Final = 3  # so that most files need one width
LONGEST_CHANGE: Final = 64  # lines that stay in one piece, so that old and new are side by side

Side = Literal["head", "both", "old", "new"]
_INKS: Final[dict[Side, int]] = {"head": NAME, "both": 0, "old": REMOVED, "new": ADDED}
_SIDES: Final[dict[str, Side]] = {"-": "old", "+": "new", " ": "both", "": "both"}
_HUNK: Final = re.compile(r"@@ -([0-9]{1,9})(?:,([0-9]{1,9}))? \+([0-9]{1,9})(?:,([0-9]{1,9}))? @@")
_HEAD: Final = re.compile(r"diff |index |Index: |===|(?:---|\+\+\+)(?: |$)")


class At(NamedTuple):
    """The place of a line in a diff: its numbers, and how many lines of each file the hunk still has."""

    side: Side = "both"
    old: int = 0
    new: int = 0
    old_left: int = 0
    new_left: int = 0
    digits: int = 0
    is_change: bool = False  # the hunk has lines of both files
    is_numbered: bool = False  # this line belongs to a file
    is_torn: bool = False  # it continues in the next piece

    @property
    def is_first(self) -> bool:
        """Whether a hunk begins here with the first line of a file: it is not divided from anything."""
        return self.side == "head" and self.digits > 0 and not (self.old or self.new)


class Diff:
    """Reads a diff line by line, as ``highlight.Language`` reads code; its state is an ``At``."""

    def inks(self, line: str, state: object) -> tuple[list[Run], object]:
        """Return the line in pieces with their inks, and its place."""
        at = place(line, state if isinstance(state, At) else At())
        if not line:
            return [], at
        if line.startswith("\\"):
            return [(line, FENCE | COMMENT)], at
        if at.side == "head" and (hunk := _HUNK.match(line)):  # the lines below say where it is
            pieces = [(ELLIPSIS, MARK | FENCE | COMMENT), (line[hunk.end() :], FENCE | NAME)]
            return [piece for piece in pieces if piece[0]], at
        return [(line, FENCE | _INKS[at.side])], at


def place(line: str, before: At) -> At:
    """Return the place of a line that follows ``before``."""
    if before.is_torn:
        return before._replace(is_numbered=False, is_torn=False)
    if hunk := _HUNK.match(line):
        old, new = int(hunk[1]), int(hunk[3])
        old_left, new_left = (1 if number is None else int(number) for number in (hunk[2], hunk[4]))
        digits = max(LEAST_DIGITS, len(str(max(old + old_left, new + new_left))))
        is_change = old_left > 0 and new_left > 0
        return At("head", max(0, old - 1), max(0, new - 1), old_left, new_left, digits, is_change)
    sign = line[:1]
    if sign == "\\":  # "No newline at end of file", about the line above
        return before._replace(is_numbered=False)
    is_over = before.old_left <= 0 and before.new_left <= 0
    if is_over and _HEAD.match(line):
        return At("head")
    side = _SIDES.get(sign)
    if side is None or (is_over and not line):
        side = "both"
        if is_over and before.digits:
            return At("head")
    is_old, is_new = side != "new", side != "old"
    return before._replace(
        side=side,
        old=before.old + is_old,
        new=before.new + is_new,
        old_left=before.old_left - is_old,
        new_left=before.new_left - is_new,
        is_numbered=before.digits > 0,
    )


def goes_on(line: str) -> bool:
    """Whether the line may belong to the change above it: no piece of a diff ends before it."""
    return line[:1] in ("+", "-", "\\")


SPLIT_FROM: Final = 112  # cells of a fence: those of a pane of 120 cells, within a card or a list
DIVIDER: Final = " │ "
FIRST_WIDE: Final = "\u2e80"  # scripts from here on have no spaces between words
GOES_ON: Final = "↳"  # in the column of numbers: the row continues the line above


class DiffRow(NamedTuple):
    """One row: line ``left`` up to character ``middle`` (0: all of it), then ``right`` (-1: none), and their
    change.
    """

    row: Row
    left: int
    right: int
    middle: int
    change: range


def diff_rows(lines: Sequence[DrawnLine], bars: tuple[str, str], width: int) -> list[DiffRow]:
    """Return the rows of a diff's lines, at most ``width`` cells wide, each with its lines. The first of
    ``bars`` is before each row, the second before rows that continue a line without a number. A hunk that
    begins with the first line of a file has no row of its own.
    """
    every = _with_changed_words([_Line(runs, at if isinstance(at, At) else At()) for _, runs, at in lines])
    out: list[DiffRow] = []
    line = 0
    while line < len(every):
        at = every[line].at
        if at.is_first and not every[line].says_more and line + 1 < len(every):
            line += 1
            continue
        if width < SPLIT_FROM or not at.is_change or at.side == "head":
            change = range(line, line + 1)
            out += [DiffRow(row, line, line, 0, change) for row in every[line].rows(bars, width)]
        else:
            change = range(
                line, _end(every, _end(every, line, "old"), "new") if at.side != "both" else line + 1
            )
            out += _beside(every, change, bars[0], width)
        line = change.stop
    return out


class _Line(NamedTuple):
    runs: Sequence[Run]
    at: At

    @property
    def says_more(self) -> bool:
        """Whether the line has words of the file, not only signs of ours."""
        return any(text.strip() and not ink & MARK for text, ink in self.runs)

    def rows(self, bars: tuple[str, str], width: int, side: Side = "both") -> list[Row]:
        """Return the rows of the line, after its number in the file of one ``side``."""
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


def _with_changed_words(lines: Sequence[_Line]) -> list[_Line]:
    """Return the lines; if one was changed a little, the changed words are strong."""
    out = list(lines)
    start = 0
    while start < len(out):
        middle = _end(out, start, "old")
        end = _end(out, middle, "new")
        for old, new in zip(range(start, middle), range(middle, end), strict=False):
            before, after = text_of(tuple(out[old].runs)), text_of(tuple(out[new].runs))
            if (same := _same_ends(before[1:], after[1:])) is not None:
                out[old], out[new] = (
                    line._replace(runs=_strong(line.runs, 1 + same[0], len(text) - same[1]))
                    for line, text in ((out[old], before), (out[new], after))
                )
        start = max(end, start + 1)
    return out


def _same_ends(before: str, after: str) -> tuple[int, int] | None:
    """Return how many characters two lines share at both ends, in whole words; ``None`` if less than half, or
    all.
    """
    least = min(len(before), len(after))
    head = next((at for at in range(least) if before[at] != after[at]), least)
    while head and any(_is_in_word(line, head) for line in (before, after)):
        head -= 1
    tail = next((at for at in range(least - head) if before[-1 - at] != after[-1 - at]), least - head)
    while tail and any(_is_in_word(line, len(line) - tail) for line in (before, after)):
        tail -= 1
    common = len((before[:head] + before[len(before) - tail :]).strip())
    is_little = common > 0 and 2 * common >= min(len(before.strip()), len(after.strip()))
    return (head, tail) if is_little and before != after else None


def _is_in_word(line: str, at: int) -> bool:
    """Whether a character and the one before it belong to one word, in a script with spaces between words."""
    return all(
        char < FIRST_WIDE and (char.isalnum() or char == "_") for char in line[at - 1 : at + 1]
    ) and 0 < at < len(line)


def _strong(runs: Sequence[Run], start: int, stop: int) -> list[Run]:
    """Return the runs with the characters from ``start`` to ``stop`` strong."""
    total = sum(len(text) for text, _ in runs)
    parts = cut(runs, iter(((0, start), (start, stop), (stop, total))))
    return [(text, ink | (STRONG if part == 1 else 0)) for part, row in enumerate(parts) for text, ink in row]


def _beside(lines: Sequence[_Line], change: range, bar: str, width: int) -> Iterator[DiffRow]:
    """Yield the rows of a change, or of a line that is in both files: old beside new."""
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
            yield DiffRow((*beside, *second), left, right, len(text_of(beside)), change)
