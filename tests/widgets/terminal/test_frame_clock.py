from __future__ import annotations

import asyncio
from queue import Queue
from weakref import ref

import pytest
from textual.app import App
from textual.drivers.headless_driver import HeadlessDriver

from tests.widgets.apps import Hand
from tests.widgets.terminal.clocks import FakePane, Place
from widgets.terminal.frame_clock import (
    CALM_SECONDS,
    FRAME_SECONDS,
    UNWATCHED_SECONDS,
    FrameClock,
    terminal_is_behind,
)
from widgets.terminal.paced_driver import PacedDriver


def test_nothing_is_scheduled_while_nothing_is_new() -> None:
    hand = Hand()
    hand.clock()
    assert hand.waiting == []


def test_the_first_mark_after_a_pause_is_drawn_at_once() -> None:
    hand, pane = Hand(), FakePane()
    hand.clock().mark(pane)
    assert [asked.seconds for asked in hand.waiting] == [0.0]
    hand.turn()
    assert pane.frames == 1
    assert hand.waiting == []


def test_marks_in_one_frame_are_one_drawing_and_the_next_comes_a_frame_later() -> None:
    hand, pane = Hand(), FakePane()
    clock = hand.clock()
    clock.mark(pane)
    hand.turn()
    hand.time += FRAME_SECONDS / 4
    for _ in range(50):
        clock.mark(pane)
    assert [asked.seconds for asked in hand.waiting] == [pytest.approx(FRAME_SECONDS * 3 / 4)]
    hand.turn()
    assert pane.frames == 2


def test_a_pane_that_is_marked_all_the_time_is_drawn_thirty_times_a_second() -> None:
    hand, pane = Hand(), FakePane()
    clock = hand.clock()
    start = hand.time
    clock.mark(pane)
    while hand.time < start + 1:
        hand.turn()
        clock.mark(pane)
    assert 30 <= pane.frames <= 32


def test_work_that_is_left_is_done_in_the_next_frame() -> None:
    hand, pane = Hand(), FakePane()
    pane.left = 3
    hand.clock().mark(pane)
    assert hand.turn_until_clean() == 3
    assert pane.frames == 3


def test_a_pane_that_cannot_be_seen_is_not_drawn() -> None:
    hand, pane = Hand(), FakePane()
    pane.is_shown = False
    hand.clock().mark(pane)
    assert hand.turn_until_clean() == 1
    assert pane.frames == 0


def test_a_pane_that_was_closed_is_let_go_however_many_are_before_it() -> None:
    hand, open_panes, closed = Hand(), [FakePane() for _ in range(9)], FakePane()
    clock = hand.clock()
    clock.mark(closed)
    hand.turn_until_clean()  # it was drawn, so those that never were come first
    for pane in (closed, *open_panes):
        clock.mark(pane)
    closed.is_shown = False
    gone = ref(closed)
    del closed, pane
    hand.turn()
    assert any(pane.frames == 0 for pane in open_panes)  # more than a frame's share is left
    assert gone() is None


def test_frames_are_skipped_while_the_terminal_is_behind_and_nothing_is_lost() -> None:
    hand, pane = Hand(is_behind=True), FakePane()
    hand.clock().mark(pane)
    hand.turn()
    hand.turn()
    assert pane.frames == 0
    assert [asked.seconds for asked in hand.waiting] == [FRAME_SECONDS]
    hand.is_behind = False
    hand.turn()
    assert pane.frames == 1


def test_a_stopped_clock_draws_nothing_and_a_started_one_what_came_meanwhile() -> None:
    hand, pane = Hand(), FakePane()
    clock = hand.clock()
    clock.mark(pane)
    clock.stop()
    clock.mark(pane)
    assert hand.waiting == []
    clock.tick()
    assert pane.frames == 0
    clock.start()
    hand.turn_until_clean()
    assert pane.frames == 1


async def test_an_apps_clock_draws_in_the_apps_message_loop() -> None:
    app: App[None] = App()
    drawn = asyncio.Event()

    class Telling(FakePane):
        def draw(self) -> bool:
            drawn.set()
            return False

    async with app.run_test():
        FrameClock.for_app(app).mark(Telling())
        await asyncio.wait_for(drawn.wait(), 60)
    assert drawn.is_set()


def test_the_terminal_is_behind_while_writes_wait_in_the_drivers_queue() -> None:
    app: App[None] = App()
    assert not terminal_is_behind(app)

    class Writer:
        _queue: Queue[str] = Queue()

    class Driver:
        _writer_thread = Writer()

    app._driver = Driver()  # type: ignore[assignment]  # only what is looked at
    assert not terminal_is_behind(app)
    Writer._queue.put("bytes")
    assert terminal_is_behind(app)


# --- rates ---


def test_an_apps_clock_gives_it_the_driver_that_knows_the_terminal_unless_another_was_chosen() -> None:
    app: App[None] = App()
    FrameClock.for_app(app)
    assert app.driver_class is PacedDriver
    other: App[None] = App(driver_class=HeadlessDriver)
    FrameClock.for_app(other)
    assert other.driver_class is HeadlessDriver


