"""An HTML page as text; run as a program of its own, HTML in, text out, both in UTF-8.

It is a program of its own because a hostile page can keep the parser busy for hours: then it is ended, and
nothing else waits. Only the standard library (``-I -S``).
"""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser

_UNSEEN = frozenset(("script", "style", "noscript", "template", "svg", "iframe", "object", "select"))
_BLOCKS = re.compile(
    "address|article|aside|blockquote|dd|details|div|dl|dt|fieldset|figure|footer|form|h[1-6]|header|hr|li"
    "|main|nav|ol|p|pre|section|table|tr|ul|figcaption|summary|caption|body|title"
)
_SPACES = re.compile(r"[ \t\r\n\f]+")
_MAX_LINK_CHARACTERS = 300


class PageText(HTMLParser):
    """Collects the text of a page: headings, lists, links and tables as they would be typed."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._lines: list[str] = []
        self._line: list[str] = []
        self._unseen = 0
        self._verbatim = 0
        self._links: list[str] = []

    def text(self) -> str:
        """Return what was collected so far."""
        self._break()
        text = "\n".join(self._lines)
        return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _UNSEEN:
            self._unseen += 1
        if _BLOCKS.fullmatch(tag):
            self._break()
            if tag not in ("li", "tr", "dt", "dd", "div"):
                self._lines.append("")
        match tag:
            case "br":
                self._break()
            case "li":
                self._line.append("- ")
            case "h1" | "h2" | "h3" | "h4" | "h5" | "h6":
                self._line.append("#" * int(tag[1]) + " ")
            case "td" | "th":
                if "".join(self._line).strip():
                    self._line.append(" | ")
            case "pre":
                self._verbatim += 1
            case "a":
                self._links.append(next((value or "" for name, value in attrs if name == "href"), ""))
            case "img":
                if text := next((value for name, value in attrs if name == "alt" and value), ""):
                    self._line.append(f"[{text}]")
            case _:
                pass

    def handle_endtag(self, tag: str) -> None:
        if tag in _UNSEEN and self._unseen:
            self._unseen -= 1
        match tag:
            case "pre":
                self._break()
                self._verbatim = max(0, self._verbatim - 1)
            case "a" if self._links:
                link = self._links.pop()
                if link.startswith(("http://", "https://", "/")) and len(link) <= _MAX_LINK_CHARACTERS:
                    self._line.append(f" <{link}>")
            case _:
                pass
        if _BLOCKS.fullmatch(tag):
            self._break()

    def handle_data(self, data: str) -> None:
        if self._unseen:
            return
        if not self._verbatim:
            self._line.append(_SPACES.sub(" ", data))
            return
        first, *rest = data.split("\n")
        self._line.append(first)
        for line in rest:
            self._break()
            self._line.append(line)

    def _break(self) -> None:
        if self._line:
            line = "".join(self._line)
            self._line.clear()
            self._lines.append(line.rstrip() if self._verbatim else line.strip())


def main() -> None:
    """Read HTML, write text."""
    page = PageText()
    page.feed(sys.stdin.buffer.read().decode("utf-8", "replace"))
    page.close()
    sys.stdout.buffer.write(page.text().encode("utf-8", "replace"))


if __name__ == "__main__":
    main()
