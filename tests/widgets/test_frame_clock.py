from __future__ import annotations

import asyncio
from queue import Queue

import pytest
from textual.app import App

from tests.widgets.apps import Hand
from widgets.frame_clock import FRAME_SECONDS, FrameClock, terminal_is_behind


class FakePane:
    def __init__(self) -> None:
        self.is_shown = True
        self.frames = 0
        self.left = 0  # frames of work that remain

    def draw(self) -> bool:
        self.frames += 1
        self.left -= 1
        return self.left > 0


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
        await asyncio.wait_for(drawn.wait(), 10)
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
