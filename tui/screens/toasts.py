"""Places notifications over plain text, and never over what a person is reading or doing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, Protocol, runtime_checkable

from textual.app import App
from textual.geometry import Region
from textual.screen import Screen
from textual.widget import Widget

from widgets.terminal.frame_clock import FrameClock
from widgets.terminal.private import toasts_of

NEVER: Final = 1000  # such a cell weighs as much as this many others


@runtime_checkable
class Yields(Protocol):
    """A widget that notifications may mostly cover."""

    def kept_rows(self) -> Iterable[tuple[int, bool]]:
        """Return the rows (from 0) not to be covered, and whether never: headers, approvals, the cursor."""
        ...


class Toasts:
    """Moves notifications out of the way: when they appear, when the layout changes, with every frame."""

    def __init__(self, app: App[Any], clock: FrameClock) -> None:
        self._app = app
        self._clock = clock

    def watch(self, screen: Screen[Any]) -> None:
        """Watch the notifications of a screen from now on."""
        screen.screen_layout_refresh_signal.subscribe(self._app, self._place, immediate=True)

    def _place(self, screen: Screen[Any]) -> None:
        rack, toasts = toasts_of(screen)
        shown = [toast.region for toast in toasts if toast.region]
        self._clock.drawn = (lambda: self._place(screen)) if shown and screen.is_current else None
        if rack is None or not shown:
            return
        area = Region.from_union(shown)
        row = free_row(area, kept_in(screen, rack), screen.size.height)
        if row != area.y:
            rack.styles.margin = (row, 0, 0, 0)


def free_row(area: Region, kept: Sequence[tuple[Region, bool]], height: int) -> int:
    """Return the first row for ``area`` so that it covers nothing of ``kept``, or as little as possible: its
    own row if that is free, else the first free one from the top of a screen of ``height`` rows.
    """

    def covered(row: int) -> int:
        spot = area.at_offset((area.x, row))
        cells = 0
        for region, is_never in kept:
            part: Region = spot.intersection(region)
            cells += part.width * part.height * (NEVER if is_never else 1)
        return cells

    rows: list[int] = [area.y, *range(1, max(2, height - area.height + 1))]
    return min(rows, key=covered)


def kept_in(screen: Screen[Any], rack: Widget) -> list[tuple[Region, bool]]:
    """Return what must not be covered, and whether never: widgets that do not yield, and rows of others."""
    kept: list[tuple[Region, bool]] = []
    for widget in screen.walk_children(Widget, with_self=False):
        if (
            not widget.region
            or widget.children
            or rack in widget.ancestors_with_self
            or not widget.is_on_screen
        ):
            continue
        shown = getattr(widget, "sight", widget)  # of a transcript
        if isinstance(shown, Yields):
            x, y, width, _ = widget.region
            kept += [(Region(x, y + row, width, 1), is_never) for row, is_never in shown.kept_rows()]
        else:
            kept.append((widget.region, True))
    return kept
