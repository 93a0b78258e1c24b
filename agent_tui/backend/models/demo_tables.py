"""The demo model's phrase tables by language, and how to find their phrases in what was said."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from functools import cache, lru_cache

from agent_tui.backend.models.demo_en import PHRASES as ENGLISH
from agent_tui.backend.models.demo_phrases import Phrases
from agent_tui.backend.models.demo_ru import PHRASES as RUSSIAN
from agent_tui.backend.models.demo_task import Language
from agent_tui.backend.models.demo_zh import PHRASES as CHINESE

PHRASES: dict[Language, Phrases] = {"en": ENGLISH, "zh": CHINESE, "ru": RUSSIAN}

MAX_SEARCHED_CHARACTERS = 8000  # of one message; a demo turn is shorter by far
_SLOT = re.compile(r"\{[a-z]+\}")
_SLOT_OR_MARK = re.compile(r"\{[a-z]+\}|[“”«»]")
# What a slot may hold where a phrase is looked for: a short piece, in quotation marks or bare, that is no
# list's or table's sign and contains no end of a sentence.
_NEVER = r"“”„«»‘’\n|。?!:?!:"
_FILLED = rf"[“«„‘]?[^\s>*{_NEVER}-][^{_NEVER}]{{0,40}}?[”»“’]?"


def phrases_in(text: str, language: Language) -> frozenset[str]:
    """Return the templates whose phrases ``text`` holds."""
    return _phrases_in(text[:MAX_SEARCHED_CHARACTERS], language)


@lru_cache(maxsize=512)  # every later turn of the room asks for the same again
def _phrases_in(text: str, language: Language) -> frozenset[str]:
    return frozenset(template for template, fixed in _templates(language) if fixed in text)


def as_said(template: str, text: str) -> re.Match[str] | None:
    """Return where ``text`` holds a template's phrase, its slots filled with whatever."""
    return _pattern(template).search(text[:MAX_SEARCHED_CHARACTERS])


@cache
def _templates(language: Language) -> tuple[tuple[str, str], ...]:
    return tuple((template, _fixed_part(template)) for template in set(_strings(PHRASES[language])))


def _strings(value: object) -> Iterator[str]:
    """Yield all strings of a table."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _strings(item)
    elif isinstance(value, dict):
        yield from _strings(tuple(value.values()))
    elif is_dataclass(value):
        for field in fields(value):
            yield from _strings(getattr(value, field.name))


def _fixed_part(template: str) -> str:
    """Return the longest piece of a template that is the same whatever its slots hold and wherever it
    stands: without quotation marks, which change inside others, the first letter, which may be small or a
    capital, and the full stop."""
    first, *others = _SLOT_OR_MARK.split(template)
    return max((first[1:], *others), key=len).strip().rstrip(".。")


@cache
def _pattern(template: str) -> re.Pattern[str]:
    return re.compile(_FILLED.join(map(re.escape, _SLOT.split(template))))
