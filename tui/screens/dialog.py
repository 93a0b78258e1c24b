"""Dialogs name their current keys and close once. The plain question, and the one before quitting."""

from __future__ import annotations

from typing import ClassVar, Literal

from textual.app import ComposeResult
from textual.await_complete import AwaitComplete
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen, ScreenResultType
from textual.widget import Widget
from textual.widgets import Static

from tui.live.key_hints import Hints
from tui.screens.words import say

QuitAnswer = Literal["pause", "keep", "stay"]


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


class QuitScreen(Dialog[QuitAnswer]):
    """Asks: pause the room, keep it running, or stay."""

    CSS_PATH = "dialog.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("p,enter", "choose('pause')", "Pause and quit", id="quit.pause"),
        Binding("k", "choose('keep')", "Keep it running and quit", id="quit.keep"),
        Binding("escape,q,ctrl+q", "choose('stay')", "Stay", id="quit.stay", priority=True),
    ]

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield Static(say("quit.title"), classes="title", markup=False)
            for choice in ("pause", "keep", "stay"):
                yield Hints(say(f"quit.{choice}"), classes="")

    def action_choose(self, choice: QuitAnswer) -> None:
        self.dismiss(choice)
