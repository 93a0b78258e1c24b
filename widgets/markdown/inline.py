"""Turns inline Markdown into styled runs: strong, emphasis, strike, code, links, images, entities, escapes.
HTML and ``$math$`` stay text.

Follows CommonMark with three deliberate differences: ``*`` and ``~~`` may be between CJK punctuation and a
letter (CommonMark would show the asterisks), a closing sign pairs only with the nearest opening one, and a
link shows its target after its text. Every pass is linear in the text.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from typing import NamedTuple

from widgets.ink import CODE, EMPHASIS, LINK, LINK_SHIFT, MARK, STRIKE, STRONG, URL, Run
from widgets.markdown.entities import ENTITY, decoded
from widgets.markdown.links import clean, is_same, url_shown
from widgets.signs import IMAGE

OPEN_REACH = 400  # characters after which an unclosed sign is taken for a plain character

_SPECIAL = re.compile(r"[\\`*_~\[\]<&$]|!$|https?:")
_TOKEN = re.compile(
    r"\\[!-/:-@\[-`{-~]"
    r"|`+|\*+|_+|~+|!?\[|\]"
    r"|<(?:https?://|mailto:)[^\s<>]*>"
    r"|https?://[!-)+-;=?-Z\\^_a-z{}~]+"
    r"|\$\$[^$`]{1,400}\$\$|\$[^\s$`](?:[^$\n`]{0,198}[^\s$`\\])?\$(?![0-9])"
    "|" + ENTITY
)
_DESTINATION = r"<[^<>\n]*>|[^\s()<][^\s()]*(?:\([^\s()]*\)[^\s()]*)*|(?:\([^\s()]*\)[^\s()]*)+"
_TARGET = re.compile(rf"\(\s*+(?P<url>(?>{_DESTINATION}))?+(?:\s++(?>\"[^\"]*\"|'[^']*'|\([^()]*\)))?+\s*+\)")
# The end of a growing text after "]" that may yet become a target.
_OPEN_TARGET = re.compile(r"(?:\(\S{0,2000})?$")
_URL_TAIL = ".,;:!?'\")_~}"
_TICKS = re.compile("`+")
# What may still become a sign at the end of a growing text: not shown until it is clear.
_UNCLEAR = re.compile(r"(?:\\?[*_~`]+|(?<![^\s\[(])!|\\?!?\[|\\)$")
_FLAGS = (1 << LINK_SHIFT) - 1


@dataclass(slots=True)
class _Sign:
    """A run of ``*``, ``_`` or ``~`` that may open emphasis."""

    node: int
    count: int
    total: int
    closes: bool


class _Bracket(NamedTuple):
    """A ``[`` or ``![`` that may begin a link or an image."""

    node: int
    inside: int  # where its text begins
    is_image: bool


def parse(text: str, ink: int = 0, *, is_open: bool = False, links: list[str] | None = None) -> list[Run]:
    """Return ``text`` as runs whose inks include ``ink``; link targets are added to ``links``. With
    ``is_open`` the text is still growing: signs that are not closed yet count as closed.
    """
    if not _SPECIAL.search(text):
        return [(text, ink)] if text else []
    if is_open:
        text = _UNCLEAR.sub("", text)
    return _Parser(text, is_open, [] if links is None else links).runs(ink)


class _Parser:
    """One pass over one text. Nodes are pieces of text; ranges of nodes have ink."""

    def __init__(self, text: str, is_open: bool, links: list[str]) -> None:
        self._text = text
        self._links = links
        self._is_open = is_open
        self._nodes: list[str] = []
        self._inks: dict[int, int] = {}  # ink of single nodes
        self._ranges: list[tuple[int, int, int]] = []  # first node, last node, ink
        self._signs: dict[str, list[_Sign]] = {"*": [], "_": [], "~": []}
        self._brackets: list[_Bracket] = []
        self._linked = 0  # how many of these enclose a link: they cannot be links themselves
        self._ticks: dict[int, list[int]] | None = None

    def runs(self, ink: int) -> list[Run]:
        text, at = self._text, 0
        while found := _TOKEN.search(text, at):
            if found.start() > at:
                self._nodes.append(text[at : found.start()])
            at = self._token(found)
        if at < len(text):
            self._nodes.append(text[at:])
        if self._is_open:
            self._close_open_signs()
            self._open_links()
        return self._inked(ink)

    def _token(self, found: re.Match[str]) -> int:
        """Take one token and return where the next one begins."""
        token, end = found.group(), found.end()
        match token[0]:
            case "\\":
                self._nodes.append(token[1])
            case "`":
                return self._code(len(token), end)
            case "*" | "_":
                self._sign(token, found.start(), end)
            case "~" if len(token) == 2:
                self._sign(token, found.start(), end)
            case "[" | "!":
                self._brackets.append(_Bracket(len(self._nodes), end, token[0] == "!"))
                self._nodes.append(token)
            case "]":
                return self._bracket(end)
            case "<":
                self._add(token[1:-1].removeprefix("mailto:"), LINK | self._number(token[1:-1]))
            case "&":
                self._nodes.append(decoded(token))
            case "h":
                url = token.rstrip(_URL_TAIL)
                if token[len(url) :].startswith(")") and url.count("(") > url.count(")"):
                    url += ")"
                self._add(url, LINK | self._number(url))
                return found.start() + len(url)
            case _:
                self._nodes.append(token)
        return end

    def _number(self, target: str) -> int:
        """Add a link and return the ink with its number."""
        self._links.append(target)
        return len(self._links) << LINK_SHIFT

    def _add(self, text: str, ink: int) -> None:
        self._inks[len(self._nodes)] = ink
        self._nodes.append(text)

    def _code(self, count: int, start: int) -> int:
        """Take a code span whose ``count`` opening ticks end at ``start``."""
        text = self._text
        if self._ticks is None:
            self._ticks = {}
            for run in _TICKS.finditer(text):
                self._ticks.setdefault(len(run.group()), []).append(run.start())
        same = self._ticks.get(count, [])
        index = bisect_right(same, start - 1)
        if index < len(same):
            code = text[start : same[index]]
            has_padding = code.startswith(" ") and code.endswith(" ") and code.strip(" ")
            self._add(code[1:-1] if has_padding else code, CODE)
            return same[index] + count
        if self._is_open and start < len(text) and len(text) - start <= OPEN_REACH:
            self._add(text[start:].lstrip(), CODE)
            return len(text)
        self._nodes.append("`" * count)
        return start

    def _sign(self, token: str, start: int, end: int) -> None:
        before, after = self._text[start - 1 : start], self._text[end : end + 1]
        opens = bool(after) and not after.isspace()
        closes = bool(before) and not before.isspace()
        if not after and self._is_open:
            opens = True
        if token[0] == "_":  # not inside a word
            opens, closes = opens and not before.isalnum(), closes and not after.isalnum()
        sign = _Sign(len(self._nodes), len(token), len(token), closes)
        self._nodes.append(token)
        if closes:
            self._close(token[0], sign)
        if opens and sign.count:
            self._signs[token[0]].append(sign)

    def _close(self, char: str, closer: _Sign) -> None:
        openers = self._signs[char]
        while closer.count and openers:
            opener = openers[-1]
            if opener.closes and (opener.total + closer.total) % 3 == 0 and closer.total % 3:
                return
            used = 2 if min(opener.count, closer.count) >= 2 else 1
            ink = STRIKE if char == "~" else STRONG if used == 2 else EMPHASIS
            self._ranges.append((opener.node, closer.node, ink))
            opener.count -= used
            closer.count -= used
            self._nodes[opener.node] = char * opener.count
            self._nodes[closer.node] = char * closer.count
            if not opener.count:
                openers.pop()
            for others in self._signs.values():
                while others and others[-1].node > opener.node:
                    others.pop()

    def _close_open_signs(self) -> None:
        """Treat unclosed signs near the end of a growing text as if they were closed there."""
        last, reach = len(self._nodes), 0
        near = last
        while near and reach <= OPEN_REACH:
            near -= 1
            reach += len(self._nodes[near])
        for char, signs in self._signs.items():
            for sign in signs:
                if sign.node < near or sign.node + 1 >= last:
                    continue
                self._nodes[sign.node] = ""
                if char == "~":
                    self._ranges.append((sign.node, last, STRIKE))
                    continue
                if sign.count >= 2:
                    self._ranges.append((sign.node, last, STRONG))
                if sign.count % 2:
                    self._ranges.append((sign.node, last, EMPHASIS))

    def _bracket(self, end: int) -> int:
        """Take a ``]`` that ends at ``end``."""
        if not self._brackets:
            self._nodes.append("]")
            return end
        bracket = self._brackets.pop()
        if bracket.is_image or len(self._brackets) >= self._linked:
            target, after = self._target(end)
            if target is not None:
                self._link(bracket, target)
                return after
        self._linked = min(self._linked, len(self._brackets))
        self._nodes.append("]")
        return end

    def _target(self, end: int) -> tuple[str | None, int]:
        """Return the target of a link whose text ends before ``end`` (``None``: it is not a link; "": not
        yet), and its end.
        """
        text = self._text
        if found := _TARGET.match(text, end):
            return clean((found["url"] or "").strip("<>")), found.end()
        is_growing = self._is_open and _OPEN_TARGET.match(text, end)
        return ("", len(text)) if is_growing else (None, end)

    def _link(self, bracket: _Bracket, target: str) -> None:
        """Make a link or an image of everything after ``bracket``."""
        node, nodes = bracket.node, self._nodes
        ink = LINK | (self._number(target) if target else 0)
        nodes[node] = ""
        if bracket.is_image:
            nodes[node] = IMAGE + " "
            self._inks[node] = MARK
        else:
            self._linked = len(self._brackets)
        text = "".join(nodes[node + 1 :])
        if target and not text:
            self._add(url_shown(target), ink)
        else:
            self._ranges.append((node, len(nodes), ink))
            if target and not is_same(text, target):
                url = ink & ~LINK | URL
                self._add(" (", URL)
                self._add(url_shown(target), url)
                self._add(")", URL)
        for signs in self._signs.values():  # emphasis cannot cross the end of a link
            while signs and signs[-1].node > node:
                signs.pop()

    def _open_links(self) -> None:
        """Treat a ``[`` near the end of a growing text as the beginning of a link."""
        for index, bracket in enumerate(self._brackets):
            is_near = len(self._text) - bracket.inside <= OPEN_REACH
            if is_near and (bracket.is_image or index >= self._linked):
                self._nodes[bracket.node] = ""
                self._ranges.append((bracket.node, len(self._nodes), LINK))
                if bracket.is_image:
                    self._nodes[bracket.node] = IMAGE + " "
                    self._inks[bracket.node] = MARK

    def _inked(self, ink: int) -> list[Run]:
        """Return the nodes with the inks of all ranges that cover them; of nested links the innermost
        counts.
        """
        changes: dict[int, list[tuple[int, int]]] = {}
        for first, last, added in sorted(self._ranges, key=lambda found: (found[0], -found[1])):
            changes.setdefault(first, []).append((added, 1))
            changes.setdefault(last, []).append((added, -1))
        active: dict[int, int] = {}
        numbers = [0]
        runs: list[Run] = []
        current = ink
        for index, node in enumerate(self._nodes):
            if index in changes:
                for added, by in changes[index]:
                    flags = added & _FLAGS
                    active[flags] = active.get(flags, 0) + by
                    if added > _FLAGS:
                        numbers[len(numbers) - (by < 0) :] = [added & ~_FLAGS] * (by > 0)
                current = ink | numbers[-1]
                for flags, depth in active.items():
                    current |= flags if depth else 0
            if not node:
                continue
            own = self._inks.get(index, 0)
            own |= current & _FLAGS if own > _FLAGS else current
            if runs and runs[-1][1] == own:
                runs[-1] = (runs[-1][0] + node, own)
            else:
                runs.append((node, own))
        return runs
