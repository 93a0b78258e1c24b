"""While a message comes in, letter by letter, nothing is shown that is taken back a moment later."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from widgets.ink import MARK, Row
from widgets.markdown.rows import lay_out
from widgets.markdown.splitter import Splitter

CONSTRUCTS = [
    "plain words, and more",
    "**strong** and *emphasis*, ***both***, __strong__ and _emphasis_, ~~struck~~",
    "**Key:** value with `code` and ``a`b``",
    "*emphasis first*",
    "`code first` then words",
    "[a link](https://example.org/page) and words",
    "see [the docs](https://example.org/a_(b)) and https://example.org/y.",
    "![an image](https://example.org/i.png) and [![badge](https://example.org/b)](https://example.org/c)",
    "an escaped \\* and \\[bracket\\]",
    "$x_1 + y$ is math",
    "# Heading",
    "### Heading with *emphasis* ##",
    "Heading\n===",
    "Heading of\ntwo lines\n---",
    "- one\n- two\n  - nested\n- three",
    "* one\n* two",
    "+ one\n+ **two**",
    "1. one\n2. two\n   1. nested\n10. ten",
    "- [ ] open\n- [x] done\n- [link](https://example.org)",
    "- one\n\n  a paragraph\n\n- two",
    "> quoted\n> on\n\n> > twice",
    "> - item\n>   - nested\n>\n> words",
    "```python\ndef f():\n    return 1  # one\n```",
    "~~~\n*text*\n~~~",
    "- item\n  ```sh\n  ls -la\n  ```",
    "    indented\n\n    code",
    "---",
    "***",
    "| head | of |\n|---|:-:|\n| `a` | **b** |\n| c | [d](https://example.org) |",
    "<div>html</div>",
    "中文 **重点。** 和更多",
    "👩\u200d🔬 **e\u0301** 🇩🇪",
]


def frames(text: str, width: int = 200) -> Iterator[tuple[list[Row], list[Row]]]:
    """Yield the rows of the complete and of the open blocks after each letter, and at the end."""
    splitter = Splitter()
    closed: list[Row] = []
    for at, char in enumerate(text, 1):
        for block in splitter.feed(char):
            closed += lay_out(block, text[block.start : block.end], width)
        growing = splitter.open_blocks()
        rows: list[Row] = []
        for index, block in enumerate(growing):
            source = text[block.start : min(block.end, at)]
            rows += lay_out(block, source, width, is_open=index == len(growing) - 1)
        yield list(closed), rows
    for block in splitter.finish():
        closed += lay_out(block, text[block.start : block.end], width)
    yield closed, []


def words_of(rows: list[Row]) -> str:
    """Return what came from the text, without spaces."""
    return "".join(text for row in rows for text, ink in row if not ink & MARK).replace(" ", "")


def signs_of(rows: list[Row]) -> list[str]:
    """Return our own signs, but for rules: bullets, bars, numbers."""
    signs = [text.strip() for row in rows for text, ink in row if ink & MARK]
    return [sign for sign in signs if sign.strip("─┼")]


def check(text: str) -> None:
    *growing, (final, _) = frames(text)
    before: list[Row] = []
    for closed, rows in growing:
        assert closed[: len(before)] == before, "what is complete has changed"
        before = closed
        shown = closed + rows
        assert words_of(final).startswith(words_of(shown)), (words_of(shown), words_of(final))
        assert signs_of(final)[: len(signs_of(shown))] == signs_of(shown)


@pytest.mark.parametrize("text", CONSTRUCTS)
def test_a_construct_is_never_shown_as_its_raw_signs_first(text: str) -> None:
    check(text + "\n\nand after")


@given(st.lists(st.sampled_from(CONSTRUCTS), min_size=1, max_size=5), st.sampled_from(["\n\n", "\n\n\n"]))
def test_nothing_shown_is_taken_back_whatever_comes_after_what(parts: list[str], between: str) -> None:
    check(between.join(parts))
