"""Carries words from the state into transcripts, each chunk once."""

from __future__ import annotations

from agent_tui.state.turn import Agent, Turn
from tui.garbage import uncollected
from tui.screens.room_texts import ending, turn_title
from widgets.transcript import Transcript


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
            self._transcript.text_replaced(self._key, turn.text)
        elif self._given != turn.length:
            self._transcript.text_added(self._key, turn.since(self._given))
        self._given, self._revision = turn.length, turn.revision
        if self._is_open and turn.status != "speaking":
            self._transcript.turn_closed(self._key, ending(turn))
            self._is_open, self._is_superseded = False, turn.superseded
        elif not self._is_open and turn.superseded != self._is_superseded:
            self._transcript.turn_closed(self._key, ending(turn))
            self._is_superseded = turn.superseded


class PaneFeed:
    """Carries the turns of one agent into its pane."""

    __slots__ = ("_given", "_last", "_transcript")

    def __init__(self, transcript: Transcript) -> None:
        self._transcript = transcript
        self._given = 0  # turns of the agent that the pane has been told about
        self._last: TurnFeed | None = None  # of the last of those

    def take(self, agent: Agent) -> None:
        """Give the pane what is new of its agent."""
        if self._last is not None:
            self._last.take()
        if self._given < len(agent.turns):
            with uncollected():
                self._take_turns(agent.turns[self._given :])

    def _take_turns(self, turns: list[Turn]) -> None:
        for turn in turns:
            self._transcript.turn_opened(turn.id, turn_title(turn))
            self._last = TurnFeed(self._transcript, turn.id, turn)
            self._last.take()
            self._given += 1
