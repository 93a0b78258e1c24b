"""When Python's garbage collector runs: not while words stream in. A full collection takes 150 to 230 ms with
sixteen full panes, every other second, and finds almost nothing, so it runs in the first quiet moment
instead.
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

LOOK_SECONDS: Final = 2.0  # between two checks whether it is quiet
# Middle collections between two full ones while it is never quiet. One comes with 8,000 surviving objects, so
# garbage is limited to about 430,000 objects, or 40 MB.
BUSY_THRESHOLD: Final = 50
WORTH_THRESHOLD: Final = 5  # middle collections; after fewer a full one is not worth its time


class Garbage:
    """Call ``look`` every ``LOOK_SECONDS`` between ``start`` and ``stop``."""

    def __init__(self, is_quiet: Callable[[], bool]) -> None:
        """``is_quiet`` says whether a pause of a fifth of a second would go unnoticed now: no agent is
        speaking.
        """
        self._is_quiet = is_quiet
        self._former = gc.get_threshold()
        self._young = 0  # young collections at the last ``look``
        self._is_screen_gone = False  # since the last full collection

    def start(self) -> None:
        """Exclude what was loaded until now from all collections: modules and classes stay to the end."""
        self._former = gc.get_threshold()
        young, middle, _ = self._former
        gc.set_threshold(young, middle, BUSY_THRESHOLD)
        gc.freeze()
        gc.enable()  # a program that starts collects nothing

    def stop(self) -> None:
        gc.unfreeze()
        gc.set_threshold(*self._former)

    def screen_gone(self) -> None:
        """Note that a room or a chat was closed: thousands of objects that refer to each other."""
        self._is_screen_gone = True

    def look(self) -> None:
        """Run a full collection if it is quiet, has been since the last call, and there is enough to do; or
        if it is quiet and a screen was closed.

        The survivors are then frozen: if a full collection is due while agents speak, it covers only what
        came since. Nothing is frozen for good: the next quiet moment covers all of it again.
        """
        before, self._young = self._young, gc.get_stats()[0]["collections"]
        is_still = before == self._young  # a reader who scrolls creates objects, too
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
    """Keep Textual from holding on to the rows of removed widgets: ``StylesCache.get_inner_outer`` is cached
    by its ``self`` too, which it does not use, so 1,024 of these stay with all their rows.
    """
    StylesCache.get_inner_outer = lambda _, base, background: _inner_outer(base, background)  # type: ignore[method-assign, assignment]


@contextmanager
def uncollected() -> Iterator[None]:
    """Collect nothing meanwhile: ten thousand new messages have no cycles, and looking for them takes
    longer.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
