"""Markdown tables: cells of a line, the shape of a table, aligned rows.

A table's shape is measured from its first lines only. So a long table can be shown while it grows, and
its later rows never move the earlier ones; a later cell that is wider wraps in its column.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from rich.cells import cell_len

from widgets.ink import MARK, STRONG, Row, Run, text_of
from widgets.inline import parse
from widgets.wrap import wrap

Align = Literal["left", "right", "center"]
MAX_COLUMNS: Final = 64
MIN_COLUMN: Final = 3
SEPARATOR: Final = " │ "
_DELIMITER = re.compile(r"\|?(?:[ \t]*+:?-++:?[ \t]*+\|)*+(?:[ \t]*+:?-++:?)?$")
_CELL_END = re.compile(r"(?<!\\)\|")


@dataclass(frozen=True, slots=True)
class Shape:
    """How the columns of a table stand: alignment and natural width in cells."""

    aligns: tuple[Align, ...]
    widths: tuple[int, ...]


def cells(line: str) -> list[str]:
    """Return the cells of a table line; ``\\|`` is a bar inside a cell."""
    line = line.strip().removeprefix("|")
    parts = _CELL_END.split(line, MAX_COLUMNS)
    if len(parts) > 1 and not parts[-1].strip():
        parts.pop()
    return [part.strip().replace("\\|", "|") for part in parts]


def is_delimiter(line: str, header: str) -> bool:
    """Whether ``line`` makes ``header``, the line above it, the head of a table."""
    return (
        "|" in header
        and _DELIMITER.match(line.strip()) is not None
        and len(cells(line)) == len(cells(header))
    )


def measure(lines: Sequence[str]) -> Shape:
    """Return the shape of a table from its first lines: head, delimiter (if it came yet), rows."""
    aligns = [_align(cell) for cell in cells(lines[1])] if len(lines) > 1 else []
    rows = [cells(line) for index, line in enumerate(lines) if index != 1]
    columns = len(rows[0])
    widths = [
        max((cell_len(text_of(tuple(parse(row[at])))) for row in rows if at < len(row)), default=0)
        for at in range(columns)
    ]
    return Shape(tuple((aligns[at] if at < len(aligns) else "left") for at in range(columns)), tuple(widths))


def lay_out(
    lines: Sequence[str], shape: Shape, width: int, *, has_head: bool, is_open: bool = False
) -> list[Row]:
    """Return ``lines`` as rows of at most ``width`` cells; with ``has_head`` the first is the head and the
    second the delimiter. ``is_open`` says that the last cell still grows.
    """
    widths = _fit(shape.widths, width)
    if widths is None:
        return [
            row
            for index, line in enumerate(lines)
            if index != 1 or not has_head
            for row in _plain(line, width)
        ]
    out: list[Row] = []
    for index, line in enumerate(lines):
        if has_head and index == 1:
            out.append(((_rule(widths), MARK),))
            continue
        ink = STRONG if has_head and index == 0 else 0
        found = cells(line)
        texts = [parse(text, ink) for text in found]
        if is_open and index == len(lines) - 1:
            texts[-1] = parse(found[-1], ink, is_open=True)
        out.extend(_aligned(texts, shape.aligns, widths))
    return out


def _align(cell: str) -> Align:
    if cell.endswith(":"):
        return "center" if cell.startswith(":") else "right"
    return "left"


def _fit(natural: Sequence[int], width: int) -> list[int] | None:
    """Return column widths that fit in ``width``, or None when there is no room for columns at all."""
    room = width - len(SEPARATOR) * (len(natural) - 1)
    if room < MIN_COLUMN * len(natural):
        return None
    widths = [max(1, cells) for cells in natural]
    over = sum(widths) - room
    if over <= 0:
        return widths
    # The widest columns give: find the level that all wider ones are cut to.
    level, too_much = MIN_COLUMN, max(widths)
    while level + 1 < too_much:
        middle = (level + too_much) // 2
        if sum(min(cells, middle) for cells in widths) <= room:
            level = middle
        else:
            too_much = middle
    return [min(cells, level) for cells in widths]


def _rule(widths: Sequence[int]) -> str:
    return "─┼─".join("─" * width for width in widths)


def _aligned(texts: Sequence[Sequence[Run]], aligns: Sequence[Align], widths: Sequence[int]) -> list[Row]:
    columns = [wrap(texts[at] if at < len(texts) else (), width) for at, width in enumerate(widths)]
    rows: list[Row] = []
    for line in range(max(len(column) for column in columns)):
        row: list[Run] = []
        for at, column in enumerate(columns):
            if at:
                row.append((SEPARATOR, MARK))
            row.extend(_padded(column[line] if line < len(column) else (), widths[at], aligns[at]))
        rows.append(_stripped(row))
    return rows


def _padded(row: Row, width: int, align: Align) -> list[Run]:
    space = width - cell_len(text_of(row))
    left = {"left": 0, "right": space, "center": space // 2}[align]
    padded: list[Run] = [(" " * left, 0), *row, (" " * (space - left), 0)]
    return [run for run in padded if run[0]]


def _stripped(row: list[Run]) -> Row:
    """Drop the spaces after the last word."""
    while row and not row[-1][1] & MARK and not row[-1][0].strip(" "):
        row.pop()
    return tuple(row)


def _plain(line: str, width: int) -> list[Row]:
    """Return a line of a table that has no room for columns, still readable."""
    return wrap(parse(" | ".join(cells(line))), width)
