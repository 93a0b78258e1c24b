"""Markdown documents for the tests: every kind of block, nested, with words of many scripts."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

WORDS = [
    *("plain", "words", "x", "a.b", "(c)", "42", "don't", "50%"),
    *("中文", "测试。", "カタカナ", "한국어", "слово", "שלום", "مرحبا", "é", "e\u0301", "n\u0303o"),
    *("👩\u200d🔬", "🇩🇪", "☀\ufe0f", "👍🏽", "1\ufe0f\u20e3"),
]


@dataclass(frozen=True)
class Piece:
    """A source and what a reader should see of it, without spaces."""

    source: str
    visible: str


def _joined(parts: list[Piece], between: str) -> Piece:
    return Piece(between.join(part.source for part in parts), "".join(part.visible for part in parts))


def _marked(sign: str) -> st.SearchStrategy[Piece]:
    return _WORDS.map(lambda piece: Piece(f"{sign}{piece.source}{sign}", piece.visible))


_WORD = st.sampled_from(WORDS).map(lambda word: Piece(word, word))
_WORDS = st.lists(_WORD, min_size=1, max_size=3).map(lambda parts: _joined(parts, " "))
_LINK = _WORDS.map(lambda piece: Piece(f"[{piece.source}](https://x.y/p)", f"{piece.visible}(https://x.y/p)"))
_ENTITY = st.just(Piece("&lt;b&gt;", "<b>"))
INLINE = st.lists(
    st.one_of(_WORD, _WORD, _marked("**"), _marked("*"), _marked("~~"), _marked("`"), _LINK, _ENTITY),
    min_size=1,
    max_size=7,
).map(lambda parts: _joined(parts, " "))
# A line that begins with a number or a sign of its own may be a list: these begin with a word.
LINE = INLINE.map(lambda piece: Piece("w " + piece.source, "w" + piece.visible))

_CODE = st.lists(st.sampled_from(["def f(x):", "  return '中'", "/* x", "", "# *no*", "| a |"]), max_size=20)
PARAGRAPH = st.lists(LINE, min_size=1, max_size=3).map(lambda lines: _joined(lines, "\n"))
LEAF = st.one_of(
    PARAGRAPH,
    LINE.map(lambda line: Piece("## " + line.source, line.visible)),
    LINE.map(lambda line: Piece(line.source + "\n===", line.visible)),
    st.tuples(_CODE, st.sampled_from(["", "python", "js", "none"])).map(
        lambda code: Piece("\n".join([f"```{code[1]}", *code[0], "```"]), "".join(code[0]))
    ),
    st.lists(LINE, min_size=3, max_size=6).map(
        lambda cells: Piece(
            "\n".join(["| a | b |", "|--|:-:|", *(f"| {cell.source} | c |" for cell in cells)]),
            "ab" + "".join(cell.visible + "c" for cell in cells),
        )
    ),
    st.just(Piece("***", "")),
    st.just(Piece("<!-- html -->", "<!--html-->")),
)


def _indented(piece: Piece, first: str, rest: str) -> Piece:
    lines = piece.source.split("\n")
    source = "\n".join([first + lines[0], *((rest + line).rstrip() for line in lines[1:])])
    return Piece(source, piece.visible)


def _nested(inside: st.SearchStrategy[Piece]) -> st.SearchStrategy[Piece]:
    blocks = st.lists(inside, min_size=1, max_size=3).map(lambda parts: _joined(parts, "\n\n"))
    # An item begins with words here: what else it holds comes after them.
    item = st.tuples(LINE, blocks).map(lambda parts: _joined(list(parts), "\n\n"))
    return st.one_of(
        blocks.map(lambda piece: _indented(piece, "> ", "> ")),
        item.map(lambda piece: _indented(piece, "- ", "  ")),
        item.map(lambda piece: _indented(piece, "- [x] ", "  ")),
        item.map(lambda piece: _indented(piece, "7. ", "   ")),
    )


DOCUMENT = st.lists(st.recursive(LEAF, _nested, max_leaves=4), min_size=1, max_size=4).map(
    lambda parts: _joined(parts, "\n\n")
)
