"""A text as it is told: mostly added to, now and then replaced."""

from __future__ import annotations

from agent_tui.model.growing_text import GrowingText


class ToldText:
    """``revision`` counts how often the text was replaced instead of added to, so that a reader who asks
    ``since`` for what is new knows when to start over.
    """

    __slots__ = ("_told", "revision")

    def __init__(self, text: str = "") -> None:
        self.revision = 0
        self._told = GrowingText()
        if text:
            self._told.append(text)

    def __repr__(self) -> str:
        return f"ToldText({self.length} characters, revision {self.revision})"

    @property
    def text(self) -> str:
        """The whole text so far. Costs its length: for ends and exports, not for every chunk."""
        return self._told.text()

    @property
    def length(self) -> int:
        """Characters of the whole text so far. O(1)."""
        return self._told.length

    def since(self, length: int) -> str:
        """Return what stands behind the first ``length`` characters. Costs what it returns, not what was
        said before.
        """
        return self._told.slice(max(0, length), self._told.length)

    def first(self, length: int) -> str:
        """Return at most the first ``length`` characters. Costs what it returns."""
        return self._told.slice(0, min(length, self._told.length))

    def add(self, text: str) -> None:
        """Append a chunk."""
        self._told.append(text)

    def replace(self, text: str) -> bool:
        """Take ``text`` for the whole; a longer text that begins with the known one is only added to.

        Return whether anything changed.
        """
        known = self.text
        if text == known:
            return False
        if text.startswith(known):
            self.add(text[len(known) :])
            return True
        self._told = GrowingText()
        self._told.append(text)
        self.revision += 1
        return True

    def compact(self) -> None:
        """Let the text take as little memory as it can: it is whole."""
        self._told.compact()
