"""One message of a transcript: its text, the blocks it is split into, what is still to be split."""

from __future__ import annotations

from collections import deque
from typing import Final

from agent_tui.inert import inert, inert_line
from widgets.blocks import Block, Kind
from widgets.layout import Layout
from widgets.rows import estimate
from widgets.source import Source
from widgets.splitter import Splitter

SLICE_CHARACTERS: Final = 8192
LINE_COST: Final = 48  # a line costs as much work as so many characters
LABEL_CHARACTERS: Final = 400


class Message:
    """Adding text is O(1); ``settle`` does the work, as much of it as the frame has time for.

    The message is drawn in *parts*: its head (an empty row and the title), its complete blocks, its open
    blocks, and its foot (the note, once it has one). A part keeps its index while the message grows.
    """

    __slots__ = (
        "_foot",
        "_head",
        "_is_closed",
        "_is_finished",
        "_offset",
        "_pending",
        "_pending_characters",
        "_source",
        "_splitter",
        "blocks",
        "former",
        "key",
        "open",
        "open_layouts",
        "rows",
        "rows_width",
    )

    def __init__(self, key: str, title: str) -> None:
        self.key = key
        self._head = Block("title", label=inert_line(title, LABEL_CHARACTERS))
        self._foot: Block | None = None
        self._is_closed = False
        self.rows_width = 0
        self._start_over()

    def _start_over(self) -> None:
        self._source = Source()
        self._splitter = Splitter()
        self._pending: deque[str] = deque()
        self._pending_characters = 0
        self._offset = 0  # characters of the first pending piece that are taken
        self._is_finished = False
        self.blocks: list[Block] = []
        self.open: list[Block] = []
        self.open_layouts: list[Layout | None] = []
        self.former: dict[int, Layout] = {}  # what the open blocks looked like, by their start
        self.rows: list[int] = []  # of each complete block at rows_width, exact or estimated

    # --- what comes in ---

    def add(self, text: str) -> None:
        """Add text at the end; after ``close`` this splits the message anew."""
        if self._is_finished:
            self.replace(self._source.text())
        if text:
            self._pending.append(text)
            self._pending_characters += len(text)

    def replace(self, text: str) -> None:
        """Let ``text`` be the whole text."""
        self._start_over()
        if text:
            self._pending.append(text)
            self._pending_characters = len(text)

    def retitle(self, title: str) -> None:
        """Change the title and open the message again."""
        self._head = Block("title", label=inert_line(title, LABEL_CHARACTERS))
        self._is_closed = False
        self._foot = None
        if self._is_finished:
            self.replace(self._source.text())

    def close(self, note: str, *, is_failure: bool) -> None:
        """End the message; ``note`` becomes its last row, if there is one."""
        self._is_closed = True
        kind: Kind = "failure" if is_failure else "note"
        label = inert_line(note, LABEL_CHARACTERS)
        self._foot = Block(kind, label=label) if label else None

    # --- work ---

    @property
    def is_closed(self) -> bool:
        """Whether the message has ended."""
        return self._is_closed

    @property
    def is_settled(self) -> bool:
        """Whether everything that came in is split."""
        return not self._pending and (self._is_finished or not self._is_closed)

    def settle(self, budget: int) -> int:
        """Split what is pending until about ``budget`` is spent (characters and lines); return the cost."""
        if self.is_settled:
            return 0
        spent = 0
        while self._pending and spent < budget:
            text = inert(self._next_slice())
            self._source.append(text)
            self.blocks += self._splitter.feed(text)
            spent += len(text) + LINE_COST * text.count("\n") + 1
        if self._is_closed and not self._pending:
            self.blocks += self._splitter.finish()
            self._is_finished = True
        laid_out = [
            (block.start, layout)
            for block, layout in zip(self.open, self.open_layouts, strict=True)
            if layout
        ]
        if laid_out:
            self.former = dict(laid_out)
        self.open = [] if self._is_finished else self._splitter.open_blocks()
        self.open_layouts = [None] * len(self.open)
        return spent

    def _next_slice(self) -> str:
        pieces: list[str] = []
        room = SLICE_CHARACTERS
        while self._pending and room > 0:
            piece, start = self._pending[0], self._offset
            if len(piece) - start > room:
                pieces.append(piece[start : start + room])
                self._offset += room
                break
            pieces.append(piece[start:] if start else piece)
            room -= len(piece) - start
            self._pending.popleft()
            self._offset = 0
        text = "".join(pieces)
        self._pending_characters -= len(text)
        return text

    # --- parts ---

    @property
    def part_count(self) -> int:
        """How many parts it is drawn in; at least the head."""
        return 1 + len(self.blocks) + len(self.open) + (self._foot is not None)

    def part(self, index: int) -> Block:
        """Return the block of one part."""
        if index == 0:
            return self._head
        index -= 1
        if index < len(self.blocks):
            return self.blocks[index]
        index -= len(self.blocks)
        if index < len(self.open):
            return self.open[index]
        if self._foot is None:
            raise IndexError(index)
        return self._foot

    def open_index(self, index: int) -> int:
        """Return the index in ``open`` of part ``index``, or -1 when that part is no open block."""
        index -= 1 + len(self.blocks)
        return index if 0 <= index < len(self.open) else -1

    def text_of(self, block: Block) -> str:
        """Return the source of a block."""
        return self._source.slice(block.start, block.end)

    # --- heights ---

    def height(self, width: int) -> int:
        """Return about how many rows the message has at ``width``; exact where it was laid out."""
        rows = 1 + bool(self._head.label) + (self._foot is not None) + self._pending_characters // width
        if self.rows_width != width:
            return rows + self._source.length // width + len(self.blocks)
        self.know_blocks(width)
        known = [layout.rows if layout else () for layout in self.open_layouts]
        return rows + sum(self.rows) + sum(len(layout) for layout in known)

    def know_blocks(self, width: int) -> list[int]:
        """Return the rows of each complete block at ``width``, estimated where it was not laid out."""
        if self.rows_width != width:
            self.rows, self.rows_width = [], width
        for block in self.blocks[len(self.rows) :]:
            self.rows.append(estimate(block, width))
        return self.rows
