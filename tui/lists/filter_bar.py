"""The line for filtering the rows of a list."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.widget import Widget
from textual.widgets import Input, Static

from tui.screens.words import say

MAX_NEEDLE_CHARACTERS: Final = 200


class FilterBar(Horizontal):
    """Calls ``look_for`` with the text while it is typed; hidden while it is empty."""

    def __init__(self, placeholder: str, look_for: Callable[[str], None], rows: Widget) -> None:
        """``rows`` gets the focus back."""
        super().__init__(id="filter-bar", classes="-hidden")
        self._line = Input(placeholder=placeholder, id="filter", compact=True, select_on_focus=False)
        self._line.max_length = MAX_NEEDLE_CHARACTERS
        self._look_for = look_for
        self._rows = rows

    def compose(self) -> ComposeResult:
        yield Static(say("find.label"), markup=False)
        yield self._line

    def open(self) -> None:
        self.set_class(False, "-hidden")
        self._line.focus()

    def clear(self) -> None:
        self._line.value = ""
        self._close()

    def _close(self) -> None:
        self.set_class(not self._line.value, "-hidden")
        self._rows.focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self._look_for(event.value)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self._close()
