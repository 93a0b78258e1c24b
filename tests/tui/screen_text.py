"""A screen as text that can be kept, compared and read in a review: its rows, and the look of every cell."""

from __future__ import annotations

from string import ascii_letters
from typing import Any

from rich.style import Style
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode
from textual.app import App
from textual.strip import Strip

LETTERS = "." + ascii_letters + "0123456789"


class ScreenFile(SingleFileSnapshotExtension):
    """One text file for each screen."""

    _write_mode = WriteMode.TEXT
    file_extension = "txt"


def screen_as_text(app: App[Any]) -> str:
    """Return the rows of the screen, then the same rows with a letter for the style of each cell, then what
    the letters mean. ``.`` is the style that most cells have.
    """
    strips = app.screen._compositor.render_strips(app.size)
    cells: dict[str, int] = {}
    rows = [list(_looks(strip)) for strip in strips]
    for row in rows:
        for look in row:
            cells[look] = cells.get(look, 0) + 1
    order = sorted(cells, key=lambda look: (-cells[look], look))
    letters = {look: LETTERS[min(index, len(LETTERS) - 1)] for index, look in enumerate(order)}
    frame = "─" * app.size.width
    text = [strip.text.rstrip() for strip in strips]
    styles = ["".join([letters[look] for look in row]).rstrip(".") for row in rows]
    legend = [f"{letters[look]} {look}" for look in order]
    return "\n".join([frame, *text, frame, *styles, frame, *legend]) + "\n"


def _looks(strip: Strip) -> list[str]:
    return [
        look for segment in strip for look in [_look(segment.style or Style.null())] * segment.cell_length
    ]


def _look(style: Style) -> str:
    """Return a style without what changes from run to run (the ids of links)."""
    plain = style.without_color
    marks = [
        name for name in ("bold", "dim", "italic", "underline", "strike", "reverse") if getattr(plain, name)
    ]
    ink = style.color.name if style.color else "default"
    ground = style.bgcolor.name if style.bgcolor else "default"
    link = [f"link {style.link}"] if style.link else []
    return " ".join([f"{ink} on {ground}", *marks, *link])
