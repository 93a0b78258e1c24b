"""A room as Markdown: the words as they were written, under headings that are above all of theirs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from agent_tui.events import Message, RoomInfo
from agent_tui.inert import inert_line
from tui.export import facts, marks, said_by, task_apart, used

MESSAGE_LEVEL: Final = 3  # of a message's own heading: "### Ada"
LAST_LEVEL: Final = 6
MAX_NAME_CHARACTERS: Final = 100
MAX_MARK_CHARACTERS: Final = 500

_ACTIVE = re.compile(r"([\\`*_\[\]<>#|~&!])")
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})(.*)$")
_HEADING = re.compile(r"^( {0,3})(#{1,6})(?=[ \t]|$)")
_UNDERLINE = re.compile(r"^ {0,3}(=+|-+)[ \t]*$")
_NO_PARAGRAPH = re.compile(r"^(?: {4}|\t| {0,3}(?:[>#|]|[-*+][ \t]|\d{1,9}[.)][ \t]|```|~~~|\[[^\]]*\]:))")


def markdown(room: RoomInfo, messages: Sequence[Message]) -> str:
    """Return the whole document."""
    names = {agent.id: agent.name for agent in room.agents}
    lines = [f"# {_plain(room.name or room.id)}", ""]
    lines += [f"- {label}: {_plain(text, MAX_MARK_CHARACTERS)}" for label, text in facts(room)]
    if task := task_apart(room, messages):
        lines += ["", *(f"> {line}".rstrip() for line in task.splitlines())]
    round_number = 0
    for message in messages:
        if message.round_number > round_number:
            round_number = message.round_number
            lines += ["", f"## Round {round_number}"]
        lines += ["", f"{'#' * MESSAGE_LEVEL} {_plain(said_by(message))}"]
        said_about = [_plain(mark, MAX_MARK_CHARACTERS) for mark in (*marks(message, names), used(message))]
        if any(said_about):
            lines += ["", f"*{' · '.join(mark for mark in said_about if mark)}*"]
        if message.text.strip():
            lines += ["", nested(message.text)]
    return "\n".join(lines) + "\n"


def _plain(text: str, most: int = MAX_NAME_CHARACTERS) -> str:
    """Return ``text`` as one line in which nothing means anything to Markdown."""
    return _ACTIVE.sub(r"\\\1", inert_line(text, most))


def nested(text: str) -> str:
    """Return a message's Markdown with its headings below the message's own, and nothing left open that
    would take in what follows.
    """
    return "\n".join(_nested_lines(text.strip("\n").split("\n")))


def _nested_lines(lines: Sequence[str]) -> Iterator[str]:
    fence = ""
    comment_open = False
    before = ""  # the line that an underline would make a heading of
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
    """Say whether line ``number`` is the underline of a heading that was just written another way."""
    if number == 0 or not lines[number - 1].strip() or _NO_PARAGRAPH.match(lines[number - 1]):
        return False
    return number == 1 or not lines[number - 2].strip()


def _comment_open(line: str, was_open: bool) -> bool:
    begun, ended = line.rfind("<!--"), line.rfind("-->")
    return begun > ended or (was_open and ended < 0)
