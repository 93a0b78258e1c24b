"""A model's instructions in a spoken conversation, and what is said when it cannot answer, by language."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final

from agent_tui.apologies import UNAVAILABLE as UNAVAILABLE
from agent_tui.apologies import UNAVAILABLE_LATER as UNAVAILABLE_LATER
from agent_tui.apologies import Language as Language

LOCALE_VARIABLES: Final = ("LC_ALL", "LC_MESSAGES", "LANG")

# protocols.md §3: sent as ``systemPrompt``, never as part of the user's words.
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
        "你正在进行实时语音对话。只说最终答案，不要说工具调用和步骤。用简短自然的口语，一到三句话。"
        "不要使用 markdown、代码或列表。请用中文回答。"
    ),
}
# The system prompt of our own voice conversations. The model has tools; their steps are shown, not spoken.
SPOKEN: Final[dict[Language, str]] = {
    "en": (
        "You talk with a person by voice. Your words are read aloud, and theirs may be misheard. Answer in"
        " one to three short sentences of natural spoken English. No markdown, no lists, no code, no links."
    ),
    "ru": (
        "Вы разговариваете с человеком голосом. Ваши слова читаются вслух, а его слова могут быть расслышаны"
        " неточно. Отвечайте одним–тремя короткими предложениями естественной устной речи, по-русски. Без"
        " markdown, списков, кода и ссылок."
    ),
    "zh": (
        "你正在用语音与人交谈。你的话会被朗读出来，对方的话可能会被听错。请用一到三句简短自然的中文口语回答。"
        "不要使用 markdown、列表、代码或链接。"
    ),
}


# What our agent says first; GREETING_TYPED if it cannot hear.
HELLO: Final[dict[Language, str]] = {"en": "Hello.", "ru": "Здравствуйте.", "zh": "你好。"}
GREETING: Final[dict[Language, str]] = {
    "en": "Ask me what rooms are running, or whatever you like.",
    "ru": "Спросите, какие комнаты работают, или о чём угодно.",
    "zh": "可以问我有哪些房间在运行，也可以随便聊。",
}
GREETING_TYPED: Final[dict[Language, str]] = {
    "en": "I cannot hear here. Type to me.",
    "ru": "Здесь я не слышу. Пишите мне.",
    "zh": "我在这里听不见，请打字给我。",
}


def language_of(locale: str) -> Language:
    """Return the language of a locale such as "zh-CN", "ru_RU.UTF-8" or "C"; English for any other."""
    for language in ("zh", "ru"):
        if locale.lower().startswith(language):
            return language
    return "en"


def own_locale(environ: Mapping[str, str] | None = None) -> str:
    """Return the locale of this process, as "de_DE.UTF-8", empty if it has none."""
    variables = os.environ if environ is None else environ
    return next((variables[key] for key in LOCALE_VARIABLES if variables.get(key)), "")


def spoken_prompt(locale: str) -> str:
    """Return the system prompt of a voice conversation; without a locale, in the language of this process."""
    return SPOKEN[language_of(locale or own_locale())]
