"""Fuzzy matching: which letters of a text match the typed ones, and how well."""

from __future__ import annotations

from typing import Final, NamedTuple

MAX_CHARACTERS: Final = 400  # of a text that are searched
BEGINNING, WORD, WITHIN, SCATTERED = range(4)


class FuzzyMatch(NamedTuple):
    """A match: a smaller ``rank`` is better, ``places`` are the indexes of the matching letters."""

    rank: tuple[int, int, int]
    places: tuple[int, ...]


def match(typed: str, text: str) -> FuzzyMatch | None:
    """Return how ``text`` matches, ``None`` if it lacks a typed letter. Case does not matter; a match at the
    beginning is best.
    """
    low, wanted = _low(text[:MAX_CHARACTERS]), _low(typed)
    if not wanted:
        return FuzzyMatch((BEGINNING, 0, len(text)), ())
    at = _whole(low, wanted, text)
    if at >= 0:
        kind = BEGINNING if at == 0 else WORD if _begins_word(text, at) else WITHIN
        return FuzzyMatch((kind, at, len(text)), tuple(range(at, at + len(wanted))))
    found = _scattered(low, wanted)
    return FuzzyMatch((SCATTERED, found[-1] - found[0], len(text)), found) if found else None


def places(typed: str, text: str) -> tuple[int, ...]:
    """Return the indexes of the matching letters, none if ``text`` does not match."""
    fits = match(typed, text)
    return fits.places if fits is not None else ()


def has_letters(wanted: str, text: str) -> bool:
    """Whether ``text`` has these letters in this order; case matters. Fast."""
    return bool(_scattered(text, wanted))


def _low(text: str) -> str:
    """Return the text in lower case with the same indexes: some letters have two in lower case."""
    low = text.casefold()
    return low if len(low) == len(text) else text.lower() if len(text.lower()) == len(text) else text


def _whole(low: str, wanted: str, text: str) -> int:
    """Return where the whole word is found, at the start of a word if possible; else -1."""
    first = at = low.find(wanted)
    while at >= 0:
        if _begins_word(text, at):
            return at
        at = low.find(wanted, at + 1)
    return first


def _begins_word(text: str, at: int) -> bool:
    return at == 0 or not text[at - 1].isalnum() or (text[at].isupper() and text[at - 1].islower())


def _scattered(low: str, wanted: str) -> tuple[int, ...]:
    """Return the first places of the letters in their order, none if one is missing."""
    places: list[int] = []
    at = -1
    for letter in wanted:
        at = low.find(letter, at + 1)
        if at < 0:
            return ()
        places.append(at)
    return tuple(places)
