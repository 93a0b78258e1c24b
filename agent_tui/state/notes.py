"""What is noted of a turn besides its words, in rooms and chats alike."""

from __future__ import annotations

from typing import Protocol

from agent_tui.model.events import Message, TurnNoted


class Notable(Protocol):
    """A turn that notes are taken of; what each field means stands at ``turn.Turn``."""

    is_loading: bool
    has_no_tools: bool
    waits_for: str
    missing: tuple[str, ...]
    waits: TurnNoted | None
    trimmed: int


def take_note(turn: Notable, event: TurnNoted, *, has_begun: bool) -> None:
    """Take what happens to ``turn``; one that ``has_begun`` to speak has its model loaded."""
    match event.note:
        case "loading":
            turn.is_loading = not has_begun
        case "no_tools":
            turn.has_no_tools = True
        case "servers_wait":
            turn.waits_for = event.about
        case "server_missing" | "form_declined":
            turn.missing = (*(one for one in turn.missing if one != event.about), event.about)
        case "trimmed":
            turn.trimmed = max(turn.trimmed, event.count)
        case "rate_limit":
            turn.waits = event
        case _:
            pass  # of a newer server


def take_stored(turn: Notable, message: Message) -> None:
    """Take what a stored message says of how its model was asked."""
    turn.trimmed = message.trimmed or turn.trimmed
    for note in message.notes:
        noted = TurnNoted(message.id, note.note, about=note.about)
        if noted.lasting:
            take_note(turn, noted, has_begun=True)
