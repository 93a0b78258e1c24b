"""The arithmetic of slow lines, on lines that are made of arithmetic."""

from __future__ import annotations

from collections import deque
from math import inf

import pytest

from widgets.terminal.pace import (
    ASK_SECONDS,
    CHOKED_CHARACTERS,
    FIRST_ANSWERS,
    FIRST_PANES,
    FRAME_SHARE,
    LAST_SECONDS,
    LONG_SECONDS,
    LOST_SECONDS,
    NOISE_SECONDS,
    PAUSE_SECONDS,
    SLOWEST_SECONDS,
    Pace,
)

FRAME_SECONDS = 1 / 30
STEP_SECONDS = 1 / 1000


class FakeLine:
    """A line of ``rate`` characters a second behind a buffer that takes ``buffer`` of them at once.

    A frame of ``size`` is drawn whenever the pace allows one. The terminal answers unless ``is_mute``, and
    the way there and back takes ``way`` seconds.
    """

    def __init__(
        self,
        rate: float,
        *,
        buffer: float = 8192,
        way: float = 0.0,
        size: int = 4000,
        is_mute: bool = False,
        is_hidden: bool = False,
        most_rate: float = inf,
    ) -> None:
        """``is_hidden``: something on the near side takes everything and answers at once."""
        self.rate, self.buffer, self.way, self.size, self.is_mute = rate, buffer, way, size, is_mute
        self.is_hidden = is_hidden
        self.pace = Pace(most_rate)
        self.now = 100.0
        self.frames = 0
        self.questions = 0
        self.loses = 0  # so many answers from now on
        self.busy = 0.0  # seconds during which the line had something to do
        self.backlogs: list[float] = []  # seconds that a key's echo would have waited, at every step
        self._given = self._passed = 0.0
        self._is_told = True
        self._last_frame = 0.0
        self._interval = 0.0
        self._answers: deque[tuple[str, float, float]] = (
            deque()
        )  # to what, what has to have passed, when it did
        self._ask("status")

    def run(self, seconds: float) -> FakeLine:
        """Draw as much as may be drawn for so long."""
        self.frames = self.questions = 0
        self.busy = 0.0
        self.backlogs = []
        end = self.now + seconds
        while self.now < end:
            self._pass()
            if self.pace.may_ask_again(self.now):
                self._ask("identity" if self.pace.is_open("status") else "status")
            if self.now - self._last_frame >= max(FRAME_SECONDS, self._interval) and not self.pace.is_behind(
                self.now
            ):
                self._draw()
            self.now += STEP_SECONDS
        return self

    def _pass(self) -> None:
        self.busy += STEP_SECONDS if self._passed < self._given else 0.0
        self._passed = min(self._given, self._passed + self.rate * STEP_SECONDS)
        self.backlogs.append((self._given - self._passed) / self.rate)
        if not self._is_told and self._given - self._passed <= self.buffer:
            self.pace.took(self.pace.waiting, self.now)
            self._is_told = True
        while self._answers and (self.is_hidden or self._answers[0][1] <= self._passed):
            kind, behind, passed_at = self._answers[0]
            if not passed_at:
                self._answers[0] = kind, behind, self.now
            elif self.now >= passed_at + self.way:
                self._answers.popleft()
                if self.loses:
                    self.loses -= 1
                elif not self.is_mute:
                    self.pace.answered(kind, self.now)
            else:
                break

    def _draw(self) -> None:
        asks = self.pace.may_ask(self.now)
        self._interval = self.pace.interval(self.now)
        self.pace.gave(self.size, self.now)
        self._given += self.size
        self._is_told = False
        self._last_frame = self.now
        self.frames += 1
        if asks:
            self._ask("status")

    def _ask(self, kind: str) -> None:
        self.pace.asked(kind, self.now)
        self._answers.append((kind, self._given, 0.0))
        self.questions += 1


@pytest.mark.parametrize("way", [0.0, 0.05, 0.3])
def test_a_fast_line_gets_every_frame_however_long_its_way_is(way: float) -> None:
    line = FakeLine(10_000_000, way=way).run(10)
    assert line.frames >= 290
    assert line.pace.interval(line.now) == 0.0


