"""Markdown tables. The shape of a table is measured from its first lines only: it is shown while it grows,
and later rows never move earlier ones; a wider cell wraps in its column.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from rich.cells import cell_len

from widgets.ink import MARK, STRONG, Row, Run, text_of
from widgets.markdown.inline import parse
from widgets.wrap import wrap

Align = Literal["left", "right", "center"]
MAX_COLUMNS: Final = 64
MIN_COLUMN: Final = 6  # cells; if a wider column would get less, rows are shown with one cell below the other
SEPARATOR: Final = " │ "
RECORD_RULE: Final = 8  # cells between two lines of a table without columns
_DELIMITER = re.compile(r"\|?(?:[ \t]*+:?-++:?[ \t]*+\|)*+(?:[ \t]*+:?-++:?)?$")
_CELL_END = re.compile(r"(?<!\\)\|")


@dataclass(frozen=True, slots=True)
class Shape:
    """The columns of a table: alignment, natural width and longest word in cells, words of the head."""

    aligns: tuple[Align, ...]
    widths: tuple[int, ...]
    words: tuple[int, ...]
    heads: tuple[str, ...] = ()


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
    columns = len(cells(lines[0]))
    rows = [_as_many(cells(line), columns) for index, line in enumerate(lines) if index != 1]
    texts = [[text_of(tuple(parse(row[at]))) for row in rows if at < len(row)] for at in range(columns)]
    widths = tuple(max(map(cell_len, column), default=0) for column in texts)
    words = tuple(max((_longest_word(text) for text in column), default=0) for column in texts)
    aligned = tuple((aligns[at] if at < len(aligns) else "left") for at in range(columns))
    return Shape(aligned, widths, words, tuple(rows[0]))


def lay_out(
    lines: Sequence[str],
    shape: Shape,
    width: int,
    *,
    has_head: bool,
    is_open: bool = False,
    links: list[str] | None = None,
) -> list[Row]:
    """Return ``lines`` as rows of at most ``width`` cells; with ``has_head`` the first line is the head and
    the second the delimiter. ``is_open``: the last cell is still growing. Without room for columns each line
    becomes ``head: cell`` rows.
    """
    links = [] if links is None else links
    widths = _fit(shape.widths, shape.words, width)
    columns = len(shape.widths)
    out: list[Row] = []
    for index, line in enumerate(lines):
        is_head = has_head and index == 0
        if has_head and index == 1:
            if widths is not None:
                out.append(((_rule(widths), MARK),))
            continue
        found = _as_many(cells(line), columns)
        last = len(found) - 1 if is_open and index == len(lines) - 1 else -1
        texts = [
            parse(text, STRONG if is_head else 0, is_open=at == last, links=links)
            for at, text in enumerate(found)
        ]
        if widths is not None:
            out.extend(_aligned(texts, shape.aligns, widths))
        elif not is_head:
            out.extend(_record(shape.heads, texts, width, is_first=has_head and index == 2))
        elif len(lines) <= 2:
            runs = [run for text in texts for run in [(SEPARATOR, MARK), *text]]
            out.extend(wrap(runs[1:], width))
    return out


def _as_many(found: list[str], columns: int) -> list[str]:
    """Return the cells of a line, with extra cells joined to the last column: no word is lost."""
    return [*found[: columns - 1], " | ".join(found[columns - 1 :])] if len(found) > columns else found


def _align(cell: str) -> Align:
    if cell.endswith(":"):
        return "center" if cell.startswith(":") else "right"
    return "left"


def _longest_word(text: str) -> int:
    """Return the cells of the longest word that a line cannot end in: not of Chinese, which ends anywhere."""
    return max((len(word) for word in text.split() if cell_len(word) == len(word)), default=0)


def _fit(natural: Sequence[int], words: Sequence[int], width: int) -> list[int] | None:
    """Return column widths that fit in ``width``, or ``None`` if there is no room for columns at all.

    ``words`` are the longest words of the columns: they are kept whole if all of them fit.
    """
    room = width - len(SEPARATOR) * (len(natural) - 1)
    widths = [max(1, cells) for cells in natural]
    least = [min(cells, MIN_COLUMN) for cells in widths]
    if room < sum(least):
        return None
    if sum(widths) <= room:
        return widths
    whole = [max(pair) for pair in zip(least, words, strict=True)]
    if sum(whole) <= room:
        least = whole

    def cut_to(level: int) -> list[int]:
        return [max(low, min(cells, level)) for low, cells in zip(least, widths, strict=True)]

    # The widest columns shrink: find the level to which all wider ones are cut.
    level, too_much = MIN_COLUMN, max(widths)
    while level + 1 < too_much:
        middle = (level + too_much) // 2
        if sum(cut_to(middle)) <= room:
            level = middle
        else:
            too_much = middle
    return cut_to(level)


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
        while row and not row[-1][1] & MARK and not row[-1][0].strip(" "):  # spaces after the last word
            row.pop()
        rows.append(tuple(row))
    return rows


def _padded(row: Row, width: int, align: Align) -> list[Run]:
    space = width - cell_len(text_of(row))
    left = {"left": 0, "right": space, "center": space // 2}[align]
    padded: list[Run] = [(" " * left, 0), *row, (" " * (space - left), 0)]
    return [run for run in padded if run[0]]


def _record(heads: Sequence[str], texts: Sequence[Sequence[Run]], width: int, *, is_first: bool) -> list[Row]:
    """Return the cells of a line below one another, each after the head of its column."""
    rows: list[Row] = [] if is_first else [(("─" * min(width, RECORD_RULE), MARK),)]
    for at, text in enumerate(texts):
        head = parse(heads[at] + ": ", STRONG) if at < len(heads) and heads[at] else []
        if head or text:
            rows.extend(wrap([*head, *text], width))
    return rows
