"""A list of what waits to be said or asked: it is read, changed and taken back there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from textual.app import ComposeResult
from textual.content import Content
from textual.widget import Widget
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from agent_tui.model.inert import inert_line
from tui.forms.fields import VimList, wrong
from tui.live.key_hints import Hints
from tui.screens.words import say
from widgets.composer import Composer

LOOK_SECONDS: Final = 0.5  # how often it is looked at what waits: it is taken away meanwhile
SHOWN_CHARACTERS: Final = 200
MAX_PROBLEM_CHARACTERS: Final = 300


class Item(NamedTuple):
    """A waiting message: its id, its words, and its row."""

    id: str
    text: str
    shown: str


class WaitingList(Widget):
    """Lists waiting messages, the next one first, with a line to edit them in."""

    DEFAULT_CSS = "WaitingList { height: auto; width: 1fr; layout: vertical; }"

    def __init__(
        self, items: Callable[[], list[Item]], keep: Callable[[str, str], object], hint: str
    ) -> None:
        """``keep`` changes the words of an item, then ends editing; ``hint`` names the keys of the list."""
        super().__init__()
        self.hint = hint
        self._items = items
        self._keep = keep
        self._list = VimList(markup=False, compact=True)
        self._line = Composer(id="queue-line")
        self._error = Static("", classes="error", markup=False)
        self._edited = ""  # id of what is being changed
        self._listed: Sequence[Item] | None = None

    def compose(self) -> ComposeResult:
        yield self._list
        yield self._line
        yield self._error

    def on_mount(self) -> None:
        self.complain("")
        self.look()
        self.set_interval(LOOK_SECONDS, self.look)

    # --- what is listed --------------------------------------------------------------------------------

    def look(self) -> None:
        """Update the list; keys act on the same item as before."""
        items = self._items()
        if items == self._listed:
            return
        listed = self._list
        at, former = listed.highlighted or 0, self._listed or ()
        if at < len(former):
            at = next((place for place, item in enumerate(items) if item.id == former[at].id), at)
        self._listed = items
        listed.set_options(Option(Content(inert_line(item.shown, SHOWN_CHARACTERS))) for item in items)
        if not items:
            listed.add_option(Option(Content(say("queue.none")), disabled=True))
        listed.highlighted = min(at, len(items) - 1) if items else None
        if self._edited and all(item.id != self._edited for item in items):
            self.end_editing(say("queue.said"))
        self._show_keys()

    @property
    def chosen(self) -> str:
        """The id of the highlighted item; "" for none, and while one is being edited."""
        at = self._list.highlighted
        items = self._listed or ()
        return items[at].id if at is not None and at < len(items) and not self._edited else ""

    # --- changing --------------------------------------------------------------------------------------

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.edit()

    def edit(self) -> None:
        text = next((item.text for item in self._listed or () if item.id == self.chosen), None)
        if text is not None:
            self._edited = self.chosen
            self._line.put(text)
            self._line.add_class("-open")
            self._line.focus()
            self._show_keys()

    def on_composer_submitted(self, event: Composer.Submitted) -> None:
        event.stop()
        self._keep(self._edited, event.text.strip())

    def end_editing(self, note: str = "") -> None:
        """Close the line, and say ``note``."""
        self._edited = ""
        self._line.remove_class("-open")
        self.complain(note)
        self._list.focus()
        self._show_keys()

    def _show_keys(self) -> None:
        text = say("queue.hint.editing") if self._edited else self.hint
        self.screen.query_one(Hints).tell(text if self._listed else say("queue.hint.none"))

    def complain(self, problem: str) -> None:
        """Say what went wrong; "" for nothing."""
        self._error.update(wrong(problem, MAX_PROBLEM_CHARACTERS))
        self._error.display = bool(problem)

    def leave(self) -> None:
        """Close the line, else the dialog."""
        if self._edited:
            self.end_editing()
        else:
            self.screen.dismiss()
