"""What holds for every document: any pieces, any width, no word lost, the blocks that CommonMark finds."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from types import FrameType

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token
from rich.cells import cell_len

from tests.widgets.drawing import drawn
from tests.widgets.markdown.documents import DOCUMENT, Piece
from widgets.ink import MARK, URL, text_of
from widgets.markdown.blocks import Block
from widgets.markdown.containers import content_lines
from widgets.markdown.rows import lay_out
from widgets.markdown.splitter import Splitter
from widgets.markdown.table import cells

WIDE = 10_000


@given(DOCUMENT, st.integers(1, 200), st.lists(st.integers(0, 2000), max_size=10), st.booleans())
def test_any_pieces_give_the_rows_of_the_whole(
    piece: Piece, width: int, places: list[int], is_closed: bool
) -> None:
    text = piece.source
    edges = [0, *sorted({place % (len(text) + 1) for place in places}), len(text)]
    pieces = [text[start:end] for start, end in pairwise(edges)]
    assert drawn(pieces, width, is_closed=is_closed) == drawn([text], width, is_closed=is_closed)


@given(DOCUMENT, st.integers(1, 200), st.booleans())
def test_no_row_is_wider_than_the_width(piece: Piece, width: int, is_closed: bool) -> None:
    for row in drawn([piece.source], width, is_closed=is_closed):
        assert cell_len(text_of(row)) <= width


@given(DOCUMENT, st.integers(12, 200))
def test_no_visible_character_is_lost(piece: Piece, width: int) -> None:
    rows = drawn([piece.source], width)
    found = Counter("".join(text for row in rows for text, ink in row if not ink & MARK))
    assert not Counter(piece.visible.replace(" ", "")) - found


@given(DOCUMENT, st.lists(st.integers(1, 200), min_size=1, max_size=4))
def test_another_width_draws_as_if_it_had_been_the_first(piece: Piece, widths: list[int]) -> None:
    text = piece.source
    splitter = Splitter()
    blocks = splitter.feed(text) + splitter.finish()
    for width in widths:
        rows = [row for block in blocks for row in lay_out(block, text[block.start : block.end], width)]
        assert rows == drawn([text], width)


# --- against markdown-it ---

CORPUS = [
    "# One\n\ntext *with* **inline** `code`\nand more\n\n## Two ##\n\nThree\n=====\n\nFour *five*\nsix\n---",
    "- a\n- b\n  - c\n    - d\n\n      e\n- f\n\n1. g\n2. h\n\n   i\n\n       code\n\n   ```sh\n   ls",
    "> a\n> b\nlazy\n\n> > c\n\n> - d\n>   > e\n>\n> f",
    "    code\n\n      more\n\n\n    end\n\nparagraph\n    no code",
    "| a | b |\n|:--|--:|\n| *c* | `d` |\n| e | f\\|g |\n\nafter",
    "```py\nx = 1\n\n  y\n```\n~~~\n```\n~~~\n````\n```\n````",
    'a [link](https://x.y "t") ![image](u) <https://x.y/z> &amp; &lt;i&gt; \\* \\[x\\]',
    "1986\\. A great year\n\n10) ten\n11) eleven\n\n- - nested\n- ```\n  code\n  ```",
    "* a\n\n  b\n\n\n  c\n* d\n\nHard  \nbreak\\\nhere",
    "Setext in items:\n\n- Foo\n  ===\n- bar\n  baz\n  ---\n\n> Foo\n> ---\n> bar",
    "a\n***\nb\n* * *\nc\n\n- - -",
    "# \n\n#no heading\n\n####### seven\n\n### a # b ##",
    "- a\n  > b\n  ```\n  c\n  ```\n- d",
    "<div>\n\n*a*\n\n</div>",
    "> ```\n> code\n> ```\n\n```python\n```\n\nend",
]
Found = tuple[str, object, str]


def ours(text: str) -> list[Found]:
    """Return kind, level or containers, and words of each block."""
    splitter = Splitter()
    blocks = splitter.feed(text) + splitter.finish()
    found: list[Found] = []
    before = 0  # the end of the block before
    for block in blocks:
        source = text[block.start : block.end]
        path = "".join(">" if part.is_quote else "-" for part in block.path)
        if block.kind == "table":
            lines = content_lines(source, block.path)
            for number, line in enumerate(lines):
                found += [("cell", path, plain(cell)) for cell in cells(line) if number != 1]
        elif block.kind == "heading":
            found.append(("heading", (path, block.level), words(block, source)))
        elif block.kind == "rule":
            found.append(("rule", path, ""))
        elif (
            block.kind == kind_of(found) == "code"
            and before <= block.start  # an empty fence has no place in the text
            and "`" not in text[before : block.start]
        ):
            found[-1] = ("code", path, f"{found[-1][2]}\n{words(block, source)}")  # one more piece of it
        elif block.end > block.start or block.label:
            found.append((block.kind, path, words(block, source)))
        before = block.end
    return found


def kind_of(found: list[Found]) -> str:
    return found[-1][0] if found else ""


def words(block: Block, source: str) -> str:
    rows = [row for row in lay_out(block, source, WIDE) if any(not ink & MARK for _, ink in row)]
    if block.kind == "code":
        rows = lay_out(block, source, WIDE)[(block.gap is not None) + bool(block.label) :]
    return "\n".join("".join(text for text, ink in row if not ink & (MARK | URL)).rstrip() for row in rows)


def plain(text: str) -> str:
    splitter = Splitter()
    return "".join(
        words(block, text[block.start : block.end]) for block in splitter.feed(text) + splitter.finish()
    )


def theirs(text: str) -> list[Found]:
    parser = MarkdownIt("gfm-like", {"linkify": False, "html": False})
    found: list[Found] = []
    path, kind, detail = "", "", 0
    for token in parser.parse(text):
        if token.type in ("list_item_open", "blockquote_open"):
            path += ">" if token.type == "blockquote_open" else "-"
        elif token.type in ("list_item_close", "blockquote_close"):
            path = path[:-1]
        elif token.type in ("paragraph_open", "heading_open", "th_open", "td_open"):
            kind = token.type.removesuffix("_open")
            detail = int(token.tag[1:]) if kind == "heading" else 0
        elif token.type == "inline":
            shown = inline(token)
            if kind == "heading":
                found.append(("heading", (path, detail), shown))
            else:
                found.append(("cell" if kind in ("th", "td") else kind, path, shown))
        elif token.type in ("fence", "code_block"):
            lines = [line.rstrip() for line in token.content.removesuffix("\n").split("\n")]
            found.append(("code", path, "\n".join(lines)))
        elif token.type == "hr":
            found.append(("rule", path, ""))
    return found


def inline(token: Token) -> str:
    out = []
    for child in token.children or []:
        if child.type == "softbreak":
            out.append(" ")
        elif child.type == "hardbreak":
            out.append("\n")
        else:
            out.append(child.content)
    return "".join(out)


@pytest.mark.parametrize("text", CORPUS)
def test_a_document_has_the_blocks_that_markdown_it_finds(text: str) -> None:
    assert ours(text) == theirs(text)


@given(DOCUMENT)
def test_any_document_has_the_blocks_that_markdown_it_finds(piece: Piece) -> None:
    text = piece.source.replace("- [x] ", "- ")  # markdown-it has no tasks
    assert squeezed(ours(text)) == squeezed(theirs(text))


def squeezed(found: list[Found]) -> list[Found]:
    """Leave out spaces (lines of Chinese are joined without one) and empty or tab-expanded ends of code."""
    kept = [(kind, detail, "".join(text.split())) for kind, detail, text in found]
    return [one for one in kept if one[0] != "code" or one[2]]


# --- cost ---

PATHOLOGICAL = {
    "brackets": "[",
    "images": "![",
    "links": "[a](",
    "pairs": "[]",
    "references": "[a][",
    "stars": "*",
    "strong": "**a ",
    "mixed": "*a_",
    "quotes": ">",
    "quote marks": "> ",
    "ticks": "`",
    "code": "`a``b```c ",
    "entities": "&amp",
    "angles": "<http://a",
    "math": "$a ",
    "bars": "| a ",
    "bullets": "- ",
    "lists": "- - - - a\n",
    "definitions": "[a]: http://x\n",
    "table": "|a|b|\n|-|-|\n",
    "one table": "|a|b|\n",
    "underlines": "a\n===\n",
    "fences": "```\nx\n",
    "indented": "    a\n\n",
    "tasks": "- [ ] a\n",
    "words": "some words ",
    "paragraphs": "some words\n\n",
    "rules": "---\n",
    "headings": "# a\n",
    "escapes": "\\[",
}


def calls_of(act: Callable[[], object]) -> int:
    """Return how many functions ``act`` called, Python's own included."""
    count = 0

    def profile(frame: FrameType, event: str, arg: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        act()
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.slow
@pytest.mark.parametrize("name", PATHOLOGICAL)
def test_twice_the_text_costs_twice_the_work(name: str) -> None:
    sign = PATHOLOGICAL[name]

    def grow(size: int) -> None:
        text = (sign * (size // len(sign) + 1))[:size]
        splitter = Splitter()
        for at in range(0, size, 1024):
            blocks = splitter.feed(text[at : at + 1024])
            blocks += splitter.open_blocks()
            for block in blocks:
                lay_out(block, text[block.start : min(block.end, at + 1024)], 40, is_open=True)

    grow(2048)  # what is remembered from the first time on
    small, middle, large = (calls_of(partial(grow, size)) for size in (4096, 8192, 16_384))
    # Differences: the first characters may cost less (stars may yet be a rule) or more.
    assert (large - middle) / (middle - small) <= 2.1
