"""What a model is told of a live spoken conversation, and what is said when it cannot answer, by language."""

from __future__ import annotations

from typing import Final

from agent_tui.apologies import UNAVAILABLE as UNAVAILABLE
from agent_tui.apologies import UNAVAILABLE_LATER as UNAVAILABLE_LATER
from agent_tui.apologies import Language as Language

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


def language_of(locale: str) -> Language:
    """Return the language of a locale such as "zh-CN", "ru_RU.UTF-8" or "C"; English for any other."""
    for language in ("zh", "ru"):
        if locale.lower().startswith(language):
            return language
    return "en"
