"""The letters of a block: everything it shows except spaces and our signs, counted from its beginning.

Wrapping moves letters to other rows and never changes them or their order, so they give a place at every
width. In a table they count cell by cell, line by line.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Final

from widgets.ink import DIM, MARK, Row, text_of
from widgets.markdown import table
from widgets.markdown.blocks import Block
from widgets.markdown.containers import content_lines
from widgets.markdown.diff import DiffRow
from widgets.markdown.rows import diff_beside, diff_words, lay_out
from widgets.transcript.marks import cells_of

WIDE: Final = 65_536  # cells: no line of a block wraps
CELL_END: Final = "\0"  # between two cells of a table: no phrase crosses it
_BLANKS: Final = re.compile(r"\s+")


def reading(block: Block, text: str, *, is_open: bool = False) -> str:
    """Return what a block shows at any width, with single spaces, without a language's name."""
    if block.kind == "table":
        cells = [cell for line in _table_lines(block, text, is_open=is_open) for cell in line]
        return _BLANKS.sub(" ", CELL_END.join(cells))
    if words := diff_words(block, text, is_open=is_open):
        return _BLANKS.sub(" ", " ".join(words))
    label = "" if block.kind == "code" else block.label
    bare = replace(block, lead="", rest="", gap=None, label=label, code=None)
    rows = lay_out(bare, text, WIDE, is_open=is_open)
    return _BLANKS.sub(
        " ", " ".join([text_of(tuple(run for run in row if not run[1] & MARK)) for row in rows])
    )


def count_letters(text: str, start: int, end: int) -> int:
    """Return how many letters a piece of a ``reading`` has."""
    return end - start - text.count(" ", start, end) - text.count(CELL_END, start, end)


class LetterRows:
    """The places of a block's letters in its rows. In rows with a single cell they are slightly off after
    wide characters.
    """

    __slots__ = ("_numbers", "_rows")

    def __init__(
        self, block: Block, text: str, rows: Sequence[Row], width: int, *, is_open: bool = False
    ) -> None:
        """``rows`` are the rows of ``block``, whose source is ``text``, at ``width``."""
        self._rows = rows
        self._numbers = [[-1] * sum(len(piece) for piece, _ in row) for row in rows]
        if block.kind == "table":
            self._number_table(_table_lines(block, text, is_open=is_open))
            return
        if shown := diff_beside(block, text, width):
            self._number_halves([len(_BLANKS.sub("", line)) for line in diff_words(block, text)], shown)
            return
        count = 0
        ours = MARK | (DIM if block.kind == "code" else 0)
        for row, numbers in zip(rows, self._numbers, strict=True):
            count = _number(row, numbers, ours, count)

    def row_of(self, letter: int) -> int:
        """Return the row of a letter, or the first one."""
        for index, numbers in enumerate(self._numbers):
            if letter in numbers:
                return index
        return 0

    def cells(self, row: int, start: int, end: int) -> tuple[int, int] | None:
        """Return the cells of a row from letter ``start`` up to ``end``, or None if it has none of them."""
        inside = [index for index, number in enumerate(self._numbers[row]) if start <= number < end]
        return cells_of(self._rows[row], inside[0], inside[-1] + 1) if inside else None

    def _number_halves(self, sizes: list[int], shown: Sequence[DiffRow]) -> None:
        """Number a diff that is drawn side by side: a line of both files counts only once."""
        taken = list(accumulate(sizes, initial=0))
        first = len(self._rows) - len(shown)
        for pair, row, numbers in zip(shown, self._rows[first:], self._numbers[first:], strict=True):
            index = sum(len(piece) for piece, _ in row) - len(text_of(pair.row))  # after its number
            for at, (char, ink) in enumerate((char, ink) for piece, ink in pair.row for char in piece):
                is_second = 0 < pair.middle <= at
                line = pair.right if is_second else pair.left
                if not char.isspace() and not ink & MARK and not (is_second and pair.left == pair.right):
                    numbers[index + at] = taken[line]
                    taken[line] += 1

    def _number_table(self, lines: list[list[str]]) -> None:
        sizes = [[len(_BLANKS.sub("", cell)) for cell in line] for line in lines]
        columns = [_columns(row) for row in self._rows]
        if not any(len(column) > 1 for column in columns):
            self._number_lines(lines)
            return
        line, base = 0, 0  # of the table, and the letters before it
        taken = [0] * len(sizes[0])
        for numbers, row in zip(self._numbers, columns, strict=True):
            if not any(text.strip() for _, text in row):
                continue
            while line + 1 < len(sizes) and taken == sizes[line]:
                base += sum(sizes[line])
                line += 1
                taken = [0] * len(sizes[line])
            for column, (start, text) in enumerate(row[: len(taken)]):
                first = base + sum(sizes[line][:column])
                for index, char in enumerate(text, start):
                    if not char.isspace() and taken[column] < sizes[line][column]:
                        numbers[index] = first + taken[column]
                        taken[column] += 1

    def _number_lines(self, lines: list[list[str]]) -> None:
        """Number a table without columns: each cell is somewhere after the one before."""
        places = [
            (row, start + at)
            for row, columns in enumerate([_columns(row) for row in self._rows])
            for start, text in columns
            for at, char in enumerate(text)
            if not char.isspace()
        ]
        texts = [text_of(row) for row in self._rows]
        letters = "".join([texts[row][index] for row, index in places])
        base, at = 0, 0
        for line in lines:
            for cell in line:
                wanted = _BLANKS.sub("", cell)
                found = letters.find(wanted, at)
                if wanted and found >= 0:
                    for offset, (row, index) in enumerate(places[found : found + len(wanted)]):
                        self._numbers[row][index] = base + offset
                    at = found + len(wanted) if line is not lines[0] else at
                base += len(wanted)


def _number(row: Row, numbers: list[int], ours: int, count: int) -> int:
    index = 0
    for piece, ink in row:
        for char in piece:
            if not ink & ours and not char.isspace():
                numbers[index] = count
                count += 1
            index += 1
    return count


def _columns(row: Row) -> list[tuple[int, str]]:
    """Return the pieces of a table's row between our signs, with the index where each begins."""
    columns: list[tuple[int, str]] = []
    at, is_new = 0, True
    for index, (piece, ink) in enumerate(row):
        if ink & MARK:
            if index and is_new and columns:
                columns.append((at, ""))  # an empty cell
            is_new = True
        elif is_new:
            columns.append((at, piece))
            is_new = False
        else:
            columns[-1] = (columns[-1][0], columns[-1][1] + piece)
        at += len(piece)
    return columns


def _table_lines(block: Block, text: str, *, is_open: bool) -> list[list[str]]:
    """Return what the cells of a table show, line by line."""
    lines = content_lines(text, block.path)
    shape = block.shape or table.measure(lines)
    widest = 2 * max(len(line) for line in lines)
    roomy = replace(shape, widths=(widest,) * len(shape.widths))
    rows = table.lay_out(lines, roomy, WIDE, has_head=block.shape is None, is_open=is_open)
    shown = [[piece.strip() for _, piece in _columns(row)] for row in rows]
    return [line for line in shown if line]
