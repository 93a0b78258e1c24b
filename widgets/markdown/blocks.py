"""The pieces that a Markdown text is drawn in."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Final, Literal

from widgets.cells import JOINER, VARIATION
from widgets.markdown.containers import MARKER, Path
from widgets.markdown.highlight import Code
from widgets.markdown.references import References
from widgets.markdown.table import Shape

Kind = Literal["paragraph", "heading", "code", "rule", "table", "title", "step", "note", "failure"]

# Longer blocks are drawn in pieces, so that no frame ever wraps more than this.
PIECE_CHARACTERS: Final = 4096
PIECE_LINES: Final = 16  # of code or table in one piece

# What a block other than a paragraph may begin with.
SIGNS: Final = frozenset("#>-*+_`~|=[0123456789")
FENCE: Final = re.compile(r"(?P<sign>`{3,}|~{3,})[ \t]*(?P<label>[^`]*)$")
HEADING: Final = re.compile(r"(?P<level>#{1,6})(?:[ \t]|$)")
UNDERLINE: Final = re.compile(r"(?:=+|-+)[ \t]*$")  # of the paragraph above it, which is a heading then
RULE: Final = re.compile(r"(?:(?:-[ \t]*+){3,}+|(?:\*[ \t]*+){3,}+|(?:_[ \t]*+){3,}+)$")
# A last line that may yet become a sign: shown when it is clear what it is.
UNCLEAR: Final = re.compile(
    r"(?:#{1,6}|[-*_+ \t]{1,}|`{1,2}|~{1,2}|[0-9]{1,3}|[0-9]{1,9}[.)][ \t]*|\|[-:| \t]*"
    r"|(?:[-*+]|[0-9]{1,9}[.)])[ \t]+\[[ xX]?\]?)$"
)


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """One block, or one piece of a long one: characters ``start`` to ``end`` of the message's text.

    The first line begins at its content; further lines begin with what their containers (``path``) ask for.
    ``lead`` is drawn before the first row and ``rest`` before all others; ``gap``, unless None, before the
    empty row above. ``lines`` counts source lines (of paragraphs too; a heading of more than one is
    underlined by its last). ``level`` is a heading's level or the columns that code is indented by; ``label``
    a fence's language, or the text of our own rows; the head of a step also has a ``summary`` and a fold.
    ``shape`` is set on the later pieces of a table, ``code`` on the later pieces of a labelled fence and
    while it grows, ``references`` where there may be links.
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
    references: References | None = None
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
    """Return where a piece of ``text`` that begins at ``first`` ends when it has grown too long: at a line,
    else at a space, else (and always in code) before a whole character. Looks at one piece's length only.
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
