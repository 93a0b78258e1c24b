"""Words as the full text search sees them. Chinese, Japanese and Korean have no gaps between words: each
character becomes a word of its own, and what is searched for a row of such words.
"""

from __future__ import annotations

import re
import unicodedata

MAX_INDEXED_CHARACTERS = 50_000  # of one message: others wait while it is put into the index
MAX_TERMS = 16
# Stands between such characters in the index: found nowhere else, so that it can be taken out again.
_GAP = "\x01"
BEGIN, END = "\x02", "\x03"  # around what was found

_CJK = "\u1100-\u11ff\u2e80-\u2fdf\u3005-\u3007\u3040-\u318f\u31a0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
_CJK += "\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
# Before and after each of them, where a word character stands beside it.
_GAPS = re.compile(f"(?<=[{_CJK}])(?=\\w)|(?<=[^\\W{_CJK}])(?=[{_CJK}])")
_CONTROLS = re.compile("[\x00-\x03]")
_TERMS = re.compile(r"\w+")
_ENDS_CJK = re.compile(f"[{_CJK}]$")
_LETTER = r"[^\W_]"


class _Plain(dict[int, str]):
    """One small letter without its accent for each letter, as the index has it."""

    def __missing__(self, code: int) -> str:
        letter = chr(code)
        parts = unicodedata.normalize("NFD", letter)
        plain = parts[0] if all(map(unicodedata.combining, parts[1:])) else letter
        self[code] = plain.lower()[:1]
        return self[code]


_PLAIN = _Plain()


def indexed(text: str) -> str:
    """Return ``text`` as it is put into the index."""
    return _GAPS.sub(_GAP, _CONTROLS.sub(" ", text[:MAX_INDEXED_CHARACTERS]))


def expression(words: str) -> str:
    """Return the query for messages that hold all of ``words``, each as the beginning of a word.

    Nothing of it is syntax: every term stands in quotes. Empty where there is nothing to search for.
    """
    return " ".join(_term(term) for term in _terms(words))


def shown(snippet: str) -> str:
    """Return a snippet of the index as a person reads it."""
    return " ".join(snippet.replace(_GAP, "").split())


def marked(title: str, words: str) -> str:
    """Return a title with marks around what the index would find of it; "" where one of ``words`` is not."""
    whole = indexed(title)
    plain = whole.translate(_PLAIN)
    starts = [re.escape(_GAPS.sub(_GAP, term).translate(_PLAIN)) for term in _terms(words)]
    found = [re.compile(f"(?<!{_LETTER})(?:{start}){_LETTER}*") for start in (*starts, "|".join(starts))]
    if not starts or not all(pattern.search(plain) for pattern in found):
        return ""
    pieces: list[str] = []
    end = 0
    for match in found[-1].finditer(plain):
        pieces += whole[end : match.start()], BEGIN, whole[match.start() : match.end()], END
        end = match.end()
    return shown("".join((*pieces, whole[end:])))


def _terms(words: str) -> list[str]:
    return _TERMS.findall(_CONTROLS.sub(" ", words))[:MAX_TERMS]


def _term(term: str) -> str:
    phrase = _GAPS.sub(" ", term).replace('"', "")
    return f'"{phrase}"' + ("" if _ENDS_CJK.search(phrase) else "*")
