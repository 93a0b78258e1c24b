"""A question with two answers."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import Static

from tui.live.key_hints import Hints
from tui.screens.dialog import Dialog
from tui.screens.words import say


class QuestionScreen(Dialog[bool]):
    """Closes with whether the answer was yes."""

    CSS_PATH = "room_dialogs.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter,y", "answer(True)", "Yes", id="question.yes"),
        Binding("escape,n", "answer(False)", "No", id="question.no", priority=True),
    ]

    def __init__(self, question: str) -> None:
        super().__init__()
        self._question = question

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield Static(self._question, classes="title", markup=False)
            yield Hints(say("question.hint"))

    def action_answer(self, is_yes: bool) -> None:
        self.dismiss(is_yes)
