"""The question before leaving a room in which agents are still speaking."""

from __future__ import annotations

from typing import ClassVar, Literal

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import Static

from tui.live.key_hints import Hints
from tui.screens.dialog import Dialog
from tui.screens.words import say

Choice = Literal["pause", "keep", "stay"]


class QuitScreen(Dialog[Choice]):
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

    def action_choose(self, choice: Choice) -> None:
        self.dismiss(choice)
