"""What is said in English below the screens – by errors, the backend, commands – in the language spoken.

Errors carry their sentence, not a code: the same sentence is in logs, in JSON, in the store and on the wire,
and there it stays English. People read it through here. A text without places is looked up as it is; one with
places (``PATTERNS``, written by ``make messages``) is recognised by what stands between them, and what stands
in them is looked up in turn. What is not known is shown as it came: the words of foreign servers are.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from tui.language import FOLDER, Spoken, translated

BELOW: Final = "below"  # the context in the catalogues
PATTERNS: Final = FOLDER / "patterns.txt"
AS_TYPED: Final = ("agent-tui ", "'", '"')  # what follows is to be typed as it is, or was
DEEPEST: Final = 3  # sentences in sentences
MOST_CHARACTERS: Final = 2000  # of a text that is ours
Parts = tuple[tuple[str, str], ...]  # each literal with the name of the place behind it, "" at the end


def localised(text: object) -> str:
    """Return a text, or what an error says, in the language spoken; as it is where it is not known."""
    words = str(text)
    if Spoken.texts is None or len(words) > MOST_CHARACTERS:
        return words
    return "\n".join(_told(line, DEEPEST) for line in words.split("\n"))


def parts_of(pattern: str) -> Parts:
    """Return the literals of a text, each with the name of the place that follows it."""
    pieces = [piece.partition("}") for piece in pattern.split("{")]
    literals = [pieces[0][0], *(after for _, _, after in pieces[1:])]
    names = [name for name, _, _ in pieces[1:]]
    return tuple(zip(literals, [*names, ""], strict=True))


def _told(text: str, deep: int) -> str:
    known = _known(text, deep)
    if known is not None or not deep:
        return text if known is None else known
    head, colon, rest = text.partition(": ")
    while colon:  # a title may have a colon itself
        after = _told(rest, deep - 1)
        if (title := _known(head, deep - 1)) is not None or after != rest:
            return f"{head if title is None else title}: {after}"
        more, colon, rest = rest.partition(": ")
        head = f"{head}: {more}"
    return text


def _known(text: str, deep: int) -> str | None:
    """Return a sentence that is ours in the language that is spoken; None for any other."""
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
    """Return what is at the places of a pattern; None where the text is not of it."""
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
    """Return the texts with places, those with the most words of their own first."""
    listed = [(line, parts_of(line)) for line in PATTERNS.read_text(encoding="utf-8").splitlines()]
    return sorted(listed, key=lambda one: -sum(len(literal) for literal, _ in one[1]))
