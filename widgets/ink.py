"""How a piece of text looks, without saying in which colour: flags that the painter turns into styles.

Rows are made of these, so that wrapped text survives a change of theme or focus unchanged.
"""

from __future__ import annotations

from typing import Final

PLAIN: Final = 0
STRONG: Final = 1
EMPHASIS: Final = 2
STRIKE: Final = 4
CODE: Final = 8
LINK: Final = 16
HEADING: Final = 32
QUOTE: Final = 64
MARK: Final = 128  # bullets, bars, rules: signs of ours between the words
DIM: Final = 256
FAILED: Final = 512
CARET: Final = 1024
FENCE: Final = 2048  # a line of a code block; CODE is code within a sentence

Run = tuple[str, int]
"""A text and its ink."""
Row = tuple[Run, ...]
"""One row of the screen, without padding."""


def text_of(row: Row) -> str:
    """Return the characters of a row."""
    return "".join([text for text, _ in row])
