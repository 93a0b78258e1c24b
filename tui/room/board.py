"""What stands around the panes of a room: the line above them and the line below."""

from __future__ import annotations

from collections.abc import Callable

from tui.live.ask_bar import status_part
from tui.live.texts import connected, oddities
from tui.room import texts
from tui.room.open_room import OpenRoom
from widgets.status_line import Part, StatusLine


class RoomBoard:
    """Shows what is known of a room."""

    def __init__(self, room: OpenRoom, *, key_now: Callable[[str], str], ascii_only: bool) -> None:
        # Held, not looked for: the clock may tell them something while the screen is being taken down.
        self.top = StatusLine(id="top", ascii_only=ascii_only)
        self.bottom = StatusLine(id="bottom", ascii_only=ascii_only, is_dim=True)
        self._room = room
        self._key_now = key_now

    def show(self, shown: texts.Shown, asked: texts.Asked) -> None:
        """Say what goes on, and which keys make sense."""
        state, key_now = self._room.state, self._key_now
        self.show_status(shown, asked)
        facts = [
            Part(oddities(state.unknown_count), 1),
            Part(texts.models(state), 12),
            Part(texts.used(state, self._room.panes.tokens), 4),
            Part(connected(state.link), 8),
        ]
        self.bottom.show(
            [
                Part(hint.text, hint.rank, key)
                for hint in texts.hints(state, shown)
                if (key := key_now(hint.key)) or not hint.key
            ],
            right=[part for part in facts if part.text],
        )

    def show_status(self, shown: texts.Shown, asked: texts.Asked) -> None:
        """Say above the panes what the room does."""
        state, key_now = self._room.state, self._key_now
        self.top.show(
            [texts.title(state)],
            [
                Part(text, rank)
                for rank, text in enumerate((texts.arrangement(shown, key_now), *texts.progress(state)))
                if text
            ],
            [status_part(texts.status(state, asked, self._room.following.seconds_left, key_now))],
        )
