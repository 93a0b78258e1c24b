"""What an agent service says to a person, by language, when it cannot answer (protocols.md §3)."""

from __future__ import annotations

from typing import Final, Literal

from agent_tui.model.errors import AgentTuiError

Language = Literal["en", "ru", "zh"]

# After an HTTP error or a failure that is not retried; and after the last retry.
UNAVAILABLE: Final[dict[Language, str]] = {
    "en": "Sorry, the agent service is not available at the moment.",
    "ru": "Извините, служба агента сейчас недоступна.",
    "zh": "抱歉,Agent服务暂时不可用。",
}
UNAVAILABLE_LATER: Final[dict[Language, str]] = {
    "en": "Sorry, the agent service is not available at the moment. It was asked several times; try later.",
    "ru": "Извините, служба агента сейчас недоступна. Несколько попыток не удались, попробуйте позже.",
    "zh": "抱歉,Agent服务暂时不可用,请稍后再试。",
}


def apology(error: AgentTuiError, language: Language) -> str:
    """Return what is said instead of an answer that failed with ``error``."""
    return (UNAVAILABLE_LATER if error.attempts > 1 else UNAVAILABLE)[language]
