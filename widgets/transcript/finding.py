"""Find in a transcript: searches what is shown, a limited amount in each frame.

A match is kept as the *letters* it covers, counted from the beginning of its part without spaces and our
signs. Those are the same at every width, so a resize neither finds nor loses anything.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from html import unescape
from typing import Final, NamedTuple

from widgets.markdown.letters import LetterRows, count_letters, reading
from widgets.transcript.message import TranscriptMessage
from widgets.transcript.view import Place, View

FIND_BUDGET: Final = 49_152  # characters searched in one frame: a few milliseconds
NEEDLE_CHARACTERS: Final = 200
PREFILTER_SHARE: Final = 10  # characters that the first filter checks at the cost of one that is searched
PART_COST: Final = 32  # a part costs as much as this many characters
_BLANKS: Final = re.compile(r"\s+")
_NO_WORD: Final = re.compile(r"[\W_]+")


class FindCount(NamedTuple):
    """The index of the reader's match (from 1; 0: none), how many there are, and whether the search is
    complete.
    """

    current: int = 0
    total: int = 0
    is_complete: bool = True


class Match(NamedTuple):
    """Letters ``start`` to ``end`` of a part of a message; matches are sorted in reading order."""

    message: int
    part: int
    start: int
    end: int


class Needle:
    """The text to find; an upper-case letter in it makes it case-sensitive."""

    def __init__(self, text: str) -> None:
        self.text = _BLANKS.sub(" ", text).strip()[:NEEDLE_CHARACTERS]
        self._is_exact = self.text != self.text.lower()
        if not self._is_exact:
            self.text = self.text.casefold()
        self._probe = max(_NO_WORD.split(self.text), key=len)

    def may_be_in(self, source: str) -> bool:
        """Whether a Markdown text may show the needle: it contains its longest word, ignoring markup."""
        if not self._probe:
            return True
        folded = source if self._is_exact else source.casefold()
        if self._probe in folded:
            return True
        if "&" in source:  # entities may be letters
            folded = unescape(source) if self._is_exact else unescape(source).casefold()
        return self._probe in _NO_WORD.sub("", folded)

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield the places of the needle in a text with single spaces."""
        folded, places = (text, None) if self._is_exact else _folded(text)
        at = folded.find(self.text)
        while at >= 0:
            end = at + len(self.text)
            yield (at, end) if places is None else (places[at], places[end - 1] + 1)
            at = folded.find(self.text, end)


def _folded(text: str) -> tuple[str, list[int] | None]:
    """Return a text in lower case and, if that changes lengths, the index each character comes from."""
    folded = text.casefold()
    if len(folded) == len(text):
        return folded, None
    pieces = [char.casefold() for char in text]
    return folded, [index for index, piece in enumerate(pieces) for _ in piece]


