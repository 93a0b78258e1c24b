from __future__ import annotations

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
