"""Rooms of the demo model, played without an engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agent_tui.backend.models.demo.debate import turn_text
from agent_tui.backend.models.model import ChatMessage, Member, ModelRequest
from agent_tui.model.events import AgentInfo

TASKS = {
    "en": "Should sessions live in Redis or PostgreSQL?",
    "zh": "会话应该放在 Redis 还是 PostgreSQL?",
    "ru": "Где хранить сессии: в Redis или в PostgreSQL?",
}
# (name, system prompt) of six agents, in each language
AGENTS = {
    "en": (("Mika", "You are a critic."), ("Ada", "You are an engineer."), ("Noor", "You are a writer.")),
    "zh": (("米卡", "你是批评者。"), ("阿达", "你是工程师。"), ("老王", "你是撰稿人。")),
    "ru": (("Мика", "Вы критик."), ("Ада", "Вы инженер."), ("Нур", "Вы редактор.")),
}
OTHERS = (("Kim", ""), ("Sam", ""), ("Jo", ""))
LANGUAGES = tuple(TASKS)
# About these nothing was written.
ANYTHING = {
    "en": "Rewrite the onboarding mail",
    "zh": "写一封给新用户的欢迎邮件",
    "ru": "Напиши письмо новым пользователям",
}


@dataclass(frozen=True, slots=True)
class Said:
    """One turn."""

    round: int
    name: str
    text: str


def ask(
    task: str,
    name: str = "Mika",
    agents: Sequence[tuple[str, str]] = (),
    *,
    said: Sequence[Said] = (),
    round_: int = 1,
    rounds: int = 3,
    synthesizer: str = "",
    max_tokens: int = 2000,
) -> ModelRequest:
    """Return what an agent's model is asked after ``said``, as protocols.md §1 words it; ids are names."""
    agents = agents or AGENTS["en"]
    infos = tuple(AgentInfo(n, n, model="demo", system_prompt=prompt) for n, prompt in agents)
    messages = [ChatMessage("user", task)]
    for turn in said:
        own = turn.name == name
        words = turn.text if own else f"[{turn.name}]: {turn.text}"
        messages.append(ChatMessage("assistant" if own else "user", words))
    return ModelRequest(
        tuple(messages),
        "demo",
        name,
        task,
        round_,
        rounds,
        max_tokens=max_tokens,
        member=Member("room", name),
        agents=infos,
        synthesizer=synthesizer,
    )


def play(
    task: str, agents: Sequence[tuple[str, str]], *, rounds: int = 3, synthesis: bool = True, seed: int = 0
) -> list[Said]:
    """Return all turns of a room, in order; its last agent gives the synthesis."""
    said: list[Said] = []
    for round_ in range(1, rounds + 1):
        for name, _ in agents:
            last = agents[-1][0] if synthesis else ""
            request = ask(task, name, agents, said=said, round_=round_, rounds=rounds, synthesizer=last)
            said.append(Said(round_, name, turn_text(request, seed)))
    return said
