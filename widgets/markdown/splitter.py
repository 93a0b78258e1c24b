"""Splits a growing Markdown text into blocks. Each line is read once, and the blocks do not depend on the
pieces in which the text comes. Raw HTML is text.
"""

from __future__ import annotations

from widgets.markdown import containers, table
from widgets.markdown.blocks import PIECE_CHARACTERS, RULE, SIGNS, UNCLEAR, UNDERLINE, Block, begins_block
from widgets.markdown.leaves import Leaves

CELL_REACH = 80  # characters of a line after a table that may yet become a row of it


class Splitter:
    """``feed`` returns the complete blocks; ``open_blocks`` returns the rest as it looks now."""

    __slots__ = ("_is_long", "_leaves", "_read")

    def __init__(self) -> None:
        self._leaves = Leaves()
        self._read = 0  # lines are read up to here
        self._is_long = False  # the current line is very long, and read piece by piece

    def feed(self, text: str) -> list[Block]:
        """Take more text and return the blocks that it completed."""
        self._leaves.text += text
        self._read_lines()
        self._leaves.forget(self._read)
        return self._take_blocks()

    def finish(self) -> list[Block]:
        """End the text and return the blocks that this completed."""
        end = self._leaves.end
        if self._read < end:
            self._take(self._read, end)
            self._read = end
        self._leaves.leave(0)
        return self._take_blocks()

    def open_blocks(self) -> list[Block]:
        """Return the blocks of the rest as if the text ended here, without an unclear sign at its end."""
        fork = Splitter()
        fork._leaves, fork._read, fork._is_long = self._leaves.fork(), self._read, self._is_long
        leaves, end = fork._leaves, self._leaves.end
        if fork._read < end and not fork._is_unclear():
            fork._take(fork._read, end)
        fork._read = end
        leaf = leaves.leaf
        if leaf is not None and leaf.start is not None and leaf.is_first_line:
            first = leaves.slice(leaf.start, leaf.start + 1)
            leaf.kind = "table" if first == "|" else leaf.kind  # its second line will decide
        return fork.finish()

    def _take_blocks(self) -> list[Block]:
        out, self._leaves.out = self._leaves.out, []
        return out

    def _read_lines(self) -> None:
        leaves, end = self._leaves, self._leaves.end
        while True:
            newline = leaves.text.find("\n", self._read - leaves.base)
            stop = end if newline < 0 else newline + leaves.base
            if self._is_long:
                leaves.grow(stop)
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
        """Read one line, or the beginning of a very long one."""
        leaves = self._leaves
        line = leaves.slice(start, end)
        matched, at = containers.match(line, leaves.path)
        word = containers.first_word(line, at)
        is_blank = word == len(line) and not is_long
        leaf = leaves.leaf
        if leaf is not None and leaf.kind == "code" and matched == len(leaves.path):
            is_deep = containers.is_deep(line, at, word)
            if leaf.fence or (is_deep and not is_blank):
                leaves.take_code(leaf, line, start, at, is_long)
                return
            if is_blank and leaves.add_blank(leaf, end):
                return
        if is_blank:
            self._take_blank(matched)
            return
        if matched < len(leaves.path):
            if not begins_block(line, word) and leaves.add_lazily(end):
                return
            leaves.leave(matched)
        at = self._enter(line, at)
        if is_long or containers.first_word(line, at) < len(line):
            leaves.take(line, start, at, is_long)

    def _take_blank(self, matched: int) -> None:
        leaves = self._leaves
        leaves.close()
        leaves.close_empty_items()
        leaves.leave(matched)
        if leaves.started:
            leaves.gap = len(leaves.path) if leaves.gap is None else min(leaves.gap, len(leaves.path))

    def _enter(self, line: str, at: int) -> int:
        """Open the containers that the line begins; return where its content begins."""
        leaves = self._leaves
        while len(leaves.path) < containers.MAX_DEPTH:
            word = containers.first_word(line, at)
            if line[word : word + 1] not in SIGNS or RULE.match(line, word):
                break
            leaf = leaves.leaf
            is_paragraph = leaf is not None and leaf.kind == "paragraph"
            if is_paragraph and not containers.may_interrupt(line, at):
                break
            # Code because of its indentation; after an item's words, a list nested too deep.
            if containers.is_deep(line, at, word) and not (is_paragraph and leaves.path):
                break
            found = containers.next_container(line, at, leaves.path)
            if found is None:
                break
            leaves.close()
            container, at = found
            leaves.path = (*leaves.path, container)
        return at

    def _is_unclear(self) -> bool:
        """Whether the unfinished last line may become a sign."""
        leaves = self._leaves
        line = leaves.slice(self._read, leaves.end)
        matched, at = containers.match(line, leaves.path)
        word = containers.first_word(line, at)
        leaf = leaves.leaf
        is_inside = matched == len(leaves.path)
        if leaf is not None and is_inside and leaf.fence:
            rest = line[word:]
            return rest == leaf.fence[0] * len(rest) and len(rest) < len(leaf.fence)
        if leaf is not None and is_inside and leaf.start is not None:
            if leaf.is_first_line and table.is_delimiter(line[word:], leaves.slice(leaf.start, leaf.end)):
                return False
            if leaf.kind == "paragraph" and UNDERLINE.match(line, word):
                return True
            if leaf.kind == "table" and "|" not in line and not begins_block(line, word):
                return word < len(line) <= CELL_REACH
        if line[word : word + 1] not in SIGNS:
            return False
        return self._is_unclear_from(line, at)

    def _is_unclear_from(self, line: str, at: int) -> bool:
        """Whether the line may begin a sign at ``at`` or after containers' signs there."""
        for _ in range(containers.MAX_DEPTH):
            word = containers.first_word(line, at)
            if UNCLEAR.match(line, word):
                return not (line.startswith("-", word) and RULE.match(line, word))
            found = containers.next_container(line, at, self._leaves.path)
            if found is None:
                break
            at = found[1]
        return False
