"""The one transcript of a chat, as the find bar and the keys see it."""

from __future__ import annotations

from tui.screens.followed import FollowedTranscript
from tui.screens.room_texts import Shown
from widgets.transcript import Transcript


class ChatTranscript(FollowedTranscript):
    """The words and steps of a chat."""


class OnePane:
    """What ``FindBar`` searches where there is one transcript."""

    def __init__(self, transcript: Transcript) -> None:
        self._transcript = transcript
        self.shown = Shown(is_timeline=True)  # there is no other pane to look in

    @property
    def active(self) -> Transcript | None:
        """The transcript."""
        return self._transcript

    @property
    def message_count(self) -> int:
        """How many messages there are to go to."""
        return self._transcript.message_count

    def go_to_message(self, number: int) -> None:
        """Bring a message to the top, counted from 1."""
        self._transcript.go_to_message(number)

    def elsewhere(self, needle: str) -> tuple[str, int]:
        """There is nowhere else."""
        return "", 0

    def focus_current(self) -> None:
        """Give the focus to the transcript."""
        self._transcript.screen.set_focus(self._transcript, scroll_visible=False)
