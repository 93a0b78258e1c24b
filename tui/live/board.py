"""The line above the words of a live screen and the line below: its state, and which keys make sense."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from agent_tui.state.conversation import ConversationState
from tui.live import signs
from tui.live.texts import Hint, Status, UsedText, connected_text, oddities
from tui.screens.words import say
from widgets.status_line import Part, StatusLine
from widgets.units import elapsed


def status_part(text: str) -> Part:
    """Return the state as a part of the top line; what needs the person stands out."""
    needed = text.removeprefix(f"{signs.PAUSED} ")
    return Part(text, warns=needed != text and needed in (say("chat.asks"), say("step.asks.form")))


def facts_of(state: ConversationState, used: UsedText, *own: Part) -> list[Part]:
    """Return the facts of a room or chat, with its ``own``; "prompts included" goes first in a narrow row."""
    spent = Part(used.tokens, 4), Part(used.prompts, 5), Part(used.cost, 4)
    return [Part(oddities(state.unknown_count), 1), *own, *spent, Part(connected_text(state.link), 8)]


class Lines:
    """The two lines, and how long what is pending has been waited for."""

    def __init__(self, key_now: Callable[[str], str], now: Callable[[], float]) -> None:
        """``key_now`` returns what a default key is now, "" for none."""
        # Held, not looked for: the clock may tell them something while the screen is being taken down.
        self.top = StatusLine(id="top")
        self.bottom = StatusLine(id="bottom", is_dim=True)
        self.key_now = key_now
        self._now = now
        self._pending = "", 0.0  # what is waited for, and since when

    @property
    def is_pending(self) -> bool:
        return bool(self._pending[0])

    def timed(self, status: Status) -> str:
        """Return the state, with the seconds that a pending one has lasted."""
        now, (pending, since) = self._now(), self._pending
        if status.pending != pending:
            since = now
            self._pending = status.pending, since
        seconds = int(now - since) if status.pending else 0
        return f"{status.text} {elapsed(seconds)}" if seconds else status.text

    def show_below(
        self, hints: Iterable[Hint], facts: Iterable[Part] = (), typed: Collection[str] = ()
    ) -> None:
        """Show the hints that have a key, and facts at the right; ``typed`` keys are never replaced."""
        keys = [(hint, hint.key if hint.key in typed else self.key_now(hint.key)) for hint in hints]
        self.bottom.show(
            [Part(hint.text, hint.rank, key) for hint, key in keys if key or not hint.key], right=facts
        )
