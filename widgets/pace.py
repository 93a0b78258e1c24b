"""How soon the next frame may come on a line of unknown speed: pure arithmetic, told the time by others."""

from __future__ import annotations

from collections import deque
from typing import Final

SLOWEST_SECONDS: Final = 0.5  # between two frames, however slow the line is
SHARE: Final = (
    2.0  # a frame that needs n seconds is followed by the next after SHARE × n: half of the line is free
)
NOISE_SECONDS: Final = 0.03  # a delay this small says nothing about the line: a thread was late
SHRINK: Final = 0.7  # how fast a stretched interval comes back, per frame
ASK_SECONDS: Final = 0.25  # between two questions to the terminal
FIRST_ANSWERS: Final = 8  # until so many have come, the line is unknown and every frame may ask
OVERDUE_SECONDS: Final = 0.1  # an answer later than usual by this much means that the terminal is behind
LONG_SECONDS: Final = 2.0  # by so much, that it may have lost its answer: slow frames again, rather than none
LAST_SECONDS: Final = 1.0  # at the end of a screen an answer may be later than usual by so much
LOST_SECONDS: Final = 10.0  # an answer that has not come by then will not come
WAY_SECONDS: Final = 120.0  # the quickest answer of so long is what the way there and back takes


class Pace:
    """What the terminal was given, what it has taken, and what follows from that for the next frame.

    Two things show that a terminal is behind. Writing to it blocks: then what was *given* is not *taken* for
    a while. Or buffers on the way (SSH, a multiplexer) swallow everything: then only the terminal's own
    answers tell, which come the later the more stands before the question. A terminal that never answered is
    never waited for. All times are in seconds of one clock of the caller's, sizes in characters.

    ``took`` and ``answered`` may be called from other threads: each sets plain values that only they set.
    """

    def __init__(self) -> None:
        self._given = self._taken = 0
        self._given_at = self._taken_at = 0.0  # the oldest of what was not taken; the last that was
        self._asked_at = 0.0
        self._is_asked = self._is_answering = False
        self._way = self._answer_lag = 0.0
        self._answers = 0
        self._quickest: deque[tuple[float, float]] = (
            deque()
        )  # (seconds, when): each quicker than all after it
        self._interval = 0.0

    # --- what is told ---

    def gave(self, size: int, at: float) -> None:
        """Note that ``size`` characters were given to the terminal."""
        if self._taken >= self._given:
            self._given_at = at
        self._given += size

    def took(self, total: int, at: float) -> None:
        """Note that the terminal has taken ``total`` characters since the start."""
        self._taken_at = at
        self._taken = total

    def asked(self, at: float) -> None:
        """Note that a question was put to the terminal, behind all that was given so far."""
        self._asked_at = at
        self._is_asked = True

    def answered(self, at: float) -> None:
        """Note that the answer came."""
        seconds = at - self._asked_at
        quickest = self._quickest
        while quickest and quickest[-1][0] >= seconds:
            quickest.pop()
        quickest.append((seconds, at))
        while at - quickest[0][1] > WAY_SECONDS:
            quickest.popleft()
        self._way = quickest[0][0]
        self._answer_lag = seconds - self._way
        self._answers += 1
        self._is_answering = True
        self._is_asked = False

    # --- what follows ---

    def may_ask(self, at: float) -> bool:
        """Whether a question may go with the next frame: never two at once, never one without hope."""
        since = at - self._asked_at
        if self._is_asked and since > LOST_SECONDS:
            self._is_asked = self._is_answering = False
            self._answer_lag = 0.0
        wait = ASK_SECONDS if self._answers >= FIRST_ANSWERS else 0.0
        return self._is_answering and not self._is_asked and since >= wait

    def answer_due(self, at: float) -> float:
        """How many seconds the open question deserves to be waited for; 0 if there is none.

        For the end of a screen: an answer that came after it would stand on the shell's line.
        """
        if not self._is_asked or not self._is_answering or at - self._asked_at > LONG_SECONDS:
            return 0.0
        return min(2 * self._way + LAST_SECONDS, LONG_SECONDS)

    def is_behind(self, at: float) -> bool:
        """Whether the terminal still has to take what it was given: another frame would only queue up."""
        return self._given > self._taken or OVERDUE_SECONDS < self._overdue(at) < LONG_SECONDS

    def interval(self, at: float) -> float:
        """Return the seconds from the last frame to the next one, 0 for a fast line. Call once a frame."""
        lag = self.lag(at)
        wanted = min(SHARE * lag, SLOWEST_SECONDS) if lag > NOISE_SECONDS else 0.0
        self._interval = max(wanted, self._interval * SHRINK)
        if self._interval < NOISE_SECONDS:
            self._interval = 0.0
        return self._interval

    def lag(self, at: float) -> float:
        """Return how long the terminal needed for what it took last, or needs already for what it has not."""
        until = at if self._given > self._taken else self._taken_at
        return max(until - self._given_at, self._answer_lag, self._overdue(at), 0.0)

    def _overdue(self, at: float) -> float:
        """Return by how many seconds the open question's answer is later than the quickest one was."""
        waited = at - self._asked_at
        if not self._is_asked or not self._is_answering:
            return 0.0
        return max(0.0, waited - self._way)
