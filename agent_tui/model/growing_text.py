"""A text that grows at its end and is read in slices; a slice costs about as much as its characters."""

from __future__ import annotations

from typing import Final

# Short: adding may copy the last piece.
PIECE_CHARACTERS: Final = 1024


class GrowingText:
    """Adding copies one piece at most; a slice costs its own length and one piece.

    Additions are not kept as small strings: a million of them need 65 MB for 3 MB of words. ``revision``
    counts how often the text was replaced instead of added to: then readers of ``since`` must start over.
    """

    __slots__ = ("_full", "_last", "length", "revision")

    def __init__(self) -> None:
        self.revision = 0
        self._clear()

    def _clear(self) -> None:
        self._full: list[str] = []  # PIECE_CHARACTERS each
        self._last = ""  # what follows those
        self.length = 0

    def __repr__(self) -> str:
        return f"GrowingText({self.length} characters, revision {self.revision})"

    def add(self, text: str) -> None:
        """Add ``text`` at the end."""
        self.length += len(text)
        last = self._last + text
        if len(last) < PIECE_CHARACTERS:
            self._last = last
            return
        end = len(last) - len(last) % PIECE_CHARACTERS
        for start in range(0, end, PIECE_CHARACTERS):
            self._full.append(last[start : start + PIECE_CHARACTERS])
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
            return self._last[start - base : end - base]
        pieces = full[first : -(-end // PIECE_CHARACTERS)]
        if end > len(full) * PIECE_CHARACTERS:
            pieces.append(self._last)
        return "".join(pieces)[skipped : skipped + end - start]

    def since(self, start: int) -> str:
        """Return what follows the first ``start`` characters. Costs as much as it returns."""
        return self.slice(max(0, start), self.length)

    @property
    def text(self) -> str:
        """All of it. Costs its length: for ends and exports, not for every chunk."""
        return "".join((*self._full, self._last))
