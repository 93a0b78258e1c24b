"""A room, live: one pane for each agent, one key to pause and resume it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import replace
from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.events import Resize
from textual.reactive import Reactive
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Static

from agent_tui import events as ev
from agent_tui.errors import AgentTuiError
from tui.link import RoomLink
from tui.screens import room_texts as texts
from tui.screens import signs
from tui.screens.chat_ask import AskBar
from tui.screens.find_bar import FIND_BINDINGS, FindBar
from tui.screens.quit import QuitScreen
from tui.screens.room_acts import RoomActs
from tui.screens.room_composer import RoomComposer
from tui.screens.room_panes import PANE_BINDINGS, RoomPanes
from tui.screens.room_texts import labels_of
from tui.screens.words import say
from widgets.frame_clock import FrameClock
from widgets.status_line import Part, StatusLine
from widgets.transcript import Transcript

LOOK_SECONDS = 0.5  # how often rates, waiting times and countdowns are looked at while something runs
CALM_LOOK_SECONDS = 1.0  # the same with reduced motion


class RoomScreen(RoomActs):
    """One room. Everything shown comes from ``RoomState``; the loop in ``_follow`` is the only way in."""

    CSS_PATH = "room.tcss"
    AUTO_FOCUS = ""  # the panes take the focus when they come; a closed bar must not
    # Textual's own repaints the whole screen at every change of focus: half a second of a slow line. Whoever
    # looks different with the focus repaints itself.
    focused: Reactive[Widget | None] = Reactive(None, repaint=False)
    BINDINGS: ClassVar[list[BindingType]] = [
        *PANE_BINDINGS,
        *FIND_BINDINGS,
        Binding("escape", "back", "Back, at last to the rooms", id="room.back"),
    ]

    def __init__(
        self, link: RoomLink, room_id: str, clock: FrameClock, *, start: bool, ascii_only: bool
    ) -> None:
        super().__init__(link, room_id)
        self.failure: AgentTuiError | None = None  # why the room cannot be followed, for the exit code
        self._clock = clock
        self._ascii_only = ascii_only
        self._start = start
        self._retry_at = 0.0
        self._panes = RoomPanes(self.state, clock, ascii_only=ascii_only, id="panes", classes="-hidden")
        # Held, not looked for: the clock may tell them something while the screen is being taken down.
        self._top = StatusLine(id="top", ascii_only=ascii_only)
        self._bottom = StatusLine(id="bottom", ascii_only=ascii_only, is_dim=True)
        self._bar = FindBar(self._panes, ascii_only=ascii_only)
        self._bar_of_asks = AskBar(ascii_only=ascii_only)
        self._composer = RoomComposer(room_id, ascii_only=ascii_only)
        self._begin_acts()
        self._fitting = asyncio.Lock()  # events come from the room, and from answers to what was asked
        self._chrome = _Chrome(self._show)
        self._looking: Timer | None = None

    def compose(self) -> ComposeResult:
        yield self._top
        yield Static(say("room.loading"), id="loading", markup=False)
        yield self._panes
        yield self._bar_of_asks
        yield self._composer
        yield self._bar
        yield self._bottom

    def on_mount(self) -> None:
        """Show what is known, then follow the room."""
        seconds = CALM_LOOK_SECONDS if self._clock.is_calm else LOOK_SECONDS
        self._looking = self.set_interval(seconds, self._show_soon, pause=True)
        self._show_lines()
        self._follow()

    # --- the only loop ---------------------------------------------------------------------------------

    @work(group="follow", exclusive=True)
    async def _follow(self) -> None:
        try:
            async with aclosing(self._link.follow(self.state.id)) as events:
                async for event in events:
                    await self._apply(event)
        except AgentTuiError as error:
            self.failure = error
            await self._apply(ev.LinkChanged("refused", str(error)))

    async def _apply(self, event: ev.Event) -> None:
        self.state.apply(event)
        if isinstance(event, ev.TextAdded | ev.StepAdded) and self._panes.fits:
            self._panes.take()  # the hot path: no header, no line, only the words
            return
        self._note(event)
        if not self._panes.fits:
            async with self._fitting:
                await self._panes.fit()
            self.query_one("#loading").set_class(bool(self.state.agents), "-hidden")
            self._panes.set_class(not self.state.agents, "-hidden")
        self._panes.take()
        self._show_ask()
        self._show_soon()
        if isinstance(self.app.screen, QuitScreen) and self.may_leave:
            self.app.exit(0)  # the answer is no longer needed: nobody speaks

    def _note(self, event: ev.Event) -> None:
        """Keep what only this screen knows: moments, and what it asked for."""
        match event:
            case ev.RunStarted():
                self._asked = texts.Asked()
            case ev.RunPaused() | ev.RunCompleted() | ev.RunFailed():
                self._asked = texts.Asked(by_us=self._asked.by_us)
                newest = next(reversed(self.state.turns.values()), None)
                if isinstance(event, ev.RunCompleted) and newest is not None and newest.role == "user":
                    self.notify(say("composer.unanswered"), markup=False)
            case ev.LinkChanged(status="waiting", delay=delay):
                self._retry_at = time.monotonic() + delay
            case ev.RoomLoaded():
                self._asked = texts.Asked(by_us=self._asked.by_us)
                self._look_what_is_missing()
                if self._start:
                    self._start = False
                    self.action_pause_or_resume()
            case _:
                pass

    # --- what the lines and headers say ------------------------------------------------------------------

    def _show_soon(self) -> None:
        """Have headers and lines told with the next frame, however many events come until then."""
        self._clock.mark(self._chrome)

    def _show(self) -> None:
        self._panes.show_headers()
        self._show_lines()
        if self._looking is not None:
            waiting = self.state.link.status == "waiting"
            if waiting or self.state.speaking:
                self._looking.resume()
            else:
                self._looking.pause()

    def on_room_panes_changed(self) -> None:
        """Say what is shown now, and which keys make sense; go on looking there."""
        self._bar.search_there()
        self._show_soon()

    def _show_lines(self) -> None:
        state = self.state
        left = round(max(0.0, self._retry_at - time.monotonic()))
        shown = self._shown
        waits = state.asking and state.link.status == "live" and not self._asked.intent
        progress = texts.progress(state) if state.loaded or state.round else ""
        self._top.show(
            [texts.title(state)],
            [
                Part(text, rank)
                for rank, text in enumerate((texts.arrangement(shown, self.key_now), progress))
                if text
            ],
            [
                f"{signs.PAUSED} {say('chat.asks')}"
                if waits
                else texts.status(state, self._asked, left, self.key_now)
            ],
        )
        facts = [
            Part(texts.oddities(state), 1),
            Part(texts.models(state), 12),
            Part(texts.used(state, self._panes.tokens), 4),
            Part(texts.connected(state), 8),
        ]
        asks = [texts.Hint("a", say("hint.answer"))] if state.asking and not shown.is_writing else []
        self._bottom.show(
            [
                Part(hint.text, hint.rank, key)
                for hint in (*asks, *texts.hints(state, shown))
                if (key := self.key_now(hint.key)) or not hint.key
            ],
            right=[part for part in facts if part.text],
        )
        labels = labels_of(state)
        names = {agent_id: label for label, agent_id in labels.items()}
        self._composer.show_queue(state.queue, self.key_now("u"), names)
        self._composer.show_names(list(labels))

    @property
    def _shown(self) -> texts.Shown:
        agent = self.focused_agent
        return replace(
            self._panes.shown,
            is_finding=self._bar.is_finding,
            is_writing=self._composer.has_line_focus,
            when=self._composer.when,
            can=frozenset(act for act in ("say", "stop", "skip", "retry") if not self.why_not(act)),
            is_skipped=agent is not None and agent.skip_next and agent.open_turn is None,
        )

    def on_descendant_focus(self) -> None:
        """Say which keys make sense there."""
        self._show_soon()

    def on_composer_when_toggled(self) -> None:
        """Say how to get back."""
        self._show_soon()

    def on_resize(self, event: Resize) -> None:
        """Leave the panes what they need."""
        self._composer.fit(event.size.height)

    # --- keys ------------------------------------------------------------------------------------------

    def action_pane(self, step: int) -> None:
        """Move to another pane; behind the last one is where it is written to the room."""
        if self.focused is self._bar_of_asks:
            self._panes.focus_current()
        elif self._composer.has_line_focus:
            if step < 0 or not self._composer.line.complete():
                self._panes.step_in(step)
        elif self._panes.is_at_end(step) and not self._bar.asks:
            self._composer.open()
        else:
            self._panes.step(step)

    def action_agent(self, number: int) -> None:
        """Go to the pane of one agent."""
        self._panes.go_to_agent(number)

    def action_zoom(self) -> None:
        """Show the focused pane alone, or what was shown before."""
        self._panes.zoom()

    async def action_timeline(self) -> None:
        """Show all turns in order, or the panes again."""
        await self._panes.toggle_timeline()

    async def action_back(self) -> None:
        """Leave what was opened last: the composer, the selection, the bar, the timeline or a zoomed pane,
        the room.
        """
        if self._composer.has_line_focus or self.focused is self._bar_of_asks:
            self._panes.focus_current()
        elif self._panes.active is not None and self._panes.active.has_selection:
            self._panes.active.clear_selection()
        elif self._bar.asks:
            self._bar.close()
        elif not self._panes.leave():
            await self.run_action("app.leave_room")

    def action_find(self) -> None:
        """Ask what to find in the transcript that has the focus."""
        self._bar.ask_what_to_find()

    def action_find_step(self, step: int) -> None:
        """Go to the next match, or to the one before."""
        if not self._bar.step(step):
            self.notify(say("find.nothing_asked"), markup=False)

    def action_go_to(self) -> None:
        """Ask for the number of a message."""
        self._bar.ask_for_a_number()

    def on_transcript_found_changed(self, event: Transcript.FoundChanged) -> None:
        """Say how many there are."""
        self._bar.take_found(event)

    def on_followed_transcript_follow_changed(self) -> None:
        """Say how to get back to the end."""
        self._show_soon()

    def on_transcript_selection_changed(self) -> None:
        """Say what can be done with what is selected."""
        self._show_soon()

    def on_find_bar_changed(self) -> None:
        """Say which keys make sense now."""
        self._show_soon()


class _Chrome:
    """Lets the frame clock call ``show``."""

    is_shown = True

    def __init__(self, show: Callable[[], None]) -> None:
        self._show = show

    def draw(self) -> bool:
        self._show()
        return False
