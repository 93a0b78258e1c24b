"""One write of the engine while it is put together."""

from __future__ import annotations

from dataclasses import dataclass, field

from agent_tui.backend.store.rows import Change, NewEvent, TurnNotePut
from agent_tui.model.events import TurnNoted

# Longer texts become several events, so that pages of the log stay small.
MAX_PIECE_CHARACTERS = 16_384


@dataclass(slots=True)
class ChangeSet:
    """What is committed as a whole: events, and the changes of rows that come with them."""

    events: list[NewEvent] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.events or self.changes)

    def note(self, event: TurnNoted) -> None:
        """Store a note with the turn, when ``event`` has been sent."""
        if event.lasting:
            self.changes.append(TurnNotePut(event.turn_id, event.lasting))

    def add(self, more: ChangeSet) -> None:
        """Add ``more`` to it, after the rest."""
        self.events += more.events
        self.changes += more.changes


def pieces(text: str) -> list[str]:
    """Return ``text`` in pieces that each fit into one event; none for an empty text."""
    return [text[at : at + MAX_PIECE_CHARACTERS] for at in range(0, len(text), MAX_PIECE_CHARACTERS)]
