from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from widgets.transcript.heights import Heights

ROWS = st.lists(st.integers(0, 9), max_size=70)


@given(ROWS, st.lists(st.tuples(st.integers(0, 69), st.integers(0, 9))))
def test_it_counts_as_a_list_does(rows: list[int], changes: list[tuple[int, int]]) -> None:
    heights = Heights(rows)
    for index, value in changes:
        if index < len(rows):
            rows[index] = value
            heights.set(index, value)
    assert [heights[index] for index in range(len(heights))] == rows
    assert heights.total == sum(rows)
    for index in range(len(rows) + 1):
        assert heights.before(index) == sum(rows[:index])


@given(ROWS.filter(any))
def test_the_one_at_a_row_is_found(rows: list[int]) -> None:
    heights = Heights(rows)
    places = [(index, row) for index, count in enumerate(rows) for row in range(count)]
    assert [heights.at(row) for row in range(heights.total)] == places
    assert heights.at(-5) == places[0]
    assert heights.at(heights.total + 5) == places[-1]


def test_where_there_is_no_row_there_is_still_a_place() -> None:
    assert Heights([0, 0, 0]).at(0) == (2, 0)
    with pytest.raises(IndexError):
        Heights().at(0)
