"""How a piece of text looks, without colours: flags that the painter turns into styles.

Rows are made of these, so that wrapped text does not depend on theme or focus.
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
URL: Final = 1 << 12  # the target of a link, shown after its text
# Words of a code block, by their Pygments tokens.
KEYWORD: Final = 1 << 13
STRING: Final = 1 << 14
COMMENT: Final = 1 << 15
NUMBER: Final = 1 << 16
NAME: Final = 1 << 17  # functions, classes, decorators: what is defined or called by name
BUILTIN: Final = 1 << 18
ADDED: Final = 1 << 19  # of a diff
REMOVED: Final = 1 << 20
TITLE: Final = 1 << 21  # of a message
WARNED: Final = 1 << 22  # a warning
# The bits from here on are the number of a run's link: 1 is the first of its layout's ``links``.
LINK_SHIFT: Final = 24

COMPONENTS: Final = (  # ink, and the component that gives it its style: later ones win
    (FENCE, "fence"),
    (KEYWORD, "keyword"),
    (STRING, "string"),
    (COMMENT, "comment"),
    (NUMBER, "number"),
    (NAME, "name"),
    (BUILTIN, "builtin"),
    (ADDED, "added"),
    (REMOVED, "removed"),
    (QUOTE, "quote"),
    (HEADING, "heading"),
    (DIM, "dim"),
    (MARK, "mark"),
    (LINK, "link"),
    (URL, "url"),
    (CODE, "code"),
    (FAILED, "failed"),
    (WARNED, "warned"),
)

Run = tuple[str, int]
"""A text and its ink."""
Row = tuple[Run, ...]
"""One row of the screen, without padding."""


def text_of(row: Row) -> str:
    return "".join([text for text, _ in row])
