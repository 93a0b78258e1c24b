"""When to try again, and when to give up: full-jitter backoff, the server's wishes, a person's patience."""

from __future__ import annotations

import random as _random
from collections.abc import Callable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from agent_tui.clients.clock import Clock
from agent_tui.model.errors import ConnectFailed, TransportError

BASE_SECONDS = 0.5
CAP_SECONDS = 30.0
SHORTEST_WISH_SECONDS = 0.1
LONGEST_WISH_SECONDS = 60.0
TRIES = 10  # until giving up, at least

_MAX_DOUBLINGS = 30  # 2**30 half-seconds exceed any cap; more would only grow the number


class Backoff:
    """The delay before each try: ``min(cap, base·2ⁿ)·U(0.5, 1)`` seconds.

    ``random`` returns numbers in [0, 1). ``attempt`` counts the delays since the last ``reset``, which
    belongs to real progress, not just to a connection.
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
        """Return the seconds to wait; ``retry_after``, the server's wish for this time, is respected."""
        self.attempt += 1
        if retry_after is not None:
            return _clamp(retry_after)
        longest = min(self._cap, self._base * 2.0 ** min(self.attempt - 1, _MAX_DOUBLINGS))
        return longest * (0.5 + 0.5 * self._random())

    def reset(self) -> None:
        """Start over with the base delay, after a success."""
        self.attempt = 0

    def server_wishes(self, retry_ms: int) -> None:
        """Take the ``retry:`` of an event stream, in ms, as the new base."""
        self._base = _clamp(retry_ms / 1000)
        self._cap = max(self._cap, self._base)


class Patience:
    """Delays between tries, until ``give_up_seconds`` without a connection passed since the last sign of life
    (``None``: forever).

    Delays that only doubled would leave the second half of that time to one try, at its very end.
    """

    def __init__(self, clock: Clock, backoff: Backoff, give_up_seconds: float | None) -> None:
        self.backoff = backoff
        self._clock = clock
        self._give_up_seconds = give_up_seconds
        self._since = clock.time()

    def sign_of_life(self) -> None:
        """Start over: the server was heard."""
        self._since = self._clock.time()

    def was_connected(self, seconds: float) -> None:
        """Do not count a connection of so many ``seconds``, nor as long a wait before it."""
        self._since = min(self._since + 2 * seconds, self._clock.time())

    def seconds_left(self) -> float | None:
        """Return the seconds left until giving up, ``None`` if that never happens."""
        if self._give_up_seconds is None:
            return None
        return self._since + self._give_up_seconds - self._clock.time()

    def delay_after(self, error: TransportError) -> float:
        """Return the seconds until the next try; raises ``error`` if no try can help.

        Raises ``ConnectFailed`` when it is time to give up.
        """
        if not error.retryable:
            raise error
        delay = self.backoff.next_delay(error.retry_after)
        left = self.seconds_left()
        if left is None or self._give_up_seconds is None:
            return delay
        try_seconds = self._give_up_seconds / TRIES
        if left <= try_seconds:
            gave_up = f"no connection for {self._give_up_seconds - left:.0f} s"
            raise ConnectFailed(gave_up, str(error), retryable=False) from error
        longest = left - try_seconds  # so that the last try has time for an answer, too
        return min(delay, longest if error.retry_after is not None else min(longest, try_seconds))


def retry_after_seconds(value: str, now: datetime) -> float | None:
    """Return the wait in a ``Retry-After`` header, within [0.1, 60] s; ``None`` if it has none.

    ``value`` is a number of seconds or an HTTP date (RFC 9110, 10.2.3); ``now`` is the server's clock (its
    ``Date`` header) if known, so that a wrong clock on this machine does no harm.
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
