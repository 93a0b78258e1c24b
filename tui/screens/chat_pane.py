"""The one transcript of a chat, as the find bar and the keys see it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from textual.message import Message

from tui.screens.followed import FollowedTranscript
from tui.screens.room_texts import Shown
from widgets.transcript import Transcript


class ChatTranscript(FollowedTranscript):
    """The words and steps of a chat; tells that keys are pressed."""

    class KeyPressed(Message):
        """The reader does something."""

    def on_key(self) -> None:
        """Tell that somebody reads."""
        self.post_message(self.KeyPressed())

    def scroll_by_key(self, key: str) -> bool:
        """Do what ``key`` does here by default, if it scrolls; return whether it does."""
        moves: Mapping[str, Callable[[], None]] = {
            "up": lambda: self.action_scroll_rows(-1),
            "down": lambda: self.action_scroll_rows(1),
            "pageup": lambda: self.action_scroll_pages(-1),
            "pagedown": lambda: self.action_scroll_pages(1),
            "home": self.action_to_start,
            "end": self.action_follow,
        }
        if key in moves:
            moves[key]()
        return key in moves


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
