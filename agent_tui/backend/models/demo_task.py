"""What the demo model understands of a room's task: its language, a quotation, words, two answers.

Guesses from the letters alone: no dictionary, no network. The task is hostile like everything from
outside, so what comes out of here is short, one line and free of Markdown's active signs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from agent_tui.backend.models.demo_words import CHINESE_BREAKS, RUSSIAN_VERB_OR_ADJECTIVE, STOP_WORDS
from agent_tui.inert import inert_line

Language = Literal["en", "zh", "ru"]
Kind = Literal["choice", "question", "assignment"]

MAX_QUOTE_CHARACTERS = 120
MAX_READ_CHARACTERS = 2000
MAX_WORDS = 6
MAX_OPTION_CHARACTERS = 24

_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]")
_KANA = re.compile("[\u3040-\u30ff\uac00-\ud7af]")  # with these beside them the ideographs are not Chinese
_CYRILLIC = re.compile("[\u0400-\u04ff]")
_LATIN = re.compile("[A-Za-z\u00c0-\u024f]")
# Signs that would turn into emphasis, code, tables, links or tags where the task is quoted.
_ACTIVE = str.maketrans({"`": "'", "*": "", "|": "/", "<": "‹", ">": "›", "\\": "/", "~": "-"})
_TOKEN = re.compile(r"[^\W_][\w'’+#.-]*[\w+#]|[^\W_]")
_CHINESE_PIECE = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]{2,8}|[A-Za-z][A-Za-z0-9+#.]*[A-Za-z0-9+#]")
_EITHER = {
    "en": re.compile(r"\bor\b", re.IGNORECASE),
    "ru": re.compile(r"\bили\b", re.IGNORECASE),
    "zh": re.compile("还是|或者"),
}
_LISTED = re.compile(r",[^,]{0,40}$")
_ASKING = re.compile(
    r"[??]|[吗呢]$|^(?:how|why|what|which|who|when|where)\b|^(?:как|почему|зачем|что|кто|где|когда)\b|如何|怎么|为什么",
    re.IGNORECASE,
)
_PUNCTUATION = re.compile(r"[,.;:?!()“”«»\"…]|[,。;:?!、()《》]")


@dataclass(frozen=True, slots=True)
class Task:
    """``quote`` is one line of at most 120 characters, empty for an empty task; ``words`` are bare."""

    language: Language
    quote: str
    words: tuple[str, ...]
    options: tuple[str, str] | None
    kind: Kind


def language_of(text: str) -> Language:
    """Return the language to speak about ``text``, from its script: Chinese, Russian, else English.

    A few foreign names in a text do not change it: an ideograph counts for four Latin letters, a Cyrillic
    letter for three. Japanese and Korean are not Chinese.
    """
    text = text[:MAX_READ_CHARACTERS]
    latin = len(_LATIN.findall(text))
    han = len(_HAN.findall(text))
    if han and han * 4 >= latin and not _KANA.search(text):
        return "zh"
    cyrillic = len(_CYRILLIC.findall(text))
    return "ru" if cyrillic and cyrillic * 3 >= latin else "en"


def read_task(text: str) -> Task:
    """Return what there is to know about the task; never raises, whatever the text."""
    language = language_of(text)
    line = safe_line(text, MAX_READ_CHARACTERS)
    options = _options(line, language)
    words = _words(line, language)
    kind: Kind = "choice" if options else "question" if _ASKING.search(line) else "assignment"
    return Task(language, safe_line(text, MAX_QUOTE_CHARACTERS), words, options, kind)


def safe_line(text: str, limit: int) -> str:
    """Return ``text`` as one harmless line of at most ``limit`` characters in which no Markdown is left."""
    line = inert_line(text[: limit * 4 + 64].translate(_ACTIVE), limit)
    return re.sub(r"^(?:[#>+-]+\s+|\d+[.)]\s+|=+)+", "", line).strip()


def _words(line: str, language: Language) -> tuple[str, ...]:
    """Return the words that may be what the task is about, in order, each once."""
    if language == "zh":
        pieces = _CHINESE_PIECE.findall(CHINESE_BREAKS.sub(" ", line))
    else:
        pieces = [token for token in _TOKEN.findall(line) if _tells(token, language)]
    unique = {piece.lower(): piece for piece in reversed(pieces) if len(piece) <= MAX_OPTION_CHARACTERS}
    return tuple(reversed(unique.values()))[:MAX_WORDS]


def _tells(token: str, language: Language) -> bool:
    if len(token) <= 2 or token.isdecimal() or token.lower() in STOP_WORDS[language]:
        return False
    return language != "ru" or not RUSSIAN_VERB_OR_ADJECTIVE.search(token.lower())


def _options(line: str, language: Language) -> tuple[str, str] | None:
    """Return the two answers that an «A or B» in the task names, if they can be told."""
    parts = _EITHER[language].split(line)
    if len(parts) != 2:
        return None
    left, right = _PUNCTUATION.split(parts[0])[-1], _PUNCTUATION.split(parts[1])[0]
    if language != "zh" and _LISTED.search(parts[0]):
        return None  # «A, B or C»: more than two
    pair = _chinese_pair(left, right) if language == "zh" else _spaced_pair(left, right, language)
    if pair is None or pair[0].lower() == pair[1].lower():
        return None
    return pair if all(len(option) <= MAX_OPTION_CHARACTERS for option in pair) else None


def _spaced_pair(left: str, right: str, language: Language) -> tuple[str, str] | None:
    stop = STOP_WORDS[language]
    before, after = _TOKEN.findall(left), _TOKEN.findall(right)
    while after and after[0].lower() in stop:
        after.pop(0)
    if not before or not after or before[-1].lower() in stop:
        return None
    first = before[-2:] if len(before) > 1 and all(word[0].isupper() for word in before[-2:]) else before[-1:]
    second = after[:2] if len(after) > 1 and all(word[0].isupper() for word in after[:2]) else after[:1]
    return " ".join(first), " ".join(second)


def _chinese_pair(left: str, right: str) -> tuple[str, str] | None:
    before = _CHINESE_PIECE.findall(CHINESE_BREAKS.sub(" ", left))
    after = _CHINESE_PIECE.findall(CHINESE_BREAKS.sub(" ", right))
    return (before[-1], after[0]) if before and after else None
