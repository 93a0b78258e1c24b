"""Keys of a Russian keyboard, and marks of a Chinese one: each does what the Latin key in its place does."""

from __future__ import annotations

from typing import Any, Final

from textual import events
from textual.app import App

from widgets.terminal.private import binding_of

_LETTERS: Final = dict(zip("йцукенгшщзфывапролдячсмить", "qwertyuiopasdfghjklzxcvbnm", strict=True))
LATIN: Final[dict[str, tuple[str, str]]] = {  # the key and its character, by the Russian character
    **{russian: (latin, latin) for russian, latin in _LETTERS.items()},
    **{russian.upper(): (latin.upper(), latin.upper()) for russian, latin in _LETTERS.items()},
    "х": ("left_square_bracket", "["),
    "ъ": ("right_square_bracket", "]"),
    "Ж": ("colon", ":"),
}

MARKS: Final[dict[str, tuple[str, str]]] = {  # the same by what Chinese input writes
    "？": ("question_mark", "?"),
    "！": ("exclamation_mark", "!"),
    "：": ("colon", ":"),
    "／": ("slash", "/"),
    "、": ("slash", "/"),
    "【": ("left_square_bracket", "["),
    "】": ("right_square_bracket", "]"),
}


def key_in_place(event: events.Key) -> str:
    """Return the name of the Latin key in the place of a Russian letter, else that of the key itself."""
    return LATIN[event.character][0] if event.character in LATIN else event.key


def latin_key(character: str) -> tuple[str, str] | None:
    """Return the Latin key in the place of a Russian letter or a Chinese mark, and its character."""
    return LATIN.get(character) or MARKS.get(character)


def read_as_latin(key: events.Key, app: App[Any]) -> None:
    """Read a key of another layout as the Latin one in its place, if that is bound and nothing is typed."""
    latin = latin_key(key.character or "")
    if latin is None:
        return
    takers = [widget for widget in (app.focused, app.screen) if widget is not None]
    is_written = any(widget.check_consume_key(key.key, key.character) for widget in takers)
    is_meant = binding_of(app.screen, key.key) is None and binding_of(app.screen, latin[0]) is not None
    if not is_written and is_meant:
        key.key, key.character = latin
