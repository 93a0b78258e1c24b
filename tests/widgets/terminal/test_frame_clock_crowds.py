"""Many panes and one clock: whose turn it is."""

from __future__ import annotations

import pytest

from tests.widgets.terminal.clocks import FakePane, Place
from widgets.terminal.frame_clock import BUDGET_SECONDS, CROWD, FrameClock


def test_the_focused_pane_of_a_crowd_is_in_every_frame_and_the_others_in_every_third() -> None:
    panes = [FakePane() for _ in range(16)]
    place = Place(focused=panes[5])
    place.run(place.clock(), panes, 2)
    assert 60 <= panes[5].frames <= 62
    assert {pane.frames for pane in panes if pane is not panes[5]} <= {20, 21}
    assert set(place.drawn) == {6}  # spread evenly: no frame draws all


def test_few_panes_are_all_in_every_frame() -> None:
    panes = [FakePane() for _ in range(CROWD + 1)]
    place = Place(focused=panes[0])
    place.run(place.clock(), panes, 2)
    assert all(60 <= pane.frames <= 62 for pane in panes)


def test_frames_on_a_slow_line_are_small() -> None:
    panes = [FakePane() for _ in range(16)]
    place = Place(line=0.2, focused=panes[0])
    place.run(place.clock(), panes, 6)
    assert max(place.drawn[2:]) == CROWD + 1
    assert min(pane.frames for pane in panes) >= 6


@pytest.mark.parametrize("room", [1, 2, 5])
def test_a_frame_has_no_more_panes_than_the_line_has_room_for_and_everybody_gets_their_turn(
    room: int,
) -> None:
    panes = [FakePane() for _ in range(16)]
    told: list[int] = []
    place = Place(focused=panes[0])

    def line_panes(drawn: int) -> int:
        told.append(drawn)
        return room

    clock = FrameClock(
        place.schedule, line_panes=line_panes, focused=lambda: place.focused, now=lambda: place.time
    )
    place.run(clock, panes, 4)
    assert set(place.drawn) == {
        max(room, 2)
    }  # one beside the focused one, or nobody else would ever be drawn
    assert told == [0, *place.drawn[:-1]]
    others = [pane.frames for pane in panes[1:]]
    assert max(others) - min(others) <= 1


def test_a_crowd_that_falls_silent_is_drawn_whole() -> None:
    panes = [FakePane() for _ in range(16)]
    place = Place()
    clock = place.clock()
    for pane in panes:
        clock.mark(pane)
    place.turn_until_clean()
    assert [pane.frames for pane in panes] == [1] * 16


def test_a_frame_that_takes_too_long_leaves_the_rest_to_the_next_and_everybody_gets_their_turn() -> None:
    place = Place()

    class Heavy(FakePane):
        def draw(self) -> bool:
            place.time += BUDGET_SECONDS * 0.6
            return super().draw()

    panes: list[FakePane] = [Heavy() for _ in range(4)]
    place.focused = panes[3]
    place.run(place.clock(), panes, 3)
    assert set(place.drawn) <= {2}
    assert panes[3].frames == len(place.drawn)
    assert max(pane.frames for pane in panes[:3]) - min(pane.frames for pane in panes[:3]) <= 1
