from __future__ import annotations

import gc

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.segment import Segment
from textual.strip import Strip

from widgets.layout import PaintedStrip

WORDS = [Segment("some "), Segment("两位 "), Segment("words")]
WIDTH = 15


@given(st.integers(0, 20), st.integers(0, 20), st.lists(st.integers(1, 20), unique=True).map(sorted))
def test_it_is_cut_like_any_strip(start: int, end: int, cuts: list[int]) -> None:
    ours, textuals = PaintedStrip(WORDS, WIDTH), Strip(WORDS, WIDTH)
    assert list(ours.crop(start, end)) == list(textuals.crop(start, end))
    assert list(map(list, ours.divide(cuts))) == list(map(list, textuals.divide(cuts)))
    assert ours.crop(3) is ours.crop(3)


@pytest.mark.parametrize("width", [WIDTH, 9])
def test_what_was_painted_leaves_nothing_for_the_collector(width: int) -> None:
    gc.disable()
    try:
        gc.collect(0)  # what is young is all that is looked through afterwards
        row = PaintedStrip(WORDS, WIDTH).crop(0, width)
        [whole] = row.divide([width])
        assert whole is row
        del row, whole
        assert gc.collect(0) == 0
    finally:
        gc.enable()
