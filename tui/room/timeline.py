"""The timeline: the turns of all agents in the order of their start, in one transcript."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from itertools import islice

from agent_tui.model.inert import inert_line
from agent_tui.state.agents import OTHERS, Agent
from agent_tui.state.conversation import ConversationState
from agent_tui.state.turn import Turn
from tui.live.steps.rows import TurnFeed, show_person, turn_key
from tui.room.texts import person_title
from tui.screens.words import say
from widgets.painter import PEOPLE
from widgets.terminal.garbage import uncollected
from widgets.transcript.transcript import Transcript

RULE = "---"
NO_COLOR = "none"


class TimelineFeed:
    """Carries every turn of a room into one transcript, with a rule at each round; costs what is new."""

    def __init__(self, transcript: Transcript, state: ConversationState) -> None:
        self.transcript = transcript
        self._state = state
        self._generation = -1
        self._start_over()

    def _start_over(self) -> None:
        self._round = 0  # the last that was announced
        self._places: list[int] = []  # which message each turn begins with, counted from 1
        self._turns: dict[str, TurnFeed] = {}

    @property
    def turn_count(self) -> int:
        """How many turns there are, without the rules between rounds."""
        return len(self._places)

    def place_of(self, number: int) -> int:
        """Return which message of the transcript turn ``number`` is; both are counted from 1."""
        return self._places[number - 1] if 0 < number <= len(self._places) else number

    def take(self, changed: Iterable[Turn]) -> None:
        """Show what is new; ``changed`` are the turns to look at again."""
        state = self._state
        if self._generation != state.generation:
            self._generation = state.generation
            self.transcript.clear()
            self._start_over()
        for turn in changed:
            if (feed := self._turns.get(turn.id)) is not None:
                self.transcript.turn_titled(turn_key(turn.id), self._title(turn))
                feed.take()
        given = len(self._places)
        if len(state.turns) > given:
            with uncollected():
                for turn in list(islice(state.turns.values(), given, None)):
                    self._open(turn)

    def _open(self, turn: Turn) -> None:
        if turn.round_number > self._round:
            self._round = turn.round_number
            if self._places:
                self._rule()
        self._places.append(self.transcript.reader.message_count + 1)
        self._announce(turn)
        agent = self._state.agents.get(turn.agent_id)
        if agent is None:
            show_person(self.transcript, turn)
            return
        # Others may have spoken in between: below its rows it says again who speaks.
        tone = self._color(turn, agent), self._name(turn, agent)
        self._turns[turn.id] = TurnFeed(self.transcript, turn, tone, partial(self._announce, turn))
        self._turns[turn.id].take()

    def _announce(self, turn: Turn, key: str = "") -> None:
        agent = self._state.agents.get(turn.agent_id)
        # People share one colour; an agent without one gets that of its name.
        color, who = PEOPLE if agent is None else self._color(turn, agent), self._name(turn, agent)
        self.transcript.turn_opened(key or turn_key(turn.id), self._title(turn), color=color, who=who)

    def _title(self, turn: Turn) -> str:
        """Return the heading of a turn: who speaks, or that it sums up, may become known later."""
        if turn.role == "user":
            return person_title(turn)
        title = inert_line(self._name(turn, self._state.agents.get(turn.agent_id)), 60)
        if turn.round_number:
            title = say("timeline.title", name=title, round=turn.round_number)
        return f"{title} · {say('turn.synthesis')}" if turn.is_synthesis else title

    def _name(self, turn: Turn, agent: Agent | None) -> str:
        return agent.name if agent is not None and agent.id != OTHERS else turn.sender_name

    def _color(self, turn: Turn, agent: Agent) -> str:
        return (agent.color if agent.id != OTHERS else "") or turn.sender_color or NO_COLOR

    def _rule(self) -> None:
        key = f"rule {self._round}"
        self.transcript.turn_opened(key)
        self.transcript.messages[key].is_rule = True
        self.transcript.text_added(key, RULE)
        self.transcript.turn_closed(key)
