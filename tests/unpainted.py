"""Frames that nobody sees are not painted.

An app under test has no terminal: Textual paints each of its frames and throws it away, which was a sixth
of the time of the tests that show an app. Here only what a test reads is painted: a screenshot, or the rows
of the screen.
"""

from __future__ import annotations

from typing import Any

import pytest
from rich.console import RenderableType
from textual._compositor import Compositor
from textual._context import visible_screen_stack
from textual.geometry import Size
from textual.screen import Screen
from textual.strip import Strip

_paint, _read = Compositor.render_update, Compositor.render_strips


def _paint_what_is_read(
    compositor: Compositor,
    full: bool = False,
    screen_stack: list[Screen[Any]] | None = None,
    simplify: bool = False,
) -> RenderableType | None:
    if full:
        return _paint(compositor, full=True, screen_stack=screen_stack, simplify=simplify)
    visible_screen_stack.set(screen_stack or [])
    compositor._dirty_regions.clear()
    return None


def _read_over_others(compositor: Compositor, size: Size | None = None) -> list[Strip]:
    """Return the rows of a screen, with what shines through a dialog behind it."""
    if compositor.root is not None:
        visible_screen_stack.set(compositor.root.app._background_screens)
    return _read(compositor, size)


# A conftest takes this over for the tests of its folder.
@pytest.fixture(autouse=True)
def painted_when_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have no app paint a frame that only a terminal would show."""
    monkeypatch.setattr(Compositor, "render_update", _paint_what_is_read)
    monkeypatch.setattr(Compositor, "render_strips", _read_over_others)
