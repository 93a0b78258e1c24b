"""Maps what is shown back to the source: where in the Markdown the characters of a row come from. Only blocks
that are selected, clicked or copied are aligned; streaming pays nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import accumulate
from typing import Final, NamedTuple

from rich.cells import cell_len

from widgets.ink import CODE, DIM, MARK, URL, Row, text_of
from widgets.markdown import table
from widgets.markdown.blocks import Block
from widgets.markdown.containers import content_lines
from widgets.markdown.diff import DiffRow
from widgets.markdown.entities import ENTITY, decoded
from widgets.markdown.rows import diff_beside

_OWN: Final = ("title", "step", "note", "failure")  # our own rows: they have no source
_WORDS: Final = re.compile(r"\S+")
_ENTITY: Final = re.compile(ENTITY)
_TARGET: Final = re.compile(
    r"\](?:\((?:<[^<>\n]*>|[^\s()]*(?:\([^\s()]*\)[^\s()]*)*)[^()\n]*\)|\[[^\[\]]*\])"
)
_UNKNOWN: Final = -1
_OURS: Final = -2
_PROBE_CHARACTERS: Final = 12  # of a word that are looked for where the text went on without it


class RowOffsets(NamedTuple):
    """Where the characters of one row come from: character ``i`` from ``starts[i]`` to ``ends[i]`` of the
    message; both are equal for our signs. The row covers ``first`` to ``last``.
    """

    starts: list[int]
    ends: list[int]
    first: int
    last: int

    def at(self, index: int) -> tuple[int, int]:
        """Return the offsets of character ``index``; right of the row, its end twice."""
        if 0 <= index < len(self.starts):
            return self.starts[index], self.ends[index]
        return self.last, self.last

    def between(self, start: int, end: int) -> tuple[int, int]:
        """Return the first and the last character, plus one, that come from ``start`` up to ``end``."""
        found = [
            index
            for index, (first, last) in enumerate(zip(self.starts, self.ends, strict=True))
            if first < last and first < end and last > start
        ]
        return (found[0], found[-1] + 1) if found else (0, 0)


def offsets(block: Block, text: str, rows: Sequence[Row], width: int) -> list[RowOffsets]:
    """Return the offsets of every row of ``block`` at ``width``; they never decrease. In a table all
    characters of a line are the whole line; in a diff side by side the whole change.
    """
    if block.kind in _OWN:
        return [_spread(row, block.start, block.start) for row in rows]
    if block.kind == "rule":
        return [_spread(row, block.start, block.end) for row in rows]
    if block.kind == "table":
        return _table_offsets(block, text, rows, width)
    if shown := diff_beside(block, text, width):
        return _diff_offsets(block, text, rows, shown)
    aligner = _Aligner(text, block.start)
    return [aligner.row(row, is_code=block.kind == "code") for row in rows]


def _spread(row: Row, start: int, end: int) -> RowOffsets:
    count = len(text_of(row))
    return RowOffsets([start] * count, [end] * count, start, end)


def _table_offsets(block: Block, text: str, rows: Sequence[Row], width: int) -> list[RowOffsets]:
    lines = content_lines(text, block.path)
    shape = block.shape or table.measure(lines)
    room = max(1, width - cell_len(block.rest[max(0, len(block.rest) - width // 2) :]))
    heights = [
        1 if index == 1 and block.shape is None else len(table.lay_out([line], shape, room, has_head=False))
        for index, line in enumerate(lines)
    ]
    gap = block.gap is not None
    if gap + sum(heights) != len(rows):  # a table without columns: it counts as a whole
        return [_spread(row, block.start, block.end) for row in rows]
    out = [_spread(rows[0], block.start, block.start)] if gap else []
    at = block.start
    for raw, height in zip(text.split("\n"), heights, strict=True):
        out += [_spread(row, at, at + len(raw)) for row in rows[len(out) : len(out) + height]]
        at += len(raw) + 1
    return out


def _diff_offsets(block: Block, text: str, rows: Sequence[Row], shown: Sequence[DiffRow]) -> list[RowOffsets]:
    ends = list(accumulate((len(raw) + 1 for raw in text.split("\n")), initial=block.start))
    out = [_spread(row, block.start, block.start) for row in rows[: len(rows) - len(shown)]]
    for diff_row, row in zip(shown, rows[len(out) :], strict=True):
        out.append(_spread(row, ends[diff_row.change.start], ends[diff_row.change.stop] - 1))
    return out


class _Aligner:
    """Finds each shown character at the earliest possible place in the source; what is skipped is markup. A
    character that is not found (such as the URL of a defined link) is placed between its neighbours.
    """

    def __init__(self, source: str, base: int) -> None:
        self._source = source
        self._base = base
        self._is_raw = False  # code: entities are literal
        self.at = 0

    def row(self, row: Row, *, is_code: bool) -> RowOffsets:
        text = text_of(row)
        starts, ends = [_UNKNOWN] * len(text), [_UNKNOWN] * len(text)
        first, offset = self.at, 0
        for piece, ink in row:
            after = offset + len(piece)
            if ink & (MARK | (DIM if is_code else 0)):  # the dim row of a code block is its language
                starts[offset:after] = [_OURS] * len(piece)
            else:
                self._is_raw = is_code or ink & CODE != 0
                for word in _WORDS.finditer(piece):
                    self._take_word(word.group(), offset + word.start(), starts, ends, bool(ink & URL))
            offset = after
        self._take_blanks(text, starts, ends, first, " \t" if is_code else " \t\n")
        base = self._base
        if not text:
            return RowOffsets([], [], base + first, base + first)
        return RowOffsets(
            [base + start for start in starts],
            [base + end for end in ends],
            base + min(starts),
            base + max(ends),
        )

    def _take_word(self, word: str, place: int, starts: list[int], ends: list[int], is_url: bool) -> None:
        at = self._sign_or(word[0])
        if at >= 0 and (self._is_raw or "&" not in word) and self._source.startswith(word, at):
            starts[place : place + len(word)] = range(at, at + len(word))
            ends[place : place + len(word)] = range(at + 1, at + len(word) + 1)
            self.at = at + len(word)
            return
        for index, char in enumerate(word):
            found = self._find(char, word[index : index + _PROBE_CHARACTERS], is_url)
            if found is not None:
                starts[place + index], ends[place + index] = found
                self.at = found[1]

    def _find(self, char: str, probe: str, is_url: bool) -> tuple[int, int] | None:
        at = self._sign_or(char)
        if at < 0:
            at = -1 if is_url else self._source.find(probe, self.at)
            return None if at < 0 else (at, at + 1)
        return at, at + 1 + self._rest_of_entity(at, char)

    def _rest_of_entity(self, at: int, char: str) -> int:
        """Return how much longer than ``&`` the entity at ``at`` is, if it means ``char``."""
        may_be = self._source[at] == "&" and not self._is_raw
        entity = _ENTITY.match(self._source, at) if may_be else None
        return len(entity.group()) - 1 if entity and decoded(entity.group()).startswith(char) else 0

    def _sign_or(self, char: str) -> int:
        """Return the place of ``char`` if only markup is skipped, or -1."""
        source, at = self._source, self.at
        while at < len(source):
            sign = source[at]
            if sign == char:
                return at
            if sign == "&" and self._rest_of_entity(at, char):
                return at
            if sign == "]" and char != "(" and (target := _TARGET.match(source, at)):
                at = target.end()
                continue
            if sign.isalnum():
                return -1
            at += 1
        return -1

    def _take_blanks(self, text: str, starts: list[int], ends: list[int], first: int, blanks: str) -> None:
        """Give spaces the blanks they come from, and characters without a source the place between their
        neighbours.
        """
        source, after = self._source, 0
        for index in range(len(text) - 1, -1, -1):  # spaces before a word: backwards from the word
            if starts[index] >= 0:
                after = starts[index]
            elif starts[index] == _UNKNOWN and after and text[index] == " " and source[after - 1] in blanks:
                starts[index], ends[index] = after - 1, after
                after -= 1
            else:
                after = 0
        before = first
        for index, char in enumerate(text):
            if starts[index] < before:  # not found, or found among the blanks of the row before
                is_blank = char == " " and starts[index] != _OURS and before < len(source)
                starts[index] = before
                ends[index] = before + (is_blank and source[before] in blanks)
            before = ends[index]
        self.at = max(self.at, before)
