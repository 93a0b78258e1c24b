"""The selection, kept as places in the source: streaming, wrapping and resizing do not move it."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import replace
from typing import Final, NamedTuple

from widgets.ink import MARK, text_of
from widgets.markdown.offsets import RowOffsets, offsets
from widgets.markdown.rows import code_lines
from widgets.transcript.marks import cells_of, character_at
from widgets.transcript.message import TranscriptMessage
from widgets.transcript.view import Place, View

_BETWEEN_PIECES: Final = " \t\n>"  # everything between two pieces of one code block


class Spot(NamedTuple):
    """Characters ``start`` to ``end`` of a message's source: what one click hits."""

    message: int
    start: int
    end: int


class Sources:
    def __init__(self, view: View) -> None:
        self._view = view

    def rows(self, place: Place) -> list[RowOffsets]:
        layout = self._view.layout(place.message, place.part)
        if layout.offsets is None:
            message = self._view.messages[place.message]
            block = message.part(place.part)
            if place.part and block.kind in ("note", "failure"):  # our own rows, after the last word
                block = replace(block, start=message.text.length, end=message.text.length)
            width = message.block_width(block, self._view.width)
            layout.offsets = offsets(block, message.text.of(block), layout.rows, width)
        return layout.offsets

    def at(self, place: Place, cell: int) -> Spot:
        """Return what is at a cell of a row; after its end, the end of the row."""
        row = self._view.layout(place.message, place.part).rows[place.row]
        start, end = self.rows(place)[place.row].at(character_at(row, max(0, cell)))
        return Spot(place.message, start, end)

    def word_at(self, place: Place, cell: int) -> Spot:
        """Return the word at a cell of a row."""
        row = self._view.layout(place.message, place.part).rows[place.row]
        text, index = text_of(row), character_at(row, max(0, cell))
        found = self.rows(place)[place.row]
        if index >= len(text) or not _is_word(text[index]):
            return self.at(place, cell)
        first = last = index
        while first > 0 and _is_word(text[first - 1]):
            first -= 1
        while last + 1 < len(text) and _is_word(text[last + 1]):
            last += 1
        return Spot(place.message, found.starts[first], found.ends[last])

    def block_at(self, place: Place) -> Spot:
        """Return the whole block of a row; of code, all its pieces."""
        message = self._view.messages[place.message]
        block = message.part(place.part)
        if block.kind == "code":
            parts = code_parts(message, place.part)
            return Spot(place.message, message.part(parts[0]).start, message.part(parts[-1]).end)
        found = self.rows(place)
        return Spot(place.message, min(found[0].first, block.start), max(found[-1].last, block.end))

    def shown_range(self, message: int, part: int) -> tuple[int, int]:
        """Return where the first shown character of a part begins and where the last one ends."""
        starts, ends = [], []
        for row in self.rows(Place(message, part, 0)):
            first, last = row.between(0, self._view.messages[message].text.length)
            if first < last:
                starts.append(row.starts[first])
                ends.append(row.ends[last - 1])
        block = self._view.messages[message].part(part)
        return (min(starts), max(ends)) if starts else (block.start, block.end)


