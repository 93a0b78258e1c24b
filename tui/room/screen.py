"""A room, live: one pane for each agent, one key to pause and resume it."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from textual import on
from textual.binding import Binding, BindingType

from agent_tui.model import events as ev
from agent_tui.model.errors import AgentTuiError
from tui.link import RoomLink
from tui.live.approvals import Approvals
from tui.live.board import facts_of, status_part
from tui.live.find import FindBar
from tui.live.screen import ELSEWHERE_BINDINGS, GO_TO_BINDING, LiveScreen
from tui.room import texts
from tui.room.acts import Act, PaneActs, commands_of
from tui.room.composer import RoomComposer
from tui.room.open_room import OpenRoom
from tui.room.panes import PANE_BINDINGS, RoomPanes
from tui.room.running import RoomRun
from tui.room.speaking import Speaking
from tui.screens.dialog import QuitScreen
from tui.screens.words import say
from widgets.composer import Composer
from widgets.status_line import Part
from widgets.terminal.frame_clock import FrameClock


class RoomScreen(LiveScreen):
    """One room. What is shown comes in by the loop of ``Following``."""

    CSS_PATH = "../live/screen.tcss"
    AUTO_FOCUS = ""  # the panes take the focus when they come; a closed bar must not
    BINDINGS: ClassVar[list[BindingType]] = [
        *PANE_BINDINGS,
        Binding("p,space", "pause_or_resume", "Pause or resume the room, or add a round", id="room.pause"),
        Binding(
            "ctrl+s",
            "pause_or_resume",
            "Pause or resume the room, or add a round",
            id="room.pause.anywhere",
            priority=True,
        ),
        Binding("i,enter", "compose", "Write to the room", id="room.say"),
        Binding("u", "open('queue')", "Queued messages", id="room.queue"),
        Binding("e", "open('settings')", "Room settings", id="room.settings"),
        Binding("exclamation_mark", "answer_tool", "Go to what needs approval", id="room.answer"),
        Binding("s", "act('stop')", "Stop the agent", id="agent.stop"),
        Binding("x", "act('skip')", "Skip the turn, or don't", id="agent.skip"),
        Binding("r", "act('retry')", "Retry this turn", id="agent.retry"),
        Binding("c", "act('continue')", "Continue what was cut off", id="room.continue"),
        Binding("f", "fold", "Fold or unfold a step", id="room.fold"),
        Binding("F", "fold_all", "Fold or unfold all steps", id="room.fold_all"),
        Binding("D", "open('changes')", "Files that tools changed", id="room.changes"),
        Binding("w", "open('export')", "Save the room to a file", id="room.export"),
        Binding("escape", "back", "Leave the room", id="room.back"),
        GO_TO_BINDING,
        *ELSEWHERE_BINDINGS,
    ]
    composer: RoomComposer

    def __init__(self, link: RoomLink, room_id: str, clock: FrameClock, *, start: bool) -> None:
        super().__init__(clock)
        self._room = room = OpenRoom(link, room_id, self._host, on_event=self._take_event)
        self.state = room.state
        self._begin = room.begin
        self._panes = room.panes
        self.composer = room.composer
        self._runs = RoomRun(room, changed=self._show_status, start=start)
        self._acts = PaneActs(room)
        self.ask_to_leave, self.why_not = self._runs.ask_to_leave, self._acts.why_not
        self._speaking = Speaking(room, self._acts)
        self._commands = commands_of(room, self._runs, self._acts)
        self._approvals = Approvals(room, self._host)
        self._find_bar = FindBar(self._panes)
        self._words = room.place, self._panes

    # --- what is known of it ---------------------------------------------------------------------------

    @property
    def failure(self) -> AgentTuiError | None:
        return self._room.following.failure

    @property
    def may_leave(self) -> bool:
        return self._runs.may_leave

    @property
    def has_step(self) -> bool:
        return self._panes.active is not None and bool(self._panes.active.folds.step_at_reader())

    def show_message(self, message_id: str) -> None:
        self._room.go_to = message_id

    # --- what comes in ---------------------------------------------------------------------------------

    def _take_event(self, event: ev.Event) -> None:
        """Pass on an event that is more than words."""
        self._runs.note(event)
        self._acts.note(event)
        if isinstance(event, ev.RunCompleted) and not self.app.app_focus:
            self.app.bell()  # the person looks elsewhere, as far as the terminal tells
        self._approvals.ask()
        self._show_soon()
        if isinstance(self.app.screen, QuitScreen) and self.may_leave:
            self._host.leave_program()  # the answer is no longer needed: nobody speaks

    # --- what the lines and headers say ------------------------------------------------------------------

    def _show_lines(self) -> bool:
        self._panes.show_headers()
        state, shown = self.state, self._shown
        self._show_status()
        facts = facts_of(state, texts.usage_text(state, self._panes.tokens), Part(texts.models(state), 12))
        self._lines.show_below(texts.hints(state, shown), facts)
        key = "" if self._approvals.bar.is_written_past else self.key_now("u")
        self.composer.show(state, key)
        return state.link.status == "waiting" or bool(state.members.speaking)

    def _show_status(self) -> None:
        """Show above the panes what the room is doing, or was asked to do."""
        if not self.display:
            return
        seconds_left = self._room.following.seconds_left
        status = texts.status(self.state, self._runs.asked, seconds_left, self.key_now)
        parts = [Part(text, rank) for rank, text in enumerate(texts.progress(self.state), 1)]
        self._lines.top.show([texts.title(self.state)], parts, [status_part(status)])

    @property
    def _shown(self) -> texts.RoomShown:
        agent = self._room.focused_agent
        return replace(
            self._panes.shown,
            looking=self._find_bar.looking,
            is_writing=self.composer.has_line_focus,
            has_ask=self.is_asked,
            is_asking=self._approvals.has_bar_focus,
            is_choosing=self.composer.line.is_choosing,
            when=self.composer.when,
            can=frozenset(
                act for act in ("say", "stop", "skip", "retry", "continue") if not self.why_not(act)
            ),
            is_skipped=agent is not None and agent.skip_next and agent.open_turn is None,
        )

    @on(RoomPanes.Changed)
    @on(RoomComposer.WhenChanged)
    def _look_there(self) -> None:
        """Show which keys work there; repeat the search there."""
        self._find_bar.search_there()
        self._show_soon()

    # --- running, speaking, agents -----------------------------------------------------------------------

    def action_pause_or_resume(self) -> None:
        self._runs.pause_or_resume()

    def action_act(self, act: Act) -> None:
        """Act on an agent; after a lost connection ``continue`` continues the run, not a turn."""
        if act == "continue" and self.state.link.status == "lost":
            self._runs.begin_here()
        else:
            self._acts.act(act)

    def on_composer_submitted(self, event: Composer.Submitted) -> None:
        event.stop()
        if not self._commands.run(event.text):
            self._speaking.submit(event.text)

    def action_open(self, what: str) -> None:
        """Show the queued messages (queue), settings or changes, or save the room to a file (export)."""
        if what == "export":
            self._commands.run("/export")
        else:
            self._acts.open(what)

    # --- panes -------------------------------------------------------------------------------------------

    def action_fold(self) -> None:
        if self._panes.active is None or not self._panes.active.folds.toggle():
            self._host.tell(say("help.why.no_step"))

    def action_fold_all(self) -> None:
        if self._panes.active is not None:
            self._panes.active.folds.fold_all()

    def action_pane(self, step: int) -> None:
        """Move to another pane, after the last one to the composer."""
        if self._approvals.has_bar_focus:
            self._panes.focus_current()
        elif self.composer.has_line_focus:
            if step > 0 and self.composer.line.choices.is_open:
                self.composer.line.action_take_choice()
            elif self.is_asked:
                self._approvals.look()
            else:
                self._panes.step_in(step)
        elif self._panes.is_at_end(step) and not self._find_bar.asks:
            self.composer.open()
        else:
            self._panes.step(step)

    def action_agent(self, number: int) -> None:
        self._panes.go_to_agent(number)

    def action_zoom(self) -> None:
        self._panes.zoom()

    async def action_timeline(self) -> None:
        await self._panes.toggle_timeline()

    async def action_back(self) -> None:
        """Leave what is open: composer, selection, find bar, other view, zoomed pane, then the room."""
        if self.composer.has_line_focus or self._approvals.has_bar_focus:
            self._panes.focus_current()
        elif self._panes.active is not None and self._panes.active.reader.has_selection:
            self._panes.active.reader.clear_selection()
        elif self._find_bar.asks:
            self._find_bar.close()
        elif not self._panes.leave():
            await self.run_action("app.leave_room")
