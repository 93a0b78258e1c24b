"""Makes a model's text speakable: without Markdown, addresses and code. Numbers are read by the voice itself.

Pure. A word is inserted for English only.
"""

from __future__ import annotations

import re

_FENCE = re.compile(r"^[ \t]*(```|~~~)[^\n]*\n?.*?(?:^[ \t]*\1[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_IMAGE = re.compile(r"!\[([^\]\n]*)\]\([^)\n]*\)")
_LINK = re.compile(r"\[([^\]\n]+)\]\([^)\n]*\)")
_AUTOLINK = re.compile(r"<?\b(?:https?|wss?|ftp)://([^\s/<>\"')\]]+)([^\s<>\"')\]]*)>?")
_HTML = re.compile(r"</?[A-Za-z][^<>\n]{0,200}>")
_HEADING = re.compile(r"^[ \t]*#{1,6}[ \t]+(.*?)[ \t]*#*[ \t]*$", re.MULTILINE)
_TIMES = re.compile(r"(?<=[\d)])[ \t]?\*[ \t]?(?=[\d(])")  # a multiplication sign, which is no Markdown
_RULE = re.compile(r"^[ \t]*(?:[-*_][ \t]*){3,}$", re.MULTILINE)
_BULLET = re.compile(r"^[ \t]*(?:[-*+•]|\d{1,3}[.)])[ \t]+(.*?)[ \t]*$", re.MULTILINE)
_TASK = re.compile(r"^\[([ xX])\][ \t]+")
_QUOTE = re.compile(r"^[ \t]*>[ \t]?", re.MULTILINE)
_TABLE_LINE = re.compile(r"^[ \t]*\|?[ \t]*:?-{2,}[-:| \t]*$", re.MULTILINE)
_TABLE_ROW = re.compile(r"^[ \t]*\|(.+)\|[ \t]*$", re.MULTILINE)
_CODE = re.compile(r"`+([^`\n]+?)`+")
_STRONG = re.compile(r"(\*\*\*|\*\*|\*|~~|__)(?=\S)(.+?)(?<=\S)\1")
_EMPHASIS = re.compile(r"(?<!\w)_(?=\S)([^_\n]+)(?<=\S)_(?!\w)")
_NAME = re.compile(r"(?<=\w)_(?=\w)")
_CALL = re.compile(r"(?<=\w)\(\)")
_EMOJI = re.compile(
    "[\U0001f000-\U0001faff\u2190-\u21ff\u2300-\u23ff\u2460-\u24ff\u2500-\u27bf\u2b00-\u2bff\ufe0f\u200d\u20e3]"
)
_SPACES = re.compile(r"[ \t]+")


def speakable(text: str, language: str = "en") -> str:
    """Return ``text`` as it is to be said, one paragraph; empty if nothing of it can be.

    ``language`` is the two letters of the voice's language.
    """
    # Code is noise to a listener.
    plain = _FENCE.sub("\nThe code is on the screen.\n" if language == "en" else "\n", text)
    plain = _without_markdown(plain)
    plain = _CALL.sub("", _NAME.sub(" ", plain))
    plain = re.sub(r"[*`|\\^{}\[\]]+", " ", plain)
    plain = re.sub(r"\s*\n\s*", " ", plain)
    plain = re.sub(r"\s+([,.;:!?])", r"\1", _SPACES.sub(" ", plain))
    plain = re.sub(r"([.!?]),", r"\1", re.sub(r",\s*([.!?,])", r"\1", plain))
    return plain.strip() if re.search(r"\w", plain) else ""


def _without_markdown(text: str) -> str:
    text = _TIMES.sub(" × ", text)
    text = _IMAGE.sub(r"\1", text)
    text = _LINK.sub(r"\1", text)
    text = _AUTOLINK.sub(_site, text)
    text = _HTML.sub(" ", text)
    text = _RULE.sub("", text)
    text = _TABLE_LINE.sub("", text)
    text = _TABLE_ROW.sub(lambda match: ", ".join(cell.strip() for cell in match[1].split("|")) + ".", text)
    text = _QUOTE.sub("", text)
    text = _HEADING.sub(lambda match: _as_sentence(match[1]), text)
    text = _BULLET.sub(lambda match: _as_sentence(_TASK.sub("", match[1])), text)
    for _ in range(3):  # bold around italic around struck through
        text = _STRONG.sub(r"\2", text)
    text = _EMPHASIS.sub(r"\1", text)
    text = _CODE.sub(r"\1", text)
    return _EMOJI.sub(" ", text)


def _site(match: re.Match[str]) -> str:
    """Return the site of an address: the rest is useless to a listener."""
    tail = re.search(r"[.,;:!?]+$", match[0])
    site = match[1].rsplit("@", 1)[-1].removeprefix("www.").rstrip(".,;:!?")
    return site + (tail[0] if tail else "")


def _as_sentence(line: str) -> str:
    """Return a list item or heading as a sentence of its own."""
    return line if not line or line[-1] in ".!?:;,…" else f"{line}."
