"""The one transcript of a chat, as the keys see it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from textual.message import Message

from tui.screens.followed import FollowedTranscript


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
