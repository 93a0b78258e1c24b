"""Cuts text that arrives in pieces where a voice may breathe: first as early as possible, then at
sentences.
"""

from __future__ import annotations

import re

_FIRST_CHARACTERS = 12  # a shorter first clause would sound torn off
_FIRST_LONGEST_CHARACTERS = 100  # without a comma or full stop: the listener has waited long enough
_LONGEST_CHARACTERS = 240  # a "sentence" of a list without full stops

_FENCE = re.compile(r"^[ \t]*(?:```|~~~)[^\n]*(?:\n|$)", re.MULTILINE)
# The end of a sentence: its sign, closing signs after it, and white space, which proves that it is the end.
_SENTENCE = re.compile(
    r"[.!?…]+[\"'”’)\]]*\s+|[\u3002\uff01\uff1f]+[\u300d\u300f”]?"
    r"|\n\s*\n|\n(?=\s*(?:[-*+•]|\d+[.)])\s)|:\s*\n"
)
_CLAUSE = re.compile(r"[,;:—–]\s+|\s[—–-]\s+|[\uff0c\uff1b\uff1a\u3001]|\n")
# The best place to cut a first clause without any sign: before a word that begins a new group of words.
_JOINT = re.compile(
    r"\s(?=(?:and|or|but|because|which|that|who|when|while|where|so|as|if|with|for|from|in|on|at|to|of)\s)"
)
# What ends in a full stop without ending a sentence.
_SHORT = re.compile(
    r"(?:\b(?:Mr|Mrs|Ms|Dr|Prof|St|vs|etc|e\.g|i\.e|approx|No|Nr|Fig|cf|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sep|Sept"
    r"|Oct|Nov|Dec)|\b[A-Z]|(?:^|\n)\s*\d{1,3})\.\s+$"
)


class Clauses:
    """Cuts one answer. What is pushed comes out again, every character once and in order."""

    def __init__(self) -> None:
        self._open = ""
        self._is_first = True

    def push(self, text: str) -> list[str]:
        """Return the clauses that ``text`` completes."""
        self._open += text
        done: list[str] = []
        while clause := self._next():
            done.append(clause)
        return done

    def finish(self) -> list[str]:
        """Return the rest, and start over."""
        rest, self._open, self._is_first = self._open, "", True
        return [rest] if rest.strip() else []

    def _next(self) -> str:
        end = self._end()
        if not end:
            return ""
        clause, self._open = self._open[:end], self._open[end:]
        if clause.strip():
            self._is_first = False
        return clause

    def _end(self) -> int:
        fence = _FENCE.search(self._open)
        if fence and not self._open[: fence.start()].strip():
            closed = _FENCE.search(self._open, fence.end())
            return closed.end() if closed else 0
        end = self._plain_end()
        return fence.start() if fence and (not end or end > fence.start()) else end

    def _plain_end(self) -> int:
        sentence = self._sentence_end()
        if self._is_first:
            for match in _CLAUSE.finditer(self._open):
                if match.end() > _FIRST_CHARACTERS:
                    return min(match.end(), sentence) if sentence else match.end()
        if sentence:
            return sentence
        longest = _FIRST_LONGEST_CHARACTERS if self._is_first else _LONGEST_CHARACTERS
        return self._last_breath(longest) if len(self._open) > longest else 0

    def _sentence_end(self) -> int:
        for match in _SENTENCE.finditer(self._open):
            if self._open[: match.start()].strip() and not _SHORT.search(self._open[: match.end()]):
                return match.end()
        return 0

    def _last_breath(self, longest: int) -> int:
        signs = _JOINT if self._is_first else _CLAUSE
        breaths = [match.end() for match in signs.finditer(self._open, 0, longest)]
        ends = [end for end in breaths if end > _FIRST_CHARACTERS]
        space = self._open.rfind(" ", 0, longest) + 1
        return ends[-1] if ends else space or longest
