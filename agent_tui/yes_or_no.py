"""Whether a few words, spoken or typed, are only a yes or a no to the last question."""

from __future__ import annotations

import re
from typing import Final

MAX_CHARACTERS: Final = 80
_WELL: Final = r"(?:(?:oh|uh|um|hm|hmm|er|so|well|ну) )*"
_THANKS: Final = r"(?: (?:please|thanks|thank you|пожалуйста|спасибо|谢谢))*"
_YES: Final = re.compile(
    _WELL + r"(?:(?:y|yes|yeah|yep|yup|sure|of course|ok|okay|fine|alright|all right|agreed|i agree|approved"
    r"|certainly|absolutely|go ahead|please do|(?:please )?(?:do|run|allow|approve) (?:it|that)"
    r"|да|ага|ок|окей|хорошо|ладно|конечно|разумеется|давай|давайте|можно|согласен|согласна|разрешаю"
    r"|是|是的|对|嗯|好|好的|好吧|好啊|行|可以|当然|没问题|同意|允许|请继续) ?)+" + _THANKS
)
_NO: Final = re.compile(
    _WELL + r"(?:(?:n|no|nope|nah|never|not now|(?:i'd )?rather not|denied"
    r"|(?:please )?(?:don't|do not)(?: (?:do|run|allow) (?:it|that))?|(?:deny|refuse)(?: it| that)?"
    r"|нет|не|не надо|не нужно|не стоит|не сейчас|нельзя|никогда|ни в коем случае|запрещаю|отказать"
    r"|不|不是|不行|不要|不用|不好|不可以|不允许|不同意|别|否|拒绝) ?)+" + _THANKS
)


def yes_or_no(text: str) -> bool | None:
    """Return true for a yes, false for a no, ``None`` for anything else, also for a yes with a condition.
    Nothing is guessed.
    """
    if len(text) > MAX_CHARACTERS:
        return None
    words = " ".join(re.sub(r"[^\w\s']", " ", text.lower().replace("’", "'")).split())
    if _NO.fullmatch(words):
        return False
    return True if _YES.fullmatch(words) else None
