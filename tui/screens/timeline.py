"""The timeline: the turns of all agents in the order of their start, in one transcript."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from itertools import islice

from agent_tui.inert import inert_line
from agent_tui.state.room import RoomState
from agent_tui.state.turn import Turn
from tui.garbage import uncollected
from tui.screens.pane_feed import TurnFeed
from tui.screens.room_texts import person_title
from tui.screens.words import say
from widgets.painter import PEOPLE
from widgets.transcript import Transcript

RULE = "---"
NO_COLOR = "none"


class TimelineFeed:
    """Carries every turn of a room into one transcript; those that run at the same time grow in place.

    A rule stands where a round starts. ``take`` costs what is new.
    """

    def __init__(self, transcript: Transcript, state: RoomState) -> None:
        self._transcript = transcript
        self._state = state
        self._generation = -1
        self._start_over()

    def _start_over(self) -> None:
        self._given = 0  # turns of the room that the transcript has been told about
        self._round = 0  # the last that was announced
        self._rules: list[int] = []  # how many turns stand above each rule
        self._last: dict[
            str, tuple[str, TurnFeed]
        ] = {}  # by turn: its agent and its feed, while it may change

    @property
    def turn_count(self) -> int:
        """How many turns there are, without the rules between rounds."""
        return self._given

    def place_of(self, number: int) -> int:
        """Return which message of the transcript turn ``number`` is; both are counted from 1."""
        return number + bisect_left(self._rules, number)

    def take(self, changed: Iterable[str]) -> None:
        """Give the transcript what is new; ``changed`` are the ids of the agents that did anything."""
        state = self._state
        if self._generation != state.generation:
            self._generation = state.generation
            self._transcript.clear()
            self._start_over()
        for agent_id in changed:
            agent = state.agents.get(agent_id)
            for turn in agent.turns[-2:] if agent is not None else ():
                self._catch_up(turn)
        if len(state.turns) > self._given:
            with uncollected():
                for turn in list(islice(state.turns.values(), self._given, None)):
                    self._open(turn)

    def _catch_up(self, turn: Turn) -> None:
        agent_id, feed = self._last.get(turn.id, ("", None))
        if feed is None:
            return
        if agent_id != turn.agent_id:  # its speaker was unknown when it began
            self._announce(turn)
            self._last[turn.id] = turn.agent_id, feed
        feed.take()

    def _open(self, turn: Turn) -> None:
        if turn.round_number > self._round:
            self._round = turn.round_number
            if self._given:
                self._rule()
        self._announce(turn)
        feed = TurnFeed(self._transcript, _key(turn), turn)
        feed.take()
        self._given += 1
        agent = self._state.agents.get(turn.agent_id)
        if agent is None:  # a person: said at once
            return
        self._last[turn.id] = turn.agent_id, feed
        for former in agent.turns[-3:-2]:  # long over: nothing of it changes any more
            self._last.pop(former.id, None)

    def _announce(self, turn: Turn) -> None:
        agent = self._state.agents.get(turn.agent_id)
        name = agent.name if agent is not None else turn.sender_name
        title = inert_line(name, 60) if turn.role != "user" else person_title(turn)
        if turn.role != "user" and turn.round_number:
            title = say("timeline.title", name=title, round=turn.round_number)
        # People share one colour; an agent without one gets that of its name.
        color = PEOPLE if agent is None else agent.color or turn.sender_color or NO_COLOR
        self._transcript.turn_opened(_key(turn), title, color=color, who=name)

    def _rule(self) -> None:
        key = f"rule {self._round}"
        self._rules.append(self._given)
        self._transcript.turn_opened(key)
        self._transcript.text_added(key, RULE)
        self._transcript.turn_closed(key)


def _key(turn: Turn) -> str:
    """Return the key of a turn's message; no id that a server may send makes it the key of a rule."""
    return f"turn {turn.id}"
