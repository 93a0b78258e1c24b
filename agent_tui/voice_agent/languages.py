"""Whether the offline models hear and speak a person's language."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

NAMES = {
    "ar": "Arabic", "cs": "Czech", "da": "Danish", "de": "German", "en": "English", "es": "Spanish",
    "fi": "Finnish", "fr": "French", "hi": "Hindi", "it": "Italian", "ja": "Japanese", "ko": "Korean",
    "nl": "Dutch", "no": "Norwegian", "pl": "Polish", "pt": "Portuguese", "ru": "Russian", "sv": "Swedish",
    "tr": "Turkish", "uk": "Ukrainian", "zh": "Chinese",
}  # fmt: skip
# What a person is told in their own language: what does not work (heard, spoken), and what helps.
_TOLD = {
    ("ru", True, True): "Модели на этой машине не понимают русскую речь и не говорят по-русски.",
    ("ru", True, False): "Модели на этой машине не понимают русскую речь.",
    ("ru", False, True): "Модели на этой машине не говорят по-русски: ответы можно прочитать.",
    ("zh", True, True): "这台机器上的模型听不懂中文，也说不了中文。",
    ("zh", True, False): "这台机器上的模型听不懂中文。",
    ("zh", False, True): "这台机器上的模型说不了中文，回答可以在屏幕上读。",
}
_HELPS = {
    "ru": "Пишите по-русски или установите модель: agent-tui voice setup.",
    "zh": "请打字，或运行 agent-tui voice setup 装一个模型。",
}
_LANGUAGE = re.compile(r"([A-Za-z]{2,3})(?:[_.@-].*)?")


@dataclass(frozen=True, slots=True)
class LanguageNotice:
    """Something that a person should know before talking: ``code`` for programs, the others for reading;
    ``spoken`` in the person's language, "" if it is not known there.
    """

    code: str
    title: str
    detail: str = ""
    spoken: str = ""


def language_of(locale: str) -> str:
    """Return the two or three letters of a locale ("de_DE.UTF-8" → "de"); English for "C" and without a
    locale.
    """
    match = _LANGUAGE.fullmatch(locale.strip())
    return match[1].lower() if match and match[1].upper() != "C" else "en"


def mismatch(
    language: str, *, hears: Collection[str] | None, speaks: Collection[str] | None
) -> list[LanguageNotice]:
    """Return what to say if ``language`` is not heard or not spoken; ``None``: a provider does it, which
    knows more languages than we do. A missing installation is another matter.
    """
    deaf = hears is not None and bool(hears) and language not in hears
    dumb = speaks is not None and bool(speaks) and language not in speaks
    if not deaf and not dumb:
        return []
    name = NAMES.get(language, language)
    can = "heard or spoken" if deaf and dumb else "heard" if deaf else "spoken"
    known = ", ".join(NAMES.get(code, code) for code in sorted(hears or ()) if deaf) or "English"
    heard = f"What I hear is {known}." if deaf else "I answer in text as well."
    return [
        LanguageNotice(
            "voice.language",
            f"{name} is not {can} by the models on this machine",
            f"{heard} Type in {name}, speak another language, or get a model: agent-tui voice setup",
            ("" if language == "zh" else " ").join(
                filter(None, (_TOLD.get((language, deaf, dumb)), _HELPS.get(language)))
            ),
        )
    ]
