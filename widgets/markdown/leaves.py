"""The block that is growing: takes the content of lines, and emits blocks and pieces of blocks."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from operator import attrgetter
from typing import Final

from widgets.markdown import blocks, containers, table
from widgets.markdown.blocks import Block, Kind
from widgets.markdown.diff import LONGEST_CHANGE, goes_on
from widgets.markdown.highlight import Code, is_diff

MAX_BLANKS: Final = blocks.PIECE_LINES  # empty lines after which indented code may continue


@dataclass(slots=True)
class Leaf:
    """The block that is growing; ``start`` is ``None`` while it has no line (a fence that just opened)."""

    kind: Kind
    start: int | None
    end: int = 0
    lines: int = 0
    level: int = 0
    label: str = ""
    fence: str = ""  # the closing fence; "" for indented code
    is_piece: bool = False  # an earlier piece of it was emitted
    shape: table.Shape | None = None
    code: Code | None = None
    blanks: int = 0  # empty lines that may belong to indented code
    blank_at: int = 0  # where these begin

    def copy(self) -> Leaf:
        """Return a copy (``dataclasses.replace`` takes four times as long)."""
        return Leaf(*_VALUES_OF(self))

    @property
    def is_first_line(self) -> bool:
        """Whether it is the first line of a paragraph, which may become the head of a table."""
        return self.kind == "paragraph" and self.lines == 1 and not self.is_piece

    def may_be_heading(self, end: int) -> bool:
        """Whether a line of ``=`` or ``-`` that ends at ``end`` makes this paragraph a heading."""
        return (
            self.kind == "paragraph"
            and self.start is not None
            and not self.is_piece
            and end - self.start <= blocks.PIECE_CHARACTERS
        )


_VALUES_OF: Final = attrgetter(*[one.name for one in fields(Leaf)])


@dataclass(slots=True, eq=False)
class Leaves:
    """The end of the text whose blocks are not emitted yet, its open containers, and its leaf."""

    text: str = ""  # the end of the whole text that was not emitted
    base: int = 0  # where it begins in the whole text
    path: containers.Path = ()
    used: int = 0  # containers of the path whose lead was emitted
    leaf: Leaf | None = None
    gap: int | None = None  # containers around the empty row before the next block
    started: bool = False
    out: list[Block] = field(default_factory=list)
    is_fork: bool = False  # only used to see how the text looks now

    def fork(self) -> Leaves:
        """Return a copy that can be finished without changing this."""
        fork = Leaves()  # by hand: this runs in every frame
        fork.text, fork.base, fork.path, fork.used = self.text, self.base, self.path, self.used
        fork.gap, fork.started = self.gap, self.started
        fork.leaf = self.leaf.copy() if self.leaf is not None else None
        fork.is_fork = True
        return fork

    @property
    def end(self) -> int:
        return self.base + len(self.text)

    def slice(self, start: int, end: int) -> str:
        return self.text[start - self.base : end - self.base]

    def forget(self, until: int) -> None:
        """Drop the text whose blocks were emitted."""
        leaf = self.leaf
        kept = until if leaf is None or leaf.start is None else leaf.start
        if kept > self.base:
            self.text = self.text[kept - self.base :]
            self.base = kept

    def take(self, line: str, start: int, at: int, is_long: bool) -> None:
        """Take the content of one line, or the beginning of a very long one, from ``at`` on."""
        word = containers.first_word(line, at)
        leaf, begin, end = self.leaf, start + word, start + len(line)
        is_paragraph = leaf is not None and leaf.kind == "paragraph"
        if containers.is_deep(line, at, word):
            if leaf is not None and is_paragraph:
                self._add_line(leaf, end)
            else:
                self.close()
                self.leaf = Leaf("code", None, level=containers.TAB_COLUMNS)
                self.take_code(self.leaf, line, start, at, is_long)
            return
        if not is_long and (leaf is not None or line[word : word + 1] in blocks.SIGNS):
            may_be_row = leaf is not None and (leaf.kind == "table" or line[word] in "|:-")
            if leaf is not None and may_be_row and self._goes_on_as_table(leaf, line, word, begin, end):
                return
            if line[word] in blocks.SIGNS and self._is_own_line(line, at, word, begin, end):
                return
            leaf = self.leaf
        if leaf is not None and is_paragraph:
            self._add_line(leaf, end)
            return
        self.close()
        self.leaf = Leaf("paragraph", begin, end, lines=1)
        self._cut(self.leaf)

    def take_code(self, leaf: Leaf, line: str, start: int, at: int, is_long: bool) -> None:
        """Take a line of code, or the fence that ends it."""
        word = containers.first_word(line, at)
        is_end = leaf.fence and not is_long and blocks.closes_fence(line, word, leaf.fence)
        if is_end and containers.columns(line, at, word) < containers.TAB_COLUMNS:
            self.close()
            return
        self._take_blanks(leaf)
        end = start + len(line)
        if leaf.start is not None and (
            is_long or _is_full(leaf, end, line[containers.skip(line, at, leaf.level) :])
        ):
            self._emit_piece(leaf)
            leaf.start, leaf.lines = None, 0
        if leaf.start is None:
            leaf.start = start + containers.skip(line, at, leaf.level)
        leaf.end = end
        leaf.lines += 1

    def add_blank(self, leaf: Leaf, end: int) -> bool:
        """Take an empty line that ends at ``end`` for indented code; return False if there are too many."""
        if leaf.blanks >= MAX_BLANKS:
            return False
        leaf.blank_at = leaf.blank_at if leaf.blanks else end
        leaf.blanks += 1
        return True

    def _take_blanks(self, leaf: Leaf) -> None:
        """Make the empty lines part of the indented code, which continues."""
        if leaf.blanks and leaf.start is not None:
            if leaf.lines + leaf.blanks > blocks.PIECE_LINES:
                self._emit_piece(leaf)
                leaf.start, leaf.lines = leaf.blank_at, 0
            leaf.lines += leaf.blanks
            leaf.blanks = 0

    def add_lazily(self, end: int) -> bool:
        """Add a line without its containers to the paragraph, if there is one."""
        leaf = self.leaf
        if leaf is None or leaf.kind != "paragraph":
            return False
        self._add_line(leaf, end)
        return True

    def grow(self, end: int) -> None:
        """Take more of a very long line."""
        if self.leaf is not None:
            self.leaf.end = end
            self._cut(self.leaf)

    def _goes_on_as_table(self, leaf: Leaf, line: str, word: int, begin: int, end: int) -> bool:
        if leaf.start is None:
            return False
        if leaf.kind == "table":
            if "|" not in line[word:] or blocks.begins_block(line, word):
                return False
            if leaf.lines >= blocks.PIECE_LINES or end - leaf.start > blocks.PIECE_CHARACTERS:
                self._close_table_piece(leaf, begin)
            leaf.end = end
            leaf.lines += 1
            return True
        if not leaf.is_first_line or not table.is_delimiter(line[word:], self.slice(leaf.start, leaf.end)):
            return False
        leaf.kind, leaf.lines, leaf.end = "table", 2, end
        return True

    def _close_table_piece(self, leaf: Leaf, begin: int) -> None:
        shape = leaf.shape
        if leaf.start is not None and shape is None:
            shape = table.measure(containers.content_lines(self.slice(leaf.start, leaf.end), self.path))
        self._emit(leaf)
        leaf.shape, leaf.start, leaf.lines = shape, begin, 0

    def _is_own_line(self, line: str, at: int, word: int, begin: int, end: int) -> bool:
        """Take a line that is a block by itself, turns the lines above into one, or opens a fence."""
        leaf = self.leaf
        if leaf is not None and leaf.may_be_heading(end) and blocks.UNDERLINE.match(line, word):
            leaf.kind, leaf.level, leaf.end = "heading", 1 if line[word] == "=" else 2, end
            leaf.lines += 1
            self.close()
        elif fence := blocks.FENCE.match(line, word):
            self.close()
            indent, label = containers.columns(line, at, word), fence["label"].strip()
            code = Code(label) if label else None
            self.leaf = Leaf("code", None, level=indent, label=label, fence=fence["sign"], code=code)
        elif heading := blocks.HEADING.match(line, word):
            self.close()
            self._emit(Leaf("heading", begin, end, lines=1, level=len(heading["level"])))
        elif blocks.RULE.match(line, word):
            self.close()
            self._emit(Leaf("rule", begin, end))
        else:
            return False
        return True

    def _add_line(self, leaf: Leaf, end: int) -> None:
        leaf.end = end
        leaf.lines += 1
        self._cut(leaf)

    def _cut(self, leaf: Leaf) -> None:
        while leaf.start is not None and leaf.end - leaf.start > blocks.PIECE_CHARACTERS:
            begin, end = leaf.start, leaf.end
            cut = self.base + blocks.cut_at(self.text, begin - self.base, is_code=leaf.kind == "code")
            leaf.end = cut
            self._emit_piece(leaf, is_torn=True)
            leaf.start, leaf.end = cut, end

    def _emit_piece(self, leaf: Leaf, *, is_torn: bool = False) -> None:
        """Emit what the leaf has so far; more will follow. ``is_torn``: its last line continues."""
        self._emit(leaf)
        if leaf.code is not None and leaf.start is not None:
            lines = containers.content_lines(self.slice(leaf.start, leaf.end), self.path)
            further = [line[containers.skip(line, 0, leaf.level) :] for line in lines[1:]]
            leaf.code = leaf.code.following("\n".join([lines[0], *further]), is_torn=is_torn)

    def close(self) -> None:
        leaf, self.leaf = self.leaf, None
        if leaf is None:
            return
        if leaf.start is not None or (leaf.label and not leaf.is_piece):
            self._emit(leaf)
        if leaf.blanks:
            self.gap = len(self.path)

    def close_empty_items(self) -> None:
        """Show the bullet of an item that has no content."""
        if any(not container.is_quote for container in self.path[self.used :]):
            self._emit(Leaf("paragraph", self.base, self.base))

    def leave(self, depth: int) -> None:
        """Close everything inside the first ``depth`` containers."""
        if depth < len(self.path) or depth == 0:
            self.close()
            self.close_empty_items()
            self.path = self.path[:depth]
            self.used = min(self.used, depth)
            if self.gap is not None:
                self.gap = min(self.gap, depth)

    def _emit(self, leaf: Leaf) -> None:
        start = leaf.start if leaf.start is not None else self.base
        end = max(start, leaf.end)
        code = leaf.code
        if code is not None and not self.is_fork:
            code.forget()
            code = code if leaf.is_piece else None  # the first piece begins like any text: its label will do
        self.out.append(
            Block(
                leaf.kind,
                start,
                end,
                self.path,
                lead=containers.lead_of(self.path, self.used),
                rest=containers.rest_of(self.path),
                gap=None if self.gap is None else containers.rest_of(self.path[: self.gap]).rstrip(),
                lines=leaf.lines,
                level=leaf.level,
                label="" if leaf.is_piece else leaf.label,
                shape=leaf.shape,
                code=code,
            )
        )
        leaf.is_piece = True
        self.used = len(self.path)
        self.gap = None
        self.started = True


def _is_full(leaf: Leaf, end: int, line: str) -> bool:
    """Whether a piece of code ends before ``line``: not between the removed and added lines of a diff."""
    if leaf.start is not None and end - leaf.start > blocks.PIECE_CHARACTERS:
        return True
    if leaf.lines < blocks.PIECE_LINES:
        return False
    is_change = leaf.code is not None and is_diff(leaf.code.label) and goes_on(line)
    return not is_change or leaf.lines >= LONGEST_CHANGE
