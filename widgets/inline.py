"""Inline Markdown to styled runs: strong, emphasis, strike, code, links, escapes. HTML stays text.

Follows CommonMark with three deliberate differences: ``*`` and ``~~`` may stand between CJK punctuation and
a letter (CommonMark would show the asterisks), a closing sign pairs only with the nearest opening one, and
links show their text alone. Every pass is linear in the text.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass

from widgets.ink import CODE, EMPHASIS, LINK, STRIKE, STRONG, Run

OPEN_REACH = 400  # characters behind which an unclosed sign is taken for a plain character

_SPECIAL = re.compile(r"[\\`*_~\[\]<]|https?:")
_TOKEN = re.compile(
    r"\\[!-/:-@\[-`{-~]"
    r"|`+|\*+|_+|~+|!?\[|\]"
    r"|<(?:https?://|mailto:)[^\s<>]*>"
    r"|https?://[!-)+-;=?-Z\\^_a-z{}~]+"
)
_TARGET = re.compile(
    r"\(\s*(?:<[^<>\n]*>|[^\s()]*(?:\([^\s()]*\)[^\s()]*)*)(?:\s+(?:\"[^\"]*\"|'[^']*'))?\s*\)"
)
_OPEN_TARGET = re.compile(r"\([^)]*$")
_URL_TAIL = ".,;:!?'\")_~}"
_TICKS = re.compile("`+")
# What the end of a growing text may still turn into a sign: not shown until it is clear.
_UNCLEAR = re.compile(r"(?:\\?[*_~`]+|!?\[|\\)$")


@dataclass(slots=True)
class _Sign:
    """A run of ``*``, ``_`` or ``~`` that may open emphasis."""

    node: int
    count: int
    total: int
    closes: bool


def parse(text: str, ink: int = 0, *, is_open: bool = False) -> list[Run]:
    """Return ``text`` as runs whose inks include ``ink``.

    ``is_open`` says that the text still grows: signs not closed yet are taken for what they look like.
    """
    if not _SPECIAL.search(text):
        return [(text, ink)] if text else []
    if is_open:
        text = _UNCLEAR.sub("", text)
    return _Parser(text, is_open).runs(ink)


class _Parser:
    """One pass over one text. Nodes are pieces of text; ranges of nodes carry ink."""

    def __init__(self, text: str, is_open: bool) -> None:
        self._text = text
        self._is_open = is_open
        self._nodes: list[str] = []
        self._inks: dict[int, int] = {}  # ink of single nodes
        self._ranges: list[tuple[int, int, int]] = []  # first node, last node, ink
        self._signs: dict[str, list[_Sign]] = {"*": [], "_": [], "~": []}
        self._brackets: list[tuple[int, int]] = []  # node, position in the text
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
        return self._inked(ink)

    def _token(self, found: re.Match[str]) -> int:
        """Take one token and return where to go on."""
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
                self._brackets.append((len(self._nodes), found.start()))
                self._nodes.append(token)
            case "]":
                return self._bracket(end)
            case "<":
                self._add(token[1:-1].removeprefix("mailto:"), LINK)
            case "h":
                url = token.rstrip(_URL_TAIL)
                if token[len(url) :].startswith(")") and url.count("(") > url.count(")"):
                    url += ")"
                self._add(url, LINK)
                return found.start() + len(url)
            case _:
                self._nodes.append(token)
        return end

    def _add(self, text: str, ink: int) -> None:
        self._inks[len(self._nodes)] = ink
        self._nodes.append(text)

    # --- code ---

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
            self._add(_code_text(text[start : same[index]]), CODE)
            return same[index] + count
        if self._is_open and start < len(text) and len(text) - start <= OPEN_REACH:
            self._add(text[start:].lstrip(), CODE)
            return len(text)
        self._nodes.append("`" * count)
        return start

    # --- emphasis ---

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
        """Let unclosed signs near the end of a growing text act as if the text closed them."""
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

    # --- links ---

    def _bracket(self, end: int) -> int:
        if not self._brackets:
            self._nodes.append("]")
            return end
        node, _ = self._brackets.pop()
        target = _TARGET.match(self._text, end)
        if target is None and self._is_open and self._text.rfind("](") == end - 1:
            target = _OPEN_TARGET.match(self._text, end)
        if target is None:
            self._nodes.append("]")
            return end
        is_empty = node + 1 == len(self._nodes)
        self._nodes[node] = target.group().strip("()<> ") if is_empty else ""
        self._ranges.append((node, len(self._nodes), LINK))
        for signs in self._signs.values():  # emphasis does not reach out of a link
            while signs and signs[-1].node > node:
                signs.pop()
        return target.end()

    # --- the end ---

    def _inked(self, ink: int) -> list[Run]:
        """Return the nodes with the inks of all ranges that cover them."""
        changes: dict[int, list[tuple[int, int]]] = {}
        for first, last, added in self._ranges:
            changes.setdefault(first, []).append((added, 1))
            changes.setdefault(last, []).append((added, -1))
        active: dict[int, int] = {}
        runs: list[Run] = []
        current = ink
        for index, node in enumerate(self._nodes):
            if index in changes:
                for added, by in changes[index]:
                    active[added] = active.get(added, 0) + by
                current = ink
                for added, depth in active.items():
                    current |= added if depth else 0
            if not node:
                continue
            own = current | self._inks.get(index, 0)
            if runs and runs[-1][1] == own:
                runs[-1] = (runs[-1][0] + node, own)
            else:
                runs.append((node, own))
        return runs


def _code_text(text: str) -> str:
    if text.startswith(" ") and text.endswith(" ") and text.strip(" "):
        return text[1:-1]
    return text
