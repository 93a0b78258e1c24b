"""A decoder's hypothesis, and whether it is plausible."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, replace

_LEAST_LOGPROB = -1.1  # the decoder's own confidence, per token: below this it is a guess …
_LEAST_SPOKEN_LOGPROB = -1.6  # … unless it is sure that there is speech: a few wrong words beat none
_SPEECH = 0.4  # below this it is: voices, also synthetic ones, measured 0.07 to 0.29, noise 0.62 to 0.96
_NO_SPEECH = 0.7  # above this the decoder itself says that nobody spoke …
_UNSURE_LOGPROB = -0.55  # … unless it is sure of the words
_LEAST_SPEECH_SECONDS = 0.12  # a click
_MOST_WORDS_PER_SECOND = 8.0
_SPARE_WORDS = 3  # short words take less time than the rate says
_FEWEST_WORDS_PER_SECOND = 0.25  # four seconds of speech are more than one word
_LONG_SPEECH_SECONDS = 4.0

# What speech models write for noise: captions of videos, music, brackets around sounds.
_NOISE = re.compile(
    r"[\s.…♪*-]*|\(.*\)|\[.*\]|(?:thank you|thanks)(?: (?:so|very) much)?(?: for watching)[.!]*"
    r"|(?:please )?subscribe.*|subtitles by .*",
    re.IGNORECASE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """``logprob`` is the mean per token, ``no_speech`` the probability that there is no speech."""

    text: str
    logprob: float = 0.0
    no_speech: float = 0.0

    def is_plausible(self, speech_seconds: float) -> bool:
        """Return whether it can be what was said in this much speech, as the voice detector measured it."""
        if _NOISE.fullmatch(self.text.strip()) or speech_seconds < _LEAST_SPEECH_SECONDS:
            return False
        if self.logprob < (_LEAST_SPOKEN_LOGPROB if self.no_speech < _SPEECH else _LEAST_LOGPROB):
            return False
        if self.no_speech > _NO_SPEECH and self.logprob < _UNSURE_LOGPROB:
            return False
        words = len(self.text.split())
        if words > _MOST_WORDS_PER_SECOND * speech_seconds + _SPARE_WORDS:
            return False
        return speech_seconds < _LONG_SPEECH_SECONDS or words >= _FEWEST_WORDS_PER_SECOND * speech_seconds


def is_looped(text: str) -> bool:
    """Return whether the decoder looped: it repeated the same three or more words three times."""
    words = re.sub(r"[^\w\s']", "", text.lower()).split()
    for length in range(1, len(words) // 3 + 1):
        tail = words[-length:]
        times = 1
        while words[-length * (times + 1) : -length * times] == tail:
            times += 1
        if times >= 3 and length * times >= 6:
            return True
    # The last repetition may be cut off by the limit of tokens.
    half = len(words) // 2
    return len(words) >= 6 and any(words[:n] == words[n : 2 * n] and 2 * n >= 6 for n in range(3, half + 1))


def plain_words(text: str) -> list[str]:
    """Return the words of ``text`` in lower case, without signs."""
    return re.findall(r"[\w']+", text.lower())


def with_known_words(text: str, other: str, vocabulary: Collection[str]) -> str:
    """Return ``text`` with the words of ``other`` (as many) that are in the ``vocabulary``."""
    ours, theirs = text.split(), other.split()
    if len(ours) != len(theirs):
        return text
    taken = []
    for our, their in zip(ours, theirs, strict=True):
        bare = "".join(plain_words(their))
        our_bare = "".join(plain_words(our))
        taken.append(their if bare in vocabulary and our_bare not in vocabulary else our)
    return " ".join(taken)


def tidied(hypothesis: Hypothesis) -> Hypothesis:
    """Return the text with white space as in a sentence."""
    return replace(hypothesis, text=" ".join(hypothesis.text.split()))
