"""What the view knows of itself: which places are in sight, how far it is from the top, where it may jump."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.widgets.transcript.test_view import a_view, add, items, lines, rows, say
from widgets.ink import text_of
from widgets.transcript.message import TranscriptMessage
from widgets.transcript.view import ESTIMATES_PER_FRAME, Place, View


def row_at(view: View, place: Place) -> str:
    return text_of(view.layout(place.message, place.part).rows[place.row]).rstrip()


def settled_frames(view: View) -> int:
    """Draw until nothing is left to be done; return the number of frames."""
    frames = 1
    view.frame()
    while view.is_unsettled:
        view.frame()
        frames += 1
    return frames


def test_every_visible_row_has_its_place() -> None:
    view = a_view()
    say(view, lines(1, 3), lines(4, 6))
    assert [row_at(view, place) for place in view.visible] == []
    shown = rows(view)
    assert [row_at(view, place) for place in view.visible] == shown
    assert [place.message for place in view.visible] == [0, 1, 1, 1, 1]
    view.clear()
    assert view.visible == []


@given(st.integers(0, 11), st.integers(0, 30), st.integers(0, 6), st.integers(1, 9))
def test_a_place_is_brought_into_sight(message: int, part: int, above: int, height: int) -> None:
    view = a_view(40, height)
    say(view, *(f"message {number}\n\n" + lines(1, number) for number in range(12)))
    place = Place(message, min(part, 1 + message), 0)
    view.show(place, above=min(above, height - 1))
    frame = rows(view)
    assert place in view.visible
    assert len(frame) == height
    total = view.position()[1]
    top = view.position()[0]
    if 0 < top < total - height:
        assert view.visible.index(place) == min(above, height - 1)
    assert not view.follow


def test_what_was_brought_into_sight_at_the_end_stays_when_more_comes() -> None:
    view = a_view()
    say(view, lines(1, 20), is_closed=False)
    rows(view)
    view.show(view.visible[-1])
    assert rows(view) == items(16, 20)
    add(view, lines(21, 30))
    assert rows(view) == items(16, 20)
    assert not view.follow
    assert view.rows_new == 10
    view.to_end()
    assert rows(view) == items(26, 30)


def test_a_short_text_that_is_held_is_held_until_the_reader_goes_to_the_end() -> None:
    view = a_view()
    say(view, lines(1, 3), is_closed=False)
    rows(view)
    view.stay()
    assert rows(view) == ["", *items(1, 3)]
    assert not view.follow
    add(view, lines(4, 20))
    assert rows(view) == ["", *items(1, 4)]
    view.scroll(100)
    assert rows(view) == items(16, 20)
    assert view.follow


def test_nothing_is_shown_where_nothing_is() -> None:
    view = a_view()
    view.show(Place(3, 2, 1))
    assert view.position() == (0, 0)
    say(view, lines(1, 20))
    view.show(Place(9, 99, 9))  # the nearest there is
    assert rows(view) == items(16, 20)
    assert view.visible[-1] == Place(0, 20, 0)


def test_the_position_counts_the_rows_above_and_all() -> None:
    view = a_view()
    say(view, lines(1, 20), lines(1, 20))
    rows(view)
    view.to_start()
    rows(view)
    assert view.position() == (0, 42)
    view.scroll(7)
    rows(view)
    assert view.position() == (7, 42)
    view.to_end()
    rows(view)
    assert view.position() == (37, 42)


@given(st.lists(st.integers(-30, 30), min_size=1, max_size=8), st.integers(1, 60), st.integers(1, 60))
def test_what_was_seen_once_is_counted_exactly_at_every_width(
    moves: list[int], before: int, after: int
) -> None:
    view, height = a_view(before, 6), 6
    say(view, *(f"message {number} with words that wrap\n\n" + lines(1, number) for number in range(9)))
    whole = a_view(after, 10_000)
    say(whole, *(f"message {number} with words that wrap\n\n" + lines(1, number) for number in range(9)))
    total = len(rows(whole))
    rows(view)
    view.resize(after, height)
    view.to_start()
    for _ in range(total):
        view.scroll(height)
        rows(view)
    assert view.position() == (total - height, total)
    top = total - height
    for move in moves:
        view.scroll(move)
        rows(view)
        top = max(0, min(top + move, total - height))
        assert view.position() == (top, total)


def test_a_better_estimate_above_does_not_move_what_is_read() -> None:
    view = a_view()
    say(view, *("word " * 300 for _ in range(30)), lines(1, 30))
    rows(view)
    view.scroll(-10)
    before = rows(view)
    above = view.position()[0]
    for number in range(30):  # somebody looks at all that is above
        for part in range(view.messages[number].part_count):
            view.layout(number, part)
        view.messages[number].settle(10_000)
    assert rows(view) == before
    assert view.position()[0] != above


def test_a_message_that_grows_above_does_not_move_what_is_read() -> None:
    view = a_view()
    for _ in range(2):
        view.messages.append(TranscriptMessage("", ""))
    view.messages[0].add(lines(1, 5))
    view.messages[1].add(lines(1, 30))
    rows(view)
    view.scroll(-10)
    before = rows(view)
    above, total = view.position()
    view.messages[0].add("\n\nmore of the first\n\nand more")
    assert rows(view) == before
    assert view.position()[0] > above
    assert view.position()[1] > total


def test_any_of_ten_thousand_messages_is_one_frame_away() -> None:
    view = a_view()
    say(view, *(f"message {number}\n\n" + lines(1, 9) for number in range(10_000)))
    assert rows(view) == items(5, 9)
    for number in (0, 4_321, 9_998):
        view.show(Place(number, 1, 0))
        assert rows(view)[0] == f"message {number}"
    view.to_start()
    assert rows(view)[1] == "message 0"
    view.to_end()
    assert rows(view) == items(5, 9)
    assert sum(message.is_settled for message in view.messages) < 20


def test_the_rows_of_ten_thousand_messages_are_estimated_anew_over_several_frames() -> None:
    view = a_view(80, 5)
    say(view, *("word " * 100 for number in range(10_000)))
    rows(view)
    wide = view.position()[1]
    view.resize(20, 5)
    assert settled_frames(view) == 10_000 // ESTIMATES_PER_FRAME
    fresh = a_view(20, 5)
    say(fresh, *("word " * 100 for number in range(10_000)))
    rows(fresh)
    assert view.position() == fresh.position()
    assert view.position()[1] > 2 * wide


def test_the_blocks_of_a_huge_message_are_estimated_anew_over_several_frames() -> None:
    view = a_view(80, 5)
    say(view, "word " * 20 + "\n\n" + lines(1, 3 * ESTIMATES_PER_FRAME) + "\n\n" + "word " * 20)
    settled_frames(view)
    view.resize(20, 5)
    assert settled_frames(view) == pytest.approx(4, abs=1)
    fresh = a_view(20, 5)
    say(fresh, "word " * 20 + "\n\n" + lines(1, 3 * ESTIMATES_PER_FRAME) + "\n\n" + "word " * 20)
    settled_frames(fresh)
    assert view.position() == fresh.position()
