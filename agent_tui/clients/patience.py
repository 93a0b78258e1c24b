"""How long to wait for a server that does not answer, and when to stop waiting."""

from __future__ import annotations

from agent_tui.clients.clock import Clock
from agent_tui.clients.retry import Backoff
from agent_tui.model.errors import ConnectFailed, TransportError

TRIES = 10  # in the time until giving up, at least


class Patience:
    """Delays between tries, ended ``give_up_seconds`` after the last sign of life (``None``: never).

    Delays that only doubled would leave the second half of that time to one try, at its very end.
    """

    def __init__(self, clock: Clock, backoff: Backoff, give_up_seconds: float | None) -> None:
        self.backoff = backoff
        self._clock = clock
        self._give_up_seconds = give_up_seconds
        self._since = clock.time()

    def sign_of_life(self) -> None:
        """Begin to count anew: the server was heard."""
        self._since = self._clock.time()

    def left(self) -> float | None:
        """Return the seconds left until it is time to give up, ``None`` when it never is."""
        if self._give_up_seconds is None:
            return None
        return self._since + self._give_up_seconds - self._clock.time()

    def delay_after(self, error: TransportError) -> float:
        """Return the seconds until the next try; raises ``error`` when no try can help.

        Raises ``ConnectFailed`` when it is time to give up.
        """
        if not error.retryable:
            raise error
        delay = self.backoff.next_delay(error.retry_after)
        left = self.left()
        if left is None or self._give_up_seconds is None:
            return delay
        for_a_try = self._give_up_seconds / TRIES
        if left <= for_a_try:
            gave_up = f"no connection for {self._give_up_seconds - left:.0f} s"
            raise ConnectFailed(gave_up, str(error), retryable=False) from error
        longest = left - for_a_try  # the last try, too, has time to be answered
        return min(delay, longest if error.retry_after is not None else min(longest, for_a_try))
