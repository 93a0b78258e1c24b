"""How soon the next frame may come on a line of unknown speed, and how large it may be: pure arithmetic."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from math import inf
from typing import Final

SLOWEST_SECONDS: Final = 0.5  # between two frames, however slow the line is
SHARE: Final = 2.0  # after a frame that takes n seconds the next comes SHARE × n later: half the time is free
NOISE_SECONDS: Final = 0.03  # a delay this small says nothing about the line: a thread was late
SHRINK: Final = 0.7  # how fast a longer interval shrinks again, per frame
ASK_SECONDS: Final = 0.25  # between two questions to the terminal
FIRST_ANSWERS: Final = 8  # until this many came, the line is unknown and every frame may ask
OVERDUE_SECONDS: Final = 0.1  # an answer this much later than usual means that the terminal is behind
LONG_SECONDS: Final = 2.0  # this much later, it may have lost its answer: slow frames again, rather than none
AGAIN_SECONDS: Final = 0.25  # this much later than usual, an answer may be lost: another question will tell
LAST_SECONDS: Final = 1.0  # how much later than usual an answer may be at the end of a screen
LOST_SECONDS: Final = 10.0  # an answer that has not come by then will not come
FRAME_SHARE: Final = 0.2  # seconds that a frame may occupy a slow line
FAST_RATE: Final = 150_000.0  # characters a second from which a line needs no small frames
TELLING_CHARACTERS: Final = 2000  # fewer late characters say nothing about the line's rate
CONFIRM_SECONDS: Final = 2.0  # a write that blocks once may be chance; twice in this time it is the line
GROWTH: Final = 1.2  # of a slow line's rate with every frame without a delay
FIRST_PANES: Final = 3  # of the first frame after a pause: the line may be slow
MOST_PANES: Final = 32.0
PAUSE_SECONDS: Final = 1.0  # without a frame, after which the line has to be measured again
CHOKED_CHARACTERS: Final = 16_000  # if more than this is waiting, nothing more is painted
WAY_SECONDS: Final = 120.0  # the fastest answer of this time is the time there and back


@dataclass(frozen=True, slots=True)
class TerminalQuestion:
    """A question to the terminal. ``size`` is how much was written since the question before it."""

    kind: str
    at: float
    size: int


class Pace:
    """What the terminal was given, what it has taken, and what follows for the next frame.

    Two things show that a terminal is behind. Writing to it blocks: then what was *given* is not *taken* for
    a while. Or buffers on the way (SSH, a multiplexer) swallow everything: then only the terminal's own
    answers tell, which come later the more precedes the question. A terminal that never answered is never
    waited for. All times are in seconds of the caller's clock, sizes in characters. A terminal answers in the
    order in which it was asked. At most one question of a kind is open, so an answer says which question it
    belongs to, and that no earlier one will be answered anymore. When an answer is late, a question of
    another kind tells whether it is lost or the terminal is slow. ``took`` and ``answered`` may be called
    from other threads: each sets plain values that only they set. The open questions are set by ``asked``,
    ``may_ask`` and ``answered``, of which only one may run at a time.
    """

    def __init__(self, most_rate: float = inf) -> None:
        """``most_rate`` is the assumed rate of the line, in characters a second."""
        self._given = self._taken = 0
        self._given_at = self._taken_at = 0.0  # the oldest that was not taken; the last that was
        self._open: tuple[TerminalQuestion, ...] = ()  # the oldest first
        self._asked_at = 0.0  # the last one
        self._is_answering = False
        self._way = self._answer_lag = 0.0
        self._answers = 0
        # (seconds, when): each faster than all after it
        self._quickest: deque[tuple[float, float]] = deque()
        self._interval = 0.0
        self._most_rate = most_rate
        self._rate = most_rate  # characters a second; infinite while the line is not slow
        self._asked_given = 0
        self._empty_at_given = 0  # how much had been given when the line was last free
        self._woke_at = self._woke_taken = 0.0
        self._learned_at = -inf
        self._framed_given = self._counted_given = 0
        self._counted_at = -inf
        self._panes = float(FIRST_PANES)
        self._pane_size = 0.0
        self._was_slow = False

    def gave(self, size: int, at: float) -> None:
        if self._taken >= self._given:
            self._given_at = at
            self._empty_at_given = self._given
        self._given += size

    def took(self, size: int, at: float) -> None:
        blocked = at - max(self._given_at, self._taken_at)
        self._taken += size
        self._taken_at = at
        if blocked <= NOISE_SECONDS:
            return
        # A full buffer wakes its writer when it is nearly empty: from one wake-up to the next, or since
        # the line was free, it passed on what it took.
        began, before = max((self._woke_at, self._woke_taken), (self._given_at, self._empty_at_given))
        self._woke_at, self._woke_taken = at, self._taken
        self._learn((self._taken - before) / (at - began), began, at)

    def left(self) -> None:
        """Note that nothing is on its way anymore: the terminal was left."""
        self._taken = self._given
        self._open = ()

    def asked(self, kind: str, at: float) -> None:
        """Note that the terminal was asked a question, after everything that was given so far."""
        self._asked_at = at
        self._open = (*self._open, TerminalQuestion(kind, at, self._given - self._asked_given))
        self._asked_given = self._given

    def answered(self, kind: str, at: float) -> None:
        """Note that an answer came. One that belongs to no open question only says that answers come."""
        if not self.is_open(kind):
            self._is_answering = self._is_answering or self._answers > 0
            return
        place, question = next((place, asked) for place, asked in enumerate(self._open) if asked.kind == kind)
        size = sum(asked.size for asked in self._open[: place + 1])  # at most this much is before it
        self._open = self._open[place + 1 :]
        seconds = at - question.at
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
        if self._answer_lag <= NOISE_SECONDS:
            self._grow(size / NOISE_SECONDS)
        elif size >= TELLING_CHARACTERS:
            self._learn(size / self._answer_lag, question.at, at)

    def _learn(self, rate: float, began: float, at: float) -> None:
        """Take a rate measured since ``began``; a fast one is ignored, and the first may be chance."""
        if rate >= FAST_RATE:
            return
        if self._rate < inf:
            self._rate = (self._rate + rate) / 2
        elif 0.0 <= began - self._learned_at < CONFIRM_SECONDS:  # not the same delay, seen twice
            self._rate = rate
        self._learned_at = at

    def _grow(self, proven: float) -> None:
        """Raise the assumed rate a little, at most to what is ``proven``: the line may have spare capacity
        saved up.
        """
        grown = max(self._rate, min(self._rate * GROWTH, proven))
        self._rate = min(grown if grown < FAST_RATE else inf, self._most_rate)

    @property
    def is_asked(self) -> bool:
        return bool(self._open)

    def is_open(self, kind: str) -> bool:
        """Whether a question of that kind is open."""
        return kind in [question.kind for question in self._open]

    def may_ask(self, at: float) -> bool:
        """Whether the next frame may ask a question: never two at once, and never if no answer can be
        expected.
        """
        if self._open and at - self._asked_at > LOST_SECONDS:
            self._open, self._is_answering = (), False
            self._answer_lag = 0.0
        wait = ASK_SECONDS if self._answers >= FIRST_ANSWERS else 0.0
        return self._is_answering and not self._open and at - self._asked_at >= wait

    def may_ask_again(self, at: float) -> bool:
        """Whether the only open answer is so late that another kind of question should tell why."""
        return len(self._open) == 1 and self._overdue(at) > AGAIN_SECONDS

    def answer_due(self, at: float) -> float:
        """How many seconds to wait for the open answer at the end of a screen (it would be typed into the
        shell); or 0.
        """
        if not self._open or at - self._asked_at > LONG_SECONDS:
            return 0.0
        if not self._is_answering:  # it may never answer: only the first question gets this much time
            return 0.0 if self._answers else max(0.0, self._asked_at + LAST_SECONDS - at)
        return min(2 * self._way + LAST_SECONDS, LONG_SECONDS)

    def is_behind(self, at: float) -> bool:
        """Whether the terminal has not yet taken what it was given: another frame would only wait in the
        queue.
        """
        return self._given > self._taken or OVERDUE_SECONDS < self._overdue(at) < LONG_SECONDS

    @property
    def is_choked(self) -> bool:
        """Whether so much is waiting that painting should stop for now."""
        return self.waiting > CHOKED_CHARACTERS

    @property
    def waiting(self) -> int:
        return self._given - self._taken

    def interval(self, at: float) -> float:
        """Return the seconds from the last frame to the next one, 0 for a fast line. Call once a frame."""
        size = self._given - self._framed_given
        self._framed_given = self._given
        lag = self.lag(at)
        if lag <= NOISE_SECONDS and not self._is_answering:
            self._grow(inf)
        wanted = SHARE * max(lag if lag > NOISE_SECONDS else 0.0, size / self._rate)
        self._interval = max(min(wanted, SLOWEST_SECONDS), self._interval * SHRINK)
        if self._interval < NOISE_SECONDS:
            self._interval = 0.0
        return self._interval

    def panes(self, drawn: int, at: float) -> int:
        """Return how many panes the next frame may draw, after ``drawn`` since the last call, once a frame:
        few at first, then twice as many; on a slow line as many as it takes in ``FRAME_SHARE`` seconds.
        """
        is_slow, is_first = self._rate < inf, at - self._counted_at > PAUSE_SECONDS
        if drawn and not is_first:
            size = (self._given - self._counted_given) / drawn
            self._pane_size = (self._pane_size + size) / 2 if self._pane_size else size
        if is_first or (is_slow and not self._was_slow):
            self._panes = min(self._panes, FIRST_PANES)
        elif is_slow:
            self._panes = min(self._panes + 1, self._rate * FRAME_SHARE / max(self._pane_size, 1.0))
        elif self.lag(at) <= NOISE_SECONDS:
            self._panes = min(self._panes * 2, MOST_PANES)
        self._panes = max(self._panes, 1.0)
        self._counted_given, self._counted_at, self._was_slow = self._given, at, is_slow
        return int(self._panes)

    def lag(self, at: float) -> float:
        """Return how long the terminal needed for what it took last, or has needed so far for what it has not
        taken.
        """
        until = at if self._given > self._taken else self._taken_at
        return max(until - self._given_at, self._answer_lag, self._overdue(at), 0.0)

    def _overdue(self, at: float) -> float:
        """Return by how many seconds the oldest open question's answer is later than the fastest answer
        was.
        """
        asked = self._open
        if not asked or not self._is_answering:
            return 0.0
        return max(0.0, at - asked[0].at - self._way)
