"""Rooms of the demo model, played without an engine."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agent_tui.backend.models.demo.scripts import Script, script_for
from agent_tui.backend.models.demo.talk import turn_text
from agent_tui.backend.models.model import ChatMessage, ModelRequest

TASKS = {
    "en": "Should sessions live in Redis or PostgreSQL?",
    "zh": "会话应该放在 Redis 还是 PostgreSQL?",
    "ru": "Где хранить сессии: в Redis или в PostgreSQL?",
}
# (name, system prompt) of three agents, in each language
AGENTS = {
    "en": (("Mika", "You are a critic."), ("Ada", "You are an engineer."), ("Noor", "You are a writer.")),
    "zh": (("米卡", "你是评论员。"), ("Ada", "你是工程师。"), ("老王", "你是撰稿人。")),
    "ru": (("Мика", "Вы критик."), ("Ада", "Вы инженер."), ("Нур", "Вы редактор.")),
}
LANGUAGES = tuple(TASKS)
# About these nothing was written in particular.
ANYTHING = {
    "en": "Rewrite the onboarding mail",
    "zh": "写一封给新用户的欢迎邮件",
    "ru": "Напиши письмо новым пользователям",
}
SCRIPTS: dict[str, Script] = {language: script_for(language, task) for language, task in TASKS.items()}
LABELS = frozenset(theme.name.lower() for script in SCRIPTS.values() for theme in script.themes)


@dataclass(frozen=True, slots=True)
class Said:
    """One turn."""

    round: int
    name: str
    text: str


def ask(
    task: str,
    name: str = "Mika",
    prompt: str = "You are a critic.",
    *,
    said: Sequence[Said] = (),
    round_: int = 1,
    rounds: int = 3,
    max_tokens: int = 2000,
) -> ModelRequest:
    """Return what an agent's model is asked after ``said``, as protocols.md §1 words it."""
    messages = [ChatMessage("system", prompt), ChatMessage("user", task)]
    for turn in said:
        own = turn.name == name
        words = turn.text if own else f"[{turn.name}]: {turn.text}"
        messages.append(ChatMessage("assistant" if own else "user", words))
    return ModelRequest(tuple(messages), "demo", name, task, round_, rounds, max_tokens=max_tokens)


def play(
    task: str,
    agents: Sequence[tuple[str, str]],
    *,
    rounds: int = 3,
    parallel: bool = False,
    seed: int = 0,
) -> list[Said]:
    """Return all turns of a room, in order; parallel agents hear what was said before their round."""
    said: list[Said] = []
    for round_ in range(1, rounds + 1):
        before = tuple(said)
        for name, prompt in agents:
            heard = before if parallel else said
            request = ask(task, name, prompt, said=heard, round_=round_, rounds=rounds)
            said.append(Said(round_, name, turn_text(request, seed)))
    return said


def sentences(text: str) -> Iterator[str]:
    """Yield what a reader would call sentences, without Markdown and labels, in lower case."""
    for line in text.splitlines():
        line = re.sub(r"^(?:\d+\. |- )?(?:\*\*.*?\*\*(?: ?[((].*?[))])?[::.。]?)?", "", line.strip())
        if line.startswith(("```", "| ---")):
            continue
        for sentence in re.split(r"(?<=[.!?])\s+|(?<=[。!?:])", line):
            sentence = sentence.strip(' *|“”«»‘’„"').lower()
            long_enough = len(sentence) >= (9 if re.search("[\u4e00-\u9fff]", sentence) else 14)
            if long_enough and sentence.rstrip(".。") not in LABELS:
                yield sentence
