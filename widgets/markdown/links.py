"""Links: their definitions, how a target is shown, and which targets a terminal may open."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from rich.cells import cell_len

from agent_tui.model.inert import inert
from widgets.ink import LINK_SHIFT
from widgets.markdown.entities import all_decoded
from widgets.signs import ELLIPSIS

MAX_DEFINITIONS: Final = 1000  # of one message; further ones are shown as text
MAX_WAITING: Final = 2000  # blocks that wait for a definition; further ones go without
MAX_LABEL: Final = 200  # characters

# What follows the colon must look like a target: "[Note]: yes" is text, and so is a footnote.
_LABEL: Final = r"\[(?!\^)(?P<label>(?:[^\[\]\\]|\\.){1,200})\]:"
_DEFINITION: Final = re.compile(
    _LABEL + r"[ \t]*(?:<(?P<angled>[^<>]+)>|(?P<url>[^\s<]\S*))"
    r"(?:[ \t]+(?:\"[^\"]*\"|'[^']*'|\([^()]*\)))?[ \t]*$"
)
_LIKE_TARGET: Final = re.compile(r"[/#.]|[a-zA-Z][a-zA-Z0-9+.-]*:|[^/]*/|\S*\w\.\w")
# The beginning of a line that may yet become a definition; up to this many characters of a label.
_UNCLEAR: Final = re.compile(
    r"\[(?!\^)[^\[\]]{0,60}$|" + _LABEL[:-1] + r"(?::[ \t]*(?:\S*|\S+[ \t]+(?:[\"'(].*)?))?$"
)


@dataclass(slots=True, eq=False)
class References:
    """The targets of a message's labels, and the blocks that wait for one: only these are laid out again."""

    targets: dict[str, str] = field(default_factory=dict)
    waiting: dict[str, set[int]] = field(default_factory=dict)  # starts of blocks, by label
    outdated: set[int] = field(default_factory=set)  # starts of blocks whose definition came
    waiting_count: int = 0

    def define(self, label: str, target: str) -> bool:
        """Define ``label`` as ``target`` if it is free; return False if there are too many."""
        label = normal(label)
        if not label or (len(self.targets) >= MAX_DEFINITIONS and label not in self.targets):
            return False
        if label not in self.targets:
            self.targets[label] = target
            self.outdated |= self.waiting.pop(label, set())
        return True

    def target(self, label: str, start: int) -> str | None:
        """Return the target of ``label``; if it is unknown, the block at ``start`` waits for it."""
        label = normal(label)
        target = self.targets.get(label)
        if target is None and label and self.waiting_count < MAX_WAITING:
            waiting = self.waiting.setdefault(label, set())
            self.waiting_count += start not in waiting
            waiting.add(start)
        return target


def normal(label: str) -> str:
    """Return a label for comparison: case and the number of blanks do not matter."""
    return " ".join(label.split()).casefold()


def definition(line: str, at: int) -> tuple[str, str] | None:
    """Return the label and target that ``line`` defines from ``at`` on, if it does."""
    found = _DEFINITION.match(line, at)
    if found is None:
        return None
    target = found["angled"] or found["url"]
    if not found["angled"] and not _LIKE_TARGET.match(target):
        return None
    return found["label"], target


def may_become_definition(line: str, at: int) -> bool:
    """Whether an unfinished ``line`` may yet be a definition from ``at`` on."""
    return _UNCLEAR.match(line, at) is not None


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


def shown(url: str) -> str:
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


@dataclass(slots=True)
class Links:
    """The links of one block while it is laid out: their targets in order, and the definitions it can use."""

    targets: list[str] = field(default_factory=list)
    references: References | None = None
    start: int = 0  # of the block

    def number(self, target: str) -> int:
        """Add a link and return the ink with its number."""
        self.targets.append(target)
        return len(self.targets) << LINK_SHIFT

    def defined(self, label: str) -> str | None:
        """Return the target of ``label``, if it is defined already."""
        if self.references is None or len(label) > MAX_LABEL or "[" in label:
            return None
        return self.references.target(label, self.start)
