"""Words for the full text search. Chinese, Japanese and Korean have no spaces between words: each character
becomes a word of its own, and a search looks for a row of such words.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from itertools import islice

MAX_INDEXED_CHARACTERS = 50_000  # of one message: others wait while it is indexed
MAX_TERMS = 16
EXCERPT_WORDS = 24
EXCERPT_LEAD = 6  # words before the first match
EXCERPT_NEAR = 100  # characters: closer matches are shown together
EXCERPT_REACH = 400  # characters that are looked at before and after the first match
# Between such characters in the index: it occurs nowhere else, so that it can be removed again.
_GAP = "\x01"
BEGIN, END = "\x02", "\x03"  # around each match

_CJK = "\u1100-\u11ff\u2e80-\u2fdf\u3005-\u3007\u3040-\u318f\u31a0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
_CJK += "\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
# Before and after each of them, next to a word character.
_GAPS = re.compile(f"(?<=[{_CJK}])(?=\\w)|(?<=[^\\W{_CJK}])(?=[{_CJK}])")
_CONTROLS = re.compile("[\x00-\x03]")
_TERMS = re.compile(r"\w+")
_ENDS_CJK = re.compile(f"[{_CJK}]$")
_LETTER = r"[^\W_]"


class _Plain(dict[int, str]):
    """Maps each letter to one small letter without an accent, as in the index."""

    def __missing__(self, code: int) -> str:
        letter = chr(code)
        parts = unicodedata.normalize("NFD", letter)
        plain = parts[0] if all(map(unicodedata.combining, parts[1:])) else letter
        self[code] = plain.lower()[:1]
        return self[code]


_PLAIN = _Plain()


def indexed(text: str) -> str:
    """Return ``text`` as it is stored in the index."""
    return _GAPS.sub(_GAP, _CONTROLS.sub(" ", text[:MAX_INDEXED_CHARACTERS]))


def expression(words: str) -> str:
    """Return the query for messages that contain all of ``words``, each as the beginning of a word.

    Nothing in it is syntax: every term is quoted. Empty if there is nothing to search for.
    """
    return " ".join(_term(term) for term in _terms(words))


def snippet_text(snippet: str) -> str:
    """Return a snippet of the index for a person."""
    return " ".join(snippet.replace(_GAP, "").split())


def title_with_marks(title: str, words: str) -> str:
    """Return a title with marks around what the index would find in it; "" if one of ``words`` is missing."""
    whole = indexed(title)
    plain = whole.translate(_PLAIN)
    starts = _starts(words)
    if not starts or not all(_matches(start).search(plain) for start in starts):
        return ""
    return snippet_text(_with_marks(whole, plain, starts, 0, len(whole)))


def excerpt(message: str, words: str) -> str:
    """Return a few words of an indexed message with marks around the matches: the first place with most of
    ``words`` together.

    FTS5's own ``snippet`` compares every match with every other: a minute for one message of 25,000.
    """
    plain = message.translate(_PLAIN)
    starts = _starts(words)
    patterns = [_matches(start) for start in starts]
    firsts = [match.start() for pattern in patterns if (match := pattern.search(plain))]
    places = [_near(patterns, plain, first) for first in firsts]
    first = max(places, key=lambda near: (len(near), -near[0]))[0] if places else 0
    before = [word.start() for word in _TERMS.finditer(message, max(0, first - EXCERPT_REACH), first)]
    begin = before[-EXCERPT_LEAD] if len(before) >= EXCERPT_LEAD else max(0, first - EXCERPT_REACH)
    behind = list(islice(_TERMS.finditer(message, begin, first + EXCERPT_REACH), EXCERPT_WORDS + 1))
    end = behind[-2].end() if len(behind) > EXCERPT_WORDS else min(len(message), first + EXCERPT_REACH)
    snippet = snippet_text(_with_marks(message, plain, starts, begin, end))
    return f"{'…' if begin else ''}{snippet}{'…' if end < len(message) else ''}"


def _near(patterns: Sequence[re.Pattern[str]], plain: str, first: int) -> list[int]:
    """Return ``first`` and the places of the matches near it, in order."""
    begin, end = max(0, first - EXCERPT_NEAR), first + EXCERPT_NEAR
    return sorted({first, *(match.start() for one in patterns if (match := one.search(plain, begin, end)))})


def _with_marks(whole: str, plain: str, starts: Sequence[str], begin: int, end: int) -> str:
    pieces: list[str] = []
    for match in _matches("|".join(starts)).finditer(plain, begin, end) if starts else ():
        pieces += whole[begin : match.start()], BEGIN, whole[match.start() : match.end()], END
        begin = match.end()
    return "".join((*pieces, whole[begin:end]))


def _starts(words: str) -> list[str]:
    return [r"[\W_]+".join(part.translate(_PLAIN) for part in _GAPS.split(term)) for term in _terms(words)]


def _matches(start: str) -> re.Pattern[str]:
    return re.compile(f"(?<!{_LETTER})(?:{start}){_LETTER}*")


def _terms(words: str) -> list[str]:
    return list(dict.fromkeys(_TERMS.findall(_CONTROLS.sub(" ", words))))[:MAX_TERMS]


def _term(term: str) -> str:
    phrase = _GAPS.sub(" ", term).replace('"', "")
    return f'"{phrase}"' + ("" if _ENDS_CJK.search(phrase) else "*")
