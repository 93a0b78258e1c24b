"""The prompts about a room, the default agents, and the agents' colours."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from functools import cache
from importlib import resources
from itertools import count, cycle
from typing import Any

from agent_tui.backend.store.rows import ConversationRow
from agent_tui.config.agent_templates import language_of
from agent_tui.model.events import AgentInfo
from agent_tui.model.records import AGENT_NAME

# The part of a prompt that names a role, and the roles that write a synthesis.
_FIRST_SENTENCE = re.compile(r"[^.。\n]{0,80}")
_WRITER_ROLE = re.compile(
    r"\b(?:writer|editor|moderator|facilitator)\b|撰稿|写作|编辑|主持|\b(?:автор|писател|редактор|модератор|ведущ)",
    re.IGNORECASE,
)

# Neighbours differ much in hue, also for colour-blind people; no red, which means failure on every screen.
PALETTE = (
    "#4c9be8",  # blue
    "#e8a33d",  # amber
    "#3dbf8a",  # green
    "#b57edc",  # violet
    "#3fc1c9",  # cyan
    "#d6c34a",  # yellow
    "#e07bb5",  # pink
    "#8fbf4d",  # lime
    "#7d8ff0",  # indigo
    "#d98b5f",  # copper
    "#5fb0a5",  # teal
    "#c39bd3",  # lilac
)


@cache
def _words(language: str) -> dict[str, Any]:
    """Return the agents' instructions in one language, read on first use."""
    words: dict[str, Any] = tomllib.loads(
        resources.files(__package__).joinpath("agents.toml").read_text("utf-8")
    )[language]
    return words


def default_agents(task: str) -> tuple[tuple[str, str], ...]:
    """Return (name, system prompt) of three agents that speak the task's language."""
    return tuple((agent["name"], agent["prompt"]) for agent in _words(language_of(task))["agents"])


def synthesizer(room: ConversationRow) -> str:
    """Return the id of the agent that writes the synthesis in the last round, "" if there is none.

    It is the first one whose name, or else the first sentence of whose prompt, mentions a writer or a
    moderator; else the last one, so that the turn order stays as it is.
    """
    if not room.synthesis or not room.agents or (len(room.agents) == 1 and room.max_rounds == 1):
        return ""
    names = [(agent.id, agent.name) for agent in room.agents]
    roles = [(agent.id, _FIRST_SENTENCE.findall(agent.system_prompt.strip())[0]) for agent in room.agents]
    for agent_id, text in (*names, *roles):
        if _WRITER_ROLE.search(text):
            return agent_id
    return room.agents[-1].id


def is_synthesis(room: ConversationRow, round_: int, agent_id: str) -> bool:
    """Return whether the turn of this agent in this round is the room's synthesis."""
    return round_ == room.max_rounds and agent_id == synthesizer(room)


def room_prompt(room: ConversationRow, agent: AgentInfo, round_: int) -> str:
    """Return the prompt about the room for ``agent``, in the language of the task: its name, the others, how
    speakers are marked. The round comes last, since it changes: providers cache what stays the same.
    """
    words = _words(language_of(room.task))
    others = words["comma"].join(_one_line(other.name) for other in room.agents if other.id != agent.id)
    who = words["others" if others else "alone"].format(name=_one_line(agent.name), others=others)
    left = max(0, room.max_rounds - round_)
    when = words["round" if left else "last_round"].format(round=round_, most=room.max_rounds, left=left)
    if is_synthesis(room, round_, agent.id):
        when = f"{when}\n{words['synthesis']}"
    return "\n".join([who, words["marks"], when] if others else [who, when])


def without_own_mark(text: str, name: str) -> str:
    """Return what an agent said without the ``[name]:`` that some models add."""
    mark = f"[{name}]"
    words = text.lstrip()
    rest = words.removeprefix(mark).lstrip()
    if not words.startswith(mark) or rest[:1] not in (":", "："):
        return text
    return rest[1:].lstrip()


def _one_line(name: str) -> str:
    return " ".join(name.split())


def distinct_names(wanted: Sequence[str]) -> list[str]:
    """Return a name for each agent: the wanted one, with a number behind it if another one has it already."""
    names: dict[str, str] = {}  # by their case-folded form, since ``@name`` ignores case
    for name in wanted:
        shown, number = name, count(2)
        while shown.casefold() in names:
            shown = f"{name[: AGENT_NAME - 4]} {next(number)}"
        names[shown.casefold()] = shown
    return list(names.values())


def colors(wanted: Sequence[str]) -> list[str]:
    """Return a colour for each agent: the wanted one, else one that is not used yet."""
    free = cycle([color for color in PALETTE if color not in wanted] or PALETTE)
    return [color or next(free) for color in wanted]
