"""The panes of a room: a grid, one large pane over a strip, one zoomed pane, or the timeline."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Final

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.events import DescendantFocus, Resize
from textual.geometry import NULL_OFFSET, NULL_SPACING, Region, Size
from textual.layout import ArrangeResult, Layout, WidgetPlacement
from textual.message import Message
from textual.widget import Widget

from agent_tui.model.inert import inert_line
from agent_tui.state.agents import OTHERS, Agent
from agent_tui.state.conversation import ConversationState
from agent_tui.state.turn import Turn
from tui.live.steps.rows import TurnFeed, show_person, turn_key
from tui.room import texts
from tui.room.pane_grid import Arrangement, arrange, over_strip
from tui.screens.words import count, say
from widgets.painter import PEOPLE
from widgets.strip import AgentStrip, Summary
from widgets.terminal.frame_clock import FrameClock
from widgets.terminal.garbage import uncollected
from widgets.transcript.agent_pane import AgentPane
from widgets.transcript.transcript import Transcript

PANE_BINDINGS: Final[list[BindingType]] = [
    Binding("z", "zoom", "Zoom the pane in or out", id="room.zoom"),
    Binding("t", "timeline", "Switch to the timeline and back", id="room.timeline"),
    # Textual's own binding of tab would come first.
    Binding("tab", "pane(1)", "Next pane", id="pane.next", priority=True),
    Binding("shift+tab", "pane(-1)", "Previous pane", id="pane.previous", priority=True),
    Binding("right", "pane(1)", "Next pane", id="pane.next.arrow"),
    Binding("left", "pane(-1)", "Previous pane", id="pane.previous.arrow"),
    *(
        Binding(str(number % 10), f"agent({number})", f"Go to agent {number}", id=f"pane.focus_{number}")
        for number in range(1, 11)
    ),
]
"""The keys of the screen that the panes are on; its actions call the methods of ``RoomPanes``."""

NO_COLOR: Final = "none"
WINDOW_SECONDS: Final = 3.0  # over which the pace of an agent is measured


class RoomPanes(Container):
    """A pane for each agent. All are fed, shown or not, and the reader finds each as it was left."""

    class Changed(Message):
        """Something else is in sight or has the focus."""

    def __init__(self, state: ConversationState, clock: FrameClock) -> None:
        super().__init__(id="panes", classes="-hidden")
        self._state = state
        self._clock = clock
        self._panes: dict[str, AgentPane] = {}
        self._feeds: dict[str, RoomFeed] = {}
        self._paces: dict[str, TokenRate] = {}
        self._folds: dict[str, bool] = {}  # what the reader folded or unfolded, by the keys of the rows
        self._seen = -1, 0  # the generation, and how many turns of it the panes were told of
        self._current = ""
        self._is_zoomed = False
        self._timeline: RoomFeed | None = None  # once it was opened
        self._is_timeline = False
        self._begins_in_timeline = False  # what one comes back to
        self._strip = AgentStrip(
            clock=clock, summaries=self._summaries, more=lambda number: say("strip.more", count=count(number))
        )
        self._panes_layout = _PanesLayout()

    def compose(self) -> ComposeResult:
        yield self._strip

    # --- what can be asked -----------------------------------------------------------------------------

    @property
    def active(self) -> Transcript | None:
        """The transcript that keys act on: the timeline while it is shown, else the focused pane."""
        timeline = self._shown_timeline
        return timeline.transcript if timeline is not None else self._panes.get(self._current)

    @property
    def _shown_timeline(self) -> RoomFeed | None:
        return self._timeline if self._is_timeline else None

    @property
    def current(self) -> str:
        """Id of the agent that keys act on, or ""; in the timeline the one that speaks, or spoke last."""
        if not self._is_timeline:
            return self._current
        speaking = next((agent.id for agent in self._state.members.speaking), "")
        spoke = (turn.agent_id for turn in reversed(self._state.turns.values()) if turn.role != "user")
        return speaking or next(spoke, self._current)

    @property
    def tokens(self) -> int:
        return sum(pace.tokens for pace in self._paces.values())

    @property
    def shown(self) -> texts.RoomShown:
        return texts.RoomShown(
            panes=len(self._panes),
            is_zoomed=self._is_zoomed and len(self._panes) > 1 and not self._is_timeline,
            is_timeline=self._is_timeline,
            begins_in_timeline=self._begins_in_timeline,
            is_following=self.active is None or self.active.follow,
            has_selection=self.active is not None and self.active.reader.has_selection,
        )

    def transcript_of(self, agent_id: str) -> Transcript | None:
        """Return what shows the agent's turns: the timeline while it is shown, else its pane."""
        return self.active if self._is_timeline else self._panes.get(agent_id)

    # --- what comes in ---------------------------------------------------------------------------------

    async def fit(self) -> None:
        """Make a pane for every agent but ``OTHERS``; others keep their words and the reader's place."""
        agents = [agent.id for agent in self._state.members.ordered if agent.id != OTHERS]
        kept = self._panes
        if agents == list(kept):
            return
        new = {agent_id: AgentPane(clock=self._clock) for agent_id in agents if agent_id not in kept}
        for agent_id, pane in new.items():
            pane.folds.chosen = self._folds
            self._feeds[agent_id] = RoomFeed(pane, self._state, agent_id)
            self._paces[agent_id] = TokenRate()
        self._panes = {agent_id: kept.get(agent_id) or new[agent_id] for agent_id in agents}
        gone = kept.keys() - self._panes.keys()
        for agent_id in gone:
            del self._feeds[agent_id], self._paces[agent_id]
        self._seen = -1, 0
        self._current = self._current if self._current in self._panes else next(iter(agents), "")
        await self.remove_children(kept[agent_id] for agent_id in gone)
        if self.is_attached:  # the room may be left meanwhile
            await self.mount_all(new.values())
        self._arrange_anew()

    @property
    def fits(self) -> bool:
        """Whether every agent has a pane."""
        return self._panes.keys() == self._state.agents.keys() - {OTHERS}

    def take(self, *, only_words: bool = False) -> None:
        """Give the panes the words that are new. Costs what is new; ``only_words`` change no title."""
        state = self._state
        seen = state.generation, len(state.turns)
        changed, speakers = [], dict.fromkeys(state.agents if self._seen != seen else ())
        self._seen = seen  # what is new may be for all
        for turn_id in state.changed:
            if turn_id in state.turns:
                changed.append(state.turns[turn_id])
                speakers[changed[-1].agent_id] = None
        for agent_id in speakers:
            if agent_id in self._feeds and agent_id in state.agents:
                self._feeds[agent_id].take(changed, only_words=only_words)
        if self._timeline is not None:
            self._timeline.take(changed, only_words=only_words)
        for turn in changed:
            turn.steps.changed.clear()
        state.changed.clear()
        self._strip.touch()

    def show_headers(self) -> None:
        """Show in every header, and in the strip, what the agents are doing."""
        now = time.monotonic()
        for agent_id in self._panes:
            if (agent := self._state.agents.get(agent_id)) is not None:
                doing = agent.word if agent.word == "thinking" else texts.characters_received(agent)
                self._paces[agent_id].look(now, agent.tokens, doing)
        if not self._is_timeline:
            self._show_headers_at(self._arrangement(self.size).places)
        self._strip.touch(at_once=True)

    def _show_headers_at(self, places: Sequence[Region | None]) -> None:
        now = time.monotonic()
        for (agent_id, pane), place in zip(self._panes.items(), places, strict=True):
            agent = self._state.agents.get(agent_id)
            if agent is not None and place is not None:
                pace = self._paces[agent_id]
                what = texts.doing(agent, self._state, pace.rate, pace.seconds(now))
                state = texts.header(agent, what, place.width, pace.tokens)
                pane.header(agent.name, texts.model(agent), state, agent.color, agent.system_prompt)

    def _summaries(self) -> Sequence[Summary]:
        """Return a line for each agent out of sight; those after the current one first if not all fit."""
        ids = list(self._panes)
        if self._current not in self._panes:
            return []
        if not self._is_timeline:
            at = ids.index(self._current)
            size = self._strip.size.height * self._strip.columns
            ids = ids[at + 1 :] + ids[:at] if len(ids) - 1 > size else ids[:at] + ids[at + 1 :]
        found, now = [], time.monotonic()
        for agent in (self._state.agents[id_] for id_ in ids if id_ in self._state.agents):
            pace = self._paces[agent.id]
            rate = pace.rate if self._is_timeline else None  # there its words are in sight
            summary = texts.summary(agent, self._state, pace.seconds(now), rate)
            found.append(Summary(agent.id, agent.name, *summary))
        return found

    # --- what is shown ---------------------------------------------------------------------------------

    @property
    def layout(self) -> Layout:
        """Places its children itself."""
        return self._panes_layout

    def _arrangement(self, size: Size) -> Arrangement:
        ids = list(self._panes)
        focused = ids.index(self._current) if self._current in self._panes else 0
        return arrange(len(ids), focused, size.width, size.height, is_zoomed=self._is_zoomed)

    def placements(self, size: Size) -> ArrangeResult:
        """Return the places of the children in an area of ``size``; those not shown have none."""
        arrangement = self._arrangement(size)
        panes: list[Transcript] = [*self._panes.values()]
        if (timeline := self._shown_timeline) is not None:
            arrangement, panes = over_strip(len(panes), size.width, size.height), [timeline.transcript]
        else:
            self._show_headers_at(arrangement.places)  # no frame shows a pane without its name
        found: list[tuple[Widget, Region]] = []
        for pane, place in zip(panes, arrangement.places, strict=True):
            if place is not None and pane.is_attached:
                pane.canvas.divide(place.right < size.width)
                found.append((pane, place))
        if arrangement.strip is not None:
            self._strip.columns = arrangement.strip_columns
            found.append((self._strip, arrangement.strip))
        return [WidgetPlacement(place, NULL_OFFSET, NULL_SPACING, widget) for widget, place in found]

    def _arrange_anew(self) -> None:
        self._strip.refresh(layout=True)  # a child: Textual then asks its parent for all places anew
        self.post_message(self.Changed())
        self.focus_current()

    def on_resize(self, event: Resize) -> None:
        self.post_message(self.Changed())

    def focus_current(self) -> None:
        """Focus what keys act on, unless the room is being left."""
        if self.active is not None and self.is_attached:
            self.screen.set_focus(self.active, scroll_visible=False)

    def on_descendant_focus(self, event: DescendantFocus) -> None:
        """Make the clicked pane the current one."""
        for agent_id, pane in self._panes.items():
            if pane is event.widget is self.screen.focused and agent_id != self._current:
                self.go_to(agent_id)

    def on_agent_pane_head_clicked(self) -> None:
        """Zoom the pane whose header was clicked, or zoom out."""
        self.zoom()

    def on_agent_strip_chosen(self, event: AgentStrip.Chosen) -> None:
        """Show the agent whose line was clicked, also from the timeline."""
        self._is_timeline = False
        self.go_to(event.key)

    def go_to(self, agent_id: str) -> None:
        """Make the agent's pane the current one, and show it."""
        if agent_id in self._panes:
            self._current = agent_id
            self._arrange_anew()

    def go_to_turn(self, turn: Turn) -> bool:
        """Show the beginning of a turn in its pane, or the current one; return whether it was in sight."""
        self.go_to(turn.agent_id)
        pane = self.transcript_of(turn.agent_id) or self._panes[self._current]
        number = pane.sight.number_of(turn_key(turn.id))
        was_in_sight = bool(number) and pane.sight.has_head_of(number)
        if number and not was_in_sight:
            pane.reader.go_to_message(number)
        return was_in_sight

    # --- what the reader asks for ----------------------------------------------------------------------

    def step(self, step: int) -> None:
        ids = list(self._panes)
        if ids and not self._is_timeline:
            self.go_to(ids[(ids.index(self._current) + step) % len(ids)])

    def is_at_end(self, step: int) -> bool:
        """Whether there is no other pane in that direction."""
        ids = list(self._panes)
        return self._is_timeline or not ids or self._current == ids[-1 if step > 0 else 0]

    def step_in(self, step: int) -> None:
        """Come in from the composer: to the first pane, or the last."""
        ids = list(self._panes)
        if ids and not self._is_timeline:
            self.go_to(ids[0 if step > 0 else -1])
        self.focus_current()

    def go_to_agent(self, number: int) -> None:
        """Go to the pane of agent ``number``, counted from 1, also from the timeline."""
        ids = list(self._panes)
        if number <= len(ids):
            self._is_timeline = False
            self.go_to(ids[number - 1])

    def zoom(self) -> None:
        if len(self._panes) > 1:
            self._is_zoomed = self._is_timeline or not self._is_zoomed
            self._is_timeline = False
            self._arrange_anew()

    async def begin_in(self, *, timeline: bool) -> None:
        """Show the timeline, or the panes, first; ``leave`` comes back to that."""
        self._begins_in_timeline = timeline
        if self._is_timeline is not timeline:
            await self.toggle_timeline()

    async def toggle_timeline(self) -> None:
        """Show all turns in order, or the panes again."""
        if not self._panes:
            return
        if self._timeline is None:
            transcript = Transcript(clock=self._clock, id="timeline")
            transcript.folds.chosen = self._folds
            self._timeline = RoomFeed(transcript, self._state)
            self._timeline.take(())
            await self.mount(transcript)
        self._turn_over()

    def _turn_over(self) -> None:
        """Switch between the timeline and the panes, at the place that is being read."""
        if self._timeline is None or (pane := self._panes.get(self._current)) is None:
            return
        timeline = self._timeline.transcript
        if self._is_timeline:
            self._read_on(timeline, self._panes)
        else:
            self._read_on(pane, {self._current: timeline})
        self._is_timeline = not self._is_timeline
        self._arrange_anew()

    def _read_on(self, left: Transcript, others: Mapping[str, Transcript]) -> None:
        """Show in the current of ``others`` what was read in ``left``, unless that is in sight there."""
        current = others[self._current]
        was_at = current.sight.bookmarks()[:1] if not current.follow else []
        if was_at and left.sight.has(was_at[0]):
            return
        if left.follow:
            current.follow = True
            return
        for mark in left.sight.bookmarks():
            for agent_id in sorted(others, key=lambda id_: id_ != self._current):
                if others[agent_id].sight.number_of(mark.key):
                    self._current = agent_id
                    others[agent_id].sight.open_at(mark)
                    return

    def leave(self) -> bool:
        """Go back from a zoomed pane or the other view; return whether there was anything to leave."""
        if self.shown.is_zoomed:
            self.zoom()
        elif self._is_timeline is not self._begins_in_timeline:
            self._turn_over()
        else:
            return False
        return True


