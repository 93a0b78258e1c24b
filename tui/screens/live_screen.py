"""What the screens of a room and of a chat have in common: they follow what goes on, and tell how it is."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import ClassVar, Final

from textual import work
from textual.binding import Binding, BindingType
from textual.reactive import Reactive
from textual.timer import Timer
from textual.widget import Widget

from agent_tui.model import events as ev
from agent_tui.model.errors import AgentTuiError
from tui.screens.find_bar import FindingScreen
from widgets.status_line import StatusLine
from widgets.terminal.frame_clock import FrameClock

LOOK_SECONDS: Final = 0.5  # how often rates, waiting times and countdowns are looked at while something runs
CALM_LOOK_SECONDS: Final = 1.0  # the same with reduced motion


class LiveScreen(FindingScreen[None]):
    """Everything shown comes from a state; the loop in ``_begin_to_follow`` is the way in."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("g", "go_to", "Go to a message by its number", id="pane.go_to"),
    ]
    # Textual's own repaints the whole screen at every change of focus: half a second of a slow line. Whoever
    # looks different with the focus repaints itself.
    focused: Reactive[Widget | None] = Reactive(None, repaint=False)

    def __init__(self, clock: FrameClock, *, ascii_only: bool) -> None:
        super().__init__()
        self.failure: AgentTuiError | None = None  # why nothing can be followed, for the exit code
        self.key_now: Callable[[str], str] = str  # what a default key is now; "" where it is none
        self._clock = clock
        self._ascii_only = ascii_only
        # Held, not looked for: the clock may tell them something while the screen is being taken down.
        self._top = StatusLine(id="top", ascii_only=ascii_only)
        self._bottom = StatusLine(id="bottom", ascii_only=ascii_only, is_dim=True)
        self._chrome = Chrome(self._show, lambda: self.is_attached)
        self._retry_at = 0.0
        self._looking: Timer | None = None

    def on_mount(self) -> None:
        """Show what is known, then follow."""
        seconds = CALM_LOOK_SECONDS if self._clock.is_calm else LOOK_SECONDS
        self._looking = self.set_interval(seconds, self._show_soon, pause=True)
        self._show()
        self._begin_to_follow()

    # --- what comes in ---------------------------------------------------------------------------------

    @abstractmethod
    async def _events(self) -> AsyncGenerator[ev.Event, None]:
        """Return what goes on."""

    @abstractmethod
    async def _apply(self, event: ev.Event) -> None:
        """Take an event into the state and onto the screen."""

    @work(group="follow", exclusive=True)
    async def _begin_to_follow(self) -> None:
        try:
            async with aclosing(await self._events()) as events:
                async for event in events:
                    if not self.is_attached:  # it is being left: its parts may be gone
                        return
                    await self._apply(event)
        except AgentTuiError as error:
            self.failure = error
            await self._apply(ev.LinkChanged("refused", str(error)))

    def _note(self, event: ev.Event) -> None:
        """Keep what only the screen knows: moments, places."""
        if isinstance(event, ev.LinkChanged) and event.status == "waiting":
            self._retry_at = time.monotonic() + event.delay

    @property
    def _seconds_left(self) -> int:
        """How long it is until the next try."""
        return round(max(0.0, self._retry_at - time.monotonic()))

    # --- what the lines say ----------------------------------------------------------------------------

    @abstractmethod
    def _show_lines(self) -> None:
        """Say in headers and lines what is going on now."""

    @property
    @abstractmethod
    def _is_counting(self) -> bool:
        """Whether what the lines say changes with time alone."""

    def _show_soon(self) -> None:
        """Have the lines told with the next frame, however many events come until then."""
        self._clock.mark(self._chrome)

    def _show(self) -> None:
        if self._looking is None or not self.is_attached:
            return
        self._show_lines()
        if self._is_counting:
            self._looking.resume()
        else:
            self._looking.pause()

    def on_descendant_focus(self) -> None:
        """Say which keys make sense there."""
        self._show_soon()

    def on_transcript_follow_changed(self) -> None:
        """Say how to get back to the end."""
        self._show_soon()

    def on_transcript_selection_changed(self) -> None:
        """Say what can be done with what is selected."""
        self._show_soon()

    def on_find_bar_changed(self) -> None:
        """Say which keys make sense now."""
        self._show_soon()

    def action_go_to(self) -> None:
        """Ask for the number of a message."""
        self._find_bar.ask_for_a_number()


class Chrome:
    """Lets the frame clock call ``show``, as long as the screen ``is_open``."""

    def __init__(self, show: Callable[[], None], is_open: Callable[[], bool]) -> None:
        self._show = show
        self._is_open = is_open

    @property
    def is_shown(self) -> bool:
        return self._is_open()

    def draw(self) -> bool:
        self._show()
        return False
