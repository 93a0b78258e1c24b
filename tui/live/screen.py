"""What the screens of a room, a chat and a voice room have in common: their parts, and the keys of these."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import ClassVar, Final

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.events import Click, DescendantFocus, Key, Resize
from textual.reactive import Reactive
from textual.screen import Screen
from textual.timer import Timer
from textual.widget import Widget

from tui.keys.first_letter import is_text
from tui.live.approvals import Approvals
from tui.live.board import Lines
from tui.live.composer import Writing
from tui.live.find import FIND_BINDINGS, Find, FindBar
from tui.live.host import Host
from tui.screens.words import say
from widgets.composer import Composer
from widgets.terminal.frame_clock import FrameClock
from widgets.transcript.transcript import Transcript

LOOK_SECONDS: Final = 0.5  # how often rates, waiting times and countdowns are looked at while something runs
CALM_LOOK_SECONDS: Final = 1.0  # the same with reduced motion
GO_TO_BINDING: Final = Binding("colon", "find('number')", "Go to a message by number", id="pane.go_to")
ELSEWHERE_BINDINGS: Final[list[BindingType]] = [
    Binding("f2", "app.elsewhere('home')", "Home screen", id="live.home"),
    Binding("f9", "app.elsewhere('new_chat')", "New chat", id="live.new_chat"),
    Binding("f12", "app.elsewhere('new_room')", "New room", id="live.new_room"),
]
"""From a room or a chat to somewhere else."""


class LiveScreen(Screen[None]):
    """Has a line to write in, approvals and a find bar; ``_show_lines`` fills its lines."""

    BINDINGS: ClassVar[list[BindingType]] = [*FIND_BINDINGS]
    # Textual's own repaints the whole screen at every change of focus: half a second of a slow line. Whoever
    # looks different with the focus repaints itself.
    focused: Reactive[Widget | None] = Reactive(None, repaint=False)
    _begin: Callable[[], None]  # to follow what happens
    _words: Sequence[Widget]  # what is between the line above and the composer
    _approvals: Approvals
    composer: Writing
    _find_bar: FindBar

    def __init__(self, clock: FrameClock) -> None:
        super().__init__()
        self.key_now: Callable[[str], str] = str  # what a default key is now; "" where it is none
        self.now: Callable[[], float] = time.monotonic
        self._host = Host(self, clock, self._show)
        self._lines = Lines(lambda key: self.key_now(key), lambda: self.now())
        self._looking: Timer | None = None

    def compose(self) -> ComposeResult:
        yield self._lines.top
        yield from self._words
        yield self._approvals
        yield self.composer
        yield self._find_bar
        yield self._lines.bottom

    def on_mount(self) -> None:
        seconds = CALM_LOOK_SECONDS if self._host.clock.is_calm else LOOK_SECONDS
        self._looking = self.set_interval(seconds, self._show_soon, pause=True)
        self._show()
        self._begin()

    # --- what the lines say ----------------------------------------------------------------------------

    @abstractmethod
    def _show_lines(self) -> bool:
        """Update headers and lines; return whether they change with time alone."""

    @on(DescendantFocus)
    @on(Transcript.FollowChanged)
    @on(Transcript.SelectionChanged)
    @on(FindBar.Changed)
    @on(Composer.ChoicesChanged)
    def _show_soon(self) -> None:
        self._host.show_soon()

    def _show(self) -> None:
        if self._looking is None or not self._host.is_shown:
            return
        is_counting = self._show_lines()
        self._approvals.show_keys(self.key_now("tab" if self.composer.has_line_focus else "!"))
        self._approvals.ask_who_is_quiet()
        if is_counting or self._approvals.is_focus_due:
            self._looking.resume()
        else:
            self._looking.pause()

    def on_resize(self, event: Resize) -> None:
        self.composer.fit(event.size.height)

    def action_compose(self) -> None:
        self.composer.open()

    async def on_key(self, event: Key) -> None:
        """Write a letter that is not a key into the line, while the words are read."""
        is_reading = self.focused is None or isinstance(self.focused, Transcript)
        if is_reading and is_text(self, event):
            event.prevent_default().stop()
            self.composer.write(event.character or "")

    # --- tools that ask --------------------------------------------------------------------------------

    def on_transcript_resized(self, event: Transcript.Resized) -> None:
        self._approvals.keep_readable(event.transcript)

    def on_screen_resume(self) -> None:
        """A dialog was closed: a key that is still down was meant for it."""
        self._approvals.uncovered()

    def get_focusable_widget_at(self, x: int, y: int) -> Widget | None:
        """Return what a click there focuses; None on the keys of a card, which work where the focus is."""
        return None if self._approvals.act_at(x, y) else super().get_focusable_widget_at(x, y)

    def on_click(self, event: Click) -> None:
        self._approvals.click(event)

    @property
    def is_asked(self) -> bool:
        """Whether a tool waits for an answer."""
        return self._approvals.spot is not None

    def action_answer_tool(self) -> None:
        if self.is_asked:
            self._approvals.look()
        else:
            self._host.tell(say("help.why.nothing_asks"))

    # --- finding ---------------------------------------------------------------------------------------

    def action_find(self, what: Find) -> None:
        """Ask what to find, or for the number of a message; or go to another match."""
        self._find_bar.find(what)

    def on_transcript_found_changed(self, event: Transcript.FoundChanged) -> None:
        self._find_bar.take_found(event)
