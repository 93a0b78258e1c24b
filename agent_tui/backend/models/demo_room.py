"""What the demo model reads out of a turn's request: who it is, who said what, what is unanswered."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from agent_tui.backend.models.demo_phrases import Phrases, Theme
from agent_tui.backend.models.demo_tables import as_said, phrases_in
from agent_tui.backend.models.demo_task import Task, read_task, safe_line
from agent_tui.backend.models.model import ModelRequest

MAX_NAME_CHARACTERS = 40
MAX_EXCERPT_CHARACTERS = 90
MAX_QUOTED_CHARACTERS = 160
MAX_PROMPT_CHARACTERS = 2000
PERSON = "用户"  # protocols.md §1: the sender name of what a person says

_PREFIX = re.compile(r"\[(.{1,80}?)\]: ")
_SENTENCE = re.compile(r"[^.!?。!?…\n]{8,}?(?:[.!?…](?=\s|$|[”»])|[。!?]|$|\n)")
_MARKS = "“„«「\"'"
# In the order of preference: the first that occurs in the name, else in the system prompt, wins.
_ROLES = {
    "critic": (
        r"\bcritic(?:s|ism)?\b|\bcritique|\bsceptic|\bskeptic|devil.s advocate|\breviewer"
        r"|批评|评论|评审|质疑|挑刺|критик|скептик|рецензент"
    ),
    "engineer": (
        r"\bengineer|\bdeveloper|\barchitect\b|\bprogrammer|工程师|开发|架构|程序员"
        r"|инженер|разработчик|архитектор|программист"
    ),
    "writer": (
        r"\bwriter|\beditor\b|\bauthor\b|\bcopywriter|作家|写手|撰稿|编辑|文案|作者"
        r"|писател|редактор|автор\b|копирайтер"
    ),
    "researcher": r"\bresearch|\banalyst|\bscientist|研究|分析|调研|исследовател|аналитик|уч[её]н",
    "planner": (
        r"\bplanner|\bplanning|\bmanager|\bcoordinator|\bstrategist|规划|计划|策划|经理|协调"
        r"|планировщик|менеджер|координатор|стратег"
    ),
    "tester": r"\btester|\bqa\b|\bquality|测试|质检|质量|тестировщик|качеств",
}
_ROLE_PATTERNS = {role: re.compile(pattern, re.IGNORECASE) for role, pattern in _ROLES.items()}


@dataclass(frozen=True, slots=True)
class Raised:
    """Something another agent said from our tables: ``aspect`` of ``theme``, in its very words."""

    name: str
    theme: Theme
    aspect: str
    quote: str


@dataclass(frozen=True, slots=True)
class Room:
    """One turn's view of its room. Phrases are templates of the language's table."""

    task: Task
    speaker: str
    role: str
    has_spoken: bool
    own: frozenset[str]  # phrases that this agent said
    heard: Mapping[str, frozenset[str]]  # name → phrases that this agent said
    latest: Mapping[str, str]  # name → its last words, the newest at the end
    person: str  # first sentence of what a person said since this agent's last turn

    @property
    def names(self) -> tuple[str, ...]:
        """The other agents that have spoken, the newest at the end."""
        return tuple(self.latest)


def role_of(name: str, system_prompt: str) -> str:
    """Return the role that a name or a system prompt speaks of, in any of the three languages."""
    for text in (name, system_prompt[:MAX_PROMPT_CHARACTERS]):
        found = {role: match.start() for role, p in _ROLE_PATTERNS.items() if (match := p.search(text))}
        if found:
            return min(found, key=lambda role: found[role])
    return "generic"


def read_room(request: ModelRequest) -> Room:
    """Return what the request's messages say about the room; never raises."""
    task = read_task(request.task)
    system = next((m.content for m in request.messages if m.role == "system"), "")
    own: list[str] = []
    heard: dict[str, frozenset[str]] = {}
    latest: dict[str, str] = {}
    person = ""
    for message in request.messages:
        if message.role == "assistant":
            own.append(message.content)
            person = ""
        elif message.role == "user":
            if message.content.strip() == request.task.strip():
                continue
            name, words = _speaker(message.content)
            if not name:
                person = words
                continue
            heard[name] = heard.get(name, frozenset()) | phrases_in(words, task.language)
            latest.pop(name, None)  # to the end
            latest[name] = words
    return Room(
        task,
        safe_line(request.speaker, MAX_NAME_CHARACTERS),
        role_of(request.speaker, system),
        bool(own),
        frozenset().union(*(phrases_in(words, task.language) for words in own)),
        heard,
        latest,
        excerpt(person),
    )


def _speaker(content: str) -> tuple[str, str]:
    """Return (agent's name, words) of a user's message; no name: a person, or the task."""
    prefix = _PREFIX.match(content)
    if prefix is None:
        return "", content
    name = safe_line(prefix[1], MAX_NAME_CHARACTERS)
    return "" if name == PERSON else name, content[prefix.end() :]


def excerpt(text: str) -> str:
    """Return the first sentence of ``text`` as a short line without its end mark, for quoting."""
    line = safe_line(text, 4 * MAX_EXCERPT_CHARACTERS)
    found = _SENTENCE.search(line)
    return safe_line(bare(found.group() if found else line), MAX_EXCERPT_CHARACTERS)


def bare(sentence: str) -> str:
    """Return a sentence without the full stop at its end; other end marks stay."""
    return sentence.strip().rstrip(".。")


def raised(room: Room, phrases: Phrases) -> Mapping[Theme, list[Raised]]:
    """Return what the others' latest words bring up, by theme, the newest speaker's first."""
    found: dict[Theme, list[Raised]] = {}
    for name, text in reversed(tuple(room.latest.items())):
        said = phrases_in(text, room.task.language)
        for theme in phrases.themes.values():
            for aspect in ("question", "doubt", "point"):
                template: str = getattr(theme, aspect)
                if template in said and (quote := _own_words(template, text)):
                    found.setdefault(theme, []).append(Raised(name, theme, aspect, quote))
    return found


def _own_words(template: str, text: str) -> str:
    """Return the phrase as it stands in ``text``; empty inside quotation marks: it is somebody else's."""
    match = as_said(template, text)
    if match is None or (match.start() and text[match.start() - 1] in _MARKS):
        return ""
    return safe_line(match.group(), MAX_QUOTED_CHARACTERS)
