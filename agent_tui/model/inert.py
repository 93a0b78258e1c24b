"""The one place where hostile text becomes harmless.

Agents, tools and servers may send anything: escape sequences that retitle or re-program a terminal,
OSC 52 that writes its clipboard, bidi overrides that make a line read as something else, halves of
surrogate pairs that cannot be encoded. What comes out of here can be written to any terminal or UTF-8
stream: nothing in it moves the cursor, changes colours or reorders its neighbours. Nothing visible is
dropped: a control character becomes its picture (ESC is shown as U+241B).
"""

from __future__ import annotations

import re
import unicodedata
from itertools import groupby

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
_INK = re.compile(r"\S")
# What ``visible`` searches: runs of blanks and of empty lines, then any character that may be invisible.
_LONG_BLANKS = re.compile(r"[ \t\u3000]{33,}")
_EMPTY_LINES = re.compile(r"\n(?:[ \t]*\n){3,}")
_SHORT_BLANKS = re.compile(r"[ \u3000]{3,}")
_LINES = re.compile(r"\n{3,}")
_ODD = re.compile(r"([^ -~\n\t\u3000])\1*")
_WITHOUT_INK = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"))
# Letters, signs and marks without a visible shape: fillers, the empty Braille pattern, variation selectors.
_EMPTY = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
# More of what may be marks over one letter (or parts of one Hangul syllable) than any language needs.
_MANY_MARKS = re.compile(r"(?:[^\w\s\x00-\u02ff]|[\u1160-\u11ff\ud7b0-\ud7fb]){9,}")
_FEW_MARKS = 8
_MARKS = frozenset(("Mn", "Mc", "Me", "Sk", "Lo"))  # Lo: of what is searched, only the parts of Hangul
_FEW_ALIKE = 3  # this many pictures of one control character are shown as they are


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
    """Return ``text`` as one safe line of at most ``limit`` characters (not cells)."""
    window = limit * 4 + 64
    line = _SPACES.sub(" ", inert(text[:window])).strip()
    # Words may follow more blanks than are looked at: then the line shows that it continues.
    if len(line) > limit or (len(text) > window and _INK.search(text, window)):
        return line[: limit - 1].rstrip() + ELLIPSIS
    return line


def visible(text: str) -> str:
    """Return ``text`` so that nothing in it is hidden from a person who is asked to allow it: a long run of
    blanks becomes ``␣×3000``, one of empty lines ``⏎×40``, an invisible character its code point,
    ``<U+200B>``, and so do many marks over one letter. The result is inert, and another call does not change
    it.
    """
    text = _LONG_BLANKS.sub(lambda run: f"␣×{len(run.group())}", text)
    text = _EMPTY_LINES.sub(_counted_lines, text)
    return _ODD.sub(_visible, _MANY_MARKS.sub(_without_marks, text))


def visible_line(text: str, limit: int = 500) -> str:
    """Return ``text`` as one line in which nothing is hidden, as ``visible``: a line break becomes ``⏎``,
    three or more ``⏎×3``, a tab ``⇥``, three or more blanks ``␣×3``. A text longer than ``limit`` is cut, and
    says how long it is.
    """
    line = _SHORT_BLANKS.sub(lambda run: f"␣×{len(run.group())}", text)
    line = _LINES.sub(lambda run: f"⏎×{len(run.group())}", line)
    line = _MANY_MARKS.sub(_without_marks, line.replace("\n", "⏎").replace("\t", "⇥"))
    line = _ODD.sub(_visible, line)
    return line if len(line) <= limit else f"{line[:limit]}{ELLIPSIS} ({len(text):,} characters)"


def _counted_lines(run: re.Match[str]) -> str:
    return f"\n⏎×{run.group().count(chr(10))}\n"


def _without_marks(match: re.Match[str]) -> str:
    out: list[str] = []
    for is_mark, chars in groupby(match.group(), lambda char: unicodedata.category(char) in _MARKS):
        text = "".join(chars)
        many = is_mark and len(text) > _FEW_MARKS
        out += [_code_points(char, len([*same])) for char, same in groupby(text)] if many else [text]
    return "".join(out)


def _code_points(char: str, count: int) -> str:
    return f"<U+{ord(char):04X}>{f'×{count}' if count > 1 else ''}"


def _visible(match: re.Match[str]) -> str:
    char, count = match.group(1), len(match.group())
    if unicodedata.category(char) not in _WITHOUT_INK and not _EMPTY.match(char):
        return match.group()
    code = ord(char)
    picture = chr(0x2400 + code) if code < 0x20 else "\u2421" if code == 0x7F else ""
    if picture and count <= _FEW_ALIKE:
        return picture * count
    if not picture:
        return _code_points(char, count)
    return f"{picture}{f'×{count}' if count > 1 else ''}"


def inert_json(text: str) -> str:
    """Return JSON ``text`` with every control character escaped: the same data.

    JSON allows raw DEL, C1 and bidi controls in strings. Outside strings there are none.
    """
    return _HOSTILE.sub(_escape, text) if _HOSTILE.search(text) else text


def _escape(match: re.Match[str]) -> str:
    units = match.group().encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[n]:02x}{units[n + 1]:02x}" for n in range(0, len(units), 2))
