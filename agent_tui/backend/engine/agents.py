"""What agents are told of themselves and their room, who they are where nobody named them, their colours."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle

from agent_tui.config.agent_templates import language_of
from agent_tui.model.events import AgentInfo

COLOR = re.compile(r"#[0-9a-fA-F]{6}")

# Neighbours differ much in hue, also for the colour-blind; no red, which means failure on every screen.
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

# (name, system prompt) of three different roles, in each language.
_ENGLISH = (
    (
        "Engineer",
        (
            "You are the engineer in a discussion. Propose concrete solutions with numbers, trade-offs and "
            "short examples. Answer what the others said, by name. Be brief."
        ),
    ),
    (
        "Critic",
        (
            "You are the critic in a discussion. Look for what was overlooked: failure cases, costs, wrong "
            "assumptions. Answer what the others said, by name, and say what would convince you. Be brief."
        ),
    ),
    (
        "Writer",
        (
            "You are the writer in a discussion. Sum up where the others agree and differ, by name, and "
            "propose the wording of a decision that a newcomer understands. Be brief."
        ),
    ),
)
_IN_CHINESE = (
    (
        "工程师",
        "你是讨论中的工程师。请提出具体方案,给出数字、取舍和简短示例。点名回应其他人的观点。请用中文,简明扼要。",
    ),
    (
        "评论员",
        (
            "你是讨论中的评论员。请找出被忽略的问题:失败情形、成本、错误的假设。点名回应其他人,并说明怎样才能说服你。"
            "请用中文,简明扼要。"
        ),
    ),
    (
        "撰稿人",
        "你是讨论中的撰稿人。请总结大家的共识与分歧并点名,写出新人也能看懂的结论。请用中文,简明扼要。",
    ),
)
_IN_RUSSIAN = (
    (
        "Инженер",
        (
            "Вы инженер в обсуждении. Предлагайте конкретные решения с числами, компромиссами и короткими "
            "примерами. Отвечайте другим по имени. По-русски и кратко."
        ),
    ),
    (
        "Критик",
        (
            "Вы критик в обсуждении. Ищите упущенное: отказы, затраты, неверные допущения. Отвечайте другим "
            "по имени и говорите, что вас убедит. По-русски и кратко."
        ),
    ),
    (
        "Редактор",
        (
            "Вы редактор в обсуждении. Подводите итог: в чём другие согласны и в чём расходятся, по именам, "
            "и предлагайте решение, понятное новичку. По-русски и кратко."
        ),
    ),
)


@dataclass(frozen=True, slots=True)
class _Words:
    """What an agent is told of its room, in one language."""

    others: str
    alone: str
    marks: str
    round: str
    last_round: str
    comma: str = ", "


_ROOM_WORDS = {
    "en": _Words(
        "You are {name}. The other agents in this room: {others}.",
        "You are {name}, the only agent in this room.",
        "A message that begins with [Name]: is from the agent of that name; one without it is from a person. "
        "Do not begin your own messages with your name.",
        "This is round {round} of {most}. Rounds left after it: {left}.",
        "This is round {round} of {most}, the last one.",
    ),
    "zh": _Words(
        "你是{name}。房间里的其他智能体:{others}。",
        "你是{name},房间里唯一的智能体。",
        "以“[名字]:”开头的消息来自叫这个名字的智能体;没有这个标记的消息来自人。你自己的消息不要以名字开头。",
        "现在是第{round}轮,共{most}轮。之后还剩{left}轮。",
        "现在是第{round}轮,共{most}轮,这是最后一轮。",
        "、",
    ),
    "ru": _Words(
        "Вы {name}. Другие агенты в этой комнате: {others}.",
        "Вы {name}, единственный агент в этой комнате.",
        "Сообщение, которое начинается с [Имя]:, написал агент с этим именем; сообщение без такой отметки "
        "написал человек. Не начинайте свои сообщения со своего имени.",
        "Сейчас раунд {round} из {most}. После него останется раундов: {left}.",
        "Сейчас раунд {round} из {most}, последний.",
    ),
}

_BY_LANGUAGE = {"en": _ENGLISH, "zh": _IN_CHINESE, "ru": _IN_RUSSIAN}


def default_agents(task: str) -> tuple[tuple[str, str], ...]:
    """Return (name, system prompt) of three agents that speak the task's language."""
    return _BY_LANGUAGE[language_of(task)]


def room_told(agent: AgentInfo, agents: Sequence[AgentInfo], task: str, round_: int, max_rounds: int) -> str:
    """Return what ``agent`` is told of its room, in the language of the ``task``.

    Its name, the others, how to tell who speaks; last the round, for it changes: providers cache what stays.
    """
    words = _ROOM_WORDS[language_of(task)]
    others = words.comma.join(_in_a_line(other.name) for other in agents if other.id != agent.id)
    who = (words.others if others else words.alone).format(name=_in_a_line(agent.name), others=others)
    left = max(0, max_rounds - round_)
    when = (words.round if left else words.last_round).format(round=round_, most=max_rounds, left=left)
    return f"{who}\n{words.marks}\n{when}" if others else f"{who}\n{when}"


def without_own_mark(text: str, name: str) -> str:
    """Return what an agent said without the ``[name]:`` that some models put in front all the same."""
    begun = text.lstrip()
    mark = f"[{name}]"
    if not begun.startswith(mark) or begun[len(mark) :].lstrip()[:1] not in (":", "："):
        return text
    return begun[len(mark) :].lstrip()[1:].lstrip()


def _in_a_line(name: str) -> str:
    return " ".join(name.split())


def colors(wanted: Sequence[str]) -> list[str]:
    """Return a colour for each agent: the wanted one if it is ``#rrggbb``, else one that is still free."""
    given = {color.lower() for color in wanted if COLOR.fullmatch(color)}
    free = cycle([color for color in PALETTE if color not in given] or PALETTE)
    return [color.lower() if COLOR.fullmatch(color) else next(free) for color in wanted]
