"""One text, all of it, on a screen of its own."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.events import DescendantFocus
from textual.screen import ModalScreen, ScreenResultType
from textual.widget import Widget

from agent_tui.model.inert import inert_line
from tui.live.find import FIND_BINDINGS, Find, FindBar, OneTranscript
from tui.live.key_hints import hints_of
from tui.screens.dialog import HELP_KEY
from widgets.status_line import Part, StatusLine
from widgets.terminal.frame_clock import FrameClock
from widgets.transcript.transcript import Transcript

MAX_TITLE_CHARACTERS = 300
WHOLE = "whole"  # the key of the one message


class WholeScreen(ModalScreen[ScreenResultType]):
    """Shows ``body``, which is Markdown, from its beginning."""

    CSS_PATH = "screen.tcss"
    AUTO_FOCUS = "Transcript"
    BINDINGS: ClassVar[list[BindingType]] = [HELP_KEY]
    _bottom: Widget  # its last row or rows

    def __init__(self, title: str, body: str, clock: FrameClock) -> None:
        super().__init__()
        self._title = title
        self._body = body
        self._transcript = Transcript(clock=clock)

    def compose(self) -> ComposeResult:
        top = StatusLine(id="top")
        top.show([inert_line(self._title, MAX_TITLE_CHARACTERS)])
        yield top
        yield self._transcript
        yield from self._below()
        yield self._bottom

    def _below(self) -> list[Widget]:
        """Return what is shown between the text and the last row."""
        return []

    @abstractmethod
    def _show_hints(self) -> None:
        """Show at the foot what the keys do."""

    def on_mount(self) -> None:
        """Show the beginning after the layout: before that, the first row is also the last."""
        self._show_hints()
        self.call_after_refresh(self._show)

    def _show(self) -> None:
        self._transcript.turn_opened(WHOLE)
        self._transcript.text_added(WHOLE, self._body)
        self._transcript.turn_closed(WHOLE)
        self._transcript.action_to_start()


class PagerScreen(WholeScreen[None]):
    """Shows one text that can be searched."""

    _bottom: StatusLine

    BINDINGS: ClassVar[list[BindingType]] = [
        *FIND_BINDINGS,
        Binding("escape,o", "back", "Back", id="pager.close"),
    ]

    def __init__(self, title: str, body: str, clock: FrameClock) -> None:
        super().__init__(title, body, clock)
        self._bottom = StatusLine(is_dim=True)
        self._find_bar = FindBar(OneTranscript(self._transcript))

    def _below(self) -> list[Widget]:
        return [self._find_bar]

    @on(FindBar.Changed)
    @on(DescendantFocus)
    def _show_hints(self) -> None:
        self._bottom.show(self._hints())

    def _hints(self) -> list[Part]:
        found = ("pane.find_next", "hint.next", 1), ("pane.find_previous", "hint.previous", 2)
        typed = (
            ("find.next", "hint.next", 1),
            ("find.previous", "hint.previous", 2),
            ("enter", "hint.keep", 1),
        )
        read = ("↑ ↓ page up page down", "hint.read", 3), ("pane.find", "hint.find", 1)
        close = ("pager.close", "hint.close", 0)
        looking = self._find_bar.looking
        if looking == "find":
            return hints_of(self, [*typed, close])
        if looking:
            return hints_of(self, [*found, close] if looking == "found" else [close])
        return hints_of(self, [*read, ("pane.copy_message", "hint.copy", 2), ("pager.close", "hint.back", 0)])

    def action_find(self, what: Find) -> None:
        self._find_bar.find(what)

    def on_transcript_found_changed(self, event: Transcript.FoundChanged) -> None:
        self._find_bar.take_found(event)

    def action_back(self) -> None:
        """Close the search, else the text."""
        if self._find_bar.asks:
            self._find_bar.close()
        else:
            self.dismiss()
