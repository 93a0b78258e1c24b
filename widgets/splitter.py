"""Splits a growing Markdown text into blocks, line by line, each line looked at once.

Whatever pieces the text comes in, the blocks are the same: nothing depends on where a piece ended. Raw HTML
is text; a rule under a paragraph is a rule, never a heading.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from widgets import table
from widgets.blocks import (
    FENCE,
    HEADING,
    PIECE_CHARACTERS,
    PIECE_LINES,
    RULE,
    SIGNS,
    UNCLEAR,
    Block,
    Kind,
    begins_block,
    closes_fence,
    cut_at,
)
from widgets.containers import (
    MAX_DEPTH,
    TAB_COLUMNS,
    Path,
    columns,
    content_lines,
    first_word,
    lead_of,
    match,
    may_interrupt,
    next_container,
    rest_of,
    skip,
)


@dataclass(slots=True)
class _Leaf:
    """The block that is being filled; ``start`` is None while it has no line (a fence just opened)."""

    kind: Kind
    start: int | None
    end: int = 0
    lines: int = 0
    level: int = 0
    label: str = ""
    fence: str = ""  # what closes it
    is_piece: bool = False  # an earlier piece of it is out
    shape: table.Shape | None = None

    @property
    def is_first_line(self) -> bool:
        """Whether it is the first line of a paragraph, which may turn out to be the head of a table."""
        return self.kind == "paragraph" and self.lines == 1 and not self.is_piece


class Splitter:
    """``feed`` returns the blocks that are complete; ``open_blocks`` shows the rest as it looks now."""

    __slots__ = ("_base", "_gap", "_is_long", "_leaf", "_out", "_path", "_read", "_started", "_text", "_used")

    def __init__(self) -> None:
        self._text = ""  # the end of the whole text, from where blocks are not out yet
        self._base = 0  # where that begins
        self._read = 0  # up to here lines are taken
        self._is_long = False  # the line being read is a very long one, taken piece by piece
        self._path: Path = ()
        self._used = 0  # containers of the path whose lead is out
        self._leaf: _Leaf | None = None
        self._gap: int | None = None  # containers around the empty row before the next block
        self._started = False
        self._out: list[Block] = []

    def feed(self, text: str) -> list[Block]:
        """Take more text and return the blocks that it completed."""
        self._text += text
        self._read_lines()
        leaf = self._leaf
        kept = self._read if leaf is None or leaf.start is None else leaf.start
        if kept > self._base:
            self._text = self._text[kept - self._base :]
            self._base = kept
        return self._taken()

    def finish(self) -> list[Block]:
        """Take the end of the text and return the blocks that it completed."""
        end = self._end
        if self._read < end:
            self._take(self._read, end)
            self._read = end
        self._leave(0)
        return self._taken()

    def open_blocks(self) -> list[Block]:
        """Return what is not complete, as the blocks it would be if the text ended here.

        The beginning of a sign whose meaning is still open is left out.
        """
        fork = self._fork()
        if fork._read < fork._end and not fork._is_unclear():
            fork._take(fork._read, fork._end)
        fork._read = fork._end
        leaf = fork._leaf
        if leaf is not None and leaf.start is not None and leaf.is_first_line:
            first = fork._slice(leaf.start, leaf.start + 1)
            leaf.kind = "table" if first == "|" else leaf.kind  # its second line will tell
        return fork.finish()

    def text_of(self, block: Block) -> str:
        """Return the source of one of ``open_blocks``."""
        return self._slice(block.start, block.end)

    # --- lines ---

    @property
    def _end(self) -> int:
        return self._base + len(self._text)

    def _slice(self, start: int, end: int) -> str:
        return self._text[start - self._base : end - self._base]

    def _taken(self) -> list[Block]:
        out, self._out = self._out, []
        return out

    def _fork(self) -> Splitter:
        fork = Splitter()
        for name in self.__slots__:
            setattr(fork, name, getattr(self, name))
        fork._leaf = replace(self._leaf) if self._leaf is not None else None
        fork._out = []
        return fork

    def _read_lines(self) -> None:
        end = self._end
        while True:
            newline = self._text.find("\n", self._read - self._base)
            stop = end if newline < 0 else newline + self._base
            if self._is_long:
                self._grow(stop)
                self._read = stop
                self._is_long = newline < 0
            elif stop - self._read > PIECE_CHARACTERS:
                self._take(self._read, self._read + PIECE_CHARACTERS, is_long=True)
                self._read += PIECE_CHARACTERS
                self._is_long = True
                continue
            elif newline >= 0:
                self._take(self._read, stop)
            if newline < 0:
                return
            self._read = stop + 1

    def _take(self, start: int, end: int, *, is_long: bool = False) -> None:
        """Take one line, or the beginning of a very long one."""
        line = self._slice(start, end)
        matched, at = match(line, self._path)
        leaf = self._leaf
        if leaf is not None and leaf.kind == "code":
            if matched == len(self._path):
                self._take_code(leaf, line, start, at, is_long)
                return
            self._close_leaf()
            leaf = None
        word = first_word(line, at)
        if word == len(line) and not is_long:
            self._take_blank(matched)
            return
        if matched < len(self._path):
            if leaf is not None and leaf.kind == "paragraph" and not begins_block(line, word):
                self._add_line(leaf, end)  # lazy: the text simply went on
                return
            self._leave(matched)
        at = self._enter(line, at)
        if is_long or first_word(line, at) < len(line):
            self._take_content(line, start, at, is_long)

    def _take_blank(self, matched: int) -> None:
        self._close_leaf()
        self._close_empty_items()
        self._leave(matched)
        if self._started:
            self._gap = len(self._path) if self._gap is None else min(self._gap, len(self._path))

    def _enter(self, line: str, at: int) -> int:
        """Open the containers that the line begins, and return where its content begins."""
        while len(self._path) < MAX_DEPTH:
            word = first_word(line, at)
            if line[word : word + 1] not in SIGNS or RULE.match(line, word):
                break
            if self._leaf is not None and self._leaf.kind == "paragraph" and not may_interrupt(line, at):
                break
            found = next_container(line, at, self._path)
            if found is None:
                break
            self._close_leaf()
            container, at = found
            self._path = (*self._path, container)
        return at

    def _leave(self, depth: int) -> None:
        """Close everything inside the first ``depth`` containers."""
        if depth < len(self._path) or depth == 0:
            self._close_leaf()
            self._close_empty_items()
            self._path = self._path[:depth]
            self._used = min(self._used, depth)
            if self._gap is not None:
                self._gap = min(self._gap, depth)

    # --- content ---

    def _take_content(self, line: str, start: int, at: int, is_long: bool) -> None:
        word = first_word(line, at)
        leaf, begin, end = self._leaf, start + word, start + len(line)
        if not is_long and (leaf is not None or line[word : word + 1] in SIGNS):
            if leaf is not None and self._goes_on_as_table(leaf, line, word, begin, end):
                return
            if self._is_own_line(line, at, word, begin, end):
                return
        leaf = self._leaf
        if leaf is not None and leaf.kind == "paragraph":
            self._add_line(leaf, end)
            return
        self._close_leaf()
        self._leaf = _Leaf("paragraph", begin, end, lines=1)
        self._cut(self._leaf)

    def _goes_on_as_table(self, leaf: _Leaf, line: str, word: int, begin: int, end: int) -> bool:
        if leaf.start is None:
            return False
        if leaf.kind == "table":
            if "|" not in line[word:] or begins_block(line, word):
                return False
            if leaf.lines >= PIECE_LINES or end - leaf.start > PIECE_CHARACTERS:
                self._close_table_piece(leaf, begin)
            leaf.end = end
            leaf.lines += 1
            return True
        if not leaf.is_first_line or not table.is_delimiter(line[word:], self._slice(leaf.start, leaf.end)):
            return False
        leaf.kind, leaf.lines, leaf.end = "table", 2, end
        return True

    def _close_table_piece(self, leaf: _Leaf, begin: int) -> None:
        shape = leaf.shape
        if leaf.start is not None and shape is None:
            shape = table.measure(content_lines(self._slice(leaf.start, leaf.end), self._path))
        self._emit(leaf)
        leaf.shape, leaf.start, leaf.lines = shape, begin, 0

    def _is_own_line(self, line: str, at: int, word: int, begin: int, end: int) -> bool:
        """Take a line that is a block by itself, or opens a fence."""
        if fence := FENCE.match(line, word):
            self._close_leaf()
            indent, label = columns(line, at, word), fence["label"].strip()
            self._leaf = _Leaf("code", None, level=indent, label=label, fence=fence["sign"])
        elif heading := HEADING.match(line, word):
            self._close_leaf()
            self._emit(_Leaf("heading", begin, end, level=len(heading["level"])))
        elif RULE.match(line, word):
            self._close_leaf()
            self._emit(_Leaf("rule", begin, end))
        else:
            return False
        return True

    def _take_code(self, leaf: _Leaf, line: str, start: int, at: int, is_long: bool) -> None:
        word = first_word(line, at)
        if not is_long and closes_fence(line, word, leaf.fence) and columns(line, at, word) < TAB_COLUMNS:
            self._close_leaf()
            return
        end = start + len(line)
        if leaf.start is not None and (
            is_long or leaf.lines >= PIECE_LINES or end - leaf.start > PIECE_CHARACTERS
        ):
            self._emit(leaf)
            leaf.start, leaf.lines = None, 0
        if leaf.start is None:
            leaf.start = start + skip(line, at, leaf.level)
        leaf.end = end
        leaf.lines += 1

    def _add_line(self, leaf: _Leaf, end: int) -> None:
        leaf.end = end
        leaf.lines += 1
        self._cut(leaf)

    def _grow(self, end: int) -> None:
        """Take more of a very long line."""
        if self._leaf is not None:
            self._leaf.end = end
            self._cut(self._leaf)

    def _cut(self, leaf: _Leaf) -> None:
        """Emit pieces of a leaf that has grown too long."""
        while leaf.start is not None and leaf.end - leaf.start > PIECE_CHARACTERS:
            begin, end = leaf.start, leaf.end
            cut = self._base + cut_at(self._text, begin - self._base, is_code=leaf.kind == "code")
            leaf.end = cut
            self._emit(leaf)
            leaf.start, leaf.end = cut, end

    # --- emitting ---

    def _close_leaf(self) -> None:
        leaf, self._leaf = self._leaf, None
        if leaf is None:
            return
        if leaf.start is not None or (leaf.label and not leaf.is_piece):
            self._emit(leaf)

    def _close_empty_items(self) -> None:
        """Show the bullet of an item that has no content."""
        if any(not container.is_quote for container in self._path[self._used :]):
            self._emit(_Leaf("paragraph", self._base, self._base))

    def _emit(self, leaf: _Leaf) -> None:
        start = leaf.start if leaf.start is not None else self._base
        self._out.append(
            Block(
                leaf.kind,
                start,
                max(start, leaf.end),
                self._path,
                lead=lead_of(self._path, self._used),
                rest=rest_of(self._path),
                gap=None if self._gap is None else rest_of(self._path[: self._gap]).rstrip(),
                lines=leaf.lines,
                level=leaf.level,
                label="" if leaf.is_piece else leaf.label,
                shape=leaf.shape,
            )
        )
        leaf.is_piece = True
        self._used = len(self._path)
        self._gap = None
        self._started = True

    # --- guessing ---

    def _is_unclear(self) -> bool:
        """Whether the unfinished last line may be the beginning of a sign."""
        line = self._slice(self._read, self._end)
        matched, at = match(line, self._path)
        word = first_word(line, at)
        leaf = self._leaf
        if leaf is not None and leaf.kind == "code" and matched == len(self._path):
            rest = line[word:]
            return bool(rest) and rest == leaf.fence[0] * len(rest) and len(rest) < len(leaf.fence)
        if not UNCLEAR.match(line, word):
            return False
        if line.startswith("-", word) and RULE.match(line, word):
            return False
        if leaf is None or leaf.start is None or not leaf.is_first_line:
            return True
        return not table.is_delimiter(line[word:], self._slice(leaf.start, leaf.end))
