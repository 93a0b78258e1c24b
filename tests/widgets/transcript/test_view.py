from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from widgets.ink import text_of
from widgets.transcript.message import TranscriptMessage
from widgets.transcript.view import FRAME_BUDGET, MIN_LAYOUTS, View


def a_view(width: int = 40, height: int = 5) -> View:
    view = View()
    view.resize(width, height)
    return view


def say(view: View, *texts: str, is_closed: bool = True) -> None:
    for text in texts:
        message = TranscriptMessage("", "")
        message.add(text)
        if is_closed:
            message.close("", is_failure=False)
        view.messages.append(message)


def add(view: View, text: str) -> None:
    view.messages[-1].add(text)


def rows(view: View) -> list[str]:
    return [text_of(row).rstrip() for span in view.frame() for row in span.layout.rows[span.start : span.end]]


def lines(first: int, last: int) -> str:
    """Return a text of one row for each number."""
    return "".join(f"- {number}\n" for number in range(first, last + 1))


def items(first: int, last: int) -> list[str]:
    return [f"  • {number}" for number in range(first, last + 1)]


def test_an_empty_view_shows_nothing() -> None:
    assert rows(a_view()) == []
    assert rows(View()) == []


def test_the_last_rows_are_shown_while_following() -> None:
    view = a_view()
    say(view, lines(1, 20))
    assert rows(view) == items(16, 20)


def test_what_fits_begins_at_the_top() -> None:
    view = a_view()
    say(view, lines(1, 2))
    assert rows(view) == ["", *items(1, 2)]


def test_scrolling_up_keeps_the_place_while_text_comes_in() -> None:
    view = a_view()
    say(view, lines(1, 20), is_closed=False)
    rows(view)
    view.scroll(-3)
    assert rows(view) == items(13, 17)
    add(view, lines(21, 60))
    assert rows(view) == items(13, 17)
    assert not view.follow
    assert view.rows_new == 40


def test_scrolling_down_to_the_end_follows_again() -> None:
    view = a_view()
    say(view, lines(1, 20), is_closed=False)
    rows(view)
    view.scroll(-3)
    rows(view)
    add(view, lines(21, 22))
    rows(view)
    assert view.rows_new == 2
    view.scroll(4)
    assert rows(view) == items(17, 21)
    assert (view.follow, view.rows_new) == (False, 1)
    view.scroll(9)
    assert rows(view) == items(18, 22)
    assert (view.follow, view.rows_new) == (True, 0)


def test_the_end_key_follows_again() -> None:
    view = a_view()
    say(view, lines(1, 20))
    rows(view)
    view.scroll(-10)
    view.to_end()
    assert rows(view) == items(16, 20)
    assert view.follow


def test_scrolling_goes_through_messages_to_the_first_row_and_no_further() -> None:
    view = a_view()
    say(view, lines(1, 3), lines(4, 6))
    assert rows(view) == [*items(3, 3), "", *items(4, 6)]
    view.scroll(-1)
    assert rows(view) == [*items(2, 3), "", *items(4, 5)]
    view.scroll(-100)
    assert rows(view) == ["", *items(1, 3), ""]
    view.scroll(-1)
    assert rows(view) == ["", *items(1, 3), ""]


def test_a_view_that_shows_everything_cannot_be_scrolled() -> None:
    view = a_view()
    say(view, lines(1, 3))
    before = rows(view)
    view.scroll(-1)
    view.to_start()
    assert view.follow
    assert rows(view) == before


def test_growing_tall_enough_follows_again() -> None:
    view = a_view()
    say(view, lines(1, 6))
    rows(view)
    view.scroll(-1)
    rows(view)
    assert not view.follow
    view.resize(40, 20)
    assert rows(view) == ["", *items(1, 6)]
    assert view.follow


def test_a_change_of_width_keeps_the_words_at_the_top() -> None:
    view = a_view(width=20, height=4)
    words = " ".join(f"w{number:03}" for number in range(400))
    say(view, words)
    rows(view)
    view.scroll(-40)
    first = rows(view)[0].split()[0]
    for width in (50, 11, 33, 7, 20):
        view.resize(width, 4)
        top = rows(view)[0].split()
        assert first in top
    assert not view.follow


