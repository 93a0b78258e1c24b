"""The order of rooms and chats, and how long ago something was, for screens and commands."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Final

from agent_tui.model.events import ConversationInfo, RoomInfo
from tui.screens.words import say

Place = tuple[int, float, str]
"""The sort key of a room or chat; its id comes last, so that no two are the same."""


@lru_cache(maxsize=4_096)  # a list is put in order after each change
def moment_of(when: str) -> float:
    """Return an ISO 8601 time in seconds since 1970; 0 if it is not one."""
    try:
        moment = datetime.fromisoformat(when)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError, OSError):
        return 0.0


def by_activity(item: RoomInfo | ConversationInfo) -> Place:
    """Return the place of an item among others: running ones first, then the latest activity. Running ones
    are all active now: they keep their order, so that they do not change places with every word.
    """
    is_running = item.status == "running"
    moment = moment_of(item.created_at if is_running else item.updated_at)
    return (0 if is_running else 1, -moment, item.id)


SORTS: Final = ("activity", "name", "status", "tokens", "cost")
_STATUSES: Final = ("running", "paused", "error", "completed")  # others come last


def place_by(sort: str, item: RoomInfo | ConversationInfo, name: str) -> tuple[Any, ...]:
    """Return the place of an item, with this name, in one of ``SORTS``; of equals, the latest first."""
    first: Any = 0
    match sort:
        case "name":
            first = name.casefold()
        case "status" if item.status in _STATUSES:
            first = _STATUSES.index(item.status)
        case "status":
            first = len(_STATUSES)
        case "tokens":
            first = -item.tokens
        case "cost":
            first = -(item.cost or 0.0)
        case _:
            pass
    return (first, *by_activity(item))


def ago(when: str) -> str:
    """Return "2 min ago" for an ISO 8601 time, "yesterday", or a date; "" if it is not one."""
    return age_text(moment_of(when), time.time())


def age_text(moment: float, now: float) -> str:
    """Return the same for seconds since 1970."""
    seconds = now - moment
    if not moment:
        return ""
    if seconds < 60:
        return say("time.now")
    if seconds < 3600:
        return say("time.minutes", minutes=int(seconds // 60))
    if seconds < 86_400:
        return say("time.hours", hours=int(seconds // 3600))
    if seconds < 2 * 86_400:
        return say("list.yesterday")
    return datetime.fromtimestamp(moment, UTC).astimezone().strftime("%Y-%m-%d")