class Selection:
    """From where the button was pressed to where the pointer was last, both included."""

    def __init__(self, view: View, sources: Sources) -> None:
        self._view = view
        self._sources = sources
        self._anchor: Spot | None = None
        self._head: Spot | None = None
        self.is_extended = False  # a press alone selects nothing

    def begin(self, spot: Spot, *, is_selected: bool = False) -> None:
        """Begin at ``spot``; with ``is_selected`` it is selected at once (a word, a block)."""
        self._anchor = self._head = spot
        self.is_extended = is_selected

    def extend(self, spot: Spot) -> None:
        if self._anchor is None:
            self._anchor = spot
        self._head = spot
        self.is_extended = True

    def clear(self) -> None:
        self._anchor = self._head = None
        self.is_extended = False

    def range(self) -> tuple[tuple[int, int], tuple[int, int]] | None:
        """Return message and offset of both ends, or ``None`` if nothing is selected."""
        if self._anchor is None or self._head is None or not self.is_extended:
            return None
        first = min((self._anchor.message, self._anchor.start), (self._head.message, self._head.start))
        last = max((self._anchor.message, self._anchor.end), (self._head.message, self._head.end))
        return (first, last) if first < last else None

    def text(self) -> str:
        """Return the source of the selection, whole blocks with their signs; messages are joined by an empty
        line.
        """
        found = self.range()
        if found is None:
            return ""
        (first, start), (last, end) = found
        messages = self._view.messages
        pieces = []
        for number in range(first, min(last + 1, len(messages))):
            message = messages[number]
            until = end if number == last else message.text.length
            since = start if number == first else 0
            if number in (first, last):
                pieces.append(message.text.slice(*self._with_signs(number, since, until)))
            else:
                pieces.append(message.uncut_text())
        return "\n\n".join([text for piece in pieces if (text := piece.strip("\n"))])

    def cells(self, place: Place) -> tuple[int, int]:
        """Return the selected cells of a row (from, to); equal if none are."""
        found = self.range()
        if found is None or not found[0][0] <= place.message <= found[1][0]:
            return 0, 0
        (first, start), (last, end) = found
        until = end if place.message == last else self._view.messages[place.message].text.length
        rows = self._sources.rows(place)[place.row]
        since = start if place.message == first else 0
        characters = rows.between(since, until)
        if characters[0] == characters[1]:
            return 0, 0
        row = self._view.layout(place.message, place.part).rows[place.row]
        return cells_of(row, *_without_prefix(row, *characters))

    def _with_signs(self, number: int, start: int, end: int) -> tuple[int, int]:
        """Extend both ends to include the signs of blocks that are selected whole."""
        message = self._view.messages[number]
        bounds = []
        for offset in (start, max(start, end - 1)):
            part = part_at(message, offset)
            if part:
                first, last = self._sources.shown_range(number, part)
                if start <= first and last <= end:
                    block = message.part(part)
                    bounds += [block.start, block.end]
        return min([start, *bounds]), max([end, *bounds])


def part_at(message: TranscriptMessage, offset: int) -> int:
    """Return the part of a message that contains the character at ``offset``, or 0 without a block."""
    count = len(message.blocks) + len(message.open)
    return bisect_right(range(count), offset, key=lambda index: message.part(index + 1).start)


def code_parts(message: TranscriptMessage, part: int) -> list[int]:
    """Return the parts that are pieces of the same code block as ``part``, in order."""
    first = last = part
    while first > 1 and _goes_on(message, first - 1):
        first -= 1
    while last < len(message.blocks) + len(message.open) and _goes_on(message, last):
        last += 1
    return list(range(first, last + 1))


def code_of(message: TranscriptMessage, part: int) -> str:
    """Return the code of the block of ``part``, without fences and containers."""
    out: list[str] = []
    before = -1
    for number in code_parts(message, part):
        block = message.part(number)
        if before >= 0:
            out.append("\n" * message.text.slice(before, block.start).count("\n"))
        out.append("\n".join(code_lines(block, message.text.of(block))))
        before = block.end
    return "".join(out)


def _goes_on(message: TranscriptMessage, part: int) -> bool:
    """Whether the part after ``part`` is the next piece of the same code block."""
    block, after = message.part(part), message.part(part + 1)
    if block.kind != "code" or after.kind != "code":
        return False
    return not message.text.slice(block.end, after.start).strip(_BETWEEN_PIECES)


def _without_prefix(row: tuple[tuple[str, int], ...], first: int, last: int) -> tuple[int, int]:
    """Leave out our signs at the beginning of a row: bullets and bars are not selected."""
    prefix = 0
    for text, ink in row:
        if not ink & MARK:
            break
        prefix += len(text)
    return max(first, min(prefix, last)), last


def _is_word(char: str) -> bool:
    return char.isalnum() or char == "_"
