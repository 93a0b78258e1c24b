"""What stands around the words of a chat: the lines above and below them, and what an empty chat says."""

from __future__ import annotations

from collections.abc import Callable

from textual.widgets import Static

from tui.chat import texts
from tui.chat.open_chat import OpenChat
from tui.forms.fields import own
from tui.live.ask_bar import status_part
from tui.live.texts import Hint, connected, context, oddities
from tui.screens.words import say
from widgets.status_line import Part, StatusLine
from widgets.units import elapsed


class ChatBoard:
    """Shows what is known of a chat."""

    def __init__(
        self,
        chat: OpenChat,
        *,
        key_now: Callable[[str], str],
        now: Callable[[], float],
        ascii_only: bool,
    ) -> None:
        # Held, not looked for: the clock may tell them something while the screen is being taken down.
        self.top = StatusLine(id="top", ascii_only=ascii_only)
        self.bottom = StatusLine(id="bottom", ascii_only=ascii_only, is_dim=True)
        self.place = Static(own(say("chat.loading"), ascii_only=ascii_only), id="loading", markup=False)
        self._chat = chat
        self._key_now = key_now
        self._now = now
        self._pending = "", 0.0  # what is waited for, and since when

    def show(self, shown: texts.Shown, seconds_left: int) -> bool:
        """Say what goes on; return whether that changes with time alone."""
        state = self._chat.state
        about = [Part(texts.provider(state), 3), Part(texts.model(state), 1)] if state.loaded else []
        self.top.show(
            [texts.title(state)],
            [part for part in about if part.text],
            [status_part(self._timed(texts.status(state, shown, seconds_left)))],
        )
        hints = [(hint, self._key_of(hint)) for hint in texts.hints(state, shown)]
        full, warns = context(reversed(state.turns.values()))
        facts = [
            Part(oddities(state.unknown_count), 1),
            Part(texts.workspace(state), 9),
            Part(full, 3, warns=warns),
            Part(texts.used(state), 4),
            Part(connected(state.link), 8),
        ]
        self.bottom.show(
            [Part(hint.text, hint.rank, key) for hint, key in hints if key],
            right=[part for part in facts if part.text],
        )
        turn = state.open_turn
        waits = turn is not None and turn.waits is not None
        return bool(self._pending[0]) or waits or state.link.status == "waiting"

    def _timed(self, status: texts.Status) -> str:
        """Return what goes on; of what is pending, since when."""
        pending, since = self._pending
        if status.pending != pending:
            since = self._now()
            self._pending = status.pending, since
        seconds = int(self._now() - since) if status.pending else 0
        return f"{status.text} {elapsed(seconds)}" if seconds else status.text

    def _key_of(self, hint: Hint) -> str:
        """Return the key of a hint as it is now, "" for none; signs that are typed are no keys."""
        return hint.key if hint.key in texts.TYPED else self._key_now(hint.key)

    def show_place(self) -> bool:
        """Show the words, or in an empty chat what to do first; return whether that is another one now."""
        is_empty, place = not self._chat.state.turns, self.place
        if is_empty and self._chat.state.loaded:
            place.update(say("chat.first"))
        if place.has_class("-hidden") != is_empty:
            return False
        place.set_class(not is_empty, "-hidden")
        self._chat.transcript.set_class(is_empty, "-hidden")
        return True
