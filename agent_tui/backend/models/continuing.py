"""Answers that continue an interrupted one: repeated words are dropped.

Some providers let a model continue its own text as if nothing had happened. Others are asked in words, and
begin a message of their own, mostly with the last words of the one before.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator
from dataclasses import dataclass

from agent_tui.backend.models.model import (
    ApartPiece,
    CallPiece,
    Model,
    ModelRequest,
    Piece,
    StepPiece,
    TextPiece,
    ThinkingPiece,
    close,
)
from agent_tui.model.errors import ModelError

LEAST_BYTES = 8  # of UTF-8: shorter words may occur twice by chance
QUOTED_CHARACTERS = 80
LEAST_WORDS, LEAST_CUT = 2, 3  # characters of repeated last words: of whole ones, and of one cut off
_QUOTES = re.compile("[\"'“”„«»‘’「」『』]")
_OPENING = re.compile(f"\\s*(?:(?:{_QUOTES.pattern}|…|\\.\\.+)\\s*)+")
_CLOSING = re.compile(f"(?:…|\\.\\.\\.)?{_QUOTES.pattern}")
_MAY_CLOSE = re.compile("…?|\\.{0,3}")
_ENDS_WORD = re.compile(r"[a-zA-Z0-9.,;:!?)]\Z")  # followed by a space, unless code begins there


def instruction(before: str) -> str:
    """Return the prompt for a model that cannot be given the beginning of its answer."""
    return (
        "[Your last message was cut off. Go on with it: begin with its last words, exactly as they are: "
        f"{quoted_end(before)}\nThen write only what is missing, without a comment.]"
    )


def quoted_end(before: str) -> str:
    """Return the last words of ``before``, with which a model is to begin."""
    line = before.rstrip().rpartition("\n")[2]
    end = line[-QUOTED_CHARACTERS:]
    if len(line) > len(end):
        end = end.partition(" ")[2] or end
    return end


def continuing_model(model: Model, request: ModelRequest) -> Model:
    """Return ``model``; if the request continues an answer, one that leaves out what it repeats."""
    return ContinuingModel(model) if request.continues else model


@dataclass(frozen=True, slots=True)
class ContinuingModel:
    """A ``Model`` that says only what is new after ``request.continues``."""

    model: Model

    @property
    def name(self) -> str:
        return self.model.name

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Piece]:
        """Yield what is new; see ``Model.stream``."""
        rest = NewText(request.continues)
        pieces = self.model.stream(request)
        try:
            async for piece in pieces:
                match piece:
                    case ApartPiece():
                        rest.is_apart = True
                    case TextPiece(text):
                        if new := rest.take(text):
                            yield TextPiece(new)
                    case CallPiece() | ThinkingPiece() | StepPiece():
                        if new := rest.end():
                            yield TextPiece(new)
                        yield piece
                    case _:
                        yield piece
        except ModelError:
            if new := rest.end():  # said before the call failed
                yield TextPiece(new)
            raise
        finally:
            await close(pieces)
        if new := rest.end():
            yield TextPiece(new)


class NewText:
    """Takes what is said after ``before`` and returns what is new in it.

    It holds words back as long as they may repeat the end of ``before``, or all of it from the beginning,
    also in quotes or after "…". ``is_apart``: they are a message of their own, which was asked to begin with
    the last words of ``before``, and begins without a space.
    """

    def __init__(self, before: str) -> None:
        self.is_apart = False
        self._bare = before.rstrip()  # as providers get it: most want no white space at the end
        self._blank = before[len(self._bare) :]
        self._folded = _folded(self._bare)
        self._held = ""
        self._is_new = False
        self._is_quoted = False  # the repetition is quoted: the end of the quotes is dropped, too

    def take(self, text: str) -> str:
        """Return what can be passed on, now that ``text`` has come."""
        if self._is_new and not self._is_quoted:
            return text
        self._held += text
        return self._next(is_over=False)

    def end(self) -> str:
        """Return the rest: nothing more is said, or something else."""
        return self._next(is_over=True) if self._held else ""

    def _next(self, *, is_over: bool) -> str:
        if self._is_new:
            return self._behind_quotes(is_over=is_over)
        opening = _OPENING.match(self._held)
        whole = self._held.lstrip()
        inner = self._held[opening.end() :] if opening is not None else whole
        for words in dict.fromkeys((whole, inner)):
            repeated = self._repeated(_folded(words), is_over=is_over)
            if repeated is None:
                return ""  # too short to decide, or a repetition so far
            if repeated:
                self._is_new = True
                self._is_quoted = words == inner and bool(_QUOTES.search(self._held[: -len(inner)]))
                self._held = words[repeated:]
                return self._behind_quotes(is_over=is_over)
        held, self._held, self._is_new = self._held, "", True
        if not self.is_apart:
            return _behind(self._blank, held)
        words = held.lstrip()
        begins_word = words[:1].isascii() and words[:1].isalnum()
        needs_space = begins_word and not self._blank and _ENDS_WORD.search(self._bare) is not None
        return f" {words}" if needs_space else words

    def _repeated(self, words: str, *, is_over: bool) -> int | None:
        """Return how many characters of ``words`` are a repetition; ``None`` as long as that is not clear."""
        bare, length = self._folded, _least(words)
        if not length and not is_over:
            return None
        places = _places(bare, words[:length]) if length else []
        if not is_over and any(bare.startswith(words, place) for place in places):
            return None
        for place in places:
            if words.startswith(bare[place:]):
                return len(bare) - place
        if places and not places[0] and bare.startswith(words):
            return len(words)  # it began again, and did not get as far as before
        return self._last_words(words) if self.is_apart else 0

    def _last_words(self, words: str) -> int:
        """Return the length of the last words if ``words`` begins with them, however few.

        They are those with which it was asked to begin, or whole words, the last of which may be cut off.
        """
        bare = self._folded
        for length in range(min(len(words), len(bare)), 0, -1):
            if not bare.endswith(words[:length]):
                continue
            if words[:length] == _folded(quoted_end(self._bare)):
                return length
            is_ascii, last, next_ = words[0].isascii(), words[length - 1], words[length : length + 1]
            is_whole = not (is_ascii and bare[-length - 1 : -length].isalnum())
            goes_on = is_ascii and last.isalnum() and next_.isalnum()
            if is_whole and words[0].isalnum() and length >= (LEAST_CUT if goes_on else LEAST_WORDS):
                return length
        return 0

    def _behind_quotes(self, *, is_over: bool) -> str:
        """Return what follows the repeated words."""
        closing = _CLOSING.match(self._held) if self._is_quoted else None
        if self._is_quoted and closing is None and not is_over and _MAY_CLOSE.fullmatch(self._held):
            return ""
        held = self._held if closing is None else self._held[closing.end() :]
        self._held, self._is_quoted = "", False
        return _behind(self._blank, held)


def _folded(text: str) -> str:
    """Return ``text`` in lower case, if that keeps every character at its index."""
    lowered = text.lower()
    return lowered if len(lowered) == len(text) else text


def _least(text: str) -> int:
    """Return how many characters of ``text`` are too many to be repeated by chance; 0 if it is too short."""
    size = 0
    for count, character in enumerate(text, 1):
        size += len(character.encode("utf-8", "replace"))
        if size >= LEAST_BYTES:
            return count
    return 0


def _places(text: str, words: str) -> list[int]:
    """Return the places of ``words`` in ``text``, in order."""
    found, place = [], text.find(words)
    while place >= 0:
        found.append(place)
        place = text.find(words, place + 1)
    return found


def _behind(blank: str, rest: str) -> str:
    """Return ``rest`` without the white space ``blank`` with which the text before it ends already."""
    if rest.startswith(blank):
        return rest[len(blank) :]
    return rest.lstrip()