def test_a_chosen_frame_rate_is_the_rate() -> None:
    place, pane = Place(frame_seconds=1 / 10), FakePane()
    place.run(place.clock(), [pane], 3)
    assert 30 <= pane.frames <= 32


def test_a_slow_line_stretches_the_frames_and_a_fast_one_brings_them_back() -> None:
    place, pane = Place(line=0.5), FakePane()
    clock = place.clock()
    place.run(clock, [pane], 5)
    assert 10 <= pane.frames <= 12
    place.line = 0.0
    place.run(clock, [pane], 2)
    assert pane.frames >= 10 + 1.5 * 30


def test_frames_that_come_late_do_not_slow_those_that_follow() -> None:
    place, pane = Place(), FakePane()
    clock = place.clock()
    start = place.time
    clock.mark(pane)
    while place.time < start + 10:
        place.time += 0.004  # the loop was busy elsewhere
        place.turn()
        clock.mark(pane)
    assert pane.frames >= 298


def test_a_terminal_without_the_focus_gets_four_frames_a_second_and_at_once_one_when_it_has_it_again() -> (
    None
):
    place, pane = Place(is_watched=False), FakePane()
    clock = place.clock()
    place.run(clock, [pane], 3)
    assert 12 <= pane.frames <= 14
    clock.mark(pane)
    assert place.waiting[0].seconds == pytest.approx(UNWATCHED_SECONDS)
    place.time += FRAME_SECONDS
    place.is_watched = True
    clock.hurry()
    assert [asked.seconds for asked in place.waiting] == [pytest.approx(0.0)]


def test_reduced_motion_is_four_frames_a_second_and_keys_at_once() -> None:
    place, pane = Place(is_calm=True), FakePane()
    clock = place.clock()
    assert clock.is_calm
    place.run(clock, [pane], 3)
    assert 12 <= pane.frames <= 14
    clock.mark(pane)
    assert place.waiting[0].seconds == pytest.approx(CALM_SECONDS)
    clock.mark(pane, now=True)
    assert [asked.seconds for asked in place.waiting] == [0.0]


# --- what a person did ---


def test_what_a_person_did_is_drawn_at_once_and_alone() -> None:
    place, touched, other = Place(line=0.5), FakePane(), FakePane()
    clock = place.clock()
    place.run(clock, [touched, other], 0.4)
    before = touched.frames, other.frames
    clock.mark(other)
    place.time += 0.01
    clock.mark(touched, now=True)
    assert [asked.seconds for asked in place.waiting] == [0.0]
    place.turn()
    assert (touched.frames, other.frames) == (before[0] + 1, before[1])
    assert [asked.seconds for asked in place.waiting] == [pytest.approx(0.49)]
    place.turn()
    assert (touched.frames, other.frames) == (before[0] + 1, before[1] + 1)


def test_what_a_person_did_is_not_drawn_again_with_the_next_frame() -> None:
    place, pane = Place(), FakePane()
    clock = place.clock()
    place.run(clock, [pane], 0.1)
    before = pane.frames
    clock.mark(pane)
    clock.mark(pane, now=True)
    assert place.turn_until_clean() == 1
    assert pane.frames == before + 1


def test_what_a_person_did_waits_for_a_terminal_that_is_behind() -> None:
    place, pane = Place(is_behind=True), FakePane()
    clock = place.clock()
    clock.mark(pane, now=True)
    place.turn()
    assert pane.frames == 0
    place.is_behind = False
    place.turn()
    assert pane.frames == 1
    assert place.waiting == []


def test_what_a_person_did_while_the_terminal_was_lent_is_drawn_afterwards() -> None:
    place, pane = Place(), FakePane()
    clock = place.clock()
    clock.stop()
    clock.mark(pane, now=True)
    clock.hurry()
    assert place.waiting == []
    clock.start()
    place.turn_until_clean()
    assert pane.frames == 1


def test_one_frame_waits_however_it_was_asked_for() -> None:
    place = Place()
    clock = place.clock()
    other = FakePane()

    class Talking(FakePane):
        def draw(self) -> bool:
            clock.mark(other)  # as a pane does that has something to say about another
            clock.mark(self)
            return super().draw()

    clock.mark(Talking())
    for _ in range(5):
        place.turn()
        assert len(place.waiting) == 1
    late = place.asked[-1].callback  # on its way already when the next line cancels it
    clock.hurry()
    late()
    assert len(place.waiting) == 1


async def test_a_clock_hears_from_its_app_who_is_watched_and_who_has_the_focus() -> None:
    app: App[None] = App()
    async with app.run_test():
        clock = FrameClock.for_app(app)
        asked: list[int] = []
        app.watch(app, "app_focus", clock.hurry, init=False)
        app.watch(app, "app_focus", lambda: asked.append(1), init=False)
        app.app_focus = False
        assert clock.interval == UNWATCHED_SECONDS
        app.app_focus = True
        assert clock.interval == FRAME_SECONDS
        assert asked == [1, 1]
