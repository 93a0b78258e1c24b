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


class FollowedPane(AgentPane, FollowedTranscript):
    """An agent's pane that tells it too."""
