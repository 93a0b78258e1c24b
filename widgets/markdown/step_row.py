"""The head row of a step: its fold, what it is, what it is about, and how it went at the right."""

from __future__ import annotations

from typing import Final

from rich.cells import cell_len

from widgets.cells import Clusters, tidy
from widgets.ink import DIM, MARK, PLAIN, STRONG, TITLE, Row, Run
from widgets.ink import FAILED as FAILED_INK
from widgets.signs import ELLIPSIS, FAILED, FOLDED, UNFOLDED

NAME_CELLS: Final = 12  # shorter names are padded, so that what they are about stands in a column
PADDED_FROM: Final = 48  # cells of a row
LEAST_NAME_CELLS: Final = 4  # kept of the name before the right side is cut
APART: Final = "  "  # between a name and what it is about, within a label


def head_row(label: str, summary: str, width: int, *, is_folded: bool) -> Row:
    """Return the one row, exactly ``width`` cells where it has a summary.

    ``label`` is the name and, after two spaces, what it is about; that is cut first, then the name, and the
    summary last. The summary's ink is one of ours: it is not searched, and not selected.
    """
    fold = (f"{FOLDED if is_folded else UNFOLDED} "[:width], MARK)
    room = width - len(fold[0])
    name, _, about = label.partition(APART)
    spare = min(LEAST_NAME_CELLS, cell_len(name)) + 1
    right = _fitted(summary, max(0, room - spare), MARK | (FAILED_INK if summary.startswith(FAILED) else 0))
    right_cells = _cells(right)
    left_room = room - right_cells - (1 if right else 0)
    left = _fitted(name, left_room, STRONG)
    if about:
        padding = max(0, NAME_CELLS - _cells(left)) if width >= PADDED_FROM else 0
        gap = len(APART) + padding
        rest = left_room - _cells(left) - gap
        if rest > 1:
            left += [(" " * gap, PLAIN), *_fitted(about, rest, PLAIN)]
    if not right:
        return fold, *left
    return fold, *left, (" " * (room - _cells(left) - right_cells), MARK), *right


def title_row(label: str, summary: str, width: int) -> Row:
    """Return the one row of a title with something at its right, which is cut last."""
    right = _fitted(summary, max(0, width - LEAST_NAME_CELLS - 1), MARK)
    left = _fitted(label, width - _cells(right) - 1, DIM | TITLE)
    return *left, (" " * (width - _cells(left) - _cells(right)), MARK), *right


def _cells(runs: list[Run]) -> int:
    return sum(cell_len(text) for text, _ in runs)


def _fitted(text: str, cells: int, ink: int) -> list[Run]:
    """Return ``text`` in at most so many cells; where something is missing, a sign of ours says so."""
    if cells < 1 or not text:
        return []
    whole = "".join(piece for piece, _ in tidy([(text, ink)], cells))
    if cell_len(whole) <= cells:
        return [(whole, ink)]
    clusters = Clusters(whole)
    last = clusters.fitting(0, cells - 1) if cells > clusters.size(0) else 0
    kept = whole[: clusters.starts[last]].rstrip()
    return [*([(kept, ink)] if kept else []), (ELLIPSIS, MARK | ink)]
