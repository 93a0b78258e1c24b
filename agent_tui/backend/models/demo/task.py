"""What the demo model understands of a room's task: its language, a quotation, two answers.

Guesses from the letters alone: no dictionary, no network. The task is hostile like everything from outside,
so what comes out of here is short, one line and free of Markdown's active signs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from agent_tui.backend.models.demo.scripts import find, patterns
from agent_tui.config.agent_templates import language_of
from agent_tui.model.inert import inert_line

Kind = Literal["choice", "question", "assignment"]

MAX_QUOTE_CHARACTERS = 120
MAX_READ_CHARACTERS = 2000
MAX_OPTION_CHARACTERS = 24

# Signs that would turn into emphasis, code, tables, links or tags where the task is quoted.
_ACTIVE = str.maketrans({"`": "'", "*": "", "|": "/", "<": "‹", ">": "›", "\\": "/", "~": "-"})


@dataclass(frozen=True, slots=True)
class Task:
    """``quote`` is one line of at most 120 characters, empty for an empty task."""

    language: str
    line: str
    quote: str
    options: tuple[str, str] | None
    kind: Kind


def read_task(text: str) -> Task:
    """Return what there is to know about the task; never raises, whatever the text."""
    language = language_of(text)
    line = safe_line(text, MAX_READ_CHARACTERS)
    options = _options(line, language)
    asks = find("question", line) is not None
    kind: Kind = "choice" if options else "question" if asks else "assignment"
    return Task(language, line, safe_line(text, MAX_QUOTE_CHARACTERS), options, kind)


def safe_line(text: str, limit: int) -> str:
    """Return ``text`` as one harmless line of at most ``limit`` characters in which no Markdown is left."""
    line = inert_line(text[: limit * 4 + 64].translate(_ACTIVE), limit)
    return re.sub(r"^(?:[#>+-]+\s+|\d+[.)]\s+|=+)+", "", line).strip()


def _options(line: str, language: str) -> tuple[str, str] | None:
    """Return the two answers that an "A or B" in the task names, if they can be told."""
    found = find(f"either_{language}", line)
    if found is None or find("listed", line[: found.start()]):
        return None
    (pattern,) = patterns("no_answer")
    first, second = (pattern.sub("", option).strip() for option in found.groups())
    is_pair = first.lower() != second.lower() and max(len(first), len(second)) <= MAX_OPTION_CHARACTERS
    return (first, second) if first and second and is_pair else None
