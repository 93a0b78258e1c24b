"""Diffs: numbered, side by side where there is room, and what stands behind each letter."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from tests.widgets.drawing import drawn, shown
from widgets.ink import ADDED, COMMENT, MARK, REMOVED, STRONG, text_of
from widgets.markdown.blocks import PIECE_CHARACTERS
from widgets.markdown.diff import DIVIDER, SPLIT_FROM
from widgets.markdown.letters import LetterRows, reading
from widgets.markdown.offsets import offsets
from widgets.markdown.rows import lay_out
from widgets.markdown.splitter import Splitter

WIDE = SPLIT_FROM
DIFF = """\
```diff
--- a/shop.py
+++ b/shop.py
@@ -9,6 +9,6 @@ class Shop:
 import db

-def load(sid):
-\treturn cache[sid]
-# 旧的
+def load(sid: str) -> Session:
+\treturn db.get(sid)
 def save(): ...
\\ No newline at end of file
```"""


def halves(rows: list[str]) -> list[tuple[str, str]]:
    """Return what stands left and right of the middle, row by row."""
    parted = [row.removeprefix("│ ").partition(DIVIDER) for row in rows if DIVIDER in row]
    return [(left.strip(), right.strip()) for left, _, right in parted]


def test_lines_have_the_numbers_of_their_files_and_heads_have_none() -> None:
    assert shown(DIFF) == [
        "│ --- a/shop.py",
        "│ +++ b/shop.py",
        "│ … class Shop:",
        "│   9  import db",
        "│  10",
        "│  11 -def load(sid):",
        "│  12 -   return cache[sid]",
        "│  13 -# 旧的",
        "│  11 +def load(sid: str) -> Session:",
        "│  12 +   return db.get(sid)",
        "│  13  def save(): ...",
        "│     \\ No newline at end of file",
    ]


def test_where_there_is_room_old_and_new_stand_side_by_side() -> None:
    rows = [text_of(row) for row in drawn([DIFF], WIDE)]
    assert rows[:3] == shown(DIFF)[:3]
    assert halves(rows) == [
        ("9  import db", "9  import db"),
        ("10", "10"),
        ("11 -def load(sid):", "11 +def load(sid: str) -> Session:"),
        ("12 -   return cache[sid]", "12 +   return db.get(sid)"),
        ("13 -# 旧的", ""),
        ("14  def save(): ...", "13  def save(): ..."),
        ("\\ No newline at end of file", "\\ No newline at end of file"),
    ]
    middles = {cell_len(row[: row.index(DIVIDER)]) for row in rows[3:7]}
    assert len(middles) == 1
    assert not halves([text_of(row) for row in drawn([DIFF], WIDE - 1)])


def test_a_file_that_is_new_has_all_of_the_width() -> None:
    rows = shown("```patch\n--- /dev/null\n+++ b/a\n@@ -0,0 +1,2 @@\n+one\n+two\n```", WIDE)
    assert rows[-2:] == ["│   1 +one", "│   2 +two"]


@pytest.mark.parametrize("width", [40, 16, 9])
def test_a_row_that_goes_on_has_a_sign_instead_of_a_number_while_there_is_room_for_numbers(
    width: int,
) -> None:
    rows = shown("```diff\n@@ -1 +1 @@\n-旧的会话\n+" + "word " * 12 + "\n```", width)
    assert all(cell_len(row) <= width for row in rows)
    assert any(row.startswith(("│   ↳", "↳") if width > 9 else "↳") for row in rows)


def test_signs_without_a_hunk_are_coloured_and_have_no_numbers() -> None:
    rows = drawn(["```diff\n- ttl = 60\n+ ttl = 3600\n```"], WIDE)
    assert [text_of(row) for row in rows] == ["│ - ttl = 60", "│ + ttl = 3600"]
    assert [row[-1][1] & (ADDED | REMOVED) for row in rows] == [REMOVED, ADDED]


def test_a_removed_line_that_looks_like_the_name_of_a_file_is_one_only_behind_the_hunk() -> None:
    rows = shown(
        "```diff\n@@ -1,2 +1 @@\n--- a comment of SQL\n one\n--- a/b\n+++ b/b\n@@ -7 +7 @@\n-x\n+y\n```"
    )
    assert rows == [
        "│   1 --- a comment of SQL",
        "│   1  one",
        "│ --- a/b",
        "│ +++ b/b",
        "│ …",
        "│   7 -x",
        "│   7 +y",
    ]


@pytest.mark.parametrize("width", [40, WIDE])
def test_what_divides_two_hunks_is_dim_and_is_neither_found_nor_lost_when_copied(width: int) -> None:
    hunks = "@@ -1,2 +1,2 @@\n one\n-two\n+2\n@@ -40 +40 @@ def f():\n-x\n+y"
    splitter = Splitter()
    text = f"```diff\n{hunks}\n```"
    (block,) = [*splitter.feed(text), *splitter.finish()]
    source = text[block.start : block.end]
    rows = lay_out(block, source, width)
    words = [text_of(row) for row in rows]
    assert words[0].startswith("│   1  one")
    assert "│ … def f():" in words
    assert "@@" not in "".join(words)
    sign = next(ink for row in rows for piece, ink in row if piece == "…")
    assert sign & MARK
    assert sign & COMMENT
    assert reading(block, source).strip() == "one -two +2 def f(): -x +y"
    assert source.startswith("@@ -1,2")  # all of it is copied


def test_pieces_of_a_long_diff_number_on_and_tear_no_change_apart() -> None:
    lines = [f" line {number}" for number in range(1, 15)]
    change = [*(f"-old {number}" for number in range(1, 9)), *(f"+new {number}" for number in range(1, 9))]
    more = [f" line {number}" for number in range(23, 60)]
    text = "\n".join(["```diff", "@@ -1,59 +1,59 @@", *lines, *change, *more, "```"])
    for chunks in ([text], list(text)):
        rows = [text_of(row) for row in drawn(chunks, WIDE)]
        assert ("15 -old 1", "15 +new 1") in halves(rows)
        assert ("22 -old 8", "22 +new 8") in halves(rows)
        assert halves(rows)[-1] == ("59  line 59", "59  line 59")
    assert shown(text)[-1] == "│  59  line 59"


def test_a_line_longer_than_a_piece_counts_once() -> None:
    long = "x" * (3 * PIECE_CHARACTERS)
    rows = shown(f"```diff\n@@ -1,2 +1,3 @@\n {long}\n+new\n same\n```")
    assert rows[-2:] == ["│   2 +new", "│   3  same"]
    assert sum(row.startswith("│   1") for row in rows) == 1


_LINES = st.lists(
    st.sampled_from(
        ["-old", "+new", " same", "", "-旧的 " * 30, "+\ttab", "\\ none", "@@ -5,2 +7,3 @@ f", "--- a"]
    ),
    max_size=30,
)


@given(_LINES, st.integers(1, 160))
def test_every_letter_has_a_place_and_a_source_at_every_width(lines: list[str], width: int) -> None:
    text = "\n".join(["> ```diff", *(f"> {line}" for line in ["@@ -1,9 +1,9 @@", *lines])])
    splitter = Splitter()
    for block in [*splitter.feed(text), *splitter.finish()]:
        source = text[block.start : block.end]
        rows = lay_out(block, source, width)
        assert all(cell_len(text_of(row)) <= max(2, width) for row in rows)
        letters = LetterRows(block, source, rows, width)
        count = len(reading(block, source).replace(" ", ""))
        if width > 8:  # wide characters have room
            assert all(
                any(letters.cells(row, letter, letter + 1) for row in range(len(rows)))
                for letter in range(count)
            )
        firsts = []
        for row, found in zip(rows, offsets(block, source, rows, width), strict=True):
            assert len(found.starts) == len(text_of(row))
            firsts.append(found.first)
            signs = "".join(piece for piece, ink in row if not ink & MARK).split()
            shown_of = text[found.first : found.last]
            assert all(sign.strip("?") in shown_of for sign in signs[:1]) or width <= 8
        assert firsts == sorted(firsts)


@pytest.mark.parametrize(
    ("before", "after", "strong"),
    [
        ("Tea: 40 tins left.", "Tea: 48 tins left.", ["40", "48"]),
        ("def load(sid):", "def load(sid: str) -> Session:", [")", ": str) -> Session"]),
        ("return cache[sid]", "return cache_old[sid]", ["cache", "cache_old"]),
        ("会话放在缓存里,不放数据库", "会话放在内存里,不放数据库", ["缓", "内"]),
        ("the same words, whole lines apart", "nothing of that is here any more", []),
        ("same", "same", []),
        ("", "new", []),
    ],
)
@pytest.mark.parametrize("width", [60, WIDE])
def test_words_that_differ_in_a_changed_line_are_strong(
    before: str, after: str, strong: list[str], width: int
) -> None:
    rows = drawn(f"```diff\n@@ -1 +1 @@\n-{before}\n+{after}\n```", width)
    assert [text for row in rows for text, ink in row if ink & STRONG] == strong
