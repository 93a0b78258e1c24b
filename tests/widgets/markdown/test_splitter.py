from __future__ import annotations

from itertools import pairwise

from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from tests.widgets.drawing import drawn
from widgets.markdown.blocks import PIECE_CHARACTERS, Block
from widgets.markdown.rows import lay_out
from widgets.markdown.splitter import Splitter

LINES = [
    "",
    "words and *more*",
    "- item",
    "  - nested",
    "1. first",
    "    2) deep",
    "> quote",
    "> > twice",
    "> - item in quote",
    "```",
    "```python",
    "~~~",
    "    indented",
    "===",
    "- [ ] task",
    "- [x",
    "[ref]: https://x.y/z 'title'",
    "[text][ref], [ref] and [text](https://x.y)",
    "![image](u) &amp; &#27; $a*b$ [^1]",
    "a | b",
    "👩\u200d🔬 e\u0301 🇩🇪 שלום",
    "# Title",
    "---",
    "***",
    "| a | b |",
    "|---|:-:|",
    "|--",
    "中文，两行",
    "-",
    "12",
    "`code",
    "**bold",
    "hard  ",
    "back\\",
    "<div>",
    "\ttab",
]
TEXTS = st.lists(st.sampled_from(LINES), max_size=14).map("\n".join)
LONG = "x" * 5000 + " " + "word " * 1500


def blocks_of(text: str) -> list[Block]:
    splitter = Splitter()
    return splitter.feed(text) + splitter.finish()


def cut(text: str, places: list[int]) -> list[str]:
    edges = [0, *sorted({place % (len(text) + 1) for place in places}), len(text)]
    return [text[start:end] for start, end in pairwise(edges)]


@given(TEXTS, st.lists(st.integers(0, 400), max_size=12))
def test_any_chunking_gives_the_same_rows(text: str, places: list[int]) -> None:
    assert drawn(cut(text, places), 30) == drawn([text], 30)


@given(TEXTS, st.lists(st.integers(0, 400), max_size=12))
def test_any_chunking_looks_the_same_while_the_text_still_grows(text: str, places: list[int]) -> None:
    assert drawn(cut(text, places), 30, is_closed=False) == drawn([text], 30, is_closed=False)


@given(
    st.lists(st.sampled_from([*LINES, LONG, "```\n" + LONG, "- " + LONG, "> " + LONG]), max_size=4),
    st.lists(st.integers(0, 60_000), max_size=6),
)
@example(["- " + LONG, "| a | b |", "> " + LONG], [4095, 4096, 4097, 4098, 8193])
def test_any_chunking_of_very_long_lines_gives_the_same_rows(lines: list[str], places: list[int]) -> None:
    text = "\n".join(lines)
    assert drawn(cut(text, places), 70) == drawn([text], 70)
    assert drawn(cut(text, places), 70, is_closed=False) == drawn([text], 70, is_closed=False)


@given(TEXTS)
def test_what_is_shown_while_growing_never_shows_a_word_twice(text: str) -> None:
    splitter = Splitter()
    closed = splitter.feed(text)
    shown = closed + splitter.open_blocks()
    ends = [(block.start, block.end) for block in shown if block.end > block.start]
    assert all(end <= start for (_, end), (start, _) in pairwise(ends))


@given(TEXTS)
def test_looking_at_the_open_blocks_changes_nothing(text: str) -> None:
    watched, quiet = Splitter(), Splitter()
    seen: list[Block] = []
    expected: list[Block] = []
    for char in text:
        seen += watched.feed(char)
        watched.open_blocks()
        expected += quiet.feed(char)
    seen += watched.finish()
    expected += quiet.finish()
    rows = [lay_out(block, text[block.start : block.end], 30) for block in seen]
    assert rows == [lay_out(block, text[block.start : block.end], 30) for block in expected]


def test_no_block_is_longer_than_a_piece() -> None:
    texts = [
        LONG,
        "word\n" * 3000,
        "```\n" + "code\n" * 3000,
        "> " + LONG,
        "|a|b|\n|-|-|\n" + "|c|d|\n" * 3000,
    ]
    for text in texts:
        assert max(block.end - block.start for block in blocks_of(text)) <= PIECE_CHARACTERS


def test_a_long_text_is_cut_between_words_and_none_is_lost() -> None:
    text = "word " * 5000
    pieces = [text[block.start : block.end] for block in blocks_of(text)]
    assert len(pieces) > 5
    assert "".join(pieces).split() == text.split()


def test_a_long_run_of_letters_is_not_cut_between_a_letter_and_its_mark() -> None:
    text = "e\u0301" * 5000
    assert all(text[block.start] == "e" for block in blocks_of(text))


# --- against markdown-it ---

WORDS = st.lists(st.sampled_from(["one", "two", "three.", "(four)", "vier"]), min_size=1, max_size=6).map(
    " ".join
)
PARTS = st.one_of(
    st.tuples(st.just("paragraph"), WORDS),
    st.tuples(st.just("heading"), WORDS.map(lambda words: f"## {words}")),
    st.tuples(st.just("code"), WORDS.map(lambda words: f"```text\n{words}\n\n  more\n```")),
    st.tuples(st.just("rule"), st.just("***")),
    st.tuples(
        st.just("list"), WORDS.map(lambda words: f"- {words}\n- {words}\n  and on\n  1. {words}\n  2. x\n- y")
    ),
    st.tuples(st.just("quote"), WORDS.map(lambda words: f"> {words}\n> {words}\n>\n> - {words}")),
    st.tuples(st.just("table"), WORDS.map(lambda words: f"| a | b |\n|---|---|\n| {words} | c |")),
)


@given(st.lists(PARTS.map(lambda part: part[1]), max_size=6))
def test_a_well_formed_document_splits_as_markdown_it_splits_it(parts: list[str]) -> None:
    text = "\n\n".join(parts)
    assert ours(text) == theirs(text)


def ours(text: str) -> list[tuple[str, int]]:
    """Return kind and depth of each block."""
    return [(block.kind, len(block.path)) for block in blocks_of(text)]


def theirs(text: str) -> list[tuple[str, int]]:
    kinds = {"paragraph_open": "paragraph", "heading_open": "heading", "fence": "code", "hr": "rule"}
    found: list[tuple[str, int]] = []
    depth = 0
    for token in MarkdownIt("gfm-like", {"linkify": False}).parse(text):
        if token.type in ("list_item_open", "blockquote_open"):
            depth += 1
        elif token.type in ("list_item_close", "blockquote_close"):
            depth -= 1
        elif token.type == "table_open":
            found.append(("table", depth))
        elif token.type in kinds:
            found.append((kinds[token.type], depth))
    return found
