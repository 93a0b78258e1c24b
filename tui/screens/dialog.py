"""Dialogs name their current keys and close once: a question, a new name, the question before quitting."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Final, Literal

from textual import on
from textual.app import App, ComposeResult
from textual.await_complete import AwaitComplete
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen, Screen, ScreenResultType
from textual.widget import Widget
from textual.widgets import Input, Static

from agent_tui.model.inert import inert_line
from tui.forms.fields import Line
from tui.live.key_hints import Hints
from tui.screens.words import say

QuitAnswer = Literal["pause", "keep", "stay"]
MAX_NAME_CHARACTERS: Final = 200
# Bindings of the app without priority do not work in a modal screen.
HELP_KEY: Final = Binding("question_mark", "app.help", "Show the keys", id="app.help", show=False)


def framed(title: str, *parts: Widget, hint: str, classes: str = "") -> Vertical:
    """Return the frame of a dialog: its title, its parts, and a line that names its keys."""
    return Vertical(
        Static(title, classes="title", markup=False), *parts, Hints(hint), classes=f"dialog wide {classes}"
    )


class Dialog(ModalScreen[ScreenResultType]):
    """Closes only itself: after the key that goes back an answer may still come, and Textual's ``dismiss``
    would then close another screen. One that is due while another is above closes as soon as that is gone.
    It has the key of the help, which does not work where it types a character.
    """

    BINDINGS: ClassVar[list[BindingType]] = [HELP_KEY]
    VERTICAL_BREAKPOINTS = [(0, "-tight"), (22, "-roomy")]  # noqa: RUF012 - as Textual wants it

    _due: tuple[ScreenResultType | None] | None = None  # the result that came while another was above

    def on_mount(self) -> None:
        """Show what the keys do."""
        for hints in self.query(Hints):
            hints.tell()

    def dismiss(self, result: ScreenResultType | None = None) -> AwaitComplete:
        """Close with ``result``, or as soon as no other screen is above; a question about this dialog goes
        away. Does nothing once it is closed.
        """
        for above in reversed(self.app.screen_stack):
            if isinstance(above, QuestionScreen) and above.about is self:
                above.dismiss(False)
        if self.is_active:
            return super().dismiss(result)
        if self in self.app.screen_stack:
            self._due = (result,)
        nothing: AwaitComplete = AwaitComplete.nothing()  # type: ignore[no-untyped-call]  # as Textual has it
        return nothing

    def on_screen_resume(self) -> None:
        """Close if that was due."""
        if self._due is not None:
            self.dismiss(*self._due)


class QuestionScreen(Dialog[bool]):
    """Closes with whether the answer was yes."""

    CSS_PATH = "room_dialogs.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter,y", "answer(True)", "Yes", id="question.yes"),
        Binding("escape,n", "answer(False)", "No", id="question.no", priority=True),
    ]

    def __init__(self, question: str, about: Screen[Any] | None = None) -> None:
        """``about`` is a dialog: when that closes by itself, the question goes away."""
        super().__init__()
        self.about = about
        self._question = question

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield Static(self._question, classes="title", markup=False)
            yield Hints(say("question.hint"))

    def action_answer(self, is_yes: bool) -> None:
        self.dismiss(is_yes)


def ask_first(
    app: App[Any], question: str, act: Callable[[], object], about: Screen[Any] | None = None
) -> None:
    """Ask a question, as ``QuestionScreen`` does, and call ``act`` if the answer is yes."""

    def answered(is_yes: bool | None) -> None:
        if is_yes:
            act()

    app.push_screen(QuestionScreen(question, about), answered)


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
