"""A document as Markdown: the words as they were written, under headings of a higher level."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.token import Token

from agent_tui.model.inert import inert_line
from tui.cli.export.document import Document, FoldedPart, marks, said_by, usage_text
from tui.cli.export.parts import parts
from tui.screens.words import say
from widgets.transcript.step_body import fenced

MESSAGE_LEVEL: Final = 3  # of a message's own heading: "### Ada"
LAST_LEVEL: Final = 6
MAX_NAME_CHARACTERS: Final = 100
MAX_CHECKED_CHARACTERS: Final = 200_000  # of one message that may leave something open
_MAY_STAY_OPEN: Final = ("```", "~~~", "<")

_ACTIVE = re.compile(r"([\\`*_\[\]<>#|~&!])")
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})(.*)$")
_HEADING = re.compile(r"^( {0,3})(#{1,6})(?=[ \t]|$)")
_UNDERLINE = re.compile(r"^ {0,3}(=+|-+)[ \t]*$")
_NO_PARAGRAPH = re.compile(r"^(?: {4}|\t| {0,3}(?:[>#|]|[-*+][ \t]|\d{1,9}[.)][ \t]|```|~~~|\[[^\]]*\]:))")


def markdown(document: Document) -> str:
    lines = [f"# {_plain(document.title, None)}", ""]
    between = say("between.detail")
    lines += [f"- {label}{between}{_plain(text, None)}" for label, text in document.facts]
    if document.task:
        lines += ["", *(f"> {line}".rstrip() for line in document.task.splitlines())]
    round_number = 0
    for message in document.messages:
        if message.round_number > round_number:
            round_number = message.round_number
            lines += ["", f"## {say('export.round', number=round_number)}"]
        lines += ["", f"{'#' * MESSAGE_LEVEL} {_plain(said_by(message))}"]
        about = (*marks(message, document.names), usage_text(message))
        shown = [_plain(mark, None) for mark in about]
        if any(shown):
            lines += ["", f"*{' · '.join(mark for mark in shown if mark)}*"]
        for part in parts(message):
            lines += ["", nested(part) if isinstance(part, str) else _folded(part)]
    return "\n".join(lines) + "\n"


def _folded(part: FoldedPart) -> str:
    about = _plain(part.about, None)
    details = " · ".join(text for text in (about, _plain(part.summary)) if text)
    head = f"**{_plain(part.name)}** {details}".rstrip()
    return f"{head}\n\n{part.body}" if part.body else head


def _plain(text: str, most: int | None = MAX_NAME_CHARACTERS) -> str:
    """Return ``text`` as one line, of at most so many characters, without a meaning in Markdown."""
    return _ACTIVE.sub(r"\\\1", inert_line(text, most or len(text)))


def nested(text: str) -> str:
    """Return a message's Markdown with its headings below the message's own, and with everything closed that
    would include what follows; if that is impossible, all of it is put in a fence.
    """
    made = "\n".join(_nested_lines(text.strip("\n").split("\n")))
    return made if _ends_by_itself(made) else fenced(text, limit=None)


def _ends_by_itself(text: str) -> bool:
    """Return whether a heading after ``text`` is a heading."""
    if not any(sign in text for sign in _MAY_STAY_OPEN):
        return True
    if len(text) > MAX_CHECKED_CHARACTERS:
        return False
    tokens = MarkdownIt().parse(f"{text}\n\n{'#' * MESSAGE_LEVEL} x")
    last = tokens[-3:]
    is_heading = [token.type for token in last] == ["heading_open", "inline", "heading_close"]
    return is_heading and not last[0].level and not _folds_what_follows(tokens)


def _folds_what_follows(tokens: Sequence[Token]) -> bool:
    """Return whether HTML in a message opens what a viewer folds, and does not close it."""
    parts = (part for token in tokens for part in (token, *(token.children or ())))
    html = "".join(part.content for part in parts if part.type in ("html_block", "html_inline")).lower()
    return html.count("<details") > html.count("</details")


def _nested_lines(lines: Sequence[str]) -> Iterator[str]:
    fence = ""
    comment_open = False
    before = ""  # the line that an underline would turn into a heading
    for number, line in enumerate(lines):
        if fence:
            closing = _FENCE.match(line)
            if closing and closing[1].startswith(fence) and not closing[2].strip():
                fence = ""
            yield line
            continue
        opening = _FENCE.match(line)
        if opening and not (opening[1][0] == "`" and "`" in opening[2]):
            fence = opening[1]
        comment_open = _comment_open(line, comment_open)
        following = lines[number + 1] if number + 1 < len(lines) else ""
        alone = not before.strip() and line.strip() and not _NO_PARAGRAPH.match(line)
        underline = _UNDERLINE.match(following) if alone else None
        if underline:
            yield f"{_marks_of(1 if underline[1][0] == '=' else 2)} {line.strip()}"
        elif not (_UNDERLINE.match(line) and _was_heading(lines, number)):
            yield _HEADING.sub(lambda match: f"{match[1]}{_marks_of(len(match[2]))}", line)
        before = line
    if fence:
        yield fence
    if comment_open:
        yield "-->"


def _marks_of(level: int) -> str:
    return "#" * min(LAST_LEVEL, level + MESSAGE_LEVEL)


def _was_heading(lines: Sequence[str], number: int) -> bool:
    """Return whether line ``number`` is the underline of a heading that was just written in another way."""
    if number == 0 or not lines[number - 1].strip() or _NO_PARAGRAPH.match(lines[number - 1]):
        return False
    return number == 1 or not lines[number - 2].strip()


def _comment_open(line: str, was_open: bool) -> bool:
    begun, ended = line.rfind("<!--"), line.rfind("-->")
    return begun > ended or (was_open and ended < 0)
