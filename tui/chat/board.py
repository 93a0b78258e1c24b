"""The lines above and below the words of a chat, and the text of an empty chat."""

from __future__ import annotations

from textual.widgets import Static

from tui.chat import texts
from tui.chat.open_chat import OpenChat
from tui.live.board import Lines, status_part, used_parts
from tui.live.texts import connected, context, oddities
from tui.screens.words import say
from widgets.status_line import Part


class ChatBoard:
    """Shows what is known of a chat."""

    def __init__(self, chat: OpenChat, lines: Lines) -> None:
        self.place = Static(say("chat.loading"), id="loading", markup=False)
        self._chat = chat
        self._lines = lines

    def show(self, shown: texts.ChatShown, seconds_left: int) -> bool:
        """Show the state of the chat; return whether that changes with time alone."""
        state = self._chat.state
        about = [Part(texts.provider(state), 3), Part(texts.model(state), 2)] if state.loaded else []
        self._lines.top.show(
            [texts.title(state)],
            [part for part in about if part.text],
            [status_part(self._lines.timed(texts.status(state, shown, seconds_left)))],
        )
        full, warns = context(reversed(state.turns.values()))
        facts = [
            Part(oddities(state.unknown_count), 1),
            Part(texts.workspace(state), 9),
            Part(full, 3, warns=warns),
            *used_parts(texts.used(state)),
            Part(connected(state.link), 8),
        ]
        self._lines.show_below(texts.hints(state, shown), facts, texts.TYPED)
        turn = state.open_turn
        waits = turn is not None and turn.waits is not None
        return self._lines.is_pending or waits or state.link.status == "waiting"

    def show_place(self) -> bool:
        """Show the words, or in an empty chat what to do first; return whether that changed."""
        is_empty, place = not self._chat.state.turns, self.place
        if is_empty and self._chat.state.loaded:
            place.update(say("chat.first"))
        if place.has_class("-hidden") != is_empty:
            return False
        place.set_class(not is_empty, "-hidden")
        self._chat.transcript.set_class(is_empty, "-hidden")
        return True
