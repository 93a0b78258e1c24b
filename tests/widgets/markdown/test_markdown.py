from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from tests.widgets.drawing import drawn, shown
from tests.widgets.markdown.test_splitter import TEXTS
from widgets.ink import (
    DIM,
    EMPHASIS,
    FENCE,
    HEADING,
    KEYWORD,
    MARK,
    NAME,
    NUMBER,
    QUOTE,
    STRONG,
    Row,
    text_of,
)
from widgets.markdown.rows import PROSE_CELLS, estimate, lay_out
from widgets.markdown.splitter import Splitter


def test_a_paragraph_is_joined_and_wrapped() -> None:
    assert shown("When the cache\nis cold\n\nand so on", 14) == ["When the cache", "is cold", "", "and so on"]


def test_two_spaces_or_a_backslash_ask_for_a_new_row() -> None:
    assert shown("one  \ntwo\\\nthree") == ["one", "two", "three"]


def test_chinese_lines_are_joined_without_a_space() -> None:
    assert shown("会话丢了\n谁受罪") == ["会话丢了谁受罪"]


def test_several_empty_lines_are_one_empty_row_and_none_at_the_ends() -> None:
    assert shown("\n\na\n\n\n\nb\n\n") == ["a", "", "b"]


def test_a_heading_is_bold_without_its_signs() -> None:
    assert drawn(["## What *happens* ##\ntext"]) == [
        (("What ", HEADING | STRONG), ("happens", HEADING | STRONG | 2)),
        (("text", 0),),
    ]


def test_lists_nest_by_indentation_and_wrap_under_their_words() -> None:
    text = "1. every request misses\n2. drained\n   - twice\n     and on\n   - thrice\n10) ten"
    assert shown(text, 20) == [
        "  1. every request",
        "     misses",
        "  2. drained",
        "     ◦ twice and on",
        "     ◦ thrice",
        "  10) ten",
    ]


def test_a_list_indented_by_two_is_nested_even_under_a_number() -> None:
    assert shown("1. a\n  - b") == ["  1. a", "     ◦ b"]


def test_a_paragraph_in_an_item_stands_under_its_words() -> None:
    assert shown("- a\n\n  b\n\nc") == ["  • a", "", "    b", "", "c"]


def test_an_item_without_words_shows_its_bullet() -> None:
    assert shown("-\n- b\n-") == ["  •", "  • b", "  •"]


def test_a_year_at_the_beginning_of_a_line_is_no_list() -> None:
    assert shown("It was in\n2019. A good year") == ["It was in 2019. A good year"]


def test_code_keeps_its_spaces_and_names_its_language() -> None:
    assert drawn(["```python title\ndef f():\n\treturn *1*\n\n```\nafter"]) == [
        (("│ ", MARK | FENCE), ("python title", DIM | FENCE)),
        (
            ("│ ", MARK | FENCE),
            ("def", FENCE | KEYWORD),
            (" ", FENCE),
            ("f", FENCE | NAME),
            ("():", FENCE),
        ),
        (
            ("│ ", MARK | FENCE),
            ("    ", FENCE),
            ("return", FENCE | KEYWORD),
            (" *", FENCE),
            ("1", FENCE | NUMBER),
            ("*", FENCE),
        ),
        (("│ ", MARK | FENCE),),
        (("after", 0),),
    ]


def test_code_in_an_item_loses_the_indentation_of_the_item_only() -> None:
    assert shown("- a\n  ```\n  if x:\n      y\n  ```\n  b") == [
        "  • a",
        "    │ if x:",
        "    │     y",
        "    b",
    ]


def test_a_longer_fence_holds_a_shorter_one() -> None:
    assert shown("````\n```\ninner\n```\n````") == ["│ ```", "│ inner", "│ ```"]


def test_a_quote_has_a_bar_on_every_row() -> None:
    rows = drawn(["> a quote that wraps\n> \n> **on**\nlazily"], 12)
    assert [text_of(row) for row in rows] == ["▎ a quote", "▎ that wraps", "▎", "▎ on lazily"]
    assert rows[3] == (("▎ ", MARK), ("on", QUOTE | STRONG), (" lazily", QUOTE))


def test_a_rule_fills_the_width() -> None:
    assert shown("a\n\n---\nb\n* * *", 5) == ["a", "", "─────", "b", "─────"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a *b*\n===", [(("a ", HEADING | STRONG), ("b", HEADING | STRONG | EMPHASIS))]),
        ("one\ntwo\n---", [(("one two", HEADING | STRONG),)]),
        ("# a # b#", [(("a # b#", HEADING | STRONG),)]),
        ("# a ###", [(("a", HEADING | STRONG),)]),
        ("> a\n---", [(("▎ ", MARK), ("a", QUOTE)), (("─" * 60, MARK),)]),
        ("- a\n===", [(("  • ", MARK), ("a ===", 0))]),
    ],
)
def test_headings(text: str, expected: list[Row]) -> None:
    assert drawn([text]) == expected


def test_what_is_indented_by_four_columns_is_code_with_its_empty_lines() -> None:
    text = "a\n\n    one\n      two\n\n\n    - three\n\n\nb\n    c"
    assert shown(text) == ["a", "", "│ one", "│   two", "│", "│", "│ - three", "", "b c"]


def test_indented_code_stands_in_items_and_quotes() -> None:
    assert shown("- a\n\n      code\n\n  b") == ["  • a", "", "    │ code", "", "    b"]
    assert shown(">     code\n>\n>     more\n\nb") == ["▎ │ code", "▎ │", "▎ │ more", "", "b"]


