"""A room, live: one pane for each agent, one key to pause and resume it."""

from __future__ import annotations

import time
from contextlib import aclosing
from typing import TYPE_CHECKING, ClassVar, Literal

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.events import Resize
from textual.screen import Screen
from textual.timer import Timer
from textual.widgets import Static

from agent_tui import events as ev
from agent_tui.errors import AgentTuiError, NotOffered, StreamLost
from agent_tui.state.room import RoomState
from tui.link import RoomLink
from tui.screens import room_texts as texts
from tui.screens.pane_feed import PaneFeed
from tui.screens.pane_grid import Layout, layout
from tui.screens.quit import Choice, QuitScreen
from tui.screens.speed import Speed
from tui.screens.words import say
from widgets.agent_pane import AgentPane
from widgets.frame_clock import FrameClock
from widgets.status_line import Part, StatusLine

if TYPE_CHECKING:
    from agent_tui.clients.rooms import RoomsClient

LOOK_SECONDS = 0.5  # how often rates, waiting times and countdowns are looked at while something runs
ASK_AGAIN_SECONDS = 2.0  # a second key press within this is the same wish


class RoomScreen(Screen[None]):
    """One room. Everything shown comes from ``RoomState``; the loop in ``_follow`` is the only way in."""

    CSS_PATH = "room.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("p,space", "pause_or_resume", "Pause or resume the room", id="room.pause"),
        Binding(
            "ctrl+s", "pause_or_resume", "Pause or resume the room", id="room.pause.anywhere", priority=True
        ),
        Binding("r", "go_on", "Continue after an interruption", id="room.continue"),
        Binding("tab,right", "pane(1)", "Next pane", id="pane.next", priority=True),
        Binding("shift+tab,left", "pane(-1)", "Previous pane", id="pane.previous", priority=True),
        Binding("escape", "app.leave_room", "Back to the rooms", id="room.back"),
    ]

    def __init__(
        self, link: RoomLink, room_id: str, clock: FrameClock, *, start: bool, ascii_only: bool
    ) -> None:
        super().__init__()
        self.state = RoomState(id=room_id)
        self.failure: AgentTuiError | None = None  # why the room cannot be followed, for the exit code
        self._link = link
        self._clock = clock
        self._ascii_only = ascii_only
        self._start = start
        self._asked = texts.Asked()
        self._asked_at = 0.0
        self._retry_at = 0.0
        self._panes: dict[str, AgentPane] = {}
        self._feeds: dict[str, PaneFeed] = {}
        self._speeds: dict[str, Speed] = {}
        self._thinking_since: dict[str, float] = {}
        self._generation = 0
        self._layout = Layout(1, 1)
        self._current = ""
        self._looking: Timer | None = None

    def compose(self) -> ComposeResult:
        yield StatusLine(id="top", ascii_only=self._ascii_only)
        yield Static(say("room.loading"), id="loading", markup=False)
        yield Container(id="panes", classes="-hidden")
        yield StatusLine(id="bottom", ascii_only=self._ascii_only, is_dim=True)

    def on_mount(self) -> None:
        """Show what is known, then follow the room."""
        self._looking = self.set_interval(LOOK_SECONDS, self._look, pause=True)
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

    @work(group="run", exclusive=True)
    async def _run_here(self) -> None:
        """Show a run of a server that shows a room only while it runs it. Never repeated by itself."""
        try:
            async with aclosing(self._link.run(self.state.id)) as events:
                async for event in events:
                    await self._apply(event)
            await self._apply(ev.LinkChanged("ended"))
        except StreamLost as error:
            await self._apply(ev.LinkChanged("lost", str(error)))
        except AgentTuiError as error:
            await self._apply(ev.LinkChanged("refused", str(error)))

    async def _apply(self, event: ev.Event) -> None:
        self.state.apply(event)
        if isinstance(event, ev.TextAdded):  # the hot path: no header, no line, only the words
            self._take_changes()
            return
        self._note(event)
        if self.state.generation != self._generation or set(self.state.agents) != set(self._panes):
            await self._build_panes()
        self._take_changes()
        self._show()
        if isinstance(self.app.screen, QuitScreen) and self.may_leave:
            self.app.exit(0)  # the answer is no longer needed: nobody speaks

    def _note(self, event: ev.Event) -> None:
        """Keep what only this screen knows: moments, and what it asked for."""
        match event:
            case ev.RunStarted():
                self._asked = texts.Asked()
            case ev.RunPaused() | ev.RunCompleted() | ev.RunFailed():
                self._asked = texts.Asked(by_us=self._asked.by_us)
            case ev.LinkChanged(status="waiting", delay=delay):
                self._retry_at = time.monotonic() + delay
            case ev.RoomLoaded():
                self._asked = texts.Asked(by_us=self._asked.by_us)
                if self._start:
                    self._start = False
                    self.action_pause_or_resume()
            case _:
                pass

    def _take_changes(self) -> None:
        for agent_id in self.state.changed:
            feed = self._feeds.get(agent_id)
            if feed is not None and agent_id in self.state.agents:
                feed.take(self.state.agents[agent_id])
        self.state.changed.clear()

    # --- panes -----------------------------------------------------------------------------------------

    async def _build_panes(self) -> None:
        """Make the panes fit the agents; those that stay are kept, and with them the reader's place."""
        self._generation = self.state.generation
        if list(self._panes) != [agent.id for agent in self.state.ordered_agents]:
            await self._replace_panes()
        for agent_id, pane in self._panes.items():
            pane.clear()
            self._feeds[agent_id] = PaneFeed(pane)
        self.state.changed.update(self._panes)

    async def _replace_panes(self) -> None:
        panes = self.query_one("#panes", Container)
        await panes.remove_children()
        self._panes = {
            agent.id: AgentPane(clock=self._clock, ascii_only=self._ascii_only)
            for agent in self.state.ordered_agents
        }
        self._feeds = {}
        self._speeds = {agent_id: Speed() for agent_id in self._panes}
        self.query_one("#loading").set_class(bool(self._panes), "-hidden")
        panes.set_class(not self._panes, "-hidden")
        await panes.mount_all(self._panes.values())
        if self._current not in self._panes:
            self._current = next(iter(self._panes), "")
        self._arrange()
        self._focus_current()

    def on_resize(self, event: Resize) -> None:
        """Arrange the panes anew."""
        self._arrange()
        self._show()

    def _arrange(self) -> None:
        """Put the panes side by side, below each other, or show only the focused one."""
        width, height = self.size.width, max(1, self.size.height - 2)
        self._layout = layout(len(self._panes), width, height)
        panes = self.query_one("#panes", Container)
        panes.styles.grid_size_columns = self._layout.columns
        panes.styles.grid_size_rows = self._layout.rows
        for place, (agent_id, pane) in enumerate(self._panes.items(), 1):
            pane.set_class(self._layout.one_only and agent_id != self._current, "-hidden")
            pane.has_divider = place % self._layout.columns > 0 and not self._layout.one_only

    def _focus_current(self) -> None:
        pane = self._panes.get(self._current)
        if pane is not None:
            pane.focus()

    def action_pane(self, step: int) -> None:
        """Move the focus to another pane."""
        ids = list(self._panes)
        if not ids:
            return
        focused = next((key for key, pane in self._panes.items() if pane.has_focus), self._current)
        self._current = ids[(ids.index(focused) + step) % len(ids)]
        if self._layout.one_only:
            self._arrange()
        self._focus_current()

    # --- what the lines and headers say ------------------------------------------------------------------

    def _show(self) -> None:
        for agent_id, pane in self._panes.items():
            self._show_header(agent_id, pane)
        self._show_lines()
        if self._looking is not None:
            waiting = self.state.link.status == "waiting"
            if waiting or self.state.speaking:
                self._looking.resume()
            else:
                self._looking.pause()

    def _look(self) -> None:
        """The twice-a-second look while somebody speaks or a countdown runs."""
        self._show()

    def _show_header(self, agent_id: str, pane: AgentPane) -> None:
        agent = self.state.agents.get(agent_id)
        if agent is None:
            return
        now = time.monotonic()
        if agent.word != "thinking":
            self._thinking_since.pop(agent_id, None)
        since = self._thinking_since.setdefault(agent_id, now) if agent.word == "thinking" else now
        rate = self._speeds[agent_id].look(now, agent.tokens)
        what = texts.doing(agent, self.state, rate, int(now - since))
        right = texts.header(agent, what, self.size.width // self._layout.columns)
        pane.header(agent.name, texts.model(agent), right, agent.color)

    def _show_lines(self) -> None:
        state = self.state
        left = round(max(0.0, self._retry_at - time.monotonic()))
        self.query_one("#top", StatusLine).show(
            [texts.title(state)],
            [texts.progress(state)] if state.loaded or state.round else [],
            [texts.status(state, self._asked, left)],
        )
        facts = [Part(texts.oddities(state), 1), Part(texts.models(state), 5), Part(texts.tokens(state), 4)]
        self.query_one("#bottom", StatusLine).show(
            [Part(hint.text, hint.rank, hint.key) for hint in texts.hints(state)],
            right=[part for part in facts if part.text],
        )

    # --- keys ------------------------------------------------------------------------------------------

    def action_pause_or_resume(self) -> None:
        """Pause a running room; let any other go on."""
        if self._asked.intent and time.monotonic() - self._asked_at < ASK_AGAIN_SECONDS:
            return  # asked already: the answer is on its way
        if self.state.link.status in ("ended", "lost") and self.state.status != "running":
            self._begin_run_here()
            return
        match self.state.status:
            case "running":
                self._ask("pausing")
            case "paused" | "error":
                self._ask("resuming")
            case "completed":
                self.notify(say("room.completed.hint"), markup=False)
            case _:
                self._ask("starting")

    def action_go_on(self) -> None:
        """Continue after a drop that could not be mended by itself."""
        if self.state.link.status == "lost":
            self._begin_run_here()

    def _begin_run_here(self) -> None:
        self._asked = texts.Asked("starting")
        self.state.apply(ev.LinkChanged("connecting"))
        self._show()
        self._run_here()

    @work(group="ask")
    async def _ask(self, intent: Literal["pausing", "resuming", "starting"]) -> None:
        self._asked = texts.Asked(intent, by_us=intent == "pausing")
        self._asked_at = time.monotonic()
        self._show()
        try:
            client = await self._link.client()
            match intent:
                case "pausing":
                    await client.pause(self.state.id)
                case "resuming" if self.state.status == "paused":
                    await client.resume(self.state.id)
                case _:
                    await _start(client, self.state.id)
        except NotOffered:
            self._asked = texts.Asked()
            self.notify(say("room.cannot_pause"), severity="warning", markup=False)
        except AgentTuiError as error:
            self._asked = texts.Asked()
            self.notify(str(error), severity="error", markup=False)
        self._show()

    # --- leaving ---------------------------------------------------------------------------------------

    @property
    def may_leave(self) -> bool:
        """Whether nobody has to be asked: no agent speaks."""
        return self.state.status != "running" or self.state.link.status in ("lost", "refused")

    def ask_to_leave(self) -> None:
        """Ask what is to become of the agents that speak, then leave."""
        self.app.push_screen(QuitScreen(), self._chosen)

    def _chosen(self, choice: Choice | None) -> None:
        if choice in ("pause", "keep"):
            self._leave(choice)

    @work(group="leave", exclusive=True)
    async def _leave(self, choice: Choice) -> None:
        try:
            client = await self._link.client()
            if choice == "keep":
                await client.change(self.state.id, keep_running=True)
            else:
                await client.pause(self.state.id)
        except NotOffered:
            pass  # a server without pause: leaving is all that can be done, and it was asked for
        except AgentTuiError as error:
            self.notify(str(error), severity="error", markup=False)
            return
        self.app.exit(0)


async def _start(client: RoomsClient, room_id: str) -> None:
    """Start a room that never ran. ``run`` is a stream; closing it never stops the room (cli.md)."""
    async with aclosing(client.run_frames(room_id)) as frames:
        async for frame in frames:
            if not isinstance(frame, ev.LinkChanged):
                return
