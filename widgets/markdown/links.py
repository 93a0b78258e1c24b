"""Links: how a target is shown, and which targets a terminal may open."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import urlsplit

from rich.cells import cell_len

from agent_tui.model.inert import inert
from widgets.markdown.entities import all_decoded
from widgets.signs import ELLIPSIS

MAX_TARGET: Final = 2000  # characters
SHOWN_CELLS: Final = 60  # of a target; its host is never cut
SHOWN_TAIL: Final = 12
MAX_AUTHORITY: Final = 255  # a longer one is not a host: its end is shown, which is what matters

_SAFE: Final = re.compile(r"[!#-&(-;=?-\[\]_a-z~]+")  # ASCII without quotes, blanks, <>, backslash, ^`{|}
_HOST: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?\.?|\[[0-9A-Fa-f:.]+\]")
_AUTHORITY: Final = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*:)?//[^/?#\\]*|[A-Za-z][A-Za-z0-9+.-]*:")
_ESCAPE: Final = re.compile(r"\\([!-/:-@\[-`{-~])")
_SCHEME: Final = re.compile(r"(?:https?://|mailto:)", re.IGNORECASE)


def safe_target(url: str) -> str:
    """Return ``url`` if a terminal may open it, else "".

    Only http and https with a host and without a user, in plain ASCII without blanks, quotes or anything that
    a terminal or a shell could take for more than a URL; at most 2,000 characters.
    """
    if len(url) > MAX_TARGET or not _SAFE.fullmatch(url):
        return ""
    try:
        parts = urlsplit(url)
        host, user, _ = parts.hostname, parts.username, parts.port
    except ValueError:
        return ""
    if parts.scheme not in ("http", "https") or not host or user is not None or "@" in parts.netloc:
        return ""
    return url if _HOST.fullmatch(re.sub(r":[0-9]*$", "", parts.netloc)) else ""


def clean(target: str) -> str:
    """Return a Markdown target without escapes and entities, made safe again."""
    return inert(_ESCAPE.sub(r"\1", all_decoded(target))).replace("\n", "").replace("\t", "")


def url_shown(url: str) -> str:
    """Return how ``url`` is shown: all of it, or its beginning with the whole host, and its end."""
    if cell_len(url) <= SHOWN_CELLS:
        return url
    found = _AUTHORITY.match(url)
    head = found.group() if found else ""
    if len(head) > MAX_AUTHORITY:
        scheme = head[: head.find("//") + 2] if "//" in head else ""
        return scheme + ELLIPSIS + head[-MAX_AUTHORITY:] + (ELLIPSIS if len(url) > len(head) else "")
    room = max(SHOWN_TAIL, SHOWN_CELLS - cell_len(head) - 1)
    rest = url[len(head) :]
    if cell_len(rest) <= room + 1:
        return url
    return head + _start(rest, room - SHOWN_TAIL) + ELLIPSIS + _end(rest, SHOWN_TAIL)


def _start(text: str, cells: int) -> str:
    text = text[: max(0, cells)]
    while cell_len(text) > cells:
        text = text[:-1]
    return text


def _end(text: str, cells: int) -> str:
    text = text[-cells:]
    while cell_len(text) > cells:
        text = text[1:]
    return text


def is_same(text: str, url: str) -> bool:
    """Whether ``text`` is the same as ``url``, ignoring the scheme and a slash at the end."""
    return _bare(text) == _bare(url)


def _bare(url: str) -> str:
    return _SCHEME.sub("", url.strip(), count=1).removesuffix("/")
