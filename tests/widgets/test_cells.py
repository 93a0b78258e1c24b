from __future__ import annotations

import pytest
from rich.cells import cell_len

from widgets.cells import MAX_CLUSTER_CHARACTERS, Clusters, is_narrow, tidy


def pieces(text: str) -> list[str]:
    clusters = Clusters(text)
    return [text[clusters.starts[at] : clusters.starts[at + 1]] for at in range(len(clusters))]


def test_every_character_called_narrow_takes_one_cell() -> None:
    narrow = [chr(code) for code in range(0x20, 0x3000) if is_narrow(chr(code))]
    assert len(narrow) > 1000
    assert [char for char in narrow if cell_len(char) != 1] == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("abc", ["a", "b", "c"]),
        ("e\u0301x", ["e\u0301", "x"]),
        ("👩\u200d👩\u200d👧x", ["👩\u200d👩\u200d👧", "x"]),
        ("👍🏽👍", ["👍🏽", "👍"]),
        ("☀\ufe0f.", ["☀\ufe0f", "."]),
        ("1\ufe0f\u20e32", ["1\ufe0f\u20e3", "2"]),
        ("🇩🇪🇫🇷", ["🇩🇪", "🇫🇷"]),
        ("🇩x", ["🇩", "x"]),
        ("한글", ["한", "글"]),
        ("", []),
    ],
)
def test_what_a_reader_sees_as_one_character_is_one_cluster(text: str, expected: list[str]) -> None:
    assert pieces(text) == expected


def test_the_edges_count_cells() -> None:
    assert Clusters("a中e\u0301☀\ufe0f").edges == [0, 1, 3, 4, 6]


def test_a_joiner_between_letters_is_dropped_because_terminals_show_both() -> None:
    assert tidy([("a\u200db 中\u200d国", 0)], 40) == [("ab 中国", 0)]


def test_a_joiner_between_emoji_stays() -> None:
    assert tidy([("👩\u200d🔬 ❤\ufe0f\u200d🔥 👨🏽\u200d🌾", 0)], 40) == [
        ("👩\u200d🔬 ❤\ufe0f\u200d🔥 👨🏽\u200d🌾", 0)
    ]


def test_an_endless_chain_of_joined_emoji_cannot_hide_in_two_cells() -> None:
    [(text, _)] = tidy([("\u200d".join("😀" * 80), 0)], 40)
    assert cell_len(text) == 40  # four to a cluster


@pytest.mark.parametrize("letter_and_mark", ["e\u0301", "ก\u0e47", "\u1100\u1161", "👋\U0001f3fd"])
def test_a_flood_of_marks_over_one_letter_is_cut_so_that_its_row_stays_short(letter_and_mark: str) -> None:
    letter, mark = letter_and_mark[0], letter_and_mark[1]
    [(text, _)] = tidy([(f"a{letter}{mark * 5000}b", 0)], 40)
    assert text == f"a{letter}{mark * (MAX_CLUSTER_CHARACTERS - 1)}b"


def test_a_combining_mark_goes_with_the_letter_before_it_even_from_another_run() -> None:
    assert tidy([("e", 1), ("\u0301x", 2)], 40) == [("e\u0301", 1), ("x", 2)]


def test_tabs_go_to_the_next_stop_counted_in_cells() -> None:
    assert tidy([("a\tb", 1), ("中\tc", 2)], 40) == [("a   ", 1), ("b", 1), ("中 ", 2), ("c", 2)]


def test_where_there_is_one_cell_a_wide_character_is_replaced() -> None:
    assert tidy([("a中\n国", 0)], 1) == [("a?\n?", 0)]