class RoomFeed:
    """Carries turns into a transcript; costs what is new."""

    def __init__(self, transcript: Transcript, state: ConversationState, agent_id: str = "") -> None:
        """With an ``agent_id`` only the turns of that agent, and what people said to it."""
        self.transcript = transcript
        self._state = state
        self._agent_id = agent_id
        self._start_over()

    def _start_over(self) -> None:
        self.transcript.clear()
        self._generation = self._state.generation
        self._seen = 0  # turns of the room that were looked at
        self._given = 0  # turns that its agent had then
        self._turns: dict[str, TurnFeed] = {}  # of those of agents that are shown, by id

    def take(self, changed: Iterable[Turn], *, only_words: bool = False) -> None:
        """Show what is new; ``changed`` are the turns of the room to look at again."""
        if self._generation != self._state.generation:
            self._start_over()
        for turn in changed:
            if (feed := self._turns.get(turn.id)) is not None:
                feed.take()  # the words first: a test counts the calls until they are marked
                if not only_words:
                    self.transcript.turn_titled(turn_key(turn.id), self._title(turn))
        if self._seen < len(self._state.turns):
            self._look()
        agent = self._state.agents.get(self._agent_id)
        if agent is not None and self._given != len(agent.turns):
            if len(self._turns) != len(agent.turns):  # it got one whose speaker was unknown, or lost one
                self._start_over()
                self._look()
            self._given = len(agent.turns)

    def _look(self) -> None:
        new = list(islice(self._state.turns.values(), self._seen, None))
        self._seen += len(new)
        heard, agent = len(new), self._state.agents.get(self._agent_id)
        if agent is not None and agent.is_gone and agent.turns:  # it was told nothing after its last turn
            newest = agent.turns[-1].id
            heard = 1 + next((at for at, turn in enumerate(new) if turn.id == newest), -1)
        with uncollected():
            for at, turn in enumerate(new):
                if not self._agent_id or self._is_own(turn) or (at < heard and self._is_heard(turn)):
                    self._open(turn)

    def _is_own(self, turn: Turn) -> bool:
        return turn.agent_id == self._agent_id and turn.role != "user"

    def _is_heard(self, turn: Turn) -> bool:
        is_for_it = turn.role == "user" and turn.to in ("", self._agent_id)
        # Some servers store the task as what a person said; it is shown above all panes.
        return is_for_it and turn.text.strip() != self._state.room.task.strip()

    def _open(self, turn: Turn) -> None:
        self._announce(turn)
        agent = self._state.agents.get(turn.agent_id)
        if agent is None or (self._agent_id and not self._is_own(turn)):
            show_person(self.transcript, turn)
            return
        feed = TurnFeed(self.transcript, turn)
        if not self._agent_id:
            # Others may have spoken in between: below its rows it says again who speaks.
            tone = self._color(turn, agent), self._name(turn, agent)
            feed = TurnFeed(self.transcript, turn, tone, partial(self._announce, turn))
        self._turns[turn.id] = feed
        feed.take()

    # --- headings --------------------------------------------------------------------------------------

    def _announce(self, turn: Turn, key: str = "") -> None:
        """Begin a message. People share one colour; an agent without one gets that of its name."""
        agent = self._state.agents.get(turn.agent_id)
        color, who = PEOPLE if agent is None else self._color(turn, agent), self._name(turn, agent)
        if self._agent_id:  # its pane has its name and colour
            color, who = "" if self._is_own(turn) else PEOPLE, ""
        self.transcript.turn_opened(key or turn_key(turn.id), self._title(turn), color=color, who=who)

    def _title(self, turn: Turn) -> str:
        """Return the heading of a turn: who speaks, or that it sums up, may become known later."""
        if turn.role == "user":
            return texts.person_title(turn)
        if self._agent_id:
            return texts.turn_title(turn)
        title = inert_line(self._name(turn, self._state.agents.get(turn.agent_id)), 60)
        if turn.round_number:
            title = say("timeline.title", name=title, round=turn.round_number)
        return f"{title} · {say('turn.synthesis')}" if turn.is_synthesis else title

    def _name(self, turn: Turn, agent: Agent | None) -> str:
        return agent.name if agent is not None and agent.id != OTHERS else turn.sender_name

    def _color(self, turn: Turn, agent: Agent) -> str:
        return (agent.color if agent.id != OTHERS else "") or turn.sender_color or NO_COLOR