@pytest.mark.parametrize("buffer", [0, 8192, 1_000_000])
@pytest.mark.parametrize("way", [0.0, 0.2])
def test_a_slow_line_is_half_free_when_the_terminal_answers_however_much_is_buffered(
    buffer: float, way: float
) -> None:
    line = FakeLine(30_000, buffer=buffer, way=way).run(10)  # learn the line
    line.run(20)
    assert line.busy / 20 <= 0.6
    assert line.frames >= 20 * 30_000 * 0.3 / line.size  # and it is used
    assert max(line.backlogs) <= 2 * line.size / line.rate


def test_the_first_second_of_an_unknown_line_does_not_bury_it() -> None:
    line = FakeLine(30_000, buffer=1_000_000).run(1)
    assert max(line.backlogs) <= 1.0


def test_without_answers_a_blocking_line_is_never_more_than_its_buffer_and_a_frame_behind() -> None:
    line = FakeLine(30_000, is_mute=True).run(10)
    assert max(line.backlogs) <= (line.buffer + 2 * line.size) / line.rate
    assert line.questions == 0
    assert 20 <= line.frames <= 80


def test_a_line_that_nobody_can_see_is_half_free_where_it_carries_what_it_is_trusted_with() -> None:
    line = FakeLine(10_000, buffer=inf, size=1000, is_hidden=True, most_rate=10_000).run(30)
    assert line.busy / 30 <= 0.6
    assert line.frames >= 60
    assert max(line.backlogs) <= 1.0


def test_a_line_that_becomes_fast_again_gets_every_frame_again() -> None:
    line = FakeLine(20_000, buffer=1_000_000).run(10)
    slow = line.frames
    line.rate = 10_000_000
    line.run(4)
    assert line.run(2).frames >= 58
    assert slow < 60


def test_a_frame_that_needs_a_second_is_followed_by_the_next_as_soon_as_it_is_taken() -> None:
    line = FakeLine(4_000, buffer=0).run(20)
    assert 15 <= line.frames <= 21
    assert line.pace.interval(line.now) == SLOWEST_SECONDS


def test_questions_are_rare_on_a_fast_line() -> None:
    line = FakeLine(10_000_000).run(10)
    assert line.questions <= FIRST_ANSWERS + 10 / ASK_SECONDS


def test_a_terminal_that_never_answered_is_neither_asked_nor_waited_for() -> None:
    pace = Pace()
    pace.asked("status", 0.0)
    for at in (0.01, 1.0, 3.0, 100.0):
        assert not pace.may_ask(at)
        assert not pace.is_behind(at)
        assert pace.interval(at) == 0.0
    assert pace.answer_due(3.0) == 0.0


def answering() -> Pace:
    pace = Pace()
    pace.asked("status", 0.0)
    pace.answered("status", 0.01)
    return pace


def test_a_terminal_that_stops_answering_is_waited_for_then_drawn_slowly_then_drawn_fast() -> None:
    pace = answering()
    pace.asked("status", 1.0)
    assert not pace.is_behind(1.05)
    assert pace.is_behind(1.2)
    assert pace.is_behind(1.0 + LONG_SECONDS - 0.01)
    at = 1.1 + LONG_SECONDS
    assert not pace.is_behind(at)
    assert pace.interval(at) == SLOWEST_SECONDS
    assert not pace.may_ask(at)
    at = 1.1 + LOST_SECONDS
    assert not pace.may_ask(at)
    for _ in range(20):
        at += SLOWEST_SECONDS
        seconds = pace.interval(at)
    assert seconds == 0.0
    pace.answered("status", at)  # after all
    assert pace.may_ask(at + ASK_SECONDS)


def test_one_lost_answer_costs_less_than_half_a_second() -> None:
    line = FakeLine(10_000_000, way=0.02).run(5)
    line.loses = 1
    line.run(0.6)
    assert line.loses == 0
    assert line.frames >= 0.1 / FRAME_SECONDS
    assert line.run(1).frames >= 29
    assert line.pace.interval(line.now) == 0.0


def test_a_slow_line_that_is_asked_twice_gets_no_more_frames_for_that() -> None:
    line = FakeLine(4_000, buffer=1_000_000).run(10)  # each frame takes a second
    line.run(20)
    assert line.frames <= 20
    assert max(line.backlogs) <= 1.1 * line.size / line.rate


