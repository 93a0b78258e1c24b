"""The row that asks what to find, or which message to go to."""

from __future__ import annotations

from typing import ClassVar, Final, Literal, Protocol

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.events import Key
from textual.message import Message
from textual.widgets import Input, Static

from tui.forms.fields import Line
from tui.live.key_hints import PARTED
from tui.live.texts import Looking
from tui.screens.words import count, say, say_count
from widgets.status_line import Part, StatusLine
from widgets.transcript.finding import FindCount
from widgets.transcript.transcript import Transcript

Asks = Literal["", "find", "go_to"]
Find = Literal["words", "number", "next", "previous"]
MAX_ASKED_CHARACTERS = 200
FIND_BINDINGS: Final[list[BindingType]] = [
    Binding("slash", "find('words')", "Find in the transcript", id="pane.find"),
    Binding("n", "find('next')", "Next match", id="pane.find_next"),
    Binding("N", "find('previous')", "Previous match", id="pane.find_previous"),
]
"""The keys of a screen with the bar; its action calls ``FindBar.find``."""


class SearchTarget(Protocol):
    """What is searched: the panes of a room, or one transcript."""

    @property
    def active(self) -> Transcript | None: ...

    def focus_current(self) -> None:
        """Give the focus to what keys act on."""


class FindBar(Horizontal):
    """A line to type in, closed at first, with the result at its right."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down", "screen.find('next')", "Next match", id="find.next", show=False),
        Binding("up", "screen.find('previous')", "Previous match", id="find.previous", show=False),
    ]
    DEFAULT_CSS = """
    FindBar {
        height: 1;
        background: $background;
        &.-closed { display: none; }
        & > .find-bar--label { width: auto; padding: 0 1; }
        & > Input, & > Input:focus { width: 1fr; background: $background; background-tint: $background 0%; }
        & > StatusLine { width: 32; max-width: 50%; }
    }
    """

    class Changed(Message):
        """The search is another one, or over."""

    def __init__(self, panes: SearchTarget) -> None:
        super().__init__(classes="-closed")
        self._panes = panes
        self._label = Static("", classes="find-bar--label", markup=False)
        self._line = Line("", most=MAX_ASKED_CHARACTERS, id="find")
        self._told = StatusLine(is_dim=True)
        self.asks: Asks = ""  # while it is closed
        self._searched: Transcript | None = None

    def compose(self) -> ComposeResult:
        yield self._label
        yield self._line
        yield self._told

    # --- what is asked ---------------------------------------------------------------------------------

    @property
    def looking(self) -> Looking:
        is_typed = self.is_attached and self.screen.focused is self._line  # before the line itself is told
        if is_typed and self.asks != "find":
            return self.asks
        if self._searched is None:
            return "nothing" if is_typed else ""
        found = self._searched.reader.found
        if not found.total and found.is_complete:
            return "nothing"
        return "find" if is_typed else "found"

    def find(self, what: Find) -> None:
        """Ask what to find, or for the number of a message; or go to the next or previous match."""
        if what == "words":
            if self._panes.active is not None:
                self._open("find", say("find.label"))  # what was looked for before can be typed over
                self._search()
        elif what == "number":
            active = self._panes.active
            if active is not None and (number := active.reader.message_count):
                self._stop()
                self._line.value = ""
                self._open("go_to", say("go_to.label", count=count(number)))
                keys = [part.partition(" ") for part in say("go_to.keys").split(PARTED)]
                self._told.show(right=[Part(what, 0, key) for key, _, what in keys])
        elif self._searched is not None:
            self._searched.reader.find_step(1 if what == "next" else -1)
        elif not self.asks:
            self.notify(say("find.nothing_asked"), markup=False)

    def _open(self, asks: Asks, label: str) -> None:
        self.asks = asks
        self._label.update(label)
        self.set_class(False, "-closed")
        self.screen.set_focus(self._line, scroll_visible=False)
        self._line.action_select_all()

    def close(self) -> None:
        """Look for nothing any more."""
        if self.asks == "go_to":
            self._line.value = ""  # a number is not looked for next time
        self.asks = ""
        self._stop()
        self.set_class(True, "-closed")
        self._panes.focus_current()

    def on_key(self, event: Key) -> None:
        """Go to the first message or to the end while a number is asked for."""
        if self.asks == "go_to" and event.key in ("home", "end"):
            event.stop()
            self.enter(event.key)

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        if self.asks == "find":
            self._search()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Leave the matches marked, or go to the number."""
        event.stop()
        self.enter(event.value)

    def enter(self, text: str) -> None:
        """Take ``text`` as the answer: a needle, or a number, "home" or "end"."""
        if self.asks == "find":
            if self._searched is not None and not self._searched.reader.found.current:
                self._searched.reader.find_step(-1)  # all are above what is in sight: the nearest of them
            self._panes.focus_current()
            return
        wanted = text.strip()
        if wanted and not wanted.isdecimal() and wanted not in ("home", "end"):
            self.notify(say("go_to.no_number"), markup=False)
            return
        self.close()
        active = self._panes.active
        if active is not None and wanted == "home":
            active.action_to_start()
        elif active is not None and wanted == "end":
            active.action_follow()
        elif active is not None and wanted:
            number = int(wanted[:9])
            active.reader.go_to_message(number)
            if number > (last := active.reader.message_count):
                self.notify(say_count("go_to.beyond", last), markup=False)

    # --- what is found ---------------------------------------------------------------------------------

    def search_there(self) -> None:
        """Search the transcript that the reader went to."""
        if self.asks == "find" and self._searched is not self._panes.active:
            self._search()

    def take_found(self, event: Transcript.FoundChanged) -> None:
        """Show how many matches there are."""
        if event.transcript is not self._searched:
            return
        self._tell(found_text(self._line.value, event.found))
        self.post_message(self.Changed())

    def _search(self) -> None:
        """Search the visible transcript only."""
        needle, active = self._line.value, self._panes.active
        if not needle or self._searched is not active:
            self._stop()
        if needle and active is not None:
            self._searched = active
            active.reader.find(needle)
            self._tell(found_text(needle, active.reader.found))
        self.post_message(self.Changed())

    def _stop(self) -> None:
        if self._searched is not None:
            self._searched.reader.find("")
            self._searched = None
        self._tell("")
        self.post_message(self.Changed())

    def _tell(self, text: str) -> None:
        self._told.show(right=[text])


class OneTranscript:
    """The only transcript of a screen, to be searched."""

    def __init__(self, transcript: Transcript) -> None:
        self.active = transcript

    def focus_current(self) -> None:
        self.active.screen.set_focus(self.active, scroll_visible=False)


def found_text(needle: str, found: FindCount) -> str:
    """Return "3 of 12", or the state of the search."""
    if not needle:
        return ""
    if not found.total:
        return say("find.none" if found.is_complete else "find.searching")
    if not found.current:
        return say("find.count", count=count(found.total))
    text = say("find.of", current=count(found.current), total=count(found.total))
    return text if found.is_complete else f"{text} …"
