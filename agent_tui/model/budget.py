"""The budget of a conversation: its limits, and which of them is reached."""

from __future__ import annotations

from typing import Literal, Protocol


class HasLimits(Protocol):
    """A room or chat with its limits; 0 means none."""

    @property
    def max_tokens(self) -> int: ...
    @property
    def max_cost(self) -> float: ...


def ceilings(of: HasLimits) -> tuple[int, float | None]:
    """Return the most tokens, 0 for any number, and the most US dollars, ``None`` for any amount."""
    return of.max_tokens, of.max_cost or None


def limit_reached(of: HasLimits, tokens: int, cost: float | None) -> Literal["", "max_tokens", "max_cost"]:
    """Return the setting whose limit is reached by what was used, "" for neither."""
    if of.max_tokens and tokens >= of.max_tokens:
        return "max_tokens"
    return "max_cost" if of.max_cost and (cost or 0.0) >= of.max_cost else ""
