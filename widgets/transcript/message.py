"""One message of a transcript: its text, its blocks, and the text that is still to be split."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import ClassVar, Final, NamedTuple

from agent_tui.model.growing_text import GrowingText
from agent_tui.model.inert import inert, inert_line
from widgets.ink import Row
from widgets.layout import PLAIN_TONE, Layout, Tone
from widgets.markdown.blocks import Block, Kind, PackedBlocks
from widgets.markdown.rows import PROSE_CELLS, estimate, lay_out
from widgets.markdown.splitter import Splitter
from widgets.transcript.heights import Heights

SLICE_CHARACTERS: Final = 8192
LINE_COST: Final = 48  # a line costs as much work as this many characters
LABEL_CHARACTERS: Final = 400


class PendingText:
    """Text that came in and is still to be split, in slices. Adding is O(1)."""

    __slots__ = ("_later", "_next", "_offset", "_pieces", "characters", "lines")

    def __init__(self, later: Callable[[], str] | None = None) -> None:
        """``later()`` returns the text it begins with, when it is needed."""
        self._later = later
        self._pieces: list[str] = []
        self._next = self._offset = 0  # the first piece that is left, and how much of it is taken
        self.characters = self.lines = 0

    def __bool__(self) -> bool:
        return self._later is not None or bool(self._pieces)

    def _make(self) -> None:
        if self._later is not None:
            later, self._later = self._later, None
            if text := later():
                self.add(text)

    def add(self, text: str) -> None:
        self._make()
        self._pieces.append(text)
        self.characters += len(text)
        self.lines += text.count("\n")

    @property
    def text(self) -> str:
        self._make()
        return "".join(self._pieces[self._next :])[self._offset :]

    def compact(self) -> None:
        """Join the pieces into one text: an invisible message may wait for long."""
        if self._pieces:
            self._pieces = [self.text]
            self._next = self._offset = 0

    def take(self, most: int) -> str:
        """Remove and return the next ``most`` characters, or what is left."""
        self._make()
        taken: list[str] = []
        room, pieces = most, self._pieces
        while self._next < len(pieces) and room > 0:
            piece, start = pieces[self._next], self._offset
            if len(piece) - start > room:
                taken.append(piece[start : start + room])
                self._offset += room
                break
            taken.append(piece[start:] if start else piece)
            room -= len(piece) - start
            self._next += 1
            self._offset = 0
        if self._next == len(pieces):
            self._pieces, self._next = [], 0
        text = "".join(taken)
        self.characters -= len(text)
        self.lines -= text.count("\n")
        return text


class Split(NamedTuple):
    """The result of splitting, at a ``cost`` in characters and lines: blocks that are ``complete`` now, and
    those at the end that are ``open``.
    """

    cost: int
    complete: list[Block]
    open: list[Block]


class SplitText:
    """Text that is added to ``pending``, and split by ``split`` as far as the frame has time."""

    __slots__ = ("_source", "_splitter", "is_finished", "lines", "pending")

    def __init__(self, later: Callable[[], str] | None = None) -> None:
        """``later()`` returns the text it begins with, when it is needed."""
        self._source = GrowingText()
        self._splitter: Splitter | None = None
        self.pending = PendingText(later)
        self.is_finished = False  # split to its end: more text begins anew
        self.lines = 0  # line ends in the split text

    @property
    def length(self) -> int:
        """The number of characters that are split."""
        return self._source.length

    @property
    def whole(self) -> str:
        """All of it as Markdown, including what is not split yet."""
        return self._source.text + inert(self.pending.text)

    def of(self, block: Block) -> str:
        return self._source.slice(block.start, block.end)

    def slice(self, start: int, end: int) -> str:
        """Return characters ``start`` to ``end`` of the split text, as Markdown."""
        return self._source.slice(max(0, start), min(end, self._source.length))

    def split(self, budget: int, *, to_its_end: bool) -> Split:
        """Split pending text until about ``budget`` is used; ``to_its_end``: no more text will come."""
        splitter = self._splitter = self._splitter or Splitter()
        cost, complete = 0, []
        while self.pending and cost < budget:
            text = inert(self.pending.take(SLICE_CHARACTERS))
            self._source.add(text)
            complete += splitter.feed(text)
            lines = text.count("\n")
            self.lines += lines
            cost += len(text) + LINE_COST * lines + 1
        if to_its_end and not self.pending:
            complete += splitter.finish()
            self._source.compact()
            self.is_finished = True
            self._splitter = None
        still_open = [] if self.is_finished else splitter.open_blocks()
        return Split(cost, complete, still_open)


class TranscriptMessage:
    """Adding text is O(1); ``settle`` does the work, as far as the frame has time.

    The message is drawn in *parts*: its head (an empty row and the title), its complete blocks, its open
    blocks, and its foot (the note, if it has one). A part keeps its index while the message grows. Whenever
    its height may have changed, it adds its ``number`` to ``changed``, if there is such a set.
    """

    __slots__ = (
        "_exact",
        "_foot",
        "_head",
        "_stale",
        "_uncut",
        "blocks",
        "changed",
        "end_rows",
        "former",
        "is_closed",
        "is_folded",
        "is_rule",
        "key",
        "number",
        "open",
        "open_layouts",
        "rows",
        "rows_width",
        "seams",
        "text",
        "title",
        "tone",
    )

    APART: ClassVar[int] = 1  # empty rows above its head

    def __init__(self, key: str, title: str, tone: Tone = PLAIN_TONE) -> None:
        self.key = key
        self.tone = tone
        self.number = 0
        self.changed: set[int] | None = None
        self.seams: tuple[int, ...] = ()  # where its text was interrupted and continued, in characters
        self._head = Block("title")
        self._foot: Block | None = None
        self.is_closed = False
        self.is_folded = False  # only the head is shown
        self.is_rule = False  # a line between messages: nothing that the reader goes to
        self.rows_width = 0
        self.end_rows = [0, 0]  # rows of head and foot if they are laid out, else 0
        self._start_over()
        self.set_title(title)

    def _start_over(
        self, later: Callable[[], str] | None = None, uncut: Callable[[], str] | None = None
    ) -> None:
        """Begin with the text ``later()``, created when it is needed; ``uncut()`` is copied if it is more."""
        self.text = SplitText(later)
        self._uncut = uncut
        self.blocks = PackedBlocks()  # the complete ones
        self.open: list[Block] = []
        self.open_layouts: list[Layout | None] = []
        self.former: dict[int, Layout] = {}  # the last layouts of the open blocks, by their start
        self.rows = Heights()  # rows of each complete block at rows_width, exact or estimated
        self._exact = bytearray()  # which of these are exact
        self._stale = 0  # the first this many may be estimates for another width

    # --- what comes in ---

    def add(self, text: str) -> None:
        """Add text at the end; after ``close`` the message is split again."""
        if self.text.is_finished:
            self.replace(self.text.whole)
        if text:
            self.text.pending.add(text)
            self._note_change()

    def replace(self, text: str) -> None:
        self._start_over()
        if text:
            self.text.pending.add(text)
        self._note_change()

    def set_title(self, title: str) -> None:
        self.title = title
        self._head = _title(title)
        self.end_rows[0] = 0
        self._note_change()

    def reopen(self) -> None:
        """Continue the message, without the note that ended it."""
        self.is_closed = False
        self._foot = None
        self.end_rows = [0, 0]
        if self.text.is_finished:
            self.replace(self.text.whole)
        self._note_change()

    def close(self, note: str, *, is_failure: bool) -> None:
        """End the message; ``note``, if any, becomes its last row."""
        self.is_closed = True
        self.text.pending.compact()
        kind: Kind = "failure" if is_failure else "note"
        label = inert_line(note, LABEL_CHARACTERS)
        self._foot = Block(kind, label=label) if label else None
        self.end_rows[1] = 0
        self._note_change()

    def fade(self, is_faded: bool) -> bool:
        """Show all of it dim from now on, or no longer; return whether that changed anything."""
        if self.tone.is_faded == is_faded:
            return False
        self.tone = self.tone._replace(is_faded=is_faded)
        self._head = replace(self._head)  # a new object: the old layout is not used
        self.former, self.open_layouts = {}, [None] * len(self.open)
        self._note_change()
        return True

    def _note_change(self) -> None:
        if self.changed is not None:
            self.changed.add(self.number)

    # --- work ---

    @property
    def is_split(self) -> bool:
        return not self.text.pending and (self.text.is_finished or not self.is_closed)

    @property
    def is_settled(self) -> bool:
        return self.is_folded or self.is_split

    def settle(self, budget: int) -> int:
        """Split pending text until about ``budget`` is used (characters and lines); return the cost."""
        if self.is_split:
            return 0
        found = self.text.split(budget, to_its_end=self.is_closed)
        self.blocks.extend(found.complete)
        for block in found.complete:
            self.rows.append(estimate(block, max(1, self.rows_width)))
        self._exact.extend(bytes(len(found.complete)))
        laid_out = {
            block.start: layout
            for block, layout in zip(self.open, self.open_layouts, strict=True)
            if layout is not None
        }
        self.former = laid_out or self.former
        self.open = found.open
        self.open_layouts = [None] * len(self.open)
        self._note_change()
        return found.cost

    # --- parts ---

    @property
    def part_count(self) -> int:
        """The number of parts it is drawn in; at least the head."""
        return 1 if self.is_folded else self.parts_in_all

    @property
    def parts_in_all(self) -> int:
        return 1 + len(self.blocks) + len(self.open) + (self._foot is not None)

    def part(self, index: int) -> Block:
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

    def part_key(self, index: int) -> object:
        """Return the key of part ``index`` that stays the same as long as it looks the same; not for open
        blocks.
        """
        if 0 < index <= len(self.blocks):
            return self.blocks, index, self.tone.is_faded
        return self.part(index)

    def open_index(self, index: int) -> int:
        """Return the index in ``open`` of part ``index``, or -1 if it is not an open block."""
        index -= 1 + len(self.blocks)
        return index if 0 <= index < len(self.open) else -1

    def rows_of(self, part: int, width: int, *, is_open: bool, links: list[str]) -> list[Row]:
        """Return the rows of a part; the targets of its links are added to ``links``."""
        block = self.part(part)
        width = self.block_width(block, width)
        return lay_out(block, self.text.of(block), width, is_open=is_open, links=links)

    def block_width(self, block: Block, width: int) -> int:
        """Return the width for laying out a block if the message has ``width``."""
        return width

    def uncut_text(self) -> str:
        """Return what is copied: all of it, including what is not shown."""
        return self._uncut() if self._uncut is not None else self.text.whole

    # --- heights ---

    def know_width(self, width: int) -> None:
        """Forget layouts for another width. O(1): ``estimate_anew`` does the rest."""
        if self.rows_width == width:
            return
        self.rows_width = width
        self._exact = bytearray(len(self.blocks))
        self._stale = len(self.blocks)
        self.end_rows = [0, 0]
        self.former = {}
        self.open_layouts = [None] * len(self.open)

    def estimate_anew(self, budget: int) -> bool:
        """Estimate up to ``budget`` blocks for the current width; return whether all are done."""
        first = max(0, self._stale - budget)
        for index in range(first, self._stale):
            if not self._exact[index]:
                self.rows.set(index, estimate(self.blocks[index], self.rows_width))
        if first != self._stale:
            self._stale = first
            self._note_change()
        return not first

    def know_rows(self, part: int, rows: int) -> None:
        """Note how many rows a part has at ``rows_width``; an open block is kept by its layout."""
        if 0 < part <= len(self.blocks):
            self.rows.set(part - 1, rows)
            self._exact[part - 1] = 1
        elif self.open_index(part) < 0:
            self.end_rows[part > 0] = rows
        self._note_change()

    def exact_rows(self, part: int) -> int:
        """Return the rows of a complete block if they are exact, else 0."""
        if 0 < part <= len(self.blocks) and self._exact[part - 1]:
            return self.rows[part - 1]
        return 0

    def height(self, width: int) -> int:
        """Return about how many rows the message has at ``width``; exact if it was laid out. O(1)."""
        if self.is_folded:
            return self._head_rows
        rows = self._head_rows + (self._foot is not None) * max(1, self.end_rows[1])
        text = self.text
        rows += _about(text.pending.characters, text.pending.lines, width)
        if self.rows_width != width:
            return rows + _about(text.length, text.lines, width)
        return rows + self.rows.total + self._open_rows(len(self.open))

    def rows_before(self, part: int) -> int:
        """Return about how many rows are before a part at ``rows_width``."""
        if part == 0 or self.is_folded:
            return part and self._head_rows
        complete = min(part - 1, len(self.blocks))
        return self._head_rows + self.rows.before(complete) + self._open_rows(part - 1 - complete)

    @property
    def _head_rows(self) -> int:
        label = self._head.label
        return self.end_rows[0] or 1 + bool(label) + label.count("\n")

    def _open_rows(self, count: int) -> int:
        return sum(
            len(layout.rows) if layout else estimate(block, max(1, self.rows_width))
            for block, layout in zip(self.open[:count], self.open_layouts, strict=False)
        )


def _title(title: str) -> Block:
    """Return the block of a title: its name, behind a tab what is at its right, behind another what is
    below.
    """
    name, right, below, *_ = [inert_line(part, LABEL_CHARACTERS) for part in [*title.split("\t", 2), "", ""]]
    return Block("title", label=f"{name}\n{below}" if below else name, summary=right)


def _about(characters: int, lines: int, width: int) -> int:
    """Return the estimated rows of a text."""
    return characters // min(width, PROSE_CELLS) + lines * 3 // 4
