from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.widgets.markdown.test_splitter import TEXTS
from widgets.ink import DIM, MARK, Row, text_of
from widgets.markdown.blocks import Block
from widgets.markdown.offsets import RowOffsets, offsets
from widgets.markdown.rows import lay_out
from widgets.markdown.splitter import Splitter


def aligned(text: str, width: int) -> list[tuple[Block, Row, RowOffsets]]:
    """Return every row of a message with its offsets."""
    splitter = Splitter()
    out = []
    for block in [*splitter.feed(text), *splitter.finish()]:
        source = text[block.start : block.end]
        rows = lay_out(block, source, width)
        for row, found in zip(rows, offsets(block, source, rows, width), strict=True):
            out.append((block, row, found))
    return out


def behind(text: str, width: int = 40) -> list[str]:
    """Return for every row the source behind its characters, ``^`` where there is none."""
    return [
        "".join(text[a:b] or "^" for a, b in zip(found.starts, found.ends, strict=True))
        for _, _, found in aligned(text, width)
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("words", ["words"]),
        ("# Head ##", ["Head"]),
        ("so **bold** and `code`", ["so bold and code"]),
        ("one\ntwo", ["one\ntwo"]),
        ("a &amp; b &lt; c", ["a &amp; b &lt; c"]),
        ("`&amp; b`", ["&amp; b"]),
        ("```\n&amp; b\n```", ["^^&amp; b"]),
        ("5 \\* 3 \\_", ["5 * 3 _"]),
        ("> quote\n> on", ["^^quote on"]),
        ("- item\n  on", ["^^^^item on"]),
        ("```py\n\tx = 1\n\ny\n```", ["^^^^", "^^\t^^^x = 1", "^^", "^^y"]),
        ("两位的**分歧**其实", ["两位的分歧其实"]),
        ("---", ["---" * 40]),
    ],
)
def test_the_source_of_every_character_is_known(text: str, expected: list[str]) -> None:
    assert behind(text) == expected


def test_a_wrapped_text_knows_its_source_in_every_row() -> None:
    assert behind("some **words wrap** here and there", 11) == ["some words", "wrap here", "and there"]


def test_the_characters_of_a_table_stand_for_their_line() -> None:
    text = "| a | b |\n|--|--|\n| one and more | **two** |\n| c | d |"
    found = [text[offsets.first : offsets.last] for _, _, offsets in aligned(text, 12)]
    assert found[0] == "| a | b |"
    assert found[1] == "|--|--|"
    assert found[-1] == "| c | d |"
    assert set(found[2:-1]) == {"| one and more | **two** |"}
    assert len(found) > 4


def test_a_click_behind_a_row_is_at_its_end() -> None:
    _, _, found = aligned("some words", 40)[0]
    assert found.at(2) == (2, 3)
    assert found.at(99) == (10, 10)


def test_rows_of_ours_stand_at_their_place() -> None:
    block = Block("title", label="round 2")
    rows = lay_out(block, "", 40)
    assert [(found.first, found.last) for found in offsets(block, "", rows, 40)] == [(0, 0), (0, 0)]


@given(TEXTS, st.integers(1, 80))
def test_offsets_never_go_down_and_stay_in_their_block(text: str, width: int) -> None:
    last: dict[int, int] = {}
    for block, row, found in aligned(text, width):
        assert len(found.starts) == len(found.ends) == len(text_of(row))
        for start, end in zip(found.starts, found.ends, strict=True):
            assert block.start <= start <= end <= block.end
            if block.kind == "table":
                assert (start, end) == (found.first, found.last)
        places = [found.first, *found.starts, found.last]
        assert places == sorted(places)
        assert found.first >= last.get(id(block), block.start)
        last[id(block)] = found.first


@given(TEXTS, st.integers(2, 80))
def test_the_source_between_two_characters_holds_what_is_shown_between_them(text: str, width: int) -> None:
    for block, row, found in aligned(text, width):
        if block.kind in ("table", "rule"):
            continue
        known = [
            (char, start, end)
            for char, start, end in zip(text_of(row), found.starts, found.ends, strict=True)
            if start < end and not char.isspace()
        ]
        at = 0
        for char, start, end in known:
            assert start >= at
            assert char in text[start:end] or text[start] == "&"
            at = end


@given(st.lists(st.sampled_from(["word", "**bold**", "`code`", "*em*", "~~no~~", "两位", "a_b"]), min_size=1))
def test_every_word_of_plain_and_emphasised_text_has_a_source(words: list[str]) -> None:
    text = "w " + " ".join(words)
    for _, row, found in aligned(text, 23):
        for (char, start), end in zip(zip(text_of(row), found.starts, strict=True), found.ends, strict=True):
            assert char == " " or start < end


@given(TEXTS, st.integers(1, 80))
@example("```\n![image](u) &amp; &#27; $a*b$ [^1]", 1)
def test_no_character_of_code_is_without_a_source(text: str, width: int) -> None:
    for block, row, found in aligned(text, width):
        if block.kind != "code":
            continue
        index = 0
        for piece, ink in row:
            for char in piece:
                if not ink & (MARK | DIM) and not char.isspace() and char != "?":
                    assert found.starts[index] < found.ends[index]
                index += 1
