"""What a person wrote into the form of a new room: the fields of the call, or what is wrong with which."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from agent_tui.agent_templates import Template
from tui.screens.words import say

MAX_ROUNDS: Final = 1_000
MAX_TOKENS: Final = 10**12
MAX_COST: Final = 1e6
MAX_TASK_CHARACTERS: Final = 100_000
FIELDS: Final = ("task", "name", "execution_mode", "max_rounds", "agents", "model", "max_tokens", "max_cost")


@dataclass(frozen=True, slots=True)
class OwnAgent:
    """An agent that was written in place."""

    name: str
    prompt: str = ""
    model: str = ""


@dataclass(slots=True)
class Written:
    """The form as it stands; ``provider`` is an id, "" for the server's default."""

    task: str = ""
    name: str = ""
    mode: str = "sequential"
    rounds: str = "3"
    templates: Sequence[Template] = ()
    own: Sequence[OwnAgent] = ()
    language: str = "en"
    provider: str = ""
    model: str = ""
    tokens: str = ""
    cost: str = ""
    on_error: str = "continue"
    problems: dict[str, str] = field(default_factory=dict)

    def fields(self) -> dict[str, Any]:
        """Return what ``RoomsClient.create`` needs; ``problems`` then says what is wrong, by field."""
        self.problems = {}
        task = self.task.strip()
        if not task:
            self.problems["task"] = say("new.problem.task")
        elif len(task) > MAX_TASK_CHARACTERS:
            self.problems["task"] = say("new.problem.task_length", most=f"{MAX_TASK_CHARACTERS:,}")
        fields: dict[str, Any] = {"task": task, "name": self.name.strip(), "execution_mode": self.mode}
        fields["max_rounds"] = self._number("max_rounds", self.rounds, 1, MAX_ROUNDS)
        tokens = self._number("max_tokens", self.tokens or "0", 0, MAX_TOKENS)
        cost = self._cost()
        if tokens:
            fields["max_tokens"] = tokens
        if cost:
            fields["max_cost"] = cost
        if self.on_error != "continue":
            fields["on_error"] = self.on_error
        agents = [self._of_template(template) for template in self.templates]
        agents += [self._of_own(agent) for agent in self.own]
        if agents:  # else the server chooses
            fields["agents"] = agents
        return fields

    def _number(self, name: str, text: str, least: int, most: int) -> int:
        digits = text.strip().replace(",", "").replace("_", "").replace(" ", "")
        if digits.isascii() and digits.isdigit() and len(digits) < 20 and least <= int(digits) <= most:
            return int(digits)
        self.problems[name] = say("new.problem.number", least=f"{least:,}", most=f"{most:,}")
        return least

    def _cost(self) -> float:
        text = self.cost.strip().removeprefix("$").replace(",", ".") or "0"
        try:
            cost = float(text)
        except ValueError:
            cost = -1.0
        if not 0 <= cost <= MAX_COST:  # nan is neither
            self.problems["max_cost"] = say("new.problem.cost")
            return 0.0
        return cost

    def _of_template(self, template: Template) -> dict[str, str]:
        name, prompt, _ = template.in_language(self.language)
        provider = template.provider or self.provider
        # A model belongs to a provider: one without the other would be another's.
        model = template.model or (self.model.strip() if provider == self.provider else "")
        return _without_empty(
            name=name, system_prompt=prompt, color=template.color, model=model, provider_id=provider
        )

    def _of_own(self, agent: OwnAgent) -> dict[str, str]:
        return _without_empty(
            name=agent.name,
            system_prompt=agent.prompt,
            model=agent.model or self.model.strip(),
            provider_id=self.provider,
        )


def _without_empty(**fields: str) -> dict[str, str]:
    return {name: value for name, value in fields.items() if value}


def named_field(text: str, names: Sequence[str] = FIELDS) -> str:
    """Return which field of the form a server's complaint is about; "" if it names none."""
    return next((name for name in names if name in text), "")


def language_of_locale(environ: Mapping[str, str]) -> str:
    """Return "en", "zh" or "ru", as the locale variables of ``environ`` say."""
    locale = next((environ[key] for key in ("LC_ALL", "LC_MESSAGES", "LANG") if environ.get(key)), "")
    return locale[:2].lower() if locale[:2].lower() in ("zh", "ru") else "en"
