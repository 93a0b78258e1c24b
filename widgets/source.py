"""A text that grows at its end and is read in slices."""

from __future__ import annotations

from bisect import bisect_right
from typing import Final

PIECE_CHARACTERS: Final = 65_536


class Source:
    """Joins its pieces lazily, up to a bounded length: appending copies a character a few times over the
    whole life of the text, a slice costs its own length, and one wide character makes one piece wide.
    """

    __slots__ = ("_parts", "_starts", "length")

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._starts: list[int] = []
        self.length = 0

    def append(self, text: str) -> None:
        """Add ``text`` at the end."""
        if not text:
            return
        parts, starts = self._parts, self._starts
        parts.append(text)
        starts.append(self.length)
        self.length += len(text)
        while len(parts) > 1 and len(parts[-2]) <= min(2 * len(parts[-1]), PIECE_CHARACTERS):
            last = parts.pop()
            starts.pop()
            parts[-1] += last

    def slice(self, start: int, end: int) -> str:
        """Return characters ``start`` up to ``end``."""
        if start >= end:
            return ""
        first = bisect_right(self._starts, start) - 1
        offset = self._starts[first]
        if end <= offset + len(self._parts[first]):
            return self._parts[first][start - offset : end - offset]
        last = bisect_right(self._starts, end - 1)
        return "".join(self._parts[first:last])[start - offset : end - offset]

    def text(self) -> str:
        """Return all of it."""
        return "".join(self._parts)

    def compact(self) -> None:
        """Join what is left to be joined: nothing will be added soon."""
        if len(self._parts) > 1 and self.length <= PIECE_CHARACTERS:
            self._parts = ["".join(self._parts)]
            self._starts = [0]
