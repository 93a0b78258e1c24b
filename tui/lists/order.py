"""The order of rooms and chats, on the screen and in what the command line prints. Needs no Textual."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Protocol

Place = tuple[float, float, str, str]
"""What one is sorted by; the id comes last, so that no two are the same."""


class Listable(Protocol):
    """What a list needs to know about a room or a chat."""

    @property
    def id(self) -> str: ...
    @property
    def status(self) -> str: ...
    @property
    def archived(self) -> bool: ...
    @property
    def tokens(self) -> int: ...
    @property
    def cost(self) -> float | None: ...
    @property
    def last_event_id(self) -> int: ...
    @property
    def created_at(self) -> str: ...
    @property
    def updated_at(self) -> str: ...


def moment_of(when: str) -> float:
    """Return an ISO 8601 time in seconds since 1970; 0 if it is not one."""
    try:
        moment = datetime.fromisoformat(when)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError, OSError):
        return 0.0


def by_activity(item: Listable) -> Place:
    """Return the place of an item among others: running ones first, then the latest activity. Running ones
    are all active now: they keep their order, so that they do not change places with every word.
    """
    is_running = item.status == "running"
    moment = moment_of(item.created_at if is_running else item.updated_at)
    return (0.0 if is_running else 1.0, -moment, "", item.id)
