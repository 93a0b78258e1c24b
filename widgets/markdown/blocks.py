"""The pieces in which a Markdown text is drawn."""

from __future__ import annotations

import re
import unicodedata
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, replace
from operator import attrgetter
from typing import Final, Literal

from widgets.cells import JOINER, VARIATION
from widgets.markdown.containers import MARKER, Container, Path
from widgets.markdown.highlight import Code
from widgets.markdown.table import Shape

Kind = Literal["paragraph", "heading", "code", "rule", "table", "title", "step", "note", "failure"]

# Longer blocks are drawn in pieces, so that no frame ever wraps more than this.
PIECE_CHARACTERS: Final = 4096
PIECE_LINES: Final = 16  # of code or table in one piece

# How a block other than a paragraph may begin.
SIGNS: Final = frozenset("#>-*+_`~|=0123456789")
FENCE: Final = re.compile(r"(?P<sign>`{3,}|~{3,})[ \t]*(?P<label>[^`]*)$")
HEADING: Final = re.compile(r"(?P<level>#{1,6})(?:[ \t]|$)")
UNDERLINE: Final = re.compile(r"(?:=+|-+)[ \t]*$")  # of the paragraph above it, which is then a heading
RULE: Final = re.compile(r"(?:(?:-[ \t]*+){3,}+|(?:\*[ \t]*+){3,}+|(?:_[ \t]*+){3,}+)$")
# A last line that may yet become a sign: it is shown when that is clear.
UNCLEAR: Final = re.compile(
    r"(?:#{1,6}|[-*_+ \t]{1,}|`{1,2}|~{1,2}|[0-9]{1,3}|[0-9]{1,9}[.)][ \t]*|\|[-:| \t]*"
    r"|(?:[-*+]|[0-9]{1,9}[.)])[ \t]+\[[ xX]?\]?)$"
)


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """One block, or one piece of a long one: characters ``start`` to ``end`` of the message's text. The first
    line begins at its content, further ones with the signs of their containers (``path``). ``lead`` is drawn
    before the first row, ``rest`` before the others, ``gap``, unless ``None``, before the empty row above.
    ``lines`` counts source lines, ``level`` is a heading's level or the columns of a code block's
    indentation, ``label`` a fence's language or the text of our own rows. ``shape`` is set for later pieces
    of a table, ``code`` for later pieces of a labelled fence and while it grows.
    """

    kind: Kind
    start: int = 0
    end: int = 0
    path: Path = ()
    lead: str = ""
    rest: str = ""
    gap: str | None = None
    lines: int = 1
    level: int = 0
    label: str = ""
    shape: Shape | None = None
    code: Code | None = None
    summary: str = ""
    is_folded: bool = False


def begins_block(line: str, at: int) -> bool:
    """Whether the content at ``at`` begins something that ends a paragraph even without its indentation."""
    return (
        line.startswith(">", at)
        or MARKER.match(line, at) is not None
        or FENCE.match(line, at) is not None
        or HEADING.match(line, at) is not None
        or RULE.match(line, at) is not None
    )


def closes_fence(line: str, at: int, fence: str) -> bool:
    """Whether the content at ``at`` ends the code that ``fence`` opened."""
    sign = line[at:].rstrip()
    return len(sign) >= len(fence) and sign == fence[0] * len(sign)


def cut_at(text: str, first: int, *, is_code: bool) -> int:
    """Return where a piece of ``text`` that begins at ``first`` ends when it is too long: at a line, else at
    a space, else (and always in code) between whole characters. Looks at one piece's length only.
    """
    last, middle = first + PIECE_CHARACTERS, first + PIECE_CHARACTERS // 2
    if not is_code:
        cut = text.rfind("\n", middle, last)
        cut = cut if cut >= 0 else text.rfind(" ", middle, last)
        if cut >= 0:
            return cut
    while last > middle and (_belongs_to_last(text[last]) or text[last - 1] == JOINER):
        last -= 1
    return last


def _belongs_to_last(char: str) -> bool:
    return char in (JOINER, VARIATION) or unicodedata.combining(char) > 0


COLUMNS: Final = 4  # start, end, lines, form
_OWN: Final = ("start", "end", "lines", "path", "code")
_REST_OF: Final = attrgetter(*[one.name for one in fields(Block) if one.name not in _OWN])
_CONTAINER_OF: Final = attrgetter(*[one.name for one in fields(Container)])


class PackedBlocks:
    """A list of blocks that only grows and needs thirty-two bytes for each. Most of ten thousand blocks
    differ only in their place, and objects would slow down the garbage collector. A block is created when it
    is read.
    """

    __slots__ = ("_codes", "_columns", "_forms", "_numbers")

    def __init__(self) -> None:
        self._columns = array("q")
        self._forms: list[Block] = []  # one block of each form
        self._numbers: dict[object, int] = {}  # indexes of the forms
        self._codes: dict[int, Code] = {}  # by the index of their piece

    def extend(self, blocks: Iterable[Block]) -> None:
        for block in blocks:
            # By value: every list item has containers of its own.
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
