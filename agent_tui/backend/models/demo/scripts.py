"""The demo model's words: TOML files beside this module, read when an answer first needs them.

``LANGUAGE/phrases.toml`` has what fits any task, ``LANGUAGE/chat.toml`` what is said in chats. A debate about
a task of its own is a file ``LANGUAGE/NAME.toml`` that ``patterns.toml`` knows the words of.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache, lru_cache
from importlib import resources
from itertools import chain
from typing import Any

MAX_SEARCHED_CHARACTERS = 8000  # of one message; a turn of the demo is shorter by far
_QUOTATION = re.compile(r"“[^”\n]*”|«[^»\n]*»")
_SENTENCE = re.compile(r"[^\n]{8,}?(?:[.!?…](?=\s|$|[”»])|[。！？]|$)", re.MULTILINE)
_SLOT_OR_MARK = re.compile(r"\{[a-z]+\}|[“”«»]")


@dataclass(frozen=True, slots=True, eq=False)
class Theme:
    """One thing that can be said about a task, from all sides.

    ``point`` says why it matters, ``doubt`` what goes wrong without it, ``answer`` replies to its doubt or
    question, ``counter`` contradicts its point, ``step`` is something to do, ``sign`` how to see that it was
    done (short: a table's cell), ``agreed`` the same as a decision, ``show`` a table, list or code with its
    introduction. ``name`` begins in lower case. The ``roles`` turn to it first.
    """

    name: str
    point: str
    doubt: str
    question: str
    answer: str
    step: str
    sign: str
    agreed: str
    counter: str = ""
    show: str = ""
    roles: Sequence[str] = ()
    is_topic: bool = False  # of a debate about just this task


@dataclass(frozen=True, slots=True, eq=False)
class Script:
    """All that agents can say of a task; ``fixed`` has of each phrase what stays whatever its slots hold."""

    texts: Mapping[str, Any]
    pools: Mapping[str, Sequence[str]]
    voices: Mapping[str, Mapping[str, Sequence[str]]]
    themes: Sequence[Theme]
    fixed: Mapping[str, str]

    def said_in(self, text: str, *, quoted: bool) -> frozenset[str]:
        """Return the phrases that ``text`` holds, with those that it quotes from somebody else or without."""
        return _said_in(self, text[:MAX_SEARCHED_CHARACTERS], quoted)


@lru_cache(maxsize=512)  # every later turn of the room asks for the same again
def _said_in(script: Script, text: str, quoted: bool) -> frozenset[str]:
    text = text if quoted else _QUOTATION.sub("", text)
    return frozenset(phrase for phrase, fixed in script.fixed.items() if fixed in text)


@cache
def read(name: str) -> Mapping[str, Any]:
    """Return what the file ``name`` says: "en/chat.toml"."""
    return tomllib.loads(resources.files(__package__).joinpath(name).read_text("utf-8"))


def compiled(pattern: str, file: str) -> re.Pattern[str]:
    """Return a pattern of a file, the ``[parts]`` that it names filled in."""
    for part, words in reversed(read(file)["parts"].items()):
        pattern = pattern.replace(f"<<{part}>>", words.lstrip())
    return re.compile(re.sub(r"\n\s*", "", pattern.lstrip()), re.IGNORECASE)


@cache
def patterns(name: str, file: str = "patterns.toml") -> tuple[re.Pattern[str], ...]:
    """Return the patterns ``name`` of a file, compiled when first needed: all at once they take long."""
    return tuple(compiled(pattern, file) for pattern in read(file)["patterns"][name])


def find(name: str, text: str, file: str = "patterns.toml") -> re.Match[str] | None:
    """Return where the first of the patterns ``name`` that matches at all is found in ``text``."""
    return next((found for pattern in patterns(name, file) if (found := pattern.search(text))), None)


def script_for(language: str, task: str) -> Script:
    """Return what can be said in ``language`` about a task."""
    debate = find("debate", task)
    return _script(language, (debate and debate.lastgroup) or "")


@cache
def _script(language: str, debate: str) -> Script:
    texts = read(f"{language}/phrases.toml")
    own = read(f"{language}/{debate}.toml") if debate else {"pools": {}, "themes": []}
    pools: dict[str, Sequence[str]] = {**texts["pools"], **own["pools"]}
    themes = [Theme(**theme, is_topic=True) for theme in own["themes"]]
    themes += [Theme(**theme) for theme in texts["themes"]]
    voices: Mapping[str, Mapping[str, Sequence[str]]] = texts["voices"]
    said = chain(*pools.values(), *chain(*(voice.values() for voice in voices.values())))
    fixed = {phrase: _fixed_part(phrase) for phrase in said}
    aspects = [field.name for field in fields(Theme) if field.name not in ("name", "roles", "is_topic")]
    for phrase in (getattr(theme, aspect) for theme in themes for aspect in aspects):
        if phrase:
            fixed[phrase] = _fixed_part(first_sentence(phrase))
    return Script(texts, pools, voices, themes, fixed)


def first_sentence(text: str) -> str:
    """Return the first sentence of ``text`` with its end mark; all of it where no sentence ends."""
    found = _SENTENCE.match(text)
    return found[0] if found else text


def _fixed_part(phrase: str) -> str:
    """Return the longest piece that stays: without slots and without quotation marks, which change inside
    others, without the first letter, which may be a capital, and the full stop.
    """
    first, *others = _SLOT_OR_MARK.split(phrase)
    return max((first[1:], *others), key=len).strip(" .。")
