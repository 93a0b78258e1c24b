"""One step of an answer, as a message that can be folded: a head row, and a body after a line at the left."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import ClassVar, Final

from agent_tui.model.inert import inert_line
from widgets.ink import DIM, MARK, Row
from widgets.layout import Tone
from widgets.markdown.blocks import Block
from widgets.markdown.rows import APART, CODE_BAR
from widgets.painter import ASK, CARD
from widgets.signs import NEEDS_YOU
from widgets.transcript.message import LABEL_CHARACTERS, TranscriptMessage
from widgets.transcript.spoken import columns

SUMMARY_CHARACTERS: Final = 240
BODY_BAR: Final = CODE_BAR  # code in a step needs no bar of its own


class TranscriptStep(TranscriptMessage):
    """A message that can be folded. While it is folded, its body is neither split nor laid out."""

    __slots__ = ("_is_set_in", "_title")

    APART: ClassVar[int] = 0

    def __init__(self, key: str, tone: Tone, *, is_folded: bool, is_set_in: bool) -> None:
        """``is_set_in``: it is among spoken lines, and begins where their names do."""
        super().__init__(key, "", tone)
        self._is_set_in = is_set_in
        self.is_folded = is_folded
        self._title = ("", "")  # its name, and what it is about
        self._head = Block("step", is_folded=is_folded)

    def set_head(self, title: str, summary: str, sign: str) -> bool:
        """Set the head row; return whether it changed."""
        name, _, about = title.replace("\t", APART).partition(APART)
        named = inert_line(name, LABEL_CHARACTERS), inert_line(about, LABEL_CHARACTERS)
        right = inert_line(f"{sign} {summary}", SUMMARY_CHARACTERS)
        if (named, right) == (self._title, self._head.summary):
            return False
        self._title = named
        self._head = replace(self._head, label=self._label, summary=right)
        if self.tone.card:
            self.tone = self.tone._replace(card=ASK if sign == NEEDS_YOU else CARD)
        return True

    @property
    def _label(self) -> str:
        """The left of the head row. What an open thought is about are the first words below it."""
        name, about = self._title
        return f"{name}{APART}{about}" if about and (self.is_folded or self.tone.card) else name

    def fold(self, is_folded: bool) -> bool:
        """Fold or unfold it; return whether that changed anything."""
        if is_folded == self.is_folded:
            return False
        self.is_folded = is_folded
        self._head = replace(self._head, label=self._label, is_folded=is_folded)
        self._note_change()
        return True

    def set_body(self, make: Callable[[], str], uncut: Callable[[], str] | None) -> None:
        """Set the text to ``make()``, called when it is needed; ``uncut()`` is copied if it is more."""
        self._start_over(make, uncut)
        self._note_change()

    def part_key(self, index: int) -> object:
        """Return the key of part ``index``; an ask has another background."""
        key = super().part_key(index)
        return (key, ASK) if self.tone.card == ASK and index else key

    @property
    def _head_rows(self) -> int:
        return 1

    def block_width(self, block: Block, width: int) -> int:
        width -= self._indent(width)
        is_bare = block.kind == "step" or (block.kind == "code" and not block.lead and not block.rest)
        return width if is_bare or width < 2 * len(BODY_BAR) else width - len(BODY_BAR)

    def rows_of(self, part: int, width: int, *, is_open: bool, links: list[str]) -> list[Row]:
        """Return the rows of a part; those of the body begin with a line."""
        indent = self._indent(width)
        rows = self._barred_rows(part, width, super().rows_of(part, width, is_open=is_open, links=links))
        return [((" " * indent, MARK), *row) for row in rows] if indent else rows

    def _indent(self, width: int) -> int:
        return columns(width)[0] if self._is_set_in else 0

    def _barred_rows(self, part: int, full_width: int, rows: list[Row]) -> list[Row]:
        width = full_width - self._indent(full_width)
        if part == 0 or width < 2 * len(BODY_BAR):
            return rows
        block = self.part(part)
        bar = " " * len(BODY_BAR) if self.tone.card == ASK else BODY_BAR  # an ask has its edge
        if self.block_width(block, full_width) != width:
            return [_barred(row, bar) for row in rows]
        first = int(block.gap is not None)
        has_label = block.label and len(rows) > first + 1 and rows[first][-1][1] & DIM
        if has_label:  # the head row shows it
            del rows[first]
        return [row if row else _barred(row, bar) for row in rows]


def _barred(row: Row, bar: str) -> Row:
    """Return a row after the line; if it begins with one of our signs, that sign is joined to the line."""
    if row and row[0][1] == MARK:
        return (bar + row[0][0], MARK), *row[1:]
    return (bar, MARK), *row
