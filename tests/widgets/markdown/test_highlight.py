from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.widgets.drawing import drawn
from widgets.ink import ADDED, BUILTIN, COMMENT, FENCE, KEYWORD, NAME, NUMBER, REMOVED, STRING, text_of
from widgets.markdown.blocks import PIECE_LINES
from widgets.markdown.highlight import MAX_LINE, STRETCH_CHARACTERS, Code, Language, language
from widgets.markdown.splitter import Splitter


def inks(label: str, text: str) -> dict[str, int]:
    """Return the ink of each word of a code."""
    found: dict[str, int] = {}
    for runs in Code(label).runs(text.split("\n")):
        for part, ink in runs:
            found.update(dict.fromkeys(part.split(), ink & ~FENCE))
    return found


def test_words_get_inks_by_what_they_are() -> None:
    found = inks("python", "@cached\ndef load(sid=1): # why\n    return len('x')")
    assert found["def"] == found["return"] == KEYWORD
    assert found["load"] == found["@cached"] == NAME
    assert found["1"] == NUMBER
    assert found["#"] == COMMENT
    assert found["len"] == BUILTIN
    assert found["'x'"] == STRING
    assert found["(sid="] == 0


def test_a_diff_shows_what_came_and_went() -> None:
    found = inks("diff", "@@ -1 +1 @@\n-old\n+new\n same")
    assert (found["-old"], found["+new"], found["same"]) == (REMOVED, ADDED, 0)


@pytest.mark.parametrize(
    "label",
    [
        *(
            "py",
            "python3",
            "ts",
            "js",
            "jsx",
            "tsx",
            "sh",
            "bash",
            "shell",
            "zsh",
            "console",
            "c",
            "c++",
            "cpp",
        ),
        *(
            "h",
            "cs",
            "go",
            "golang",
            "rust",
            "rs",
            "java",
            "kotlin",
            "kt",
            "swift",
            "rb",
            "php",
            "sql",
            "html",
        ),
        *("css", "scss", "json", "jsonc", "jsonl", "yaml", "yml", "toml", "ini", "xml", "dockerfile", "lua"),
        *(
            "makefile",
            "perl",
            "r",
            "scala",
            "haskell",
            "diff",
            "patch",
            "graphql",
            "proto",
            "powershell",
            "vue",
        ),
        *("md", "markdown", "{.python}", "Python,", "python:main.py"),
    ],
)
def test_names_that_models_write_are_known(label: str) -> None:
    assert language(label) is not None


@pytest.mark.parametrize("label", ["", "text", "txt", "nonsense", "../../etc/passwd", "\u202e", "output"])
def test_other_names_leave_the_code_plain(label: str) -> None:
    assert Code(label).runs(["def f():", ""]) == [[("def f():", FENCE)], []]


@pytest.mark.parametrize(
    ("label", "begin", "end", "ink"),
    [
        ("c", "/* a", "b */", COMMENT),
        ("js", "/* a", "b */", COMMENT),
        ("js", "x = `a", "b`", STRING),
        ("rust", "/* a", "b */", COMMENT),
        ("go", "x := `a", "b`", STRING),
        ("python", '"""a', 'b"""', STRING),
        ("html", "<!-- a", "b -->", COMMENT),
        ("lua", "--[[ a", "b ]]", COMMENT),
        ("css", "/* a", "b */", COMMENT),
        ("sql", "/* a", "b */", COMMENT),
        ("toml", 'a = """', 'b"""', STRING),
        ("jsonc", "/* a", "b */", COMMENT),
    ],
)
def test_what_crosses_lines_and_pieces_keeps_its_ink(label: str, begin: str, end: str, ink: int) -> None:
    between = ["return 1"] * (PIECE_LINES * 2)
    rows = drawn(["\n".join([f"```{label}", begin, *between, end, "return 1", "```"])])[1:]
    for row in rows[1 : len(between) + 1]:
        assert {own & ~FENCE for text, own in row[1:] if text.strip()} == {ink}
    assert all(own & ~FENCE != ink for text, own in rows[-1][1:] if text.strip())


TEXTS = st.lists(
    st.sampled_from(
        [
            "def f(x):",
            '    """doc',
            '    doc"""',
            "/* open",
            "close */",
            "x = 'a' # b",
            "",
            "`a",
            "- b: |",
            "  c",
            "中",
        ]
    ),
    max_size=50,
).map("\n".join)


