"""The base of all dialogs: a screen that names its current keys, and closes once."""

from __future__ import annotations

from typing import ClassVar

from textual.await_complete import AwaitComplete
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen, ScreenResultType
from textual.widget import Widget
from textual.widgets import Static

from tui.live.key_hints import Hints


def framed(title: str, *parts: Widget, hint: str, classes: str = "") -> Vertical:
    """Return the frame of a dialog: its title, its parts, and a line that names its keys."""
    return Vertical(
        Static(title, classes="title", markup=False), *parts, Hints(hint), classes=f"dialog wide {classes}"
    )


class Dialog(ModalScreen[ScreenResultType]):
    """Closes only itself: after the key that goes back an answer may still come, and Textual's ``dismiss``
    would then close the screen below. Bindings of the app without priority do not work in a dialog, so it has
    the key of the help itself, except where that key types a character.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("question_mark", "app.help", "Show the keys", id="app.help", show=False)
    ]

    def on_mount(self) -> None:
        """Show what the keys do."""
        for hints in self.query(Hints):
            hints.tell()

    def dismiss(self, result: ScreenResultType | None = None) -> AwaitComplete:
        """Close with ``result``; does nothing unless this is the top screen."""
        if self.is_current:
            return super().dismiss(result)
        nothing: AwaitComplete = AwaitComplete.nothing()  # type: ignore[no-untyped-call]  # as Textual has it
        return nothing
