"""Translates English texts from below the screens – of errors, the backend, commands – for a person.

Errors have a sentence, not a code: the same sentence is in logs, JSON, the store and on the wire, where it
stays English. Screens translate it here. A text without placeholders is looked up as it is. One with
placeholders (``PATTERNS``, written by ``make messages``) is recognised by the literals between them, and the
values are translated in turn. Unknown texts are shown as they came: the words of foreign servers are.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import Final, NamedTuple

from agent_tui.model.errors import MAX_TOOL_ROUNDS, TOO_MANY_ROUNDS, AgentTuiError
from tui.language import FOLDER, LanguageTexts, current_language, translated
from tui.screens.words import list_of, say
from widgets.units import decimal

BELOW: Final = "below"  # the context in the catalogues
PATTERNS: Final = FOLDER / "patterns.txt"
AS_TYPED: Final = ("agent-tui ", "'", '"')  # what follows is a command or was typed by a person
QUOTES: Final = "it said: "
PLACE: Final = "\ufffc"  # for what is quoted
DEEPEST: Final = 3  # sentences within sentences
MOST_SENTENCES: Final = 8  # of a line; what follows them is read as one
MOST_CHARACTERS: Final = 2000  # of a text that is ours
KEPT_TEXTS: Final = 256  # and as many of their sentences
_BETWEEN: Final = re.compile(r"[:.] ")  # two sentences, or a title and its detail
JOINED: Final = {": ": "between.detail", ". ": "between.sentences"}
_NAMES: Final = re.compile(r"[^\s,]+(?:, [^\s,]+)+")  # one word each: in a sentence of others the comma stays
_THOUSANDS: Final = re.compile(r"\d{1,3}(?:,\d{3})+")
WIDE: Final = "（"  # has its own space before it
Parts = tuple[tuple[str, str], ...]  # each literal with the name of the placeholder after it, "" at the end


class Translation(NamedTuple):
    """A text in the current language. ``known`` says how many of its English characters were known,
    ``begins`` whether some of its first sentence were.
    """

    text: str
    known: int
    begins: bool = False


def localised(text: object) -> str:
    """Return a text, or the text of an error, in the current language; unchanged if it is unknown."""
    words = _sentences(text) if isinstance(text, AgentTuiError) else str(text)
    if words == TOO_MANY_ROUNDS:  # a protocol's own words
        return say("failed.rounds", count=MAX_TOOL_ROUNDS)
    if LanguageTexts.texts is None or len(words) > MOST_CHARACTERS:
        return words
    return _localised(words, current_language())


def _sentences(error: AgentTuiError) -> str:
    """Return the text of an error: a detail that is a sentence of its own follows as one."""
    if error.detail.endswith("。"):  # it was told in Chinese where it was raised
        return f"{error.title}。{error.detail}"
    is_sentence = error.detail[:1].isupper() and error.detail.endswith(".")
    return f"{error.title}. {error.detail}" if is_sentence else str(error)


@lru_cache(maxsize=KEPT_TEXTS)
def _localised(words: str, language: str) -> str:
    """Return ``words`` in the current ``language``, which decides whether an earlier result can be used."""
    lines = []
    for line in words.split("\n"):
        ours, quotes, quoted = line.partition(QUOTES)  # the words of a server: nothing in them is ours
        text = _by_sentences(f"{ours}{quotes}{PLACE}" if quotes else line, DEEPEST, language).text
        lines.append(text.replace(PLACE, quoted))
    return "\n".join(lines)


def parts_of(pattern: str) -> Parts:
    """Return the literals of a text, each with the name of the placeholder that follows it."""
    pieces = [piece.partition("}") for piece in pattern.split("{")]
    literals = [pieces[0][0], *(after for _, _, after in pieces[1:])]
    names = [name for name, _, _ in pieces[1:]]
    return tuple(zip(literals, [*names, ""], strict=True))


def _by_sentences(text: str, deep: int, language: str) -> Translation:
    """Return a text split into sentences so that as much as possible is known; short sentences first."""
    between = [match.span() for match in _BETWEEN.finditer(text)][: MOST_SENTENCES - 1]
    begins = [0, *(end for _, end in between)]
    ends = [*(start for start, _ in between), len(text)]
    best = Translation("", 0)
    rests = [best] * (len(begins) + 1)  # of the text from each beginning on
    for first in range(len(begins) - 1, -1, -1):
        for last in range(first, len(ends)):
            sentence = _sentence(text[begins[first] : ends[last]], deep, language)
            joined = text[ends[last] : ends[last] + 2] if last + 1 < len(ends) else ""
            rest = rests[last + 1]
            if joined and (sentence.known or rest.begins):  # between foreign words it stays as it came
                joined = say(JOINED[joined])
            known_here = sentence.known + rest.known
            is_name = " " not in sentence.text  # of a file or setting, and what follows is about it
            is_ours = sentence.known > 0 or (is_name and rest.begins)
            translation = Translation(f"{sentence.text}{joined}{rest.text}", known_here, is_ours)
            if last == first or translation.known > best.known:
                best = translation
        rests[first] = best
    return best


@lru_cache(maxsize=KEPT_TEXTS)
def _sentence(text: str, deep: int, language: str) -> Translation:
    """Return a text that is one of ours as a whole, or its pattern with the most known characters."""
    if (words := text.strip()) not in ("", text):  # a value may begin or end with a space
        before, after = text.split(words, 1)
        inner = _sentence(words, deep, language)
        if inner.text.startswith(WIDE):
            before = ""
        return Translation(f"{before}{inner.text}{after}", inner.known)
    ours = translated(BELOW, text)
    if ours == text and (whole := translated(BELOW, f"{text}.")) != f"{text}.":
        ours = whole.rstrip(".。")  # another sentence follows, of which the split took its full stop
    best = Translation(ours, len(text) if ours != text else 0)
    if deep and not best.known:
        for pattern, parts in _patterns():
            if (values := _values(text, parts)) is not None:
                inner = _filled(pattern, parts, values, deep - 1, language)
                best = inner if inner.known > best.known else best
    return best


def _filled(pattern: str, parts: Parts, values: dict[str, str], deep: int, language: str) -> Translation:
    fields, before = {}, ""
    for literal, name in parts[:-1]:
        before += literal
        is_typed = before.endswith(AS_TYPED)
        fields[name] = (
            Translation(values[name], 0)
            if is_typed
            else _with_list_marks(_by_sentences(values[name], deep, language))
        )
        before += values[name]
    count = sum(len(literal) for literal, _ in parts) + sum(field.known for field in fields.values())
    shown = parts_of(translated(BELOW, pattern))
    return Translation(
        "".join(literal + (fields[name].text if name else "") for literal, name in shown), count
    )


def _with_list_marks(value: Translation) -> Translation:
    """Return a value with the mark between its names, or its thousands, that the current language has."""
    if not value.known and _THOUSANDS.fullmatch(value.text):
        return value._replace(text=decimal(int(value.text.replace(",", ""))))
    if value.known or not _NAMES.fullmatch(value.text):
        return value
    return value._replace(text=list_of(value.text.split(", ")))


def _values(text: str, parts: Parts) -> dict[str, str] | None:
    """Return the values of a pattern's placeholders; ``None`` if the text does not match. No value ends in a
    colon: that one is between two sentences.
    """
    (first, name), *others = parts
    if not text.startswith(first) or not text.endswith(parts[-1][0]):
        return None
    values, at, before = {}, len(first), first
    for literal, following in others:
        end = text.find(literal, at) if following else len(text) - len(literal)
        may_be_empty = before[-1:].isalpha()  # "right{ending}?"
        least = 0 if may_be_empty else not (literal or following) or bool(literal)
        if end < at + least or text[at:end].endswith(":"):
            return None
        values[name] = text[at:end]
        at, name, before = end + len(literal), following, literal
    return values


@cache
def _patterns() -> list[tuple[str, Parts]]:
    return [(line, parts_of(line)) for line in PATTERNS.read_text(encoding="utf-8").splitlines()]
