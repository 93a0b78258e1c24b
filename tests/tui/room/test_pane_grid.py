"""Where panes stand: no holes, nothing illegible, no shuffling while a window is dragged."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.geometry import Region

from tui.room.pane_grid import (
    LEAST_PANE_CELLS,
    LEAST_PANE_ROWS,
    Arrangement,
    arrange,
    grid_rows,
    strip_shape,
)

PANES = st.integers(1, 40)
WIDTHS = st.integers(1, 320)
HEIGHTS = st.integers(1, 120)


def columns(panes: int, width: int, height: int) -> list[int]:
    """How many panes each row holds, from the top."""
    rows: dict[int, int] = {}
    for place in arrange(panes, 0, width, height).places:
        if place is not None:
            rows[place.y] = rows.get(place.y, 0) + 1
    return list(rows.values())


@pytest.mark.parametrize(
    ("panes", "width", "height", "expected"),
    [
        (1, 80, 22, [1]),
        (2, 80, 22, [2]),
        (3, 120, 28, [3]),
        (4, 120, 38, [2, 2]),
        (4, 200, 58, [4]),
        (5, 120, 38, [3, 2]),
        (7, 120, 38, [3, 2, 2]),
        (16, 120, 38, [4, 4, 4, 4]),
        (16, 200, 58, [4, 4, 4, 4]),
        (2, 60, 40, [1, 1]),
    ],
)
def test_a_screen_of_that_size_has_these_rows(
    panes: int, width: int, height: int, expected: list[int]
) -> None:
    assert columns(panes, width, height) == expected


@given(PANES, WIDTHS, HEIGHTS, st.booleans(), st.data())
def test_every_cell_belongs_to_exactly_one_place(
    panes: int, width: int, height: int, is_zoomed: bool, data: st.DataObject
) -> None:
    focused = data.draw(st.integers(0, panes - 1))
    arrangement = arrange(panes, focused, width, height, is_zoomed=is_zoomed)
    shown = [place for place in (*arrangement.places, arrangement.strip) if place is not None]
    assert sum(place.width * place.height for place in shown) == width * height
    cells = {
        (x, y)
        for place in shown
        for x in range(place.x, place.x + place.width)
        for y in range(place.y, place.y + place.height)
    }
    assert len(cells) == width * height
    assert arrangement.places[focused] is not None


@given(PANES, WIDTHS, HEIGHTS)
def test_no_pane_of_a_grid_is_illegible(panes: int, width: int, height: int) -> None:
    arrangement = arrange(panes, 0, width, height)
    if panes > 1 and None not in arrangement.places:
        for place in arrangement.places:
            assert place is not None
            assert place.width >= LEAST_PANE_CELLS
            assert place.height >= LEAST_PANE_ROWS


@given(st.integers(2, 40), WIDTHS, HEIGHTS)
def test_a_wider_screen_never_has_fewer_columns_and_a_taller_one_never_more(
    panes: int, width: int, height: int
) -> None:
    rows = grid_rows(panes, width, height)
    wider, taller = grid_rows(panes, width + 1, height), grid_rows(panes, width, height + 1)
    if rows:
        assert 0 < wider <= rows <= taller


@pytest.mark.parametrize(("panes", "strip"), [(4, (3, 1)), (16, (5, 3))])
def test_at_eighty_by_twenty_four_many_agents_are_one_large_pane_and_a_strip(
    panes: int, strip: tuple[int, int]
) -> None:
    for height in (22, 20):  # without and with a line to type in
        arrangement = arrange(panes, 1, 80, height)
        assert [place is not None for place in arrangement.places].index(True) == 1
        assert arrangement.strip == Region(0, height - strip[0], 80, strip[0])
        assert arrangement.strip_columns == strip[1]
        large = arrangement.places[1]
        assert large is not None
        assert large.height >= 12


@given(st.integers(1, 60), WIDTHS, HEIGHTS)
def test_a_strip_takes_at_most_about_a_third(summaries: int, width: int, height: int) -> None:
    rows, across = strip_shape(summaries, width, height)
    assert rows <= (height + 2) // 3
    assert height - rows >= min(height, LEAST_PANE_ROWS)
    assert (rows - 1) * across < summaries  # no empty row
    assert 1 <= across <= 3


def test_a_zoomed_pane_is_alone() -> None:
    assert arrange(3, 2, 120, 28, is_zoomed=True) == Arrangement((None, None, Region(0, 0, 120, 28)))


@pytest.mark.parametrize(("width", "height"), [(0, 5), (5, 0), (-1, -1)])
def test_no_room_shows_nothing(width: int, height: int) -> None:
    assert arrange(2, 0, width, height) == Arrangement((None, None))
    assert arrange(0, 0, 80, 24) == Arrangement(())
