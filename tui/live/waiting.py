"""A dialog with what waits to be said or asked: it is read, changed and taken back there."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Final, NamedTuple

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from agent_tui.model.inert import inert_line
from tui.forms.fields import Listed, wrong
from tui.live.key_hints import Hints
from tui.screens.dialog import Dialog
from tui.screens.words import say
from widgets.composer import Composer

LOOK_SECONDS: Final = 0.5  # how often it is looked at what waits: it is taken away meanwhile
SHOWN_CHARACTERS: Final = 200
MAX_PROBLEM_CHARACTERS: Final = 300


class Item(NamedTuple):
    """Something that waits: its id, its words, and how it is listed."""

    id: str
    text: str
    shown: str


class WaitingScreen(Dialog[None]):
    """Lists what waits, the next one first."""

    CSS_PATH = "../screens/room_dialogs.tcss"
    AUTO_FOCUS = "OptionList"
    WORDS: ClassVar[str]  # the beginning of the keys of its words

    def __init__(self, *, ascii_only: bool = False) -> None:
        super().__init__()
        self._ascii_only = ascii_only
        self._edited = ""  # id of what is being changed
        self._listed: Sequence[Item] | None = None

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog wide"):
            yield Static(say(f"{self.WORDS}.title"), classes="title", markup=False)
            yield Listed(markup=False, compact=True)
            yield Composer(id="queue-line")
            yield Static("", classes="error", markup=False)
            yield Hints(say(f"{self.WORDS}.hint"), ascii_only=self._ascii_only)

    def on_mount(self) -> None:
        """Show what waits, and go on showing it."""
        self._complain("")
        self._look()
        self.set_interval(LOOK_SECONDS, self._look)

    # --- what differs ----------------------------------------------------------------------------------

    @abstractmethod
    def _items(self) -> list[Item]:
        """Return what waits now."""

    @abstractmethod
    def _keep(self, item_id: str, text: str) -> None:
        """Let it have other words; ends in ``_end_editing``."""

    @abstractmethod
    def _drop(self, item_id: str) -> None:
        """Take it back."""

    # --- what is listed --------------------------------------------------------------------------------

    def _look(self) -> None:
        """List what waits, if that is something else than before; keys act on the same one as before."""
        items = self._items()
        if items == self._listed:
            return
        listed = self.query_one(OptionList)
        at, former = listed.highlighted or 0, self._listed or ()
        if at < len(former):
            at = next((place for place, item in enumerate(items) if item.id == former[at].id), at)
        self._listed = items
        listed.clear_options()
        listed.add_options(Option(Content(inert_line(item.shown, SHOWN_CHARACTERS))) for item in items)
        if not items:
            listed.add_option(Option(Content(say(f"{self.WORDS}.none")), disabled=True))
        listed.highlighted = min(at, len(items) - 1) if items else None
        if self._edited and all(item.id != self._edited for item in items):
            self._end_editing(say(f"{self.WORDS}.said"))

    @property
    def _chosen(self) -> str:
        """The id of what keys act on; "" for none, and while something is being changed."""
        at = self.query_one(OptionList).highlighted
        items = self._listed or ()
        return items[at].id if at is not None and at < len(items) and not self._edited else ""

    # --- changing --------------------------------------------------------------------------------------

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Change what was chosen."""
        event.stop()
        self.action_edit()

    def action_edit(self) -> None:
        """Change its words."""
        text = next((item.text for item in self._listed or () if item.id == self._chosen), None)
        if text is not None:
            self._edited = self._chosen
            line = self.query_one(Composer)
            line.put(text)
            line.add_class("-open")
            line.focus()

    def on_composer_submitted(self, event: Composer.Submitted) -> None:
        """Keep what was written."""
        event.stop()
        self._keep(self._edited, event.text.strip())

    def action_drop(self) -> None:
        """Take it back."""
        if chosen := self._chosen:
            self._drop(chosen)

    def _end_editing(self, note: str = "") -> None:
        self._edited = ""
        self.query_one(Composer).remove_class("-open")
        self._complain(note)
        self.query_one(OptionList).focus()

    def _complain(self, problem: str) -> None:
        error = self.query_one(".error", Static)
        error.update(wrong(problem, MAX_PROBLEM_CHARACTERS, ascii_only=self._ascii_only))
        error.display = bool(problem)

    def action_back(self) -> None:
        """Leave the line, at last the dialog."""
        if self._edited:
            self._end_editing()
        else:
            self.dismiss()
