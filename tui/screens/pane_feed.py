"""Carries words from the state into transcripts, each chunk once."""

from __future__ import annotations

import re
from itertools import islice
from typing import Final

from agent_tui.state.room import RoomState
from agent_tui.state.turn import Agent, Turn
from tui.garbage import uncollected
from tui.screens.room_texts import ending, person_title, turn_title
from widgets.painter import PEOPLE
from widgets.transcript import Transcript

CODE: Final = "```"
_LINE_END: Final = re.compile(r"(?<=\S)\n(?=\S)")


class TurnFeed:
    """Remembers how much of one turn a transcript, which knows the message, has been given."""

    __slots__ = ("_given", "_is_open", "_is_superseded", "_key", "_revision", "_transcript", "turn")

    def __init__(self, transcript: Transcript, key: str, turn: Turn) -> None:
        self.turn = turn
        self._transcript = transcript
        self._key = key
        self._is_open = True  # in the transcript
        self._is_superseded = False  # as the transcript shows it
        self._given = 0  # characters
        self._revision = turn.revision

    def take(self) -> None:
        """Give the transcript what is new. Costs what is new, not what was said before."""
        turn = self.turn
        if self._revision != turn.revision or (not self._is_open and self._given != turn.length):
            # Replaced, or added to after its end: rare repairs, so the whole text is given again.
            self._transcript.text_replaced(self._key, self._as_meant(turn.text))
        elif self._given != turn.length:
            self._transcript.text_added(self._key, self._as_meant(turn.since(self._given)))
        self._given, self._revision = turn.length, turn.revision
        if turn.status == "speaking":
            return
        if self._is_open or turn.superseded != self._is_superseded:
            self._transcript.turn_closed(self._key, ending(turn))
            self._is_open, self._is_superseded = False, turn.superseded
            if turn.superseded:
                self._transcript.turn_faded(self._key)

    def _as_meant(self, text: str) -> str:
        """Return the text; a person's line ends where they ended it, which Markdown does not see."""
        return as_typed(text) if self.turn.role == "user" else text


def as_typed(text: str) -> str:
    """Return a person's words as Markdown whose lines end where they ended them."""
    return text if CODE in text else _LINE_END.sub("  \\n", text)


class PaneFeed:
    """Carries into an agent's pane its turns, and between them what people said to it or to all.

    ``state`` has the turns of the whole room, in order. A chunk costs no look at them: only more turns do.
    The task, which some servers store as what a person said, stands above all panes already.
    """

    __slots__ = ("_given", "_last", "_seen", "_state", "_transcript")

    def __init__(self, transcript: Transcript, state: RoomState) -> None:
        self._transcript = transcript
        self._state = state
        self._start_over()

    def _start_over(self) -> None:
        self._seen = 0  # turns of the room that were looked at
        self._given = 0  # turns of the agent that the pane has been told about
        self._last: TurnFeed | None = None  # of the last of those

    def take(self, agent: Agent) -> None:
        """Give the pane what is new for its agent."""
        if self._last is not None:
            self._last.take()
        if self._seen < len(self._state.turns):
            with uncollected():
                self._look(agent)
        if self._given != len(agent.turns):  # it got a turn whose speaker was unknown, or lost one: rare
            self._transcript.clear()
            self._start_over()
            self._look(agent)
            self._given = len(agent.turns)

    def _look(self, agent: Agent) -> None:
        new = list(islice(self._state.turns.values(), self._seen, None))
        self._seen += len(new)
        heard = len(new)
        if agent.is_gone and agent.turns:  # what was said after its last turn it was never told
            newest = agent.turns[-1].id
            heard = 1 + next((at for at, turn in enumerate(new) if turn.id == newest), -1)
        for at, turn in enumerate(new):
            if turn.agent_id == agent.id and turn.role != "user":
                self._last = self._open(turn, turn_title(turn))
                self._given += 1
            elif at < heard and self._is_heard(turn, agent):
                self._open(turn, person_title(turn), color=PEOPLE)

    def _is_heard(self, turn: Turn, agent: Agent) -> bool:
        is_for_it = turn.role == "user" and turn.to in ("", agent.id)
        return is_for_it and turn.text.strip() != self._state.task.strip()

    def _open(self, turn: Turn, title: str, *, color: str = "") -> TurnFeed:
        self._transcript.turn_opened(turn.id, title, color=color)
        feed = TurnFeed(self._transcript, turn.id, turn)
        feed.take()
        return feed
