"""Turns words of code into inks, line by line. A line's look depends only on the line and on the lexer's
state before it, so a line that was drawn never changes, however the text arrived. Pygments is imported with
the first labelled fence that is drawn; its plug-ins never are, whatever a label says.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any, Final, NamedTuple

from widgets.ink import ADDED, BUILTIN, COMMENT, FENCE, KEYWORD, NAME, NUMBER, REMOVED, STRING, Run
from widgets.markdown.diff import NAMES as DIFFS
from widgets.markdown.diff import At, Diff

MAX_LINE: Final = 1000  # characters; longer lines stay plain, since some patterns are slow
STEPS_PER_CHARACTER: Final = 8  # a lexer that takes more is in an endless loop
MAX_STACK: Final = 200

_PLAIN: Final = frozenset(
    ("text", "txt", "plain", "plaintext", "none", "output", "raw", "ascii", "log", "math")
)
_NAMES: Final = {  # that Pygments does not know, or takes for something else
    "h": "c",
    "jsonc": "javascript",
    "jsonl": "json",
    "kt": "kotlin",
    "svg": "xml",
    "env": "bash",
    "terminal": "console",
    "vue": "html",
    "svelte": "html",
}
# Inks by the beginnings of token types; the first match counts.
_INKS: Final = (
    (NUMBER, ("Token.Literal.Number",)),
    (STRING, ("Token.Literal",)),
    (BUILTIN, ("Token.Name.Builtin", "Token.Name.Exception", "Token.Name.Constant")),
    (BUILTIN, ("Token.Keyword.Constant", "Token.Keyword.Type")),
    (NAME, ("Token.Name.Function", "Token.Name.Class", "Token.Name.Decorator", "Token.Name.Attribute")),
    (NAME, ("Token.Name.Label", "Token.Generic.Heading", "Token.Generic.Subheading")),
    (KEYWORD, ("Token.Keyword", "Token.Name.Tag", "Token.Operator.Word")),
    (COMMENT, ("Token.Comment", "Token.Generic.Prompt")),
    (ADDED, ("Token.Generic.Inserted",)),
    (REMOVED, ("Token.Generic.Deleted",)),
)
# What may span lines but is read by Pygments with one pattern: the state at the end of a line must tell the
# next one. Opening and closing sign, ink; by the first lexer alias.
_C: Final = (("/*", "*/", COMMENT),)
_XML: Final = (("<!--", "-->", COMMENT),)
_SPANS: Final[dict[str, tuple[tuple[str, str, int], ...]]] = {
    **dict.fromkeys(("c", "cpp", "csharp", "css", "cuda", "d", "dart", "glsl", "groovy", "hlsl", "java"), _C),
    **dict.fromkeys(("javascript", "jsx", "kotlin", "less", "objective-c", "php", "protobuf", "scss"), _C),
    **dict.fromkeys(("solidity", "thrift", "tsx", "typescript", "verilog", "zig"), _C),
    "go": (*_C, ("`", "`", STRING)),
    "graphql": (('"""', '"""', STRING),),
    "html": _XML,
    "lua": (("--[[", "]]", COMMENT),),
    "xml": _XML,
}
_STARTS: Final = {"php": ("root", "php")}  # models leave out the opening tag
# What lexers of others raise on unexpected text.
_FAILURES: Final = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    RuntimeError,
    StopIteration,
    TypeError,
    ValueError,
)
_WORD: Final = re.compile(r"[a-z0-9+#_-]+")


class OpenSpan(NamedTuple):
    """Something that began on an earlier line: everything up to ``close`` is ``ink``; then the lexer
    continues.
    """

    close: str
    ink: int
    stack: object


Piece = tuple[str, int]
Read = tuple[list[Piece], object]  # pieces of a line, and the state after it


class Language:
    """A lexer that reads line by line. A state is ``None`` at the beginning, else what ``inks`` returned."""

    def __init__(self, lexer: Any) -> None:
        from pygments.lexer import ExtendedRegexLexer, RegexLexer  # lazy: see above

        self._lexer = lexer
        name = lexer.aliases[0] if lexer.aliases else ""
        self._spans = _SPANS.get(name, ())
        self._start = _STARTS.get(name, ("root",))
        self._read: Callable[[str, object], Read] = self._read_alone
        if isinstance(lexer, ExtendedRegexLexer):
            self._read = self._read_extended
        elif isinstance(lexer, RegexLexer):
            self._read = self._read_stack

    def inks(self, line: str, state: object) -> Read:
        """Return the line in pieces with their inks, and the state after it. If a lexer raises or loops, the
        line is plain and the next one starts anew.
        """
        if len(line) > MAX_LINE:
            return [(line, FENCE)], state
        text = line + "\n"
        pieces: list[Piece] = []
        try:
            if isinstance(state, OpenSpan):
                end = text.find(state.close)
                if end < 0:
                    return ([(line, FENCE | state.ink)] if line else []), state
                end += len(state.close)
                pieces.append((text[:end], FENCE | state.ink))
                text, state = text[end:], state.stack
            more, state = self._read(text, state)
        except _FAILURES:
            return ([(line, FENCE)] if line else []), None
        return _without_end([*pieces, *more]), state

    def _read_alone(self, text: str, state: object) -> Read:
        """Read a line with a lexer without a state to carry."""
        return _complete(self._lexer.get_tokens_unprocessed(text), text), None

    def _read_extended(self, text: str, state: object) -> Read:
        """Read a line with a lexer that keeps its state in a context."""
        context: Any = copy.deepcopy(state) if state is not None else _new_context(self._lexer)
        context.text, context.pos, context.end = text, 0, len(text)
        pieces = _complete(self._lexer.get_tokens_unprocessed(context=context), text)
        context.text = ""
        return pieces, context

    def _read_stack(self, text: str, state: object) -> Read:
        """Read a line as Pygments' own loop does, but with the stack of the line before."""
        stack = list(state) if isinstance(state, tuple) else list(self._start)
        tokens: list[tuple[int, Any, str]] = []
        at, end, steps = 0, len(text), 0
        while at < end:
            if self._spans and (span := self._open_span(text, at, stack, tokens)) is not None:
                pieces = _complete(tokens, text[:at])
                return [*pieces, (text[at:], FENCE | span.ink)], span
            steps += 1
            if steps > STEPS_PER_CHARACTER * (end + 8) or len(stack) > MAX_STACK:
                raise ValueError("the lexer goes in circles")
            for match, action, new_state in self._lexer._tokens[stack[-1]]:
                found = match(text, at)
                if not found:
                    continue
                if callable(action):
                    tokens.extend(action(self._lexer, found))
                elif action is not None:
                    tokens.append((at, action, found.group()))
                at = found.end()
                if new_state is not None:
                    _change(stack, new_state)
                break
            else:
                if text[at] == "\n":
                    stack = ["root"]
                at += 1
        return _complete(tokens, text), tuple(stack)

    def _open_span(
        self, text: str, at: int, stack: list[str], tokens: list[tuple[int, Any, str]]
    ) -> OpenSpan | None:
        """Return what begins at ``at`` and does not end on this line."""
        for begin, close, ink in self._spans:
            if text.startswith(begin, at) and text.find(close, at + len(begin)) < 0:
                if len(stack) > 1 and tokens and ink_of(tokens[-1][1]) & STRING:
                    return None  # inside a string
                return OpenSpan(close, ink, tuple(stack))
        return None


