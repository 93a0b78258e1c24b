"""Translates English texts from below the screens – of errors, the backend, commands – for a person.

Errors have a sentence, not a code: the same sentence is in logs, JSON, the store and on the wire, where it
stays English. Screens translate it here. A text without placeholders is looked up as it is. One with
placeholders (``PATTERNS``, written by ``make messages``) is recognised by the literals between them, and the
values are translated in turn. Unknown texts are shown as they came: the words of foreign servers are.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from tui.language import FOLDER, Spoken, translated

BELOW: Final = "below"  # the context in the catalogues
PATTERNS: Final = FOLDER / "patterns.txt"
AS_TYPED: Final = ("agent-tui ", "'", '"')  # what follows is a command or was typed by a person
DEEPEST: Final = 3  # sentences within sentences
MOST_CHARACTERS: Final = 2000  # of a text that is ours
Parts = tuple[tuple[str, str], ...]  # each literal with the name of the placeholder after it, "" at the end


def localised(text: object) -> str:
    """Return a text, or the text of an error, in the current language; unchanged if it is unknown."""
    words = str(text)
    if Spoken.texts is None or len(words) > MOST_CHARACTERS:
        return words
    return "\n".join(_told(line, DEEPEST) for line in words.split("\n"))


def parts_of(pattern: str) -> Parts:
    """Return the literals of a text, each with the name of the placeholder that follows it."""
    pieces = [piece.partition("}") for piece in pattern.split("{")]
    literals = [pieces[0][0], *(after for _, _, after in pieces[1:])]
    names = [name for name, _, _ in pieces[1:]]
    return tuple(zip(literals, [*names, ""], strict=True))


def _told(text: str, deep: int) -> str:
    known = _known(text, deep)
    if known is not None or not deep:
        return text if known is None else known
    head, colon, rest = text.partition(": ")
    while colon:  # a title may contain a colon itself
        after = _told(rest, deep - 1)
        if (title := _known(head, deep - 1)) is not None or after != rest:
            return f"{head if title is None else title}: {after}"
        more, colon, rest = rest.partition(": ")
        head = f"{head}: {more}"
    return text


def _known(text: str, deep: int) -> str | None:
    """Return one of our sentences in the current language; ``None`` for any other text."""
    said = translated(BELOW, text)
    if said != text or not deep:
        return None if said == text else said
    for pattern, parts in _patterns():
        values = _values(text, parts)
        if values is not None:
            before = {name: literal for literal, name in parts}
            fields = {
                name: value if before[name].endswith(AS_TYPED) else _told(value, deep - 1)
                for name, value in values.items()
            }
            return "".join(
                literal + fields.get(name, "") for literal, name in parts_of(translated(BELOW, pattern))
            )
    return None


def _values(text: str, parts: Parts) -> dict[str, str] | None:
    """Return the values of a pattern's placeholders; ``None`` if the text does not match."""
    (first, name), *others = parts
    if not text.startswith(first) or not text.endswith(parts[-1][0]):
        return None
    values, at = {}, len(first)
    for literal, following in others:
        end = text.find(literal, at) if following else len(text) - len(literal)
        if end < at + (not (literal or following) or bool(literal)):
            return None
        values[name] = text[at:end]
        at, name = end + len(literal), following
    return values


@cache
def _patterns() -> list[tuple[str, Parts]]:
    """Return the patterns, those with the most words of their own first."""
    listed = [(line, parts_of(line)) for line in PATTERNS.read_text(encoding="utf-8").splitlines()]
    return sorted(listed, key=lambda one: -sum(len(literal) for literal, _ in one[1]))
