"""Many complete blocks in little memory."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import fields, replace
from operator import attrgetter
from typing import Final

from widgets.markdown.blocks import Block
from widgets.markdown.containers import Container
from widgets.markdown.highlight import Code

COLUMNS: Final = 4  # start, end, lines, form
_OWN: Final = ("start", "end", "lines", "path", "code")
_REST_OF: Final = attrgetter(*[one.name for one in fields(Block) if one.name not in _OWN])
_CONTAINER_OF: Final = attrgetter(*[one.name for one in fields(Container)])


class PackedBlocks:
    """A list of blocks that only grows, thirty-two bytes each.

    A conversation has tens of thousands of blocks and few *forms*: most differ only in where they stand. As
    objects they would take ten times the room and slow down every pass of the garbage collector. A block is
    made when it is asked for, each time anew; its fields must be hashable.
    """

    __slots__ = ("_codes", "_columns", "_forms", "_numbers")

    def __init__(self) -> None:
        self._columns = array("q")
        self._forms: list[Block] = []  # one block of each form
        self._numbers: dict[object, int] = {}  # of the forms
        self._codes: dict[int, Code] = {}  # by the index of their piece

    def extend(self, blocks: Iterable[Block]) -> None:
        for block in blocks:
            # By value: every item of a list has containers of its own.
            form = (_REST_OF(block), *[_CONTAINER_OF(container) for container in block.path])
            number = self._numbers.get(form)
            if number is None:
                number = self._numbers[form] = len(self._forms)
                self._forms.append(block)
            if block.code is not None:
                self._codes[len(self)] = block.code
            self._columns.extend((block.start, block.end, block.lines, number))

    def __len__(self) -> int:
        return len(self._columns) // COLUMNS

    def __iter__(self) -> Iterator[Block]:
        return (self[index] for index in range(len(self)))

    def __getitem__(self, index: int) -> Block:
        if not 0 <= index < len(self):
            raise IndexError(index)
        start, end, lines, number = self._columns[index * COLUMNS : (index + 1) * COLUMNS]
        return replace(self._forms[number], start=start, end=end, lines=lines, code=self._codes.get(index))

    def begun_at(self, start: int) -> range:
        """Return the indices of the blocks that begin with character ``start``."""
        every = range(len(self))
        return range(
            bisect_left(every, start, key=self._start_of), bisect_right(every, start, key=self._start_of)
        )

    def _start_of(self, index: int) -> int:
        return self._columns[index * COLUMNS]
