"""A dialog with a line to type in and a list of what fits it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rich.console import RenderableType
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.screen import ScreenResultType
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from tui.forms.fields import Line, own
from tui.screens.dialog import Dialog
from tui.screens.words import say

PAGE: Final = 8  # rows a page key goes on


def keys_of(scope: str, back: str) -> list[BindingType]:
    """Return the keys of such a dialog: their ids begin with ``scope``, ``back`` says what ``esc`` does."""
    return [
        Binding("escape", "dismiss", back, id=f"{scope}.back", priority=True),
        Binding("up", "move(-1)", "Up", id=f"{scope}.up", show=False),
        Binding("down", "move(1)", "Down", id=f"{scope}.down", show=False),
        Binding("pageup", f"move(-{PAGE})", "Page up", id=f"{scope}.page_up", show=False),
        Binding("pagedown", f"move({PAGE})", "Page down", id=f"{scope}.page_down", show=False),
    ]


class LineAndList(Dialog[ScreenResultType]):
    """All keys go to the line, those that move the mark too; ``enter`` or a click takes what is marked.

    The widgets are held, not looked for: answers may come in while the screen is being taken down.
    """

    AUTO_FOCUS = "Line"

    def __init__(self, line: Line, note: str, *, ascii_only: bool) -> None:
        super().__init__()
        self._ascii_only = ascii_only
        self._line = line
        self._note = Static(own(say(note), ascii_only=ascii_only), classes="note", markup=False)
        self._listed = OptionList(markup=False, compact=True)
        self._listed.can_focus = False

    def _own(self, text: str) -> str:
        return own(text, ascii_only=self._ascii_only)

    @property
    def typed(self) -> str:
        """What stands in the line."""
        return self._line.value.strip()

    def show(self, rows: Sequence[Content | RenderableType], marked: int | None) -> None:
        """List these, one of them marked."""
        self._listed.clear_options()
        self._listed.add_options(Option(row) for row in rows)
        self._listed.highlighted = marked

    def take(self, at: int) -> None:
        """Close with the one in this row."""
        raise NotImplementedError

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Take what is marked."""
        event.stop()
        if self._listed.highlighted is not None:
            self.take(self._listed.highlighted)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Take what was clicked."""
        event.stop()
        self.take(event.option_index)

    def action_move(self, step: int) -> None:
        """Mark another one."""
        if self._listed.option_count:
            at = (self._listed.highlighted or 0) + step
            self._listed.highlighted = max(0, min(at, self._listed.option_count - 1))