@given(st.integers(1, 60), st.integers(1, 60), st.integers(1, 12))
def test_after_a_resize_the_rows_are_those_of_a_fresh_view(before: int, after: int, height: int) -> None:
    texts = [
        "# Title\n\nsome words that wrap\n\n" + lines(1, 9),
        "```\ncode\n```\n| a | b |\n|--|--|\n| c | d |",
    ]
    old, new = a_view(before, height), a_view(after, height)
    say(old, *texts)
    say(new, *texts)
    old.frame()
    old.resize(after, height)
    assert rows(old) == rows(new)


@given(st.lists(st.integers(-30, 30), max_size=8), st.integers(1, 9))
def test_wherever_one_scrolls_the_rows_are_a_window_of_the_whole(moves: list[int], height: int) -> None:
    texts = [f"message {number}\n\n" + lines(1, number) for number in range(8)]
    whole_view, view = a_view(40, 1000), a_view(40, height)
    say(whole_view, *texts)
    say(view, *texts)
    whole = rows(whole_view)
    top = len(whole) - height
    rows(view)
    for move in moves:
        view.scroll(move)
        top = max(0, min(top + move, len(whole) - height))
        assert rows(view) == whole[top : top + height]


def test_ten_thousand_messages_are_shown_without_splitting_more_than_the_last() -> None:
    view = a_view()
    say(view, *(f"message {number}\n\nwith words" for number in range(10_000)))
    assert rows(view)[-1] == "with words"
    assert sum(message.is_settled for message in view.messages) <= 3
    view.resize(10, 5)
    assert rows(view)[-1] == "with words"
    assert sum(message.is_settled for message in view.messages) <= 4


def test_a_huge_message_comes_in_over_several_frames_and_each_is_bounded() -> None:
    view = a_view()
    say(view, "word " * 100_000, is_closed=False)
    frames = 0
    while True:
        view.frame()
        frames += 1
        if not view.is_unsettled:
            break
    assert frames == pytest.approx(500_000 / FRAME_BUDGET, abs=1)
    assert rows(view)[-1].endswith("word")


def test_scrolling_up_into_a_huge_message_waits_for_it() -> None:
    view = a_view()
    say(view, "word\n" * 100_000, lines(1, 5))
    rows(view)
    view.scroll(-4)
    frames = 0
    while view.frame() and view.is_unsettled:
        frames += 1
    assert frames > 10
    view.scroll(-2)
    assert rows(view)[0].endswith("word")


def test_rows_that_were_not_laid_out_are_estimated_and_those_that_were_are_exact() -> None:
    view = a_view()
    say(view, lines(1, 8), is_closed=False)
    rows(view)
    view.scroll(-2)
    rows(view)
    add(view, "word " * 40 + "\n\n" + lines(1, 3))
    rows(view)
    exact = a_view(40, 1000)
    say(exact, lines(1, 8) + "word " * 40 + "\n\n" + lines(1, 3), is_closed=False)
    assert view.rows_new == len(rows(exact)) - 9


def test_only_so_many_layouts_are_kept() -> None:
    view = a_view()
    say(view, *(lines(1, 9) for _ in range(200)))
    rows(view)
    for _ in range(300):
        view.scroll(-5)
        rows(view)
    assert len(view._layouts) <= MIN_LAYOUTS


def test_clearing_forgets_everything() -> None:
    view = a_view()
    say(view, lines(1, 20))
    rows(view)
    view.scroll(-5)
    view.clear()
    assert rows(view) == []
    assert (view.follow, view.rows_new) == (True, 0)
    view.scroll(-1)
    view.to_start()
    view.stay()


def test_a_text_replaced_by_a_shorter_one_moves_the_reader_to_its_end() -> None:
    view = a_view()
    say(view, lines(1, 50))
    rows(view)
    view.scroll(-5)
    rows(view)
    view.messages[0].replace(lines(1, 3))
    assert rows(view) == ["", *items(1, 3)]
