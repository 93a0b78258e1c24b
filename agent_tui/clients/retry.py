"""When to try again: full-jitter backoff, the server's own wishes, nothing that waits by itself."""

from __future__ import annotations

import random as _random
from collections.abc import Callable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

BASE_SECONDS = 0.5
CAP_SECONDS = 30.0
SHORTEST_WISH_SECONDS = 0.1
LONGEST_WISH_SECONDS = 60.0

_MAX_DOUBLINGS = 30  # 2**30 half-seconds are over any cap; more would only grow the number


class Backoff:
    """The delay before each try: ``min(cap, base·2ⁿ)·U(0.5, 1)`` seconds.

    ``random`` gives numbers in [0, 1). ``attempt`` counts the delays given out since the last ``reset``,
    which belongs to real progress, not to a mere connection.
    """

    def __init__(
        self,
        base: float = BASE_SECONDS,
        cap: float = CAP_SECONDS,
        random: Callable[[], float] = _random.random,
    ) -> None:
        self._base = base
        self._cap = cap
        self._random = random
        self.attempt = 0

    def next_delay(self, retry_after: float | None = None) -> float:
        """Return the seconds to wait; ``retry_after``, the server's wish for this once, is kept."""
        self.attempt += 1
        if retry_after is not None:
            return _clamp(retry_after)
        longest = min(self._cap, self._base * 2.0 ** min(self.attempt - 1, _MAX_DOUBLINGS))
        return longest * (0.5 + 0.5 * self._random())

    def reset(self) -> None:
        """Begin again with the base delay: something went well."""
        self.attempt = 0

    def server_wishes(self, retry_ms: int) -> None:
        """Take the ``retry:`` of an event stream, in ms, as the new base."""
        self._base = _clamp(retry_ms / 1000)
        self._cap = max(self._cap, self._base)


def retry_after_seconds(value: str, now: datetime) -> float | None:
    """Return what a ``Retry-After`` header asks for, within [0.1, 60] s; ``None`` when it says nothing.

    ``value`` is a number of seconds or an HTTP date (RFC 9110, 10.2.3); ``now`` is the server's clock
    (its ``Date`` header) where known, so that a wrong clock on this machine does no harm.
    """
    value = value.strip()
    if value.isascii() and value.isdigit():
        return _clamp(float(value))
    try:
        when = parsedate_to_datetime(value)
    except (ValueError, TypeError, OverflowError):
        return None
    if when.tzinfo is None:
        when = when.replace(tzinfo=UTC)
    return _clamp((when - now).total_seconds())


def _clamp(seconds: float) -> float:
    return min(max(seconds, SHORTEST_WISH_SECONDS), LONGEST_WISH_SECONDS)
