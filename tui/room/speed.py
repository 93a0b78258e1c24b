"""How fast an agent speaks, from its token counts at the moments of drawing."""

from __future__ import annotations

from collections import deque

WINDOW_SECONDS = 3.0


class Speed:
    """Tokens per second over the last three seconds. The caller brings the clock."""

    __slots__ = ("_samples",)

    def __init__(self) -> None:
        self._samples: deque[tuple[float, int]] = deque(maxlen=64)

    def look(self, now: float, tokens: int) -> int:
        """Take one look (``now`` in seconds) and return the rate in whole tokens per second."""
        samples = self._samples
        if samples and tokens < samples[-1][1]:
            samples.clear()
        samples.append((now, tokens))
        while len(samples) > 2 and now - samples[0][0] > WINDOW_SECONDS:
            samples.popleft()
        seconds = now - samples[0][0]
        return round((tokens - samples[0][1]) / seconds) if seconds > 0 else 0