def test_the_answer_to_one_question_is_not_taken_for_the_answer_to_another() -> None:
    pace = answering()
    pace.asked("status", 1.0)
    pace.asked("identity", 1.5)
    pace.answered("status", 1.6)  # slow, and not lost
    assert pace.is_asked
    assert pace.lag(1.6) == pytest.approx(0.59)
    pace.answered("identity", 1.61)
    assert not pace.is_asked
    pace.asked("status", 2.0)
    pace.asked("identity", 2.5)
    pace.answered("identity", 2.51)  # that one to the status is lost: answers come in order
    assert not pace.is_asked
    assert pace.lag(2.51) < NOISE_SECONDS


def test_an_answer_to_nothing_is_no_answer() -> None:
    pace = answering()
    pace.asked("status", 1.0)
    pace.answered("identity", 1.5)
    assert pace.is_asked
    assert pace.is_behind(1.5)
    pace.answered("status", 2.0)
    pace.answered("status", 2.1)
    assert pace.lag(2.1) == pytest.approx(0.99)


def test_an_answer_is_due_at_the_end_only_while_a_question_is_open_and_not_for_ever() -> None:
    pace = answering()
    assert pace.answer_due(5.0) == 0.0
    pace.asked("status", 5.0)
    assert LAST_SECONDS <= pace.answer_due(5.0) <= LONG_SECONDS
    assert pace.answer_due(60.0) == 0.0


def test_a_thread_that_is_late_for_a_moment_slows_nothing() -> None:
    pace = Pace()
    pace.gave(100, 1.0)
    pace.took(100, 1.02)
    assert pace.interval(1.03) == 0.0


def test_nothing_is_behind_when_all_was_taken() -> None:
    pace = Pace()
    pace.gave(100, 1.0)
    pace.gave(50, 1.1)
    pace.took(100, 1.2)
    assert pace.is_behind(1.3)
    assert pace.lag(1.3) == pytest.approx(0.3)
    pace.took(50, 1.4)
    assert not pace.is_behind(9.0)
    assert pace.lag(9.0) == pytest.approx(0.4)


# --- how many panes a frame may have ---

PANE = 2500  # characters of a pane that is painted whole


def crowd(pace: Pace, rate: float, frames: int, at: float) -> tuple[list[int], float]:
    """Draw as many panes as may be drawn on a line that answers; return how many, and when it is then."""
    drawn = [0]
    for _ in range(frames):
        drawn.append(pace.panes(drawn[-1], at))
        pace.interval(at)
        pace.gave(drawn[-1] * PANE, at)
        pace.asked("status", at)
        at += drawn[-1] * PANE / rate
        pace.took(pace.waiting, at)
        pace.answered("status", at)
        at += FRAME_SECONDS
    return drawn[1:], at


def test_the_first_frames_have_few_panes_and_then_a_fast_line_gets_all() -> None:
    drawn, _ = crowd(answering(), 10_000_000, 5, 1.0)
    assert drawn == [3, 6, 12, 24, 32]


def test_frames_on_a_slow_line_fit_into_their_share_of_it() -> None:
    pace = answering()
    crowd(pace, 10_000_000, 6, 1.0)
    drawn, _ = crowd(pace, 30_000, 40, 1.3)
    settled = drawn[10:]
    assert max(settled) * PANE <= 1.5 * FRAME_SHARE * 30_000
    assert min(settled) >= 1


def test_a_line_is_found_out_again_after_a_pause() -> None:
    pace = answering()
    _, at = crowd(pace, 10_000_000, 6, 1.0)
    assert pace.panes(0, at + PAUSE_SECONDS + 0.1) == FIRST_PANES


def test_one_late_answer_makes_no_line_slow() -> None:
    pace = answering()
    _, at = crowd(pace, 10_000_000, 6, 1.0)
    _, at = crowd(pace, 30_000, 1, at)
    drawn, _ = crowd(pace, 10_000_000, 4, at)
    assert drawn[-1] >= 16


def test_what_waits_chokes_the_line_until_it_is_taken_or_left() -> None:
    pace = Pace()
    pace.gave(CHOKED_CHARACTERS, 1.0)
    assert not pace.is_choked
    pace.gave(1, 1.0)
    assert pace.is_choked
    pace.took(1, 1.0)
    assert not pace.is_choked
    pace.left()
    assert pace.waiting == 0
    assert not pace.is_behind(9.0)
