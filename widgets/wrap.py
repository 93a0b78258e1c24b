"""Wraps styled text into rows, exact to the cell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from widgets.cells import Clusters, is_narrow, tidy
from widgets.ink import Row, Run
from widgets.row_ends import NO_END, NO_START
from widgets.signs import DOT, twin

NO_BREAK: Final = "\u00a0"
BLANKS: Final = (" ", NO_BREAK)
PARTED: Final = f"{NO_BREAK}{DOT}"  # and a space: between words of ours, and nowhere at the end of a row


def wrap(runs: Sequence[Run], width: int, *, words: bool = True) -> list[Row]:
    """Return ``runs`` as rows of at most ``width`` cells (at least one); ``\n`` always ends a row.

    With ``words`` a row ends between words, or between CJK characters, if possible; spaces at such an end are
    dropped, and so is ``PARTED``; a word with a no-break space in it stays in one row if it fits into one; it
    is drawn as a space. Without it (code) rows are filled to the last cell and no character is dropped.
    """
    width = max(1, width)
    runs = tidy(runs, width)
    text = "".join([piece for piece, _ in runs])
    if len(text) <= width and "\n" not in text and is_narrow(text):
        return [tuple([(_drawn(piece, words), ink) for piece, ink in runs if piece])]
    rows = cut(runs, _spans(text, width, words))
    if NO_BREAK not in text:
        return rows
    if words:
        rows[:-1] = map(_without_dot, rows[:-1])
    return [tuple([(_drawn(piece, words), ink) for piece, ink in row]) for row in rows]


def _without_dot(row: Row) -> Row:
    if not row or not row[-1][0].endswith((PARTED, twin(PARTED))):
        return row
    return *row[:-1], (row[-1][0][: -len(PARTED)], row[-1][1])


def _drawn(text: str, words: bool) -> str:
    return text.replace(NO_BREAK, " ") if words else text


def _spans(text: str, width: int, words: bool) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each row in ``text``."""
    start = 0
    for line in text.split("\n"):
        if not words:
            spans = _filled(line, width)
        elif is_narrow(line):
            spans = _narrow_words(line, width)
        else:
            spans = _words(line, Clusters(line), width)
        for first, last in spans:
            yield start + first, start + last
        start += len(line) + 1


def _filled(line: str, width: int) -> Iterator[tuple[int, int]]:
    if is_narrow(line):
        for start in range(0, len(line) or 1, width):
            yield start, min(start + width, len(line))
        return
    clusters = Clusters(line)
    first = 0
    while first < len(clusters):
        last = clusters.fitting(first, width)
        yield clusters.starts[first], clusters.starts[last]
        first = last


def _narrow_words(line: str, width: int) -> Iterator[tuple[int, int]]:
    start, length = 0, len(line)
    while length - start > width:
        end = line.rfind(" ", start, start + width + 1)
        if end < 0 or not line[start:end].strip(" "):
            end = line.rfind(NO_BREAK, start + 1, start + width + 1)  # it is too long to stay in one row
        if end < 0:
            end = start + width
        yield start, end
        start = end
        while start < length and line[start] in BLANKS:
            start += 1
        if start == length:
            return
    yield start, length


def _words(line: str, clusters: Clusters, width: int) -> Iterator[tuple[int, int]]:
    starts, count = clusters.starts, len(clusters)
    first = 0
    while True:
        last = clusters.fitting(first, width) if first < count else count
        if last >= count:
            yield starts[first], len(line)
            return
        end = last
        while end > first and not _may_break(line, clusters, end):
            end -= 1
        if end == first or not line[starts[first] : starts[end]].strip(" "):
            end = next((at for at in range(last, first, -1) if line[starts[at]] == NO_BREAK), last)
        shown = end
        while shown > first and line[starts[shown] - 1] == " ":
            shown -= 1
        yield starts[first], starts[shown]
        first = end
        while first < count and line[starts[first] : starts[first + 1]] in BLANKS:
            first += 1
        if first == count:
            return


def _may_break(line: str, clusters: Clusters, cluster: int) -> bool:
    """Whether a row may end before ``cluster``."""
    start = clusters.starts[cluster]
    before, after = line[start - 1], line[start]
    if before == " " or after == " ":
        return True
    if clusters.size(cluster) < 2 and clusters.size(cluster - 1) < 2:
        return False
    if NO_BREAK in line and NO_BREAK in line[line.rfind(" ", 0, start) + 1 : start] + _word(line, start):
        return False
    return after not in NO_START and before not in NO_END


def _word(line: str, start: int) -> str:
    """Return the rest of the word at ``start``."""
    end = line.find(" ", start)
    return line[start:] if end < 0 else line[start:end]


def cut(runs: Sequence[Run], spans: Iterator[tuple[int, int]]) -> list[Row]:
    """Cut ``runs`` at ``spans``, which are in order."""
    rows: list[Row] = []
    index, offset = 0, 0  # the current run, and where it begins
    for start, end in spans:
        row: list[Run] = []
        while start < end:
            text, ink = runs[index]
            if start >= offset + len(text):
                offset += len(text)
                index += 1
                continue
            piece = text[start - offset : end - offset]
            row.append((piece, ink))
            start += len(piece)
        rows.append(tuple(row))
    return rows
