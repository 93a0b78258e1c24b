"""Transcripts that tell when the reader leaves the end, or comes back to it."""

from __future__ import annotations

from textual.message import Message

from widgets.agent_pane import AgentPane
from widgets.transcript import Transcript


class FollowedTranscript(Transcript):
    """Tells once a frame at most: however the reader scrolled, a frame follows."""

    class FollowChanged(Message):
        """The end stays in sight from now on, or does not any more."""

    _was_followed = True

    def draw(self) -> bool:
        """Draw, and tell."""
        is_left = super().draw()
        if self.follow != self._was_followed:
            self._was_followed = self.follow
            self.post_message(self.FollowChanged())
        return is_left

    def number_of(self, key: str) -> int:
        """Return which message has that key, from 1; 0 for none."""
        message = self._messages.get(key)
        return 0 if message is None else self._view.messages.index(message) + 1

    def is_in_sight(self, number: int) -> bool:
        """Whether the first row of message ``number``, from 1, is on the screen."""
        return any(
            place.message == number - 1
            and place.part == 0
            and place.row >= self._view.messages[number - 1].APART
            for place in self._view.visible
        )


class FollowedPane(AgentPane, FollowedTranscript):
    """An agent's pane that tells it too."""
