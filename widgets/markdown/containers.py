"""The containers of Markdown blocks: nested quotes and list items, and the prefixes they draw.

A *path* is the open containers from the outside in. Lines are matched against it as CommonMark does.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from widgets.signs import DONE, TASK

MAX_DEPTH: Final = 12  # nested containers; deeper ones are shown as text
QUOTE_BAR: Final = "▎ "
BULLETS: Final = ("•", "◦")
TAB_COLUMNS: Final = 4

MARKER: Final = re.compile(r"(?:[-*+]|[0-9]{1,9}[.)])(?=[ \t]|$)")
_TASK: Final = re.compile(r"\[(?P<done>[ xX])\](?=[ \t]|$)")
_BLANKS: Final = re.compile(r"[ \t]*")


@dataclass(frozen=True, slots=True, eq=False)
class Container:
    """A quote or a list item. Further lines of an item are indented by ``need`` columns; ``near`` is enough
    for a list inside it (models indent those by two). ``lead`` is drawn before its first row, ``rest`` before
    others.
    """

    lead: str
    rest: str
    is_quote: bool = False
    need: int = 0
    near: int = 0


Path = tuple[Container, ...]
QUOTE: Final = Container(QUOTE_BAR, QUOTE_BAR, is_quote=True)


def first_word(line: str, at: int) -> int:
    """Return the index of the first character from ``at`` on that is not blank."""
    if line[at : at + 1] > " ":
        return at
    found = _BLANKS.match(line, at)
    return found.end() if found else at


def columns(line: str, start: int, end: int) -> int:
    """Return how many columns the blanks between two indexes take."""
    return end - start + (TAB_COLUMNS - 1) * line.count("\t", start, end)


def is_deep(line: str, at: int, word: int) -> bool:
    """Whether the blanks from ``at`` to ``word`` indent the line as code."""
    return word > at and columns(line, at, word) >= TAB_COLUMNS


def match(line: str, path: Path) -> tuple[int, int]:
    """Return how many containers of ``path`` the line continues (a blank line continues every item), and
    where its content is.
    """
    at = 0
    for depth, container in enumerate(path):
        word = first_word(line, at)
        indent = columns(line, at, word)
        if container.is_quote:
            if not line.startswith(">", word) or indent >= TAB_COLUMNS:
                return depth, at
            at = word + 1 + line.startswith(" ", word + 1)
        elif word == len(line):
            at = word
        elif indent >= container.need or (indent >= container.near and MARKER.match(line, word)):
            at = skip(line, at, container.need)
        else:
            return depth, at
    return len(path), at


def skip(line: str, at: int, wanted: int) -> int:
    """Return the index after at most ``wanted`` columns of blanks."""
    while wanted > 0 and line[at : at + 1] in (" ", "\t"):
        wanted -= TAB_COLUMNS if line[at] == "\t" else 1
        at += 1
    return at


def next_container(line: str, at: int, path: Path) -> tuple[Container, int] | None:
    """Return the container that the line opens at ``at``, if any, and where its content begins."""
    word = first_word(line, at)
    if line.startswith(">", word):
        return QUOTE, word + 1 + line.startswith(" ", word + 1)
    marker = MARKER.match(line, word)
    if marker is None:
        return None
    content = first_word(line, marker.end())
    pad = columns(line, marker.end(), content)
    if pad > TAB_COLUMNS or content == len(line):
        content, pad = min(marker.end() + 1, len(line)), 1
    indent = columns(line, at, word)
    sign = marker.group()
    depth = sum(not container.is_quote for container in path)
    is_bullet = sign in "-*+"
    shown = BULLETS[depth % len(BULLETS)] if is_bullet else sign
    need = indent + len(sign) + pad
    if task := _TASK.match(line, content):
        box = TASK if task["done"] == " " else DONE
        shown = box if is_bullet else f"{sign} {box}"
        content = first_word(line, task.end())
    lead = f"{'' if depth else '  '}{shown} "
    return Container(lead, " " * len(lead), need=need, near=indent + 2), content


def may_interrupt(line: str, at: int) -> bool:
    """Whether a list marker may end a paragraph: not an empty item; a numbered one only with 1."""
    word = first_word(line, at)
    marker = MARKER.match(line, word)
    if marker is None:
        return line.startswith(">", word)
    return first_word(line, marker.end()) < len(line) and marker.group() in ("-", "*", "+", "1.", "1)")


def content_lines(text: str, path: Path) -> list[str]:
    """Return the lines of a block's text without the prefixes of its containers; the first line has none."""
    first, *others = text.split("\n")
    return [first, *([line[match(line, path)[1] :] for line in others] if path else others)]


def lead_of(path: Path, used: int) -> str:
    """Return the prefix of a block's first row if ``used`` containers have shown their lead already."""
    return "".join([part.rest if depth < used else part.lead for depth, part in enumerate(path)])


def rest_of(path: Path) -> str:
    return "".join([part.rest for part in path])
