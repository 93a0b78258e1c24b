"""What an agent's header says by the clock: how fast it speaks, and for how long it has been thinking."""

from __future__ import annotations

from collections import deque

WINDOW_SECONDS = 3.0


class Pace:
    """Tokens per second over the last three seconds. The caller brings the clock."""

    __slots__ = ("_samples", "_thinking_since", "rate", "tokens")

    def __init__(self) -> None:
        self.tokens = 0
        self.rate = 0
        self._samples: deque[tuple[float, int]] = deque(maxlen=64)
        self._thinking_since: float | None = None

    def look(self, now: float, tokens: int, *, is_thinking: bool = False) -> None:
        """Take one look: ``now`` in seconds, and all ``tokens`` that the agent has spoken."""
        samples = self._samples
        if samples and tokens < samples[-1][1]:
            samples.clear()
        samples.append((now, tokens))
        while len(samples) > 2 and now - samples[0][0] > WINDOW_SECONDS:
            samples.popleft()
        seconds = now - samples[0][0]
        self.tokens, self.rate = tokens, round((tokens - samples[0][1]) / seconds) if seconds > 0 else 0
        if not is_thinking:
            self._thinking_since = None
        elif self._thinking_since is None:
            self._thinking_since = now

    def seconds_of_thinking(self, now: float) -> int:
        return int(now - self._thinking_since) if self._thinking_since is not None else 0
