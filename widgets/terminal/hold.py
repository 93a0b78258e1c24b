"""Holds back Textual's own painting while the terminal has too much to take."""

from __future__ import annotations

from contextlib import ExitStack

from textual.app import App
from textual.screen import Screen


class Hold:
    """Paints nothing between ``begin`` and ``release``; then what changed is painted once. After a layout
    that Textual's own timer did not cause, Textual drops what it batched: then the whole screen is painted
    again.
    """

    def __init__(self, app: App[object]) -> None:
        self._app = app
        self._batch = ExitStack()
        self._before: list[Screen[object]] = []
        self._is_dropped = False
        self.is_held = False

    def begin(self) -> None:
        """Hold painting back. To be called in the app's own thread."""
        if self.is_held or not self._app.is_running:  # what an app writes while it ends is not painted
            return
        self.is_held = True
        self._is_dropped = False
        self._batch.enter_context(self._app.batch_update())
        self._before = list(self._app.screen_stack)
        for screen in self._before:
            screen.screen_layout_refresh_signal.subscribe(self._app, self._note_layout, immediate=True)

    def release(self) -> None:
        if not self.is_held:
            return
        self.is_held = False
        for screen in self._before:
            screen.screen_layout_refresh_signal.unsubscribe(self._app)
        self._batch.close()
        screens = self._app.screen_stack
        if self._is_dropped or screens != self._before:
            self._app.refresh()
        # A screen checks what to paint only when it becomes idle. A hidden screen must
        # not: Textual would paint everything again for it.
        is_over_another = bool(screens) and screens[-1].is_modal  # an app that ends may have none
        for screen in screens[-2:] if is_over_another else screens[-1:]:
            screen.check_idle()
        self._before = []

    def _note_layout(self, _: Screen[object]) -> None:
        self._is_dropped = True
