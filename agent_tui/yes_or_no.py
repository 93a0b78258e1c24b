"""Whether a few words, spoken or typed, are only a yes or a no to the last question."""

from __future__ import annotations

import re
from typing import Final

MAX_CHARACTERS: Final = 80
_WELL: Final = r"(?:(?:oh|uh|um|hm|hmm|er|so|well) )*"
_THANKS: Final = r"(?: (?:please|thanks|thank you))*"
_YES: Final = re.compile(
    _WELL + r"(?:(?:yes|yeah|yep|yup|sure|of course|ok|okay|fine|alright|all right|agreed|i agree|approved"
    r"|certainly|absolutely|go ahead|please do|(?:please )?(?:do|run|allow|approve) (?:it|that)) ?)+"
    + _THANKS
)
_NO: Final = re.compile(
    _WELL + r"(?:(?:no|nope|nah|never|not now|(?:i'd )?rather not|denied"
    r"|(?:please )?(?:don't|do not)(?: (?:do|run|allow) (?:it|that))?|(?:deny|refuse)(?: it| that)?) ?)+"
    + _THANKS
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
