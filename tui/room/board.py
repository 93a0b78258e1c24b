"""The line above the panes of a room and the line below."""

from __future__ import annotations

from collections.abc import Callable

from tui.live.ask_bar import status_part
from tui.live.board import Lines, used_parts
from tui.live.texts import connected, oddities
from tui.room import texts
from tui.room.open_room import OpenRoom
from widgets.status_line import Part


class RoomBoard:
    """Shows what is known of a room."""

    def __init__(self, room: OpenRoom, *, key_now: Callable[[str], str], ascii_only: bool) -> None:
        self.lines = Lines(key_now, ascii_only=ascii_only)
        self._room = room
        self._key_now = key_now

    def show(self, shown: texts.Shown, asked: texts.Asked) -> None:
        state = self._room.state
        self.show_status(shown, asked)
        facts = [
            Part(oddities(state.unknown_count), 1),
            Part(texts.models(state), 12),
            *used_parts(texts.used(state, self._room.panes.tokens)),
            Part(connected(state.link), 8),
        ]
        self.lines.show_below(texts.hints(state, shown), facts)

    def show_status(self, shown: texts.Shown, asked: texts.Asked) -> None:
        """Say above the panes what the room does."""
        state, key_now = self._room.state, self._key_now
        self.lines.top.show(
            [texts.title(state)],
            [
                Part(text, rank)
                for rank, text in enumerate((texts.arrangement(shown, key_now), *texts.progress(state)))
                if text
            ],
            [status_part(texts.status(state, asked, self._room.seconds_left, key_now))],
        )