class TokenRate:
    """Tokens per second over the last three seconds, and since when there are none, by the caller's clock."""

    def __init__(self) -> None:
        self.tokens = 0
        self.rate = 0
        self._samples: deque[tuple[float, int]] = deque(maxlen=64)
        self._doing: str | int | None = None
        self._since = 0.0

    def look(self, now: float, tokens: int, doing: str | int | None = None) -> None:
        """Take one look: ``now`` in seconds, all ``tokens`` that the agent has spoken, and what it is doing:
        that changes with every sign of life, and is ``None`` while none is to come.
        """
        samples = self._samples
        if samples and tokens < samples[-1][1]:
            samples.clear()
        samples.append((now, tokens))
        while len(samples) > 2 and now - samples[0][0] > WINDOW_SECONDS:
            samples.popleft()
        seconds = now - samples[0][0]
        self.tokens, self.rate = tokens, round((tokens - samples[0][1]) / seconds) if seconds > 0 else 0
        if doing != self._doing:
            self._doing, self._since = doing, now

    def seconds(self, now: float) -> int:
        """Return since when the agent thinks, or is silent while it speaks; 0 if it does neither."""
        return int(now - self._since) if self._doing is not None else 0


class _PanesLayout(Layout):
    """Asks the panes themselves where they are."""

    name = "panes"

    def arrange(
        self, parent: Widget, children: list[Widget], size: Size, greedy: bool = True
    ) -> ArrangeResult:
        return parent.placements(size) if isinstance(parent, RoomPanes) else []
