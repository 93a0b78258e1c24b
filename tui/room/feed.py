"""The turns of a room in one transcript: those of one agent, or of all in the order of their start."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from itertools import islice

from agent_tui.model.inert import inert_line
from agent_tui.state.agents import OTHERS, Agent
from agent_tui.state.conversation import ConversationState
from agent_tui.state.turn import Turn
from tui.live.steps.rows import TurnFeed, show_person, turn_key
from tui.room.texts import person_title, turn_title
from tui.screens.words import say
from widgets.painter import PEOPLE
from widgets.terminal.garbage import uncollected
from widgets.transcript.transcript import Transcript

NO_COLOR = "none"


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

    def take(self, changed: Iterable[Turn]) -> None:
        """Show what is new; ``changed`` are the turns of the room to look at again."""
        if self._generation != self._state.generation:
            self._start_over()
        for turn in changed:
            if (feed := self._turns.get(turn.id)) is not None:
                self.transcript.turn_titled(turn_key(turn.id), self._title(turn))
                feed.take()
        self._look()
        agent = self._state.agents.get(self._agent_id)
        if agent is not None and self._given != len(agent.turns):
            if len(self._turns) != len(agent.turns):  # it got one whose speaker was unknown, or lost one
                self._start_over()
                self._look()
            self._given = len(agent.turns)

    def _look(self) -> None:
        if self._seen == len(self._state.turns):
            return
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
            return person_title(turn)
        if self._agent_id:
            return turn_title(turn)
        title = inert_line(self._name(turn, self._state.agents.get(turn.agent_id)), 60)
        if turn.round_number:
            title = say("timeline.title", name=title, round=turn.round_number)
        return f"{title} · {say('turn.synthesis')}" if turn.is_synthesis else title

    def _name(self, turn: Turn, agent: Agent | None) -> str:
        return agent.name if agent is not None and agent.id != OTHERS else turn.sender_name

    def _color(self, turn: Turn, agent: Agent) -> str:
        return (agent.color if agent.id != OTHERS else "") or turn.sender_color or NO_COLOR