def test_tasks_have_boxes_instead_of_bullets() -> None:
    text = "- [ ] open\n- [x] done\n  - [X] nested\n1. [ ] counted\n- [y] no task\n- [x](u)"
    assert shown(text) == [
        "  ☐ open",
        "  ☑ done",
        "    ☑ nested",
        "  1. ☐ counted",
        "  • [y] no task",
        "  • x (u)",
    ]


def test_quotes_nest_in_lists_and_lists_in_quotes() -> None:
    text = "> > a\n> b\n\n- x\n  > - y\n  >   > z\n  >\n  >   w"
    assert shown(text) == ["▎ ▎ a b", "", "  • x", "    ▎ ◦ y", "    ▎   ▎ z", "    ▎", "    ▎   w"]


def test_an_item_holds_paragraphs_code_and_tables() -> None:
    text = "3. a\n\n   b\n\n   ```\n   c\n   ```\n\n   | d | e |\n   |---|---|\n   | f | g |\n4. h"
    assert shown(text) == [
        "  3. a",
        "",
        "     b",
        "",
        "     │ c",
        "",
        "     d │ e",
        "     ──┼──",
        "     f │ g",
        "  4. h",
    ]


def test_a_footnote_is_text() -> None:
    assert shown("a[^1]\n\n[^1]: https://x.y is a source") == ["a[^1]", "", "[^1]: https://x.y is a source"]


def test_html_is_text() -> None:
    assert shown("<b>bold</b>\n<script>x</script>") == ["<b>bold</b> <script>x</script>"]


def test_deep_nesting_leaves_room_for_words() -> None:
    text = "\n".join("  " * depth + "- x" for depth in range(40))
    rows = shown(text, 20)
    assert all(cell_len(row) <= 20 for row in rows)
    assert "".join(rows).count("x") == 40


@given(TEXTS, st.integers(1, 50), st.booleans())
def test_no_row_is_wider_than_the_width(text: str, width: int, is_closed: bool) -> None:
    for row in drawn([text], width, is_closed=is_closed):
        assert cell_len(text_of(row)) <= width
        assert sum(cell_len(piece) for piece, _ in row) <= width


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("text\n#", ["text"]),
        ("text\n-", ["text"]),
        ("text\n- ", ["text"]),
        ("text\n- a", ["text", "  • a"]),
        ("text\n**", ["text"]),
        ("text\n1", ["text"]),
        ("text\n1.", ["text"]),
        ("text\n1984", ["text 1984"]),
        ("text\n1. a", ["text", "  1. a"]),
        ("text\n`", ["text"]),
        ("text\n```py", ["text", "│ py"]),
        ("text\n```py\ndef", ["text", "│ py", "│ def"]),
        ("text\n```py\ndef\n``", ["text", "│ py", "│ def"]),
        ("text\n```py\ndef\n```", ["text", "│ py", "│ def"]),
        ("text\n>", ["text"]),
        ("text\n> q", ["text", "▎ q"]),
        ("text\n=", ["text"]),
        ("text\n---", ["text"]),
        ("text\n---\n", ["text"]),
        ("text\n\n---", ["text", "", "─" * 20]),
        ("text\n\n    co", ["text", "", "│ co"]),
        ("text\n- [", ["text"]),
        ("text\n- [ ", ["text"]),
        ("text\n- [x]", ["text"]),
        ("text\n- [ ] a", ["text", "  ☐ a"]),
        ("text\n- [a", ["text", "  • a"]),
        ("text\n- [a](u)", ["text", "  • a (u)"]),
        ("text\n> -", ["text"]),
        ("| a | b", ["a │ b"]),
        ("| a | b |\n|", ["a │ b"]),
        ("| a | b |\n|--", ["a │ b"]),
        ("| a | b |\n|--|--", ["a │ b", "──┼──"]),
        ("| a | b |\n|--|--|\n| c", ["a │ b", "──┼──", "c │"]),
        ("a **b", ["a b"]),
        ("a **b*", ["a b"]),
        ("a [b](http://", ["a b"]),
        ("a `b", ["a b"]),
        ("text\n\n", ["text"]),
    ],
)
def test_a_text_looks_right_at_every_moment_of_its_growth(text: str, expected: list[str]) -> None:
    assert shown(text, 20, is_closed=False) == expected


def test_a_sign_that_stayed_alone_is_shown_when_the_message_ends() -> None:
    assert shown("The answer is\n42") == ["The answer is 42"]
    assert shown("a **b") == ["a **b"]


def test_words_never_run_over_more_than_can_be_read_and_code_and_tables_have_all_of_it() -> None:
    words = " ".join(["word"] * 60)
    for before in ("", "# ", "- ", "> ", "1. - > "):
        rows = shown(before + words, 200)
        assert len(rows) == 3, before
        assert max(map(cell_len, rows)) <= PROSE_CELLS + 12
    code = "x" * 180
    assert shown(f"```\n{code}\n```", 200)[-1].endswith(code)
    assert cell_len(shown(f"| {code} | b |\n|---|---|\n| c | d |", 200)[0]) > 180


def test_the_height_of_prose_is_estimated_at_the_width_it_has() -> None:
    splitter, text = Splitter(), "word " * 400
    (block,) = [*splitter.feed(text), *splitter.finish()]
    assert abs(estimate(block, 220) - len(lay_out(block, text, 220))) <= 1