class Finder:
    def __init__(self, view: View, needle: str) -> None:
        self.needle = Needle(needle)
        self.total = 0
        self.current: Match | None = None
        self._view = view
        self._matches: dict[int, list[Match]] = {}  # messages with matches, in complete and open parts
        self._searched: dict[int, int] = {}  # parts of a message that will not change anymore
        self._candidates: set[int] = set()  # messages that passed the first filter
        self._todo: dict[int, None] = dict.fromkeys(_nearest_first(view))
        self._known = len(view.messages)
        self._number: tuple[Match | None, int] = (None, 0)
        self._step = 0  # requested before anything was found

    def grew(self, message: TranscriptMessage) -> None:
        if message.changed is not None:  # otherwise it has no number yet and was not searched
            self._todo[message.number] = None

    def restarted(self, message: TranscriptMessage) -> None:
        if message.changed is not None:
            self._searched.pop(message.number, None)
            self._candidates.discard(message.number)
            self._keep(message.number, [])
            self._todo[message.number] = None

    def work(self) -> bool:
        """Search for one frame's budget; return whether something is left."""
        if not self._view.is_ready:
            return False
        for number in range(self._known, len(self._view.messages)):
            self._todo[number] = None
        self._known = len(self._view.messages)
        budget = FIND_BUDGET
        while self._todo and budget > 0:
            number = next(iter(self._todo))
            cost, is_done = self._search(number, budget)
            budget -= cost
            if is_done:
                del self._todo[number]
        if self._step and (self.total or not self._todo):
            step, self._step = self._step, 0
            self.step(step)
        return bool(self._todo)

    @property
    def found(self) -> FindCount:
        return FindCount(self._current_number(), self.total, not self._todo)

    def _search(self, number: int, budget: int) -> tuple[int, bool]:
        """Search what is new in a message; return the cost, and whether all of it was searched."""
        message = self._view.messages[number]
        cost = PART_COST
        first = self._searched.get(number, 0)
        if first == 0 and message.is_closed and number not in self._candidates:
            text = message.text.whole
            cost += len(text) // PREFILTER_SHARE
            labels = message.part(0).label + message.part(message.parts_in_all - 1).label
            if not self.needle.may_be_in(text) and not self.needle.may_be_in(labels):
                return cost, True
            self._candidates.add(number)
        if not message.is_split:
            message.know_width(self._view.width)
            cost += message.settle(budget)
            if not message.is_split:
                return cost, False
        own = self._matches.get(number, [])
        kept = own[: bisect_left(own, Match(number, first, -1, -1))]
        complete = 1 + len(message.blocks)
        for part in range(first, message.parts_in_all):
            if cost >= budget and part > first:  # at least one, otherwise a huge message would never end
                self._searched[number] = min(part, complete)
                self._keep(number, kept)
                return cost, False
            found, spent = self._search_part(number, message, part)
            kept += found
            cost += spent
        self._searched[number] = complete
        self._keep(number, kept)
        return cost, True

    def _search_part(self, number: int, message: TranscriptMessage, part: int) -> tuple[list[Match], int]:
        block = message.part(part)
        text = message.text.of(block)
        if block.kind == "rule" or not self.needle.may_be_in(text or block.label):
            return [], PART_COST + len(text) // PREFILTER_SHARE
        shown = reading(block, text, is_open=_is_growing(message, part))
        matches = []
        for start, end in self.needle.spans(shown):
            before = count_letters(shown, 0, start)
            matches.append(Match(number, part, before, before + count_letters(shown, start, end)))
        return matches, PART_COST + len(text)

    def _keep(self, number: int, matches: list[Match]) -> None:
        before = self._matches.pop(number, [])
        self.total += len(matches) - len(before)
        if matches:
            self._matches[number] = matches
        self._number = None, 0
        if self.current is not None and self.current.message == number and self.current not in matches:
            self.current = None

    def step(self, step: int) -> Match | None:
        """Move to the next match (+1) or the previous one (-1), cyclically; at first to the first visible one
        or below (above). ``None`` while nothing is found: the step is made when something is.
        """
        if not self.total:
            self._step = step if self._todo else 0
            return None
        visible = self._view.visible
        edge = Match(0, 0, 0, 0)
        if self.current is not None:
            edge = self.current
        elif visible:
            place = visible[0] if step > 0 else visible[-1]
            edge = Match(place.message, place.part + (step < 0), -1, -1)
        self.current = self._beside(edge, step)
        return self.current

    def _beside(self, edge: Match, step: int) -> Match:
        """Return the next match after ``edge``, or the last one before it."""
        numbers = sorted(self._matches)
        at = bisect_left(numbers, edge.message)
        if at < len(numbers) and numbers[at] == edge.message:
            own = self._matches[edge.message]
            index = bisect_right(own, edge) if step > 0 else bisect_left(own, edge) - 1
            if 0 <= index < len(own):
                return own[index]
            at += step > 0
        at = at % len(numbers) if step > 0 else at - 1
        return self._matches[numbers[at]][0 if step > 0 else -1]

    def _current_number(self) -> int:
        current, number = self._number
        if self.current is None:
            return 0
        if current != self.current:
            first = self.current.message
            before = sum(len(own) for number, own in self._matches.items() if number < first)
            number = before + bisect_left(self._matches[self.current.message], self.current) + 1
            self._number = self.current, number
        return number

    def place_of(self, match: Match) -> Place:
        place = Place(match.message, match.part, 0)
        if not self._view.has(place):  # the text became something else since it was searched
            return place
        return place._replace(row=self._letters(place).row_of(match.start))

    def cells(self, place: Place) -> list[tuple[int, int, bool]]:
        """Return the cells of a row that matches cover (from, to), and whether it is the current match."""
        own = self._matches.get(place.message)
        if not own:
            return []
        first = bisect_left(own, Match(place.message, place.part, -1, -1))
        last = bisect_left(own, Match(place.message, place.part + 1, -1, -1))
        out = []
        for match in own[first:last]:
            cells = self._letters(place).cells(place.row, match.start, match.end)
            if cells is not None:
                out.append((*cells, match == self.current))
        return out

    def _letters(self, place: Place) -> LetterRows:
        layout = self._view.layout(place.message, place.part)
        if layout.letters is None:
            message = self._view.messages[place.message]
            block = message.part(place.part)
            is_open = _is_growing(message, place.part)
            width = message.block_width(block, self._view.width)
            layout.letters = LetterRows(block, message.text.of(block), layout.rows, width, is_open=is_open)
        return layout.letters


def _is_growing(message: TranscriptMessage, part: int) -> bool:
    return message.open_index(part) == len(message.open) - 1 >= 0


def _nearest_first(view: View) -> Iterator[int]:
    """Yield every message: visible ones from the newest up, then those above, then those below."""
    numbers = sorted({place.message for place in view.visible})
    first, last = (numbers[0], numbers[-1]) if numbers else (len(view.messages), len(view.messages) - 1)
    yield from range(last, -1, -1)
    yield from range(max(first, last + 1), len(view.messages))
