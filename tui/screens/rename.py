"""Asks for a new name."""

from __future__ import annotations

from typing import ClassVar, Final

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import Input, Static

from agent_tui.model.inert import inert_line
from tui.forms.fields import Line
from tui.live.key_hints import Hints
from tui.screens.dialog import Dialog
from tui.screens.words import say

MAX_NAME_CHARACTERS: Final = 200


class RenameScreen(Dialog[str]):
    """The result is the new name, "" to keep the old one."""

    CSS_PATH = ["dialog.tcss", "../lists/list.tcss"]  # noqa: RUF012 - as Textual wants it
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "back", "Keep the old name", id="rename.back"),
    ]

    def __init__(self, name: str, title: str) -> None:
        super().__init__()
        self._before = inert_line(name, MAX_NAME_CHARACTERS)
        self._title = title

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield Static(self._title, classes="title", markup=False)
            yield Line(self._before, most=MAX_NAME_CHARACTERS, id="new-name")
            yield Hints(say("rename.hint"))

    @on(Input.Submitted)
    def keep(self, event: Input.Submitted) -> None:
        """Close with the name, if it is another one."""
        event.stop()
        name = inert_line(event.value, MAX_NAME_CHARACTERS)
        self.dismiss("" if name == self._before else name)

    def action_back(self) -> None:
        self.dismiss("")