def _change(stack: list[str], new_state: Any) -> None:
    if isinstance(new_state, int):
        if -new_state >= len(stack):
            del stack[1:]
        else:
            del stack[new_state:]
        return
    for state in (new_state,) if isinstance(new_state, str) else new_state:
        if state == "#push":
            stack.append(stack[-1])
        elif state != "#pop":
            stack.append(state)
        elif len(stack) > 1:
            stack.pop()


def _new_context(lexer: Any) -> Any:
    from pygments.lexer import LexerContext  # lazy: see above
    from pygments.lexers.data import YamlLexer, YamlLexerContext

    return (YamlLexerContext if isinstance(lexer, YamlLexer) else LexerContext)("", 0)


def _complete(tokens: Iterable[tuple[int, Any, str]], text: str) -> list[Piece]:
    """Return ``text`` in pieces, whatever the tokens left out or repeated."""
    pieces: list[Piece] = []
    at = 0
    for count, (start, kind, value) in enumerate(tokens):
        if count > STEPS_PER_CHARACTER * (len(text) + 8):
            raise ValueError("the lexer goes in circles")
        if start < at or not text.startswith(value, start):
            continue
        if start > at:
            pieces.append((text[at:start], FENCE))
        pieces.append((value, FENCE | ink_of(kind)))
        at = start + len(value)
    if at < len(text):
        pieces.append((text[at:], FENCE))
    return pieces


def _without_end(pieces: list[Piece]) -> list[Piece]:
    """Remove the line end that was added to every line."""
    text, ink = pieces[-1]
    pieces[-1] = (text[:-1], ink)
    return [piece for piece in pieces if piece[0]]


@lru_cache(maxsize=512)
def ink_of(kind: Any) -> int:
    """Return the ink of a token type, 0 for plain."""
    name = str(kind)
    return next((ink for ink, prefixes in _INKS if name.startswith(prefixes)), 0)


def language(label: str) -> Language | Diff | None:
    """Return the language that a fence's label names, None if there is none."""
    word = _WORD.search(label.lower())
    return _language(word.group()) if word else None


