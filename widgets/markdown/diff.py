"""Unified diffs: what a line is, and its numbers in both files, from the heads of the hunks (``@@ -10,7 +10,8
@@``).
"""

from __future__ import annotations

import re
from typing import Final, Literal, NamedTuple

from widgets.ink import ADDED, COMMENT, FENCE, NAME, REMOVED, Run

NAMES: Final = frozenset(("diff", "patch", "udiff"))  # of languages, as models write them
LEAST_DIGITS: Final = 3  # so that most files have one column
LONGEST_CHANGE: Final = 64  # lines that are not torn apart, so that old and new stand side by side

Side = Literal["head", "both", "old", "new"]
_INKS: Final[dict[Side, int]] = {"head": NAME, "both": 0, "old": REMOVED, "new": ADDED}
_SIDES: Final[dict[str, Side]] = {"-": "old", "+": "new", " ": "both", "": "both"}
_HUNK: Final = re.compile(r"@@ -([0-9]{1,9})(?:,([0-9]{1,9}))? \+([0-9]{1,9})(?:,([0-9]{1,9}))? @@")
_HEAD: Final = re.compile(r"diff |index |Index: |===|(?:---|\+\+\+)(?: |$)")


class At(NamedTuple):
    """The place of a line in a diff: the numbers are those of the newest line of each file, and how many of
    each the hunk still has. ``digits`` are the cells of a number; 0 where no hunk was begun.
    """

    side: Side = "both"
    old: int = 0
    new: int = 0
    old_left: int = 0
    new_left: int = 0
    digits: int = 0
    is_change: bool = False  # the hunk has lines of both files
    is_numbered: bool = False  # this line is one of a file
    is_torn: bool = False  # it goes on where the next piece begins


class Diff:
    """Reads a diff line by line, as ``languages.Language`` reads code; a state is an ``At``."""

    def inks(self, line: str, state: object) -> tuple[list[Run], object]:
        """Return the line in pieces with their inks, and its place."""
        at = place(line, state if isinstance(state, At) else At())
        if not line:
            return [], at
        if line.startswith("\\"):
            return [(line, FENCE | COMMENT)], at
        if at.side == "head" and (hunk := _HUNK.match(line)):
            pieces = [(line[: hunk.end()], FENCE | COMMENT), (line[hunk.end() :], FENCE | NAME)]
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
    if sign == "\\":  # "No newline at end of file", of the line above
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
    """Whether a line may belong to the change above it: no piece of a diff ends before it."""
    return line[:1] in ("+", "-", "\\")
