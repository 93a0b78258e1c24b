"""Where the reader is in a transcript: a thin bar in the right margin, while the end is not followed."""

from __future__ import annotations

from collections.abc import Sequence

from widgets.layout import Line
from widgets.painter import Painter


def span(above: int, total: int, height: int) -> range:
    """Return the rows of a pane of ``height`` rows that the bar takes: its length is the share that is in
    sight of all ``total`` rows. It touches an edge only where nothing is beyond. Empty if all is in sight.
    """
    if height < 1 or total <= height:
        return range(0)
    length = max(1, height * height // total)
    free = height - length
    first = round(free * above / (total - height))
    if above > 0:
        first = max(first, min(1, free))
    if above < total - height:
        first = min(first, max(0, free - 1))
    first = max(0, min(first, free))
    return range(first, first + length)


def with_scroll_mark(lines: Sequence[Line], painter: Painter, above: int, total: int) -> list[Line]:
    """Return the rows of a pane with the bar; ``above`` of ``total`` rows are above the first one."""
    marked = list(lines)
    for row in span(above, total, len(marked)):
        marked[row] = painter.with_scroll_mark(marked[row])
    return marked
