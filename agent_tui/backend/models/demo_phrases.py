"""What the demo model's phrase tables look like; one per language: ``demo_en``, ``demo_zh``, ``demo_ru``.

Slots in braces: ``{task}`` the task as one line, ``{word}`` a word of it in quotation marks, ``{plain}`` the
same bare, ``{a}`` ``{b}`` the two answers it names, ``{pick}`` ``{other}`` the one the room leans to and the
other, ``{name}`` another agent, ``{quote}`` somebody's words, ``{bare}`` the same without a full stop,
``{theme}`` a theme's name, ``{answer}`` ``{step}`` ``{question}`` a theme's sentences, ``{round}`` a number.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

ROLES = ("critic", "engineer", "writer", "researcher", "planner", "tester", "generic")

# The themes each role turns to first; a generic one takes any.
INTERESTS: Mapping[str, tuple[str, ...]] = {
    "critic": ("assume", "wrong", "never", "nothing", "third", "evidence", "people"),
    "engineer": ("trial", "failure", "simple", "upkeep", "back", "growth", "split"),
    "writer": ("telling", "word", "newcomer", "example", "people", "record", "scope"),
    "researcher": ("evidence", "measure", "today", "assume", "third", "word", "listen"),
    "planner": ("order", "time", "decider", "scope", "effort", "review", "done"),
    "tester": ("edges", "failure", "measure", "never", "done", "listen", "growth"),
}


@dataclass(frozen=True, slots=True)
class Theme:
    """One thing that can be said about any task, from all sides.

    ``point`` says why it matters, ``doubt`` what goes wrong without it, ``answer`` replies to its doubt or
    question, ``step`` is something to do, ``sign`` how to see that it was done (short: a table's cell),
    ``agreed`` the same as a decision. ``name`` begins in lower case.
    """

    name: str
    point: str
    doubt: str
    question: str
    answer: str
    step: str
    sign: str
    agreed: str


@dataclass(frozen=True, slots=True)
class Voice:
    """How a role speaks: the first words of a round, its way into a theme, what it writes as code."""

    openings: tuple[str, ...]  # {task}
    middles: tuple[str, ...]  # {round}
    lasts: tuple[str, ...]
    leads: tuple[str, ...]  # {theme}
    code: tuple[str, ...]  # whole fenced blocks; {plain}


@dataclass(frozen=True, slots=True)
class Replies:
    """Answers to other speakers; all know {name}, {quote} and {bare}, all but the last two {answer}."""

    question: tuple[str, ...]
    agree: tuple[str, ...]
    disagree: tuple[str, ...]
    unknown: tuple[str, ...]  # to words that are not from these tables
    person: tuple[str, ...]  # to the person in the room; no {name}


@dataclass(frozen=True, slots=True)
class Phrases:
    """Everything one language says."""

    space: str  # between two sentences
    item: str  # a list's line about a theme: {theme} {text}
    item_by: str  # the same with who brought it up: {theme} {name} {text}
    run_in: str  # a theme's name before a paragraph: {theme}
    token: int  # characters that the model gives out at once
    marks: tuple[str, str]  # quotation marks
    inner_marks: tuple[str, str]  # inside others
    no_task: str
    no_word: str
    least: int  # characters of a turn: its body grows until it has a number between these
    most: int
    themes: Mapping[str, Theme]
    voices: Mapping[str, Voice]
    replies: Replies
    disclosures: tuple[str, ...]
    choices: tuple[str, ...]  # {a} {b} {pick}: the task names two answers
    questions: tuple[str, ...]  # the task is a question
    assignments: tuple[str, ...]  # the task is something to do
    choice_angles: tuple[str, ...]  # {a} {b}: the same from another side
    angles: tuple[str, ...]  # {word}
    leads: tuple[str, ...]  # {theme}
    proposals: tuple[str, ...]  # {step}, beginning in lower case
    second_thoughts: tuple[str, ...]  # {theme}: about what the speaker itself said before
    step_leads: tuple[str, ...]
    question_leads: tuple[str, ...]
    sign_leads: tuple[str, ...]
    table_leads: tuple[str, ...]
    table_heads: tuple[tuple[str, str], ...]
    compare_leads: tuple[str, ...]  # to a table of {a} and {b} with empty cells
    code_leads: tuple[str, ...]
    agreed_leads: tuple[str, ...]
    own_leads: tuple[str, ...]
    still_open: tuple[str, ...]  # {question}
    choice_decisions: tuple[str, ...]  # {pick} {other}
    decisions: tuple[str, ...]
    handovers: tuple[str, ...]  # {name}
    closings: tuple[str, ...]
    farewells: tuple[str, ...]
    nothing_left: str  # {round}
