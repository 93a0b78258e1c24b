"""What a room may use: compared with what it used, before each turn and while one is spoken."""

from __future__ import annotations

from typing import Protocol

from agent_tui.model.errors import Refused


class Budgeted(Protocol):
    """A room or chat: its ceilings (0: none), and what it used."""

    @property
    def max_tokens(self) -> int: ...
    @property
    def max_cost(self) -> float: ...
    @property
    def used_tokens(self) -> int: ...
    @property
    def used_cost(self) -> float | None: ...


def used_up(room: Budgeted, more_tokens: int = 0, more_cost: float = 0.0) -> bool:
    """Return whether the room, with what is used right now, has reached a ceiling of its budget."""
    tokens = room.used_tokens + more_tokens
    cost = (room.used_cost or 0.0) + more_cost
    return bool(room.max_tokens and tokens >= room.max_tokens) or bool(
        room.max_cost and cost >= room.max_cost
    )


def check(room: Budgeted, what: str = "room") -> None:
    """Raise ``Refused`` (409) for one that used up its budget; its detail names what to raise."""
    if not used_up(room):
        return
    if room.max_tokens and room.used_tokens >= room.max_tokens:
        detail = f"It used {room.used_tokens:,} of {room.max_tokens:,} tokens: raise max_tokens first."
    else:
        cost = room.used_cost or 0.0
        detail = f"It used {cost:.4f} of {room.max_cost:.4f} US dollars: raise max_cost first."
    raise Refused(f"The budget of the {what} is used up", detail, status=409)
