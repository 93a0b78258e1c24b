"""How soon the next frame may come on a line of unknown speed, and how large it may be: pure arithmetic."""

from __future__ import annotations

from math import inf
from typing import Final

SLOWEST_SECONDS: Final = 0.5  # between two frames, however slow the line is
SHARE: Final = 2.0  # after a frame that takes n seconds the next comes SHARE × n later: half the time is free
NOISE_SECONDS: Final = 0.03  # a delay this small says nothing about the line: a thread was late
SHRINK: Final = 0.7  # how fast a longer interval shrinks again, per frame
ASK_SECONDS: Final = 0.25  # between two questions to the terminal
FIRST_ANSWERS: Final = 8  # until this many came, the line is unknown and every frame may ask
WAY_GROWTH: Final = 1.002  # of the time there and back with every answer: the way may have become longer
OVERDUE_SECONDS: Final = 0.1  # an answer this much later than usual means that the terminal is behind
LONG_SECONDS: Final = 2.0  # this much later, it may have lost its answer: slow frames again, rather than none
LAST_SECONDS: Final = 1.0  # how much later than usual an answer may be at the end of a screen
LOST_SECONDS: Final = 4.0  # an answer that has not come by then will not come
MOST_LOST: Final = 3  # after so many lost answers in a row the terminal is not asked anymore
FRAME_SHARE: Final = 0.2  # seconds that a frame may occupy a slow line
FIRST_PANES: Final = 3  # of the first frame after a pause: the line may be slow
MOST_PANES: Final = 32.0
PAUSE_SECONDS: Final = 1.0  # without a frame, after which the line has to be measured again
CHOKED_CHARACTERS: Final = 16_000  # if more than this is waiting, nothing more is painted


class Pace:
    """What the terminal was given, what it has taken, and what follows for the next frame.

    Two things show that a terminal is behind. Writing to it blocks: then what was *given* is not *taken* for
    a while. Or buffers on the way (SSH, a multiplexer) swallow everything: then only the terminal's own
    answers tell, which come later the more precedes the question. A terminal that never answered is never
    waited for. All times are in seconds of the caller's clock, sizes in characters. ``took`` and
    ``answered`` may be called from other threads: each sets plain values that only they set. ``asked``,
    ``may_ask`` and ``answered`` share the open question: only one of them may run at a time.
    """

    def __init__(self, most_rate: float = inf) -> None:
        """``most_rate`` is the assumed rate of a line that cannot be measured, in characters a second."""
        self._most_rate = most_rate
        self._given = self._taken = 0
        self._given_at = self._taken_at = 0.0  # the oldest that was not taken; the last that was
        self.is_asked = False  # a question is open: never two at once
        self._asked_at = 0.0
        self._answers = 0
        self._lost = 0  # since the last answer
        self._way = inf  # the time there and back
        self._answer_lag = 0.0
        self._interval = 0.0
        self._panes = float(FIRST_PANES)
        self._framed_given, self._framed_at = 0, -inf

    def gave(self, size: int, at: float) -> None:
        if self._taken >= self._given:
            self._given_at = at
        self._given += size

    def took(self, size: int, at: float) -> None:
        self._taken += size
        self._taken_at = at

    def left(self) -> None:
        """Note that nothing is on its way anymore: the terminal was left."""
        self._taken = self._given
        self.is_asked = False

    def asked(self, at: float) -> None:
        """Note that the terminal was asked, after everything that was given so far."""
        self.is_asked, self._asked_at = True, at

    def answered(self, at: float) -> None:
        """Note that an answer came. One to no open question only says that answers come."""
        self._lost = 0
        if not self.is_asked:
            return
        self.is_asked = False
        self._answers += 1
        seconds = at - self._asked_at
        self._way = min(seconds, self._way * WAY_GROWTH)
        self._answer_lag = seconds - self._way

    @property
    def _is_answering(self) -> bool:
        return self._answers > 0 and self._lost < MOST_LOST

    def may_ask(self, at: float) -> bool:
        """Whether the next frame may ask: never two questions at once, nor one without hope of an answer."""
        if self.is_asked and at - self._asked_at > LOST_SECONDS:
            self.is_asked, self._answer_lag = False, 0.0
            self._lost += 1
        wait = ASK_SECONDS if self._answers >= FIRST_ANSWERS else 0.0
        return self._is_answering and not self.is_asked and at - self._asked_at >= wait

    def answer_due(self, at: float) -> float:
        """How many seconds to wait at the end of a screen for an answer that the shell would get."""
        if not self.is_asked or at - self._asked_at > LONG_SECONDS:
            return 0.0
        if not self._is_answering:  # it may never answer: only the first question gets this much time
            return 0.0 if self._answers else max(0.0, self._asked_at + LAST_SECONDS - at)
        return min(2 * self._way + LAST_SECONDS, LONG_SECONDS)

    def is_behind(self, at: float) -> bool:
        """Whether the terminal has not yet taken what it was given: a frame would only wait in the queue."""
        return self._given > self._taken or OVERDUE_SECONDS < self._overdue(at) < LONG_SECONDS

    @property
    def is_choked(self) -> bool:
        """Whether so much is waiting that painting should stop for now."""
        return self.waiting > CHOKED_CHARACTERS

    @property
    def waiting(self) -> int:
        return self._given - self._taken

    def frame(self, drawn: int, at: float) -> tuple[float, int]:
        """Return the seconds from the last frame to the next one, 0 for a fast line, and how many panes it
        may draw, after ``drawn`` in the last one: few at first, then twice as many; on a slow line as many as
        it takes in ``FRAME_SHARE`` seconds. Call once a frame.
        """
        lag, size = self.lag(at), self._given - self._framed_given
        cost = max(lag if lag > NOISE_SECONDS else 0.0, size / self._most_rate)  # of the last frame, seconds
        interval = max(min(SHARE * cost, SLOWEST_SECONDS), self._interval * SHRINK)
        self._interval = interval if interval >= NOISE_SECONDS else 0.0
        if at - self._framed_at > PAUSE_SECONDS:
            panes = min(self._panes, FIRST_PANES)
        elif cost:
            panes = min(self._panes * 2, drawn * FRAME_SHARE / cost) if drawn else self._panes
        else:
            panes = self._panes * 2
        self._panes = max(1.0, min(panes, MOST_PANES))
        self._framed_given, self._framed_at = self._given, at
        return self._interval, int(self._panes)

    def lag(self, at: float) -> float:
        """Return the seconds that the last took the terminal, or what is not taken has taken so far."""
        until = at if self._given > self._taken else self._taken_at
        return max(until - self._given_at, self._answer_lag, self._overdue(at), 0.0)

    def _overdue(self, at: float) -> float:
        """Return by how many seconds the open question's answer is later than usual."""
        is_expected = self.is_asked and self._is_answering
        return max(0.0, at - self._asked_at - self._way) if is_expected else 0.0
