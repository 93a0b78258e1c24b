from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from widgets.cells import Clusters, tidy
from widgets.ink import Run, text_of
from widgets.wrap import NO_BREAK, wrap

ALPHABET = "ab c,.\n\t中国。(（）e\u0301\u0308☀\ufe0f👩\u200d👧🏽🇩🇪́ö한\u1100\u1161—…·x̂ "
RUNS = st.lists(st.tuples(st.text(ALPHABET, max_size=30), st.integers(0, 3)), max_size=5)


def rows(text: str, width: int) -> list[str]:
    return [text_of(row) for row in wrap([(text, 0)], width)]


def test_words_are_kept_whole_and_the_space_at_the_end_of_a_row_is_dropped() -> None:
    assert rows("the pool is drained", 8) == ["the pool", "is", "drained"]


def test_a_word_that_is_wider_than_the_row_is_cut() -> None:
    assert rows("a abcdefgh b", 5) == ["a", "abcde", "fgh b"]


def test_words_that_belong_together_stay_in_one_row_or_part_between_words() -> None:
    together = "c all changes, this one".replace(" ", NO_BREAK)
    assert rows(f"y once · {together}", 23) == ["y once ·", "c all changes, this one"]
    assert rows(f"y once · {together} · a", 16) == ["y once ·", "c all changes,", "this one · a"]
    assert rows(f"一 · {together}", 16) == ["一 ·", "c all changes,", "this one"]


def test_chinese_breaks_between_characters_but_not_before_a_full_stop() -> None:
    assert rows("会话丢了。谁受罪", 8) == ["会话丢", "了。谁受", "罪"]


def test_an_opening_bracket_does_not_end_a_row() -> None:
    assert rows("会话（丢了）", 6) == ["会话", "（丢", "了）"]


def test_a_word_in_two_styles_is_one_word() -> None:
    assert wrap([("is **", 0), ("bold", 1), ("er now", 0)], 9) == [
        (("is", 0),),
        (("**", 0), ("bold", 1), ("er", 0)),
        (("now", 0),),
    ]


def test_a_line_end_always_ends_a_row() -> None:
    assert rows("a\n\nb", 10) == ["a", "", "b"]


def test_code_fills_rows_to_the_last_cell_and_loses_nothing() -> None:
    assert [text_of(row) for row in wrap([("  if x:  y", 0)], 4, words=False)] == ["  if", " x: ", " y"]


def test_nothing_is_one_empty_row() -> None:
    assert wrap([], 10) == [()]


@given(RUNS, st.integers(1, 20), st.booleans())
def test_no_row_is_wider_than_the_width(runs: list[Run], width: int, words: bool) -> None:
    for row in wrap(runs, width, words=words):
        assert sum(cell_len(text) for text, _ in row) <= width
        assert cell_len(text_of(row)) <= width


@given(RUNS, st.integers(2, 20))
def test_code_keeps_every_character_in_order(runs: list[Run], width: int) -> None:
    kept = "".join(text_of(row) for row in wrap(runs, width, words=False))
    assert kept == "".join(text for text, _ in tidy(runs, width)).replace("\n", "")


@given(RUNS, st.integers(2, 20))
def test_text_loses_only_spaces(runs: list[Run], width: int) -> None:
    kept = "".join(text_of(row) for row in wrap(runs, width))
    whole = "".join(text for text, _ in tidy(runs, width))
    assert kept.replace(" ", "") == whole.replace(" ", "").replace("\n", "")


@given(RUNS, st.integers(2, 20), st.booleans())
def test_no_cluster_is_split(runs: list[Run], width: int, words: bool) -> None:
    whole = "".join(text for text, _ in tidy(runs, width))
    expected = [piece for line in whole.split("\n") for piece in clusters(line) if piece != " "]
    found = [
        piece for row in wrap(runs, width, words=words) for piece in clusters(text_of(row)) if piece != " "
    ]
    assert found == expected


@given(st.text("abc  ", max_size=60), st.integers(1, 12))
def test_plain_text_and_marked_text_wrap_alike(text: str, width: int) -> None:
    marked = wrap([(text.replace("a", "a\u0301"), 0)], width)
    assert [text_of(row).replace("\u0301", "").rstrip() for row in marked] == [
        row.rstrip() for row in rows(text, width)
    ]


@given(st.lists(st.sampled_from(["a", "bc", "中", " ", "e\u0301"]), max_size=30), st.integers(1, 9))
def test_styles_do_not_move_a_break(parts: list[str], width: int) -> None:
    styled = wrap([(part, index) for index, part in enumerate(parts)], width)
    assert [text_of(row) for row in styled] == rows("".join(parts), width)


def clusters(text: str) -> list[str]:
    found = Clusters(text)
    return [text[found.starts[at] : found.starts[at + 1]] for at in range(len(found))]
