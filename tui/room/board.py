"""The line above the panes of a room and the line below."""

from __future__ import annotations

from tui.live.ask_bar import status_part
from tui.live.board import Lines, used_parts
from tui.live.texts import connected, oddities
from tui.room import texts
from tui.room.open_room import OpenRoom
from widgets.status_line import Part


def show_lines(lines: Lines, room: OpenRoom, shown: texts.Shown, asked: texts.Asked) -> None:
    """Show what is known of a room, and which keys work."""
    show_status(lines, room, shown, asked)
    state = room.state
    facts = [
        Part(oddities(state.unknown_count), 1),
        Part(texts.models(state), 12),
        *used_parts(texts.used(state, room.panes.tokens)),
        Part(connected(state.link), 8),
    ]
    lines.show_below(texts.hints(state, shown), facts)


def show_status(lines: Lines, room: OpenRoom, shown: texts.Shown, asked: texts.Asked) -> None:
    """Show above the panes what the room is doing."""
    about = (texts.arrangement(shown, lines.key_now), *texts.progress(room.state))
    lines.top.show(
        [texts.title(room.state)],
        [Part(text, rank) for rank, text in enumerate(about) if text],
        [status_part(texts.status(room.state, asked, room.following.seconds_left, lines.key_now))],
    )
