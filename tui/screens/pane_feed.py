"""Carries an agent's words from the state into its pane, each chunk once."""

from __future__ import annotations

from agent_tui.state.turn import Agent, Turn
from tui.screens.room_texts import ending
from tui.screens.words import say
from widgets.transcript import Transcript


class PaneFeed:
    """Remembers how much of an agent's turns its pane has been given."""

    __slots__ = ("_chunks", "_given", "_open", "_revision", "_transcript")

    def __init__(self, transcript: Transcript) -> None:
        self._transcript = transcript
        self._given = 0  # turns of the agent that the pane has been told about
        self._open = False  # the last of those is still open in the pane
        self._chunks = 0  # chunks given of the last of those
        self._revision = 0

    def take(self, agent: Agent) -> None:
        """Give the pane what is new. Costs what is new, not what was said before."""
        if self._given:
            self._catch_up(agent.turns[self._given - 1])
        for turn in agent.turns[self._given :]:
            self._open_turn(turn)
            self._catch_up(turn)

    def _open_turn(self, turn: Turn) -> None:
        title = say("agent.round", round=turn.round_number) if turn.round_number else ""
        self._transcript.turn_opened(turn.id, title)
        self._given += 1
        self._open, self._chunks, self._revision = True, 0, turn.revision

    def _catch_up(self, turn: Turn) -> None:
        if self._revision != turn.revision or (not self._open and self._chunks != len(turn.chunks)):
            # Replaced, or added to after its end: rare repairs, so the whole text is given again.
            self._transcript.text_replaced(turn.id, turn.text)
        else:
            for chunk in turn.chunks[self._chunks :]:
                self._transcript.text_added(turn.id, chunk)
        self._chunks, self._revision = len(turn.chunks), turn.revision
        if self._open and turn.status != "speaking":
            self._transcript.turn_closed(turn.id, ending(turn))
            self._open = False
