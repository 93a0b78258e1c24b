"""A room, live: one pane for each agent, one key to pause and resume it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import replace
from functools import partial
from typing import ClassVar, Final

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.events import Resize
from textual.widgets import Static

from agent_tui.model import events as ev
from tui.link import RoomLink
from tui.screens import room_texts as texts
from tui.screens.find_bar import FindBar
from tui.screens.form_fields import own
from tui.screens.live_texts import connected, oddities
from tui.screens.quit import QuitScreen
from tui.screens.room_acts import RoomActs
from tui.screens.room_composer import RoomComposer
from tui.screens.room_panes import PANE_BINDINGS, RoomPanes
from tui.screens.room_texts import labels_of
from tui.screens.words import say
from widgets.status_line import Part
from widgets.terminal.frame_clock import FrameClock

MOST_LOOKS: Final = 15  # until a message that was found is in sight
LOOK_SECONDS: Final = 1 / 30  # between two of them


class RoomScreen(RoomActs):
    """One room. What is shown comes in by the loop of ``LiveScreen``, from servers that show a room only
    while they run it by the one in ``RoomRunning``.
    """

    CSS_PATH = "room.tcss"
    AUTO_FOCUS = ""  # the panes take the focus when they come; a closed bar must not
    BINDINGS: ClassVar[list[BindingType]] = [
        *PANE_BINDINGS,
        Binding("escape", "back", "Back, at last to the rooms", id="room.back"),
    ]

    def __init__(
        self, link: RoomLink, room_id: str, clock: FrameClock, *, start: bool, ascii_only: bool
    ) -> None:
        super().__init__(link, room_id, clock, ascii_only=ascii_only)
        self._start = start
        self._go_to = ""  # id of the message to show once the room is loaded
        self._panes = RoomPanes(self.state, clock, ascii_only=ascii_only, id="panes", classes="-hidden")
        self._place = Static(own(say("room.loading"), ascii_only=ascii_only), id="loading", markup=False)
        self._find_bar = FindBar(self._panes, ascii_only=ascii_only)
        self._composer = RoomComposer(room_id, ascii_only=ascii_only)
        self._fitting = asyncio.Lock()  # events come from the room, and from answers to what was asked

    def compose(self) -> ComposeResult:
        yield self._top
        yield self._place
        yield self._panes
        yield self._approvals
        yield self._composer
        yield self._find_bar
        yield self._bottom

    # --- what comes in ---------------------------------------------------------------------------------

    async def _events(self) -> AsyncGenerator[ev.Event, None]:
        return await self._link.follow(self.state.room.id)

    async def _apply(self, event: ev.Event) -> None:
        self.state.apply(event)
        if isinstance(event, ev.TextAdded | ev.StepAdded) and self._panes.fits:
            self._panes.take()  # the hot path: no header, no line, only the words
            return
        self._note(event)
        if not self._panes.fits:
            async with self._fitting:
                await self._panes.fit()
            self._place.set_class(bool(self.state.agents), "-hidden")
            self._panes.set_class(not self.state.agents, "-hidden")
        self._panes.take()
        if self._go_to and self._panes.fits:
            self._go_there(self._go_to)
        self._approvals.ask()
        self._show_soon()
        if isinstance(self.app.screen, QuitScreen) and self.may_leave:
            self.app.exit(0)  # the answer is no longer needed: nobody speaks

    def show_message(self, message_id: str) -> None:
        """Go to a message once the room is loaded; "" stays at its end."""
        self._go_to = message_id

    def _go_there(self, message_id: str, looks: int = MOST_LOOKS) -> None:
        """Show a message, and look again whether it is in sight: its pane may still be laid out."""
        turn = self.state.turn_of(message_id)
        if turn is None:
            return
        self._go_to = ""
        if not self._panes.go_to_turn(turn) and looks:
            self.set_timer(LOOK_SECONDS, partial(self._go_there, message_id, looks - 1))

    def _note(self, event: ev.Event) -> None:
        super()._note(event)
        match event:
            case ev.RunStarted():
                self._asked = texts.Asked()
            case ev.RunPaused() | ev.RunCompleted() | ev.RunFailed():
                self._asked = texts.Asked(by_us=self._asked.by_us)
                newest = next(reversed(self.state.turns.values()), None)
                if isinstance(event, ev.RunCompleted) and newest is not None and newest.role == "user":
                    self.notify(say("composer.unanswered"), markup=False)
            case ev.RoomLoaded():
                self._asked = texts.Asked(by_us=self._asked.by_us)
                self._look_what_is_missing()
                if self._start:
                    self._start = False
                    self.action_pause_or_resume()
            case _:
                pass

    # --- what the lines and headers say ------------------------------------------------------------------

    @property
    def _is_counting(self) -> bool:
        return (
            self.state.link.status == "waiting"
            or bool(self.state.members.speaking)
            or self._approvals.is_focus_due
        )

    def on_room_panes_changed(self) -> None:
        """Say what is shown now, and which keys make sense; go on looking there."""
        self._find_bar.search_there()
        self._show_soon()

    def _show_lines(self) -> None:
        self._panes.show_headers()
        state, shown = self.state, self._shown
        self._top.show(
            [texts.title(state)],
            [
                Part(text, rank)
                for rank, text in enumerate((texts.arrangement(shown, self.key_now), *texts.progress(state)))
                if text
            ],
            [texts.status(state, self._asked, self._seconds_left, self.key_now)],
        )
        facts = [
            Part(oddities(state.unknown_count), 1),
            Part(texts.models(state), 12),
            Part(texts.used(state, self._panes.tokens), 4),
            Part(connected(state.link), 8),
        ]
        self._approvals.show_keys(self.key_now("tab") if shown.is_writing else self.key_now("!"))
        self._approvals.ask_who_is_quiet()
        self._bottom.show(
            [
                Part(hint.text, hint.rank, key)
                for hint in texts.hints(state, shown)
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
            is_finding=self._find_bar.is_finding,
            is_writing=self._composer.has_line_focus,
            when=self._composer.when,
            can=frozenset(
                act for act in ("say", "stop", "skip", "retry", "continue") if not self.why_not(act)
            ),
            is_skipped=agent is not None and agent.skip_next and agent.open_turn is None,
        )

    def on_room_composer_when_changed(self) -> None:
        """Say how to get back."""
        self._show_soon()

    def on_resize(self, event: Resize) -> None:
        """Leave the panes what they need."""
        self._composer.fit(event.size.height)

    # --- keys ------------------------------------------------------------------------------------------

    def action_pane(self, step: int) -> None:
        """Move to another pane; behind the last one is where it is written to the room."""
        if self._approvals.has_bar_focus:
            self._panes.focus_current()
        elif self._composer.has_line_focus:
            if step > 0 and self._composer.line.complete():
                return
            if self._approvals.spot is not None:
                self._approvals.look()
            else:
                self._panes.step_in(step)
        elif self._panes.is_at_end(step) and not self._find_bar.asks:
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
        if self._composer.has_line_focus or self._approvals.has_bar_focus:
            self._panes.focus_current()
        elif self._panes.active is not None and self._panes.active.reader.has_selection:
            self._panes.active.reader.clear_selection()
        elif self._find_bar.asks:
            self._find_bar.close()
        elif not self._panes.leave():
            await self.run_action("app.leave_room")
