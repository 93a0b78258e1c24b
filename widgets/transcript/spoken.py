"""One line of a spoken conversation, as a message: time, name and words in one row."""

from __future__ import annotations

from typing import ClassVar, Final

from rich.cells import cell_len

from agent_tui.model.inert import inert_line
from widgets.cells import cells_in, tidy
from widgets.ink import DIM, FAILED, MARK, TITLE, Row, Run
from widgets.layout import PLAIN_TONE, Tone
from widgets.markdown.blocks import Block
from widgets.painter import cropped
from widgets.signs import DOT
from widgets.signs import FAILED as FAILED_SIGN
from widgets.transcript.message import TranscriptMessage
from widgets.wrap import NO_BREAK, PARTED, wrap

WIDE_FROM: Final = 76  # cells of a row
NARROW_FROM: Final = 28  # below this the words take the whole row, and the name is above them
NAME_CHARACTERS: Final = 80
DOTS: Final = f" {DOT} "  # between the parts of a note
NAME: Final = MARK | TITLE


def columns(width: int) -> tuple[int, int]:
    """Return the cells of the time and of the name, each with the gap after it; 0 if there is no room."""
    if width < NARROW_FROM:
        return 0, 0
    return (7, 10) if width >= WIDE_FROM else (6, 7)


class SpokenMessage(TranscriptMessage):
    """Its first row begins with time and name, the others are below the words; ``tail`` follows the last
    word. A note begins under the name, or at the margin if only that keeps it in one row.
    """

    __slots__ = ("_name", "_said_at", "_tail")

    APART: ClassVar[int] = 0

    def __init__(self, key: str, title: str, tone: Tone = PLAIN_TONE) -> None:
        """``title`` is the name and, after a tab, the time."""
        self._tail = ""
        super().__init__(key, title, tone)

    def set_title(self, title: str) -> None:
        self.title = title
        name, _, said_at = title.partition("\t")
        self._name, self._said_at = inert_line(name, NAME_CHARACTERS), said_at
        self._head = Block("title")  # a new object: rows that begin with it are laid out again
        self.open_layouts = [None] * len(self.open)
        self.end_rows[0] = 0
        self._note_change()

    def reopen(self) -> None:
        """Continue the line, without the tail and the note that ended it."""
        self._tail = ""
        super().reopen()

    def set_tail(self, tail: str) -> None:
        """Show ``tail`` after the last word; red if it begins with the failure sign."""
        if tail != self._tail:
            self._tail = tail
            self._note_change()

    @property
    def _last_text(self) -> int:
        """The last part with text; 0 if there is none."""
        return len(self.blocks) + len(self.open)

    def _has_head_row(self, width: int) -> bool:
        """Whether time and name have a row of their own: there are no words, or no room beside them."""
        if self._last_text:
            return bool(self._name) and width < NARROW_FROM
        return bool(self._name) or self._foot is None

    @property
    def _head_rows(self) -> int:
        return int(self._has_head_row(self.rows_width))

    def part_key(self, index: int) -> object:
        if index == 0:
            return self._head, self._last_text > 0, self._tail
        key = super().part_key(index)
        head = self._head if index == 1 else None
        tail = self._tail if index == self._last_text else ""
        return (key, head, tail) if head is not None or tail else key

    def block_width(self, block: Block, width: int) -> int:
        """Return the width for laying out a block if the message has ``width``."""
        return width - sum(columns(width))

    def rows_of(self, part: int, width: int, *, is_open: bool, links: list[str]) -> list[Row]:
        """Return the rows of a part; none for the head if it is in the row of the words."""
        if part == 0:
            return [self._with_tail(self._lead(width), width)] if self._has_head_row(width) else []
        block = self.part(part)
        if block.kind in ("note", "failure"):
            indent = columns(width)[0]
            rows = _note_rows(block.label, width - indent)
        else:
            rows = super().rows_of(part, width, is_open=is_open, links=links)
            indent = width - self.block_width(block, width)
        begins = part == 1 and not self._has_head_row(width)
        first: Row = self._lead(width)[: 2 if self._name else 1] if begins else _blank(indent)
        out: list[Row] = [(*(_blank(indent) if index else first), *row) for index, row in enumerate(rows)]
        if self._tail and part == self._last_text and not is_open:
            last = self._with_tail(out[-1], width)
            out[-1:] = [last] if last is not out[-1] else [last, (*_blank(indent), _tail_run(self._tail))]
        return out

    def _lead(self, width: int) -> Row:
        """Return the time and the name, in their columns."""
        time, name = columns(width)
        if not time:
            return ((_cut(self._name, width), NAME),)
        shown = _cut(self._name, name - 1)
        return (
            (self._said_at[: time - 1].ljust(time), MARK),
            (shown + " " * (name - cell_len(shown)), NAME),
        )

    def _with_tail(self, row: Row, width: int) -> Row:
        """Return the row with the tail if that fits; else the row itself."""
        cells = cells_in(row) + cell_len(self._tail)
        return (*row, _tail_run(self._tail)) if self._tail and cells <= width else row


def _tail_run(tail: str) -> Run:
    return tail, MARK | (FAILED if tail.startswith(FAILED_SIGN) else DIM)


def _blank(cells: int) -> Row:
    return ((" " * cells, MARK),) if cells else ()


def _cut(name: str, cells: int) -> str:
    return cropped("".join(text for text, _ in tidy([(name, NAME)], cells)), cells)


def _note_rows(note: str, width: int) -> list[Row]:
    """Return the rows of a note, which breaks after its dots; what follows a failure sign is red."""
    if DOTS in note:
        note = f"{PARTED} ".join(part.replace(" ", NO_BREAK) for part in note.split(DOTS))
    plain, sign, bad = note.partition(FAILED_SIGN)
    rows = wrap([(plain, DIM), (sign + bad, FAILED)], width)
    return [tuple((text.replace(NO_BREAK, " "), ink) for text, ink in row) for row in rows]
