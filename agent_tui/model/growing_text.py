"""A text that grows at its end and is read in slices; a slice costs about as much as its characters."""

from __future__ import annotations

import sys
from typing import Final

# Short: adding may copy the last piece, and reading a little of a packed one unpacks it.
PIECE_CHARACTERS: Final = 1024


class GrowingText:
    """Adding copies one piece at most; a slice costs its own length and one piece.

    Additions are not kept as small strings: a million of them need 65 MB for 3 MB of words. Full pieces are
    packed, because a single emoji makes every character of a ``str`` four bytes wide. ``revision`` counts how
    often the text was replaced instead of added to: then readers of ``since`` must start over.
    """

    __slots__ = ("_full", "_last", "length", "revision")

    def __init__(self) -> None:
        self.revision = 0
        self._clear()

    def _clear(self) -> None:
        self._full: list[str | bytes] = []  # PIECE_CHARACTERS each
        self._last: str | bytes = ""  # what follows those; packed when nothing more is expected
        self.length = 0

    def __repr__(self) -> str:
        return f"GrowingText({self.length} characters, revision {self.revision})"

    def add(self, text: str) -> None:
        """Add ``text`` at the end."""
        self.length += len(text)
        last = (self._last if type(self._last) is str else _unpacked(self._last)) + text
        if len(last) < PIECE_CHARACTERS:
            self._last = last
            return
        end = len(last) - len(last) % PIECE_CHARACTERS
        for start in range(0, end, PIECE_CHARACTERS):
            self._full.append(_packed(last[start : start + PIECE_CHARACTERS]))
        self._last = last[end:]

    def replace(self, text: str) -> bool:
        """Replace the whole text; if ``text`` begins with the known one, the rest is only added. Return
        whether anything changed.
        """
        known = self.text
        if text == known:
            return False
        if text.startswith(known):
            self.add(text[len(known) :])
            return True
        self._clear()
        self.add(text)
        self.revision += 1
        return True

    def slice(self, start: int, end: int) -> str:
        """Return characters ``start`` to ``end``, which are not negative; fewer if there are fewer."""
        if start >= end:
            return ""
        full = self._full
        first, skipped = divmod(start, PIECE_CHARACTERS)
        if first >= len(full):
            base = len(full) * PIECE_CHARACTERS
            last = self._last if type(self._last) is str else _unpacked(self._last)
            return last[start - base : end - base]
        pieces = [_unpacked(piece) for piece in full[first : -(-end // PIECE_CHARACTERS)]]
        if end > len(full) * PIECE_CHARACTERS:
            pieces.append(_unpacked(self._last))
        return "".join(pieces)[skipped : skipped + end - start]

    def since(self, start: int) -> str:
        """Return what follows the first ``start`` characters. Costs as much as it returns."""
        return self.slice(max(0, start), self.length)

    @property
    def text(self) -> str:
        """All of it. Costs its length: for ends and exports, not for every chunk."""
        return "".join(map(_unpacked, (*self._full, self._last)))

    def compact(self) -> None:
        """Pack the last piece, too, since nothing will be added soon."""
        self._last = _packed(_unpacked(self._last))


def _packed(piece: str) -> str | bytes:
    """Return ``piece`` in the form that takes less memory."""
    if piece.isascii():
        return piece
    data = piece.encode("utf-8", "surrogatepass")  # halves of pairs come from JSON, and are kept
    return data if sys.getsizeof(data) < sys.getsizeof(piece) else piece


def _unpacked(piece: str | bytes) -> str:
    return piece if isinstance(piece, str) else piece.decode("utf-8", "surrogatepass")
