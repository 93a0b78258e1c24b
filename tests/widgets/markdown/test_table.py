from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from tests.widgets.drawing import shown
from widgets.ink import text_of
from widgets.markdown.table import cells, is_delimiter, lay_out, measure

STORES = """\
| store | p95 | lost |
|-------|----:|:----:|
| Redis | 0.4 | 1 s of **data** |
| 关系数据库 | 12.9 | `no` |
"""


def test_columns_are_aligned_by_cells_and_by_the_delimiter_row() -> None:
    assert shown(STORES) == [
        "store      │  p95 │    lost",
        "───────────┼──────┼────────────",
        "Redis      │  0.4 │ 1 s of data",
        "关系数据库 │ 12.9 │     no",
    ]


def test_a_table_that_is_too_wide_gives_its_widest_columns_less_room() -> None:
    rows = shown(STORES, 24)
    assert all(cell_len(row) <= 24 for row in rows)
    assert rows[0].startswith("store")
    assert [row.split("│")[1].strip() for row in rows if "│" in row and row.split("│")[1].strip()] == [
        "p95",
        "0.4",
        "12.9",
    ]


def test_a_narrow_table_keeps_the_words_of_its_columns_whole_where_they_fit() -> None:
    text = "| signal | where | then |\n|--|--|--|\n| a session | pg_stat_statements | neither; we talk |\n"
    assert shown(text, 42) == [
        "signal    │ where              │ then",
        "──────────┼────────────────────┼──────────",
        "a session │ pg_stat_statements │ neither;",
        "          │                    │ we talk",
    ]
    assert shown("| 一二三四五六七八 | word |\n|--|--|\n| 一 | a_word |\n", 18)[-1] == "一        │ a_word"


def test_a_table_without_room_for_columns_is_still_readable() -> None:
    assert shown("| a | b | c |\n|--|--|--|\n| one | two | three |\n", 10) == [
        "a: one",
        "b: two",
        "c: three",
    ]


def test_a_bar_in_a_cell_is_escaped() -> None:
    assert cells(r"| a \| b | c |") == ["a | b", "c"]


def test_only_a_row_of_dashes_with_as_many_cells_makes_a_table() -> None:
    assert is_delimiter("|--|:-:|", "| a | b |")
    assert is_delimiter("--- | ---", "a | b")
    assert not is_delimiter("|--|", "| a | b |")
    assert not is_delimiter("---", "a")
    assert not is_delimiter("| x | y |", "| a | b |")


def test_the_lines_of_a_table_without_room_for_columns_stand_apart() -> None:
    text = "| name | what it does |\n|--|--|\n| a | *one* thing |\n| b | |\n"
    assert shown(text, 12) == [
        "name: a",
        "what it",
        "does: one",
        "thing",
        "─" * 8,
        "name: b",
        "what it",
        "does:",
    ]


def test_a_head_without_lines_yet_is_shown_even_where_there_is_no_room() -> None:
    assert shown("| one | two | three |\n|--|--|--|\n", 12) == ["one │ two │", "three"]


def test_rows_with_missing_cells_stay_in_the_columns_and_extra_ones_stay_in_the_last() -> None:
    text = "| a | bcd |\n|---|---|\n| 1 |\n| 1 | 2 | 3 |\n"
    assert shown(text) == ["a │ bcd", "──┼──────", "1 │", "1 │ 2 | 3"]


def test_a_line_with_bars_but_no_delimiter_row_is_text() -> None:
    assert shown("| a | b |\n\nx") == ["| a | b |", "", "x"]


def test_rows_beyond_the_measured_ones_keep_the_columns() -> None:
    text = (
        "| n | word |\n|---|---|\n"
        + "".join(f"| {n} | w{n} |\n" for n in range(40))
        + "| 99 | considerably |\n"
    )
    rows = shown(text)
    assert {row.index("│") for row in rows if "│" in row} == {3}
    assert len(rows) > 43  # the long word wraps in its column


@given(
    st.lists(st.lists(st.text("ab 中*`|\\-:", max_size=12), min_size=1, max_size=5), min_size=2, max_size=5)
)
def test_no_row_is_wider_than_the_width(table: list[list[str]]) -> None:
    lines = ["|".join(row) for row in table]
    for width in (1, 3, 10, 30):
        for row in lay_out(lines, measure(lines), width, has_head=True):
            assert cell_len(text_of(row)) <= width
