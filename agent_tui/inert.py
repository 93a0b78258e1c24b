"""The one place where hostile text becomes harmless.

Agents, tools and servers may send anything: escape sequences that retitle or re-program a terminal,
OSC 52 that writes its clipboard, bidi overrides that make a line read as something else, halves of
surrogate pairs that cannot be encoded. What comes out of here can be written to any terminal or UTF-8
stream: nothing in it moves the cursor, changes colours or reorders its neighbours. Nothing visible is
dropped: a control character becomes its picture (ESC is shown as U+241B).
"""

from __future__ import annotations

import re

REPLACEMENT = "\ufffd"
ELLIPSIS = "…"

# C0 and DEL, C1, line and paragraph separators, soft hyphen, bidi marks/embeddings/overrides/isolates
# and deprecated formats, interlinear marks, BOM and zero-width space, surrogates, tag characters.
_HOSTILE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"
    "\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)
_LINE_BREAKS = "\x0b\x0c\x85\u2028\u2029"
# Invisible and without meaning for a terminal: leaving them out loses nothing a person could read.
_INVISIBLE = "\r\u00ad\u061c\u180e\u200b\u200e\u200f\u2060\u2061\u2062\u2063\u2064\ufeff"
_SPACES = re.compile(r"[\s\u2028\u2029]+")


def _replace(match: re.Match[str]) -> str:
    char = match.group()
    if char in _INVISIBLE:
        return ""
    if char in _LINE_BREAKS:
        return "\n"
    code = ord(char)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    if 0xE0000 <= code <= 0xE007F:
        return ""
    return REPLACEMENT


def inert(text: str) -> str:
    """Return ``text`` with nothing left that a terminal would obey; keeps ``\\n`` and ``\\t``.

    Works on any piece of a stream: the result of a whole text is the joined result of its pieces.
    """
    return _HOSTILE.sub(_replace, text) if _HOSTILE.search(text) else text


def inert_line(text: str, limit: int = 200) -> str:
    """Return ``text`` as one harmless line of at most ``limit`` characters (not cells)."""
    line = _SPACES.sub(" ", inert(text[: limit * 4 + 64])).strip()
    if len(line) > limit:
        return line[: limit - 1].rstrip() + ELLIPSIS
    return line


def inert_json(text: str) -> str:
    """Return JSON ``text`` with every character that a terminal would obey escaped: the same data.

    JSON itself lets DEL, C1 and bidi controls stand in strings as they are. Outside strings there are none.
    """
    return _HOSTILE.sub(_escape, text) if _HOSTILE.search(text) else text


def _escape(match: re.Match[str]) -> str:
    units = match.group().encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[n]:02x}{units[n + 1]:02x}" for n in range(0, len(units), 2))
