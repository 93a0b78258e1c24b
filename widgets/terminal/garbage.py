"""When Python looks for cycles: not while words stream in. A full look takes 150 to 230 ms with sixteen full
panes, every other second, and finds almost nothing, so there is one in the first quiet moment instead.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Final

from textual._styles_cache import StylesCache
from textual.color import Color
from textual.style import Style

LOOK_SECONDS: Final = 2.0  # between two looks whether it is quiet
# Middle looks between two full ones while it is never quiet. One comes with 8,000 objects that stay, so what
# nobody can reach is bounded by about 430,000 objects, or 40 MB.
BUSY_THRESHOLD: Final = 50
WORTH_THRESHOLD: Final = 5  # middle looks that make a full one worth its time; fewer have brought too little


class Garbage:
    """Ask ``look`` every ``LOOK_SECONDS`` between ``start`` and ``stop``."""

    def __init__(self, is_quiet: Callable[[], bool]) -> None:
        """``is_quiet`` says whether nobody would notice a fifth of a second now: no agent speaks."""
        self._is_quiet = is_quiet
        self._former = gc.get_threshold()
        self._young = 0  # looks at young objects at the last ``look``
        self._is_screen_gone = False  # since the last full look

    def start(self) -> None:
        """Leave what was loaded until now out of every look: modules and classes stay to the end."""
        self._former = gc.get_threshold()
        young, middle, _ = self._former
        gc.set_threshold(young, middle, BUSY_THRESHOLD)
        gc.freeze()
        gc.enable()  # a program that starts does not look at all

    def stop(self) -> None:
        gc.unfreeze()
        gc.set_threshold(*self._former)

    def screen_gone(self) -> None:
        """Note that a room or a chat was closed: thousands of objects that hold each other."""
        self._is_screen_gone = True

    def look(self) -> None:
        """Look at everything if it is quiet, and has been since the last time, and enough has come; or if it
        is quiet and a screen was closed.

        What is left is then frozen: should a full look be due while agents speak, it goes over what came
        since. Nothing is frozen for good: the next quiet moment looks at all of it again.
        """
        before, self._young = self._young, gc.get_stats()[0]["collections"]
        is_still = before == self._young  # a reader who scrolls makes objects, too
        is_worth_it = is_still and gc.get_count()[2] >= WORTH_THRESHOLD
        if (is_worth_it or self._is_screen_gone) and self._is_quiet():
            self._is_screen_gone = False
            gc.unfreeze()
            gc.collect()
            gc.freeze()


@lru_cache(1024)
def _inner_outer(base: Color, background: Color) -> tuple[Style, Style]:
    return Style(background=base + background), Style(background=base)


def let_widgets_go() -> None:
    """Keep Textual from holding on to the rows of widgets that are gone: ``StylesCache.get_inner_outer`` is
    cached by its ``self`` too, which it does not use, so 1,024 of these stay with all their rows.
    """
    StylesCache.get_inner_outer = lambda _, base, background: _inner_outer(base, background)  # type: ignore[method-assign, assignment]


@contextmanager
def uncollected() -> Iterator[None]:
    """Look for no cycles meanwhile: ten thousand new messages have none, and looking takes longer."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
