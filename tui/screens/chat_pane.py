"""The one transcript of a chat, as the find bar and the keys see it."""

from __future__ import annotations

from tui.screens.followed import FollowedTranscript
from tui.screens.room_texts import Shown
from widgets.transcript import Transcript


class ChatTranscript(FollowedTranscript):
    """Also says what the reader can see of it."""

    def is_in_sight(self, number: int) -> bool:
        """Whether the first row of message ``number``, from 1, is on the screen."""
        return any(
            place.message == number - 1
            and place.part == 0
            and place.row >= self._view.messages[number - 1].APART
            for place in self._view.visible
        )


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
