"""Links: what is shown of a target, and which targets a terminal may be given to open."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from rich.cells import cell_len

from agent_tui.model.inert import inert
from widgets.ink import LINK_SHIFT
from widgets.markdown.entities import all_decoded
from widgets.markdown.references import MAX_LABEL, References
from widgets.signs import ELLIPSIS

MAX_TARGET: Final = 2000  # characters
SHOWN_CELLS: Final = 60  # of a target; its host is never cut
SHOWN_TAIL: Final = 12
MAX_AUTHORITY: Final = 255  # longer ones are no host: their end is shown, which is what counts

_SAFE: Final = re.compile(r"[!#-&(-;=?-\[\]_a-z~]+")  # ASCII without quotes, blanks, <>, backslash, ^`{|}
_HOST: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?\.?|\[[0-9A-Fa-f:.]+\]")
_AUTHORITY: Final = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*:)?//[^/?#\\]*|[A-Za-z][A-Za-z0-9+.-]*:")
_ESCAPE: Final = re.compile(r"\\([!-/:-@\[-`{-~])")
_SCHEME: Final = re.compile(r"(?:https?://|mailto:)", re.IGNORECASE)


def safe_target(url: str) -> str:
    """Return ``url`` when a terminal may be given it to open, else "".

    Only http and https with a host and without a user, in plain ASCII without blanks, quotes or anything
    that a terminal or a shell behind it could take for more than a URL; at most 2,000 characters.
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
    """Return a target as it was written in Markdown without its escapes and entities, harmless again."""
    return inert(_ESCAPE.sub(r"\1", all_decoded(target))).replace("\n", "").replace("\t", "")


def shown(url: str) -> str:
    """Return what is shown of ``url``: all, or its beginning with the whole host and its end."""
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
    """Whether ``text`` says the same as ``url``, but for the scheme and a slash at the end."""
    return _bare(text) == _bare(url)


def _bare(url: str) -> str:
    return _SCHEME.sub("", url.strip(), count=1).removesuffix("/")


@dataclass(slots=True)
class Links:
    """The links of one block while it is laid out: their targets in order, and the definitions it may use."""

    targets: list[str] = field(default_factory=list)
    references: References | None = None
    start: int = 0  # of the block

    def number(self, target: str) -> int:
        """Take one more link and return the ink that numbers it."""
        self.targets.append(target)
        return len(self.targets) << LINK_SHIFT

    def defined(self, label: str) -> str | None:
        """Return the target of ``label``, if there is one yet."""
        if self.references is None or len(label) > MAX_LABEL or "[" in label:
            return None
        return self.references.target(label, self.start)
