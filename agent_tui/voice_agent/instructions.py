"""What a model is told of a live spoken conversation, and what is said when it cannot answer, by language."""

from __future__ import annotations

from typing import Final, Literal

Language = Literal["en", "ru", "zh"]

# protocols.md §3: goes out as ``systemPrompt``, never wrapped into the user's words.
INSTRUCTIONS: Final[dict[Language, str]] = {
    "en": (
        "You are in a live spoken conversation. Say only the final answer: no tool calls, no steps. Use"
        " short, natural spoken language, one to three sentences. No markdown, no code, no lists."
        " Answer in English."
    ),
    "ru": (
        "Вы ведёте живой разговор голосом. Говорите только окончательный ответ: без вызовов инструментов и"
        " без шагов. Короткая естественная устная речь, одно–три предложения. Без markdown, кода и списков."
        " Отвечайте по-русски."
    ),
    "zh": (
        "你正在进行实时语音对话。只说最终答案,不要说工具调用和步骤。用简短自然的口语,一到三句话。"
        "不要使用 markdown、代码或列表。请用中文回答。"
    ),
}
# After an HTTP error or a failure that is not retried; and when all retries are spent.
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


def language_of(locale: str) -> Language:
    """Return the language of a locale such as "zh-CN", "ru_RU.UTF-8" or "C"; English for any other."""
    for language in ("zh", "ru"):
        if locale.lower().startswith(language):
            return language
    return "en"