@given(TEXTS, st.sampled_from(["python", "js", "yaml", "ruby", "json", "c", "console"]), st.data())
def test_a_growing_fence_looks_as_the_whole_one(text: str, label: str, data: st.DataObject) -> None:
    whole = f"```{label}\n{text}\n```\nend"
    places = data.draw(st.lists(st.integers(0, len(whole)), max_size=8))
    edges = [0, *sorted(places), len(whole)]
    splitter = Splitter()
    rows = []
    for start, end in pairwise(edges):
        blocks = splitter.feed(whole[start:end])
        for block in blocks:
            code = block.code or Code(block.label)
            if block.kind == "code":
                rows += code.runs(whole[block.start : block.end].split("\n")) if block.lines else []
        for block in splitter.open_blocks():
            if block.code is not None and block.lines:  # as a frame would, in between
                block.code.runs(whole[block.start : min(end, block.end)].split("\n"), is_open=True)
    expected = Code(label).runs(text.split("\n"))
    assert rows == expected


@given(
    st.lists(st.text("ab'\"/*`#{}()<>-:$\\ 中\u0301", max_size=30), max_size=6),
    st.sampled_from(["c", "py", "js", "sh", "html", "yaml", "rb", "sql", "md", "json"]),
)
def test_no_character_is_lost_or_made_up(lines: list[str], label: str) -> None:
    runs = Code(label).runs(lines)
    assert ["".join(part for part, _ in line) for line in runs] == lines
    assert all(ink & FENCE for line in runs for _, ink in line)


def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Count the lines that a lexer reads."""
    lines: list[str] = []
    original = Language.inks

    def counting(self: Language, line: str, state: object) -> tuple[list[tuple[str, int]], object]:
        lines.append(line)
        return original(self, line, state)

    monkeypatch.setattr(Language, "inks", counting)
    return lines


def test_a_growing_fence_reads_only_what_is_new(monkeypatch: pytest.MonkeyPatch) -> None:
    read = counted(monkeypatch)
    text = "```python\n" + "".join(f"x{number} = {number}\n" for number in range(200))
    splitter = Splitter()
    for at in range(0, len(text), 5):
        splitter.feed(text[at : at + 5])
        for block in splitter.open_blocks():
            if block.code is not None and block.lines:
                end = min(block.end, at + 5)
                block.code.runs(text[block.start : end].split("\n"), is_open=True)
    assert len(read) < len(text) / 5 * 2  # a line or two for each piece of text, whatever stands above


def test_splitting_reads_no_code(monkeypatch: pytest.MonkeyPatch) -> None:
    read = counted(monkeypatch)
    splitter = Splitter()
    splitter.feed("```python\n" + "x = 1\n" * 500 + "```\n")
    assert read == []


def test_a_jump_into_a_huge_fence_reads_one_stretch_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    read = counted(monkeypatch)
    text = "```python\n" + "x = 'abcdefghij'\n" * 20_000 + "```\n"
    splitter = Splitter()
    last = splitter.feed(text)[-1]
    assert last.code is not None
    last.code.runs(text[last.start : last.end].split("\n"))
    assert sum(map(len, read)) <= STRETCH_CHARACTERS + 5000


def test_a_line_that_is_too_long_is_plain() -> None:
    line = "x = 1 " * MAX_LINE
    assert Code("python").runs([line, "x = 1"])[0] == [(line, FENCE)]


@pytest.mark.parametrize("failure", [ValueError, RecursionError, KeyError, TypeError])
def test_a_lexer_that_fails_leaves_plain_text(
    monkeypatch: pytest.MonkeyPatch, failure: type[Exception]
) -> None:
    found = language("python")
    assert found is not None

    def fail(text: str, state: object) -> tuple[list[tuple[str, int]], object]:
        raise failure

    monkeypatch.setattr(found, "_read", fail)
    assert Code("python").runs(["return 1", ""]) == [[("return 1", FENCE)], []]


def test_a_lexer_that_goes_in_circles_leaves_plain_text() -> None:
    from pygments.lexer import RegexLexer, default

    class Circle(RegexLexer):  # type: ignore[misc]
        name = "circle"
        aliases = ("circle",)
        tokens = {"root": [default("other")], "other": [default("#pop")]}  # noqa: RUF012

    assert Language(Circle()).inks("abc", None) == ([("abc", FENCE)], None)


def test_the_rows_of_code_hold_the_code() -> None:
    rows = drawn(["```js\nlet a = `x\n${b}`;\n```"])
    assert [text_of(row) for row in rows] == ["│ js", "│ let a = `x", "│ ${b}`;"]
