"""Words of code to inks, line by line, with Pygments.

A growing fence is never highlighted whole again: what a line looks like depends on the line and on the
lexer's state before it. So a line once drawn never changes its colours, and text in any pieces looks alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from widgets.ink import FENCE, Run
from widgets.markdown.diff import At, Diff
from widgets.markdown.languages import Language, is_diff, language

# Code is coloured in stretches of about so many characters. A jump into the middle of a huge fence has to go
# through its stretch from the start, never through more.
STRETCH_CHARACTERS: Final = 32_768
DIFF_STRETCHES: Final = 20  # reading a diff costs next to nothing, and beyond it has no numbers


class Drawn(NamedTuple):
    """A line as it was drawn, and the lexer's state behind it."""

    line: str
    runs: list[Run]
    state: object


@dataclass(slots=True, eq=False)
class Code:
    """Where in its fence a piece of code begins, so that it is coloured as if it were drawn whole: in the
    state behind ``passed``, lines nobody has read yet, which follow ``before`` or ``state``. ``is_torn``:
    within a line.
    """

    label: str
    before: Code | None = None
    passed: str | None = None
    state: object = None
    stretch: int = 0  # characters between the begin of the stretch and this piece
    is_torn: bool = False
    _drawn: list[Drawn] = field(default_factory=list)

    def following(self, text: str, *, is_torn: bool = False) -> Code:
        """Return the piece after this one, whose lines are ``text``, without reading anything."""
        stretch = self.stretch + len(text)
        if stretch > STRETCH_CHARACTERS * (DIFF_STRETCHES if is_diff(self.label) else 1):
            return Code(self.label)
        lines = text.split("\n")
        known = len(self._known(lines))
        if not known:
            return Code(self.label, self, text, None, stretch, is_torn)
        rest = "\n".join(lines[known:]) if known < len(lines) else None
        return Code(self.label, None, rest, self._drawn[known - 1].state, stretch, is_torn)

    def forget(self) -> None:
        self._drawn = []

    def runs(self, lines: Sequence[str], *, is_open: bool = False) -> list[list[Run]]:
        return [runs for _, runs, _ in self.drawn(lines, is_open=is_open)]

    def drawn(self, lines: Sequence[str], *, is_open: bool = False) -> list[Drawn]:
        """Return each line as it is drawn; with ``is_open`` the next call colours only new lines."""
        found = language(self.label)
        if found is None:
            return [Drawn(line, [(line, FENCE)] if line else [], None) for line in lines]
        drawn = self._known(lines)
        state = drawn[-1].state if drawn else self._start(found)
        for line in lines[len(drawn) :]:
            runs, state = _coloured(found, line, state)
            drawn.append(Drawn(line, runs, state))
        self._drawn = drawn if is_open else []
        return drawn

    def _known(self, lines: Sequence[str]) -> list[Drawn]:
        """Return the first lines that were drawn before as they are now."""
        known: list[Drawn] = []
        for line, drawn in zip(lines, self._drawn, strict=False):
            if line != drawn.line:
                break
            known.append(drawn)
        return known

    def _start(self, found: Language | Diff) -> object:
        """Return the lexer's state before the first line; None is the beginning of a text."""
        chain = [self]
        while chain[-1].before is not None:
            chain.append(chain[-1].before)
        for code in reversed(chain):
            state = code.state if code.before is None else code.before._begin
            for line in code.passed.split("\n") if code.passed is not None else ():
                state = _coloured(found, line, state)[1]
            code.before, code.passed, code.state = None, None, state
        return self._begin

    @property
    def _begin(self) -> object:
        """The state of the first line, once what is before was read."""
        if self.is_torn and isinstance(self.state, At):
            return self.state._replace(is_torn=True)
        return self.state


def _coloured(found: Language | Diff, line: str, state: object) -> tuple[list[Run], object]:
    """Return the runs of one line and the state behind it."""
    inks, state = found.inks(line, state)
    runs: list[Run] = []
    for text, ink in inks:
        if runs and runs[-1][1] == ink:
            runs[-1] = (runs[-1][0] + text, ink)
        else:
            runs.append((text, ink))
    return runs, state