def is_diff(label: str) -> bool:
    """Whether a fence's label names a diff."""
    word = _WORD.search(label.lower())
    return word is not None and word.group() in DIFFS


@lru_cache(maxsize=64)
def _language(word: str) -> Language | Diff | None:
    if word in _PLAIN:
        return None
    if word in DIFFS:
        return Diff()
    name = _lexer_names().get(_NAMES.get(word, word))
    if name is None:
        return None
    from pygments.lexers import find_lexer_class  # lazy: see above

    lexer = find_lexer_class(name)
    return Language(lexer()) if lexer is not None else None


@cache
def _lexer_names() -> dict[str, str]:
    """Return the names of Pygments' own lexers by their aliases."""
    from pygments.lexers import get_all_lexers  # lazy: see above

    return {alias.lower(): name for name, aliases, _, _ in get_all_lexers(plugins=False) for alias in aliases}


# Code is coloured in stretches of about this many characters. After a jump into the middle of a huge fence
# only its own stretch must be read from the start.
STRETCH_CHARACTERS: Final = 32_768
DIFF_STRETCHES: Final = 20  # reading a diff costs almost nothing, and beyond a stretch it has no numbers


class DrawnLine(NamedTuple):
    """A line as it was drawn, and the lexer's state after it."""

    line: str
    runs: list[Run]
    state: object


@dataclass(slots=True, eq=False)
class Code:
    """Where in its fence a piece of code begins, so that it is coloured as if the fence were drawn whole: in
    the state after ``passed``, lines that were not read yet, which follow ``before`` or ``state``.
    ``is_torn``: within a line.
    """

    label: str
    before: Code | None = None
    passed: str | None = None
    state: object = None
    stretch: int = 0  # characters between the beginning of the stretch and this piece
    is_torn: bool = False
    _drawn: list[DrawnLine] = field(default_factory=list)

    def following(self, text: str, *, is_torn: bool = False) -> Code:
        """Return the code after this piece, whose lines are ``text``, without reading anything."""
        stretch = self.stretch + len(text)
        if stretch > STRETCH_CHARACTERS * (DIFF_STRETCHES if is_diff(self.label) else 1):
            return Code(self.label)
        lines = text.split("\n")
        unchanged = len(self._unchanged_lines(lines))
        if not unchanged:
            return Code(self.label, self, text, None, stretch, is_torn)
        rest = "\n".join(lines[unchanged:]) if unchanged < len(lines) else None
        return Code(self.label, None, rest, self._drawn[unchanged - 1].state, stretch, is_torn)

    def forget(self) -> None:
        self._drawn = []

    def runs(self, lines: Sequence[str], *, is_open: bool = False) -> list[list[Run]]:
        return [runs for _, runs, _ in self.drawn(lines, is_open=is_open)]

    def drawn(self, lines: Sequence[str], *, is_open: bool = False) -> list[DrawnLine]:
        """Return each line as it is drawn; with ``is_open`` the next call colours only new lines."""
        lexer = language(self.label)
        if lexer is None:
            return [DrawnLine(line, [(line, FENCE)] if line else [], None) for line in lines]
        drawn = self._unchanged_lines(lines)
        state = drawn[-1].state if drawn else self._start(lexer)
        for line in lines[len(drawn) :]:
            runs, state = _coloured(lexer, line, state)
            drawn.append(DrawnLine(line, runs, state))
        self._drawn = drawn if is_open else []
        return drawn

    def _unchanged_lines(self, lines: Sequence[str]) -> list[DrawnLine]:
        """Return the first lines that were already drawn as they are now."""
        unchanged: list[DrawnLine] = []
        for line, drawn in zip(lines, self._drawn, strict=False):
            if line != drawn.line:
                break
            unchanged.append(drawn)
        return unchanged

    def _start(self, lexer: Language | Diff) -> object:
        """Return the lexer's state before the first line; ``None`` is the beginning of a text."""
        chain = [self]
        while chain[-1].before is not None:
            chain.append(chain[-1].before)
        for code in reversed(chain):
            state = code.state if code.before is None else code.before._begin
            for line in code.passed.split("\n") if code.passed is not None else ():
                state = _coloured(lexer, line, state)[1]
            code.before, code.passed, code.state = None, None, state
        return self._begin

    @property
    def _begin(self) -> object:
        """The state of the first line, after reading what is before it."""
        if self.is_torn and isinstance(self.state, At):
            return self.state._replace(is_torn=True)
        return self.state


def _coloured(lexer: Language | Diff, line: str, state: object) -> tuple[list[Run], object]:
    """Return the runs of one line and the state after it."""
    inks, state = lexer.inks(line, state)
    runs: list[Run] = []
    for text, ink in inks:
        if runs and runs[-1][1] == ink:
            runs[-1] = (runs[-1][0] + text, ink)
        else:
            runs.append((text, ink))
    return runs, state
