"""Characters as the terminal counts them: clusters that must stay together, and the cells they take.

Widths are those of ``rich.cells``, because Textual cuts and pads with them. Terminals disagree about joined
emoji. Since every row is painted from an absolute position, a wrong width affects only its own row.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise

from rich.cells import cell_len, get_character_cell_size, split_graphemes

from widgets.ink import Run

TAB_CELLS = 4
MAX_JOINERS = 3  # as many as the longest emoji in use has; more would fold a whole row into two cells
MAX_CLUSTER_CHARACTERS = 24  # a million marks over one letter would be sent with every frame
TOO_WIDE = "?"  # replaces a two-cell character where there is only one cell

JOINER = "\u200d"
VARIATION = "\ufe0f"
# One cell each, and never combined with a neighbour (tested against rich's table).
_ONE_CELL = (
    " -~\xa0-\xac\xae-\u02ff\u0370-\u0482\u048a-\u052f\u2010-\u2027\u2030-\u205e\u2190-\u2199"
    "\u2500-\u25fc\u2800-\u28ff"
)
_NARROW = re.compile(f"[{_ONE_CELL}]*")
# Terminals disagree about all others: emoji, and the marks of Indic scripts.
_KNOWN = re.compile(
    f"[{_ONE_CELL}\u3000-\u3029\u3041-\u3096\u30a0-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uff01-\uff60]*"
)
# With its variation and tone.
_EMOJI = (
    "[\u2190-\u21ff\u2300-\u23ff\u2600-\u27bf\u2b00-\u2bff\U0001f000-\U0001faff]"
    f"[{VARIATION}\U0001f3fb-\U0001f3ff]*"
)
_JOINED = re.compile(f"{_EMOJI}(?:{JOINER}{_EMOJI}){{1,{MAX_JOINERS}}}")
_FLAGS = re.compile("[\U0001f1e6-\U0001f1ff]")
# What may be marks, or parts of Hangul syllables, and more of them than a cluster may have.
_FLOOD = re.compile(
    rf"(?:[^\w\s\0-\u02ff]|[\u1160-\u11ff\u3164\ud7b0-\ud7fb\uffa0]){{{MAX_CLUSTER_CHARACTERS},}}"
)


def cells_in(pieces: Iterable[tuple[str, object]]) -> int:
    """Return the cells that a row, or styled texts, take."""
    return sum([cell_len(text) for text, _ in pieces])


def is_narrow(text: str) -> bool:
    """Whether every character takes exactly one cell: then characters can be counted as cells."""
    return (text.isascii() and text.isprintable()) or _NARROW.fullmatch(text) is not None


def has_known_width(text: str) -> bool:
    """Whether every terminal takes the same cells for it; another row may reach further than its cells."""
    return text.isascii() or _KNOWN.fullmatch(text) is not None


class Clusters:
    """A text as clusters that are never split: ``starts[i]`` is the index of cluster ``i``, ``edges[i]`` the
    cells before it. Both have one entry more than there are clusters.
    """

    __slots__ = ("edges", "starts")

    def __init__(self, text: str) -> None:
        sizes = [get_character_cell_size(char) for char in text]
        if 0 in sizes or JOINER in text or VARIATION in text or _FLAGS.search(text):
            spans = _with_flags(text, split_graphemes(text)[0])
            self.starts = [start for start, _, _ in spans]
            sizes = [cells for _, _, cells in spans]
        else:
            self.starts = list(range(len(text)))
        self.starts.append(len(text))
        self.edges = list(accumulate(sizes, initial=0))

    def __len__(self) -> int:
        return len(self.starts) - 1

    def fitting(self, first: int, cells: int) -> int:
        """Return the greatest ``last`` such that clusters ``first`` up to ``last`` fit; at least one does."""
        return max(first + 1, bisect_right(self.edges, self.edges[first] + cells) - 1)

    def size(self, cluster: int) -> int:
        return self.edges[cluster + 1] - self.edges[cluster]


def _with_flags(text: str, spans: Sequence[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """Join the two letters of a flag."""
    joined: list[tuple[int, int, int]] = []
    pending = False  # the last span is the first half of a flag
    for start, end, cells in spans:
        is_half = _FLAGS.match(text, start) is not None
        if is_half and pending:
            joined[-1] = (joined[-1][0], end, joined[-1][2] + cells)
            pending = False
            continue
        joined.append((start, end, cells))
        pending = is_half
    return joined


def tidy(runs: Sequence[Run], width: int) -> list[Run]:
    """Return runs that can be cut between any clusters: without tabs, stray joiners, endless clusters or
    characters that are too wide.
    """
    text = "".join([piece for piece, _ in runs])
    if "\t" in text:
        runs = _without_tabs(runs)
        text = "".join([piece for piece, _ in runs])
    if is_narrow(text):
        return list(runs)
    if JOINER in text:
        runs = _without_stray_joiners(runs)
    if len(runs) > 1:
        runs = _together(runs)
    if _FLOOD.search(text):
        runs = [(_without_floods(piece), ink) for piece, ink in runs]
    if width < 2:
        runs = [("\n".join(map(_narrowed, piece.split("\n"))), ink) for piece, ink in runs]
    return list(runs)


def _without_tabs(runs: Sequence[Run]) -> list[Run]:
    column = 0
    out: list[Run] = []
    for text, ink in runs:
        pieces = text.split("\t")
        for piece in pieces[:-1]:
            column += Clusters(piece).edges[-1]
            gap = TAB_CELLS - column % TAB_CELLS
            out.append((piece + " " * gap, ink))
            column += gap
        column += Clusters(pieces[-1]).edges[-1]
        out.append((pieces[-1], ink))
    return [run for run in out if run[0]]


def _without_stray_joiners(runs: Sequence[Run]) -> list[Run]:
    """Drop joiners that are not between two emoji: terminals show both, the table counts one."""
    text = "".join([piece for piece, _ in runs])
    joined = (range(*found.span()) for found in _JOINED.finditer(text))
    kept = frozenset(index for span in joined for index in span)
    out: list[Run] = []
    at = 0
    for piece, ink in runs:
        left = "".join([char for index, char in enumerate(piece, at) if char != JOINER or index in kept])
        at += len(piece)
        if left:
            out.append((left, ink))
    return out


def _together(runs: Sequence[Run]) -> list[Run]:
    """Move combining characters to the end of the run before them."""
    out: list[Run] = []
    for text, ink in runs:
        if out and text and not text[0].isascii():
            count = _combining(out[-1][0], text)
            if count:
                out[-1] = (out[-1][0] + text[:count], out[-1][1])
                text = text[count:]
        if text:
            out.append((text, ink))
    return out


def _combining(before: str, text: str) -> int:
    """Return how many characters of ``text`` belong to the last cluster of ``before``."""
    tail = before[-16:]
    clusters = Clusters(tail + text[:32])
    ends = [start for start in clusters.starts if start >= len(tail)]
    return min(ends[0] - len(tail), len(text))


def _without_floods(text: str) -> str:
    starts = Clusters(text).starts
    return "".join(text[start : min(end, start + MAX_CLUSTER_CHARACTERS)] for start, end in pairwise(starts))


def _narrowed(text: str) -> str:
    clusters = Clusters(text)
    return "".join(
        TOO_WIDE if clusters.size(index) > 1 else text[clusters.starts[index] : clusters.starts[index + 1]]
        for index in range(len(clusters))
    )
