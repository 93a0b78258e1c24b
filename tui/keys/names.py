"""Names of keys: as people write them, as Textual calls them, and as screens show them.

Source of Textual's names: its ``keys`` module and keyboard protocol tables (8.2).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from textual.binding import Binding
from textual.events import Key
from textual.keys import format_key, key_to_character

MODIFIERS: Final = ("alt", "ctrl", "hyper", "meta", "shift", "super")  # sorted, since Textual joins them so
_MODIFIER_NAMES: Final = {"control": "ctrl", "option": "alt", "opt": "alt", "cmd": "super", "win": "super"}
_NAMED: Final = frozenset(
    {
        *("up", "down", "left", "right", "home", "end", "pageup", "pagedown", "insert", "delete"),
        *("tab", "enter", "escape", "backspace", "space"),
        *(f"f{number}" for number in range(1, 25)),
    }
)
_WRITTEN: Final = {
    "esc": "escape",
    "return": "enter",
    "pgup": "pageup",
    "pgdn": "pagedown",
    "pgdown": "pagedown",
    "del": "delete",
    "ins": "insert",
    "spacebar": "space",
    "backtab": "shift+tab",
    "←": "left",
    "→": "right",
    "↑": "up",
    "↓": "down",
}
_SHOWN: Final = {
    "left": "←",
    "right": "→",
    "up": "↑",
    "down": "↓",
    "pageup": "page up",
    "pagedown": "page down",
    "escape": "esc",
    "space": "space",
    "@": "space",  # what terminals send for ctrl+space is called ctrl+@
}
_SAME: Final = {
    "ctrl+i": "tab",
    "ctrl+m": "enter",
    "ctrl+h": "backspace",
    "ctrl+left_square_bracket": "escape",
}
_BETWEEN: Final = re.compile(r"(?<![^+,]\+),")  # a comma, except the one in "ctrl+,"
_PAGE: Final = re.compile(r"page[ _-](?=(up|down)\Z)")
_MAX_SHOWN: Final = 40  # characters of what was written, in a complaint
KNOWN: Final = "write a character, or enter, esc, tab, space, home, page up, f1, ctrl+x, alt+x, shift+tab …"


class UnknownKey(ValueError):
    """What was written is not a key; the text is one line for a person."""


def parse(written: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the keys of a list like ``"ctrl+x, ?"`` by Textual's names, and a line for each unknown one.

    A comma alone is the key; an empty list means no key.
    """
    keys: dict[str, None] = {}
    problems: list[str] = []
    words = ["comma"] if written.strip() == "," else _BETWEEN.split(written)
    for word in map(str.strip, words) if written.strip() else ():
        try:
            keys |= dict.fromkeys(_keys(word))
        except UnknownKey as unknown:
            problems.append(str(unknown))
    return tuple(keys), tuple(problems)


def _keys(word: str) -> tuple[str, ...]:
    """Return Textual's names of one key; several if terminals name it differently."""
    if not word:
        raise UnknownKey("a key is missing between two commas; the key itself is called comma")
    head, _, name = word[:-1].rpartition("+")
    name += word[-1:]  # the plus at the end of "ctrl++" is the key
    held = {part.strip().lower() for part in head.split("+")} if head else set()
    held = {_MODIFIER_NAMES.get(modifier, modifier) for modifier in held}
    base = _base(name)
    if not base or not held.issubset(MODIFIERS):
        raise UnknownKey(f"no key named {word[:_MAX_SHOWN]!r}; {KNOWN}")
    *own, base = base.split("+")
    held |= set(own)
    if len(base) == 1 and base.isalpha():
        base, held = _letter(base, held)
    elif held == {"shift"} and base != "space" and character_of(base):
        raise UnknownKey(f"{word[:_MAX_SHOWN]!r} depends on the keyboard; write the character that it types")
    key = "+".join([*sorted(held), base])
    if key in _SAME:
        raise UnknownKey(f"{word[:_MAX_SHOWN]!r} is {_SAME[key]} in most terminals; write {_SAME[key]}")
    return ("ctrl+@", "ctrl+space") if key == "ctrl+space" else (key,)


def _base(name: str) -> str:
    """Return Textual's name of a key without modifiers, or ""."""
    name = name.strip()
    if len(name) == 1 and name not in _WRITTEN:
        return _character_name(name)
    lower = _PAGE.sub("page", name.lower())
    lower = _WRITTEN.get(lower, lower)
    if lower in _NAMED or lower in _WRITTEN.values():
        return lower
    character = character_of(lower)
    return _character_name(character) if character else ""


def _character_name(character: str) -> str:
    """Return Textual's name of the key that types ``character`` ("?" is ``question_mark``)."""
    if not character.isprintable():
        return ""
    return next(iter(Binding.make_bindings([Binding("comma" if character == "," else character, "")]))).key


def _letter(letter: str, held: set[str]) -> tuple[str, set[str]]:
    """Return a letter as terminals send it: a capital with shift alone, small with any other modifier."""
    if held == {"shift"} and len(letter.upper()) == 1:
        return letter.upper(), set()
    if not held or letter.islower():
        return letter, held
    return letter.lower(), held if "ctrl" in held else held | {"shift"}


def key_name(key: str, *, ascii_only: bool = False) -> str:
    """Return how a screen names one of Textual's keys: "?", "←", "page up", "ctrl+space"."""
    *held, base = key.split("+")
    name = _SHOWN.get(base) or character_of(base) or base
    return "+".join([*held, base if ascii_only and not name.isascii() and base in _NAMED else name])


def names_of(keys: Iterable[str], *, ascii_only: bool = False) -> list[str]:
    """Return the names of several keys, each once."""
    return list(dict.fromkeys(key_name(key, ascii_only=ascii_only) for key in keys))


def shown_all(keys: Iterable[str], *, ascii_only: bool = False) -> str:
    """Return the names of several keys as one text: "p, space, ctrl+s"; all digits are "1 … 9, 0"."""
    names = names_of(keys, ascii_only=ascii_only)
    return ", ".join(names).replace(", ".join("123456789"), "1 - 9" if ascii_only else "1 … 9")


def character_of(key: str) -> str:
    """Return the character that the key types into a line of text, or ""."""
    if key in _NAMED or "+" in key:
        return " " if key == "space" else ""
    shown_by_textual = format_key(key)
    return shown_by_textual if len(shown_by_textual) == 1 else key_to_character(key) or ""


def pressed(name: str) -> Key | None:
    """Return the press of a key that a screen shows under this name ("ctrl+s", "?", "esc"), if it is one."""
    keys, problems = parse(name)
    return Key(keys[0], character_of(keys[0]) or None) if keys and not problems else None
