"""Folding and unfolding the steps of a transcript."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from widgets.transcript.finding import Match
from widgets.transcript.step import TranscriptStep
from widgets.transcript.view import Place

if TYPE_CHECKING:
    from widgets.transcript.transcript import Transcript


class Folds:
    """What the reader folded or unfolded stays so, whatever comes and whatever the program wants; also where
    all is cleared and comes again.
    """

    def __init__(self, transcript: Transcript) -> None:
        self.chosen: dict[str, bool] = {}  # what the reader folded (or not), by key; transcripts may share it
        self._transcript = transcript
        self._view = transcript.view

    def fold(self, key: str, is_folded: bool) -> None:
        """Fold or unfold a step, unless the reader did so before."""
        step = self._transcript.messages.get(key)
        if isinstance(step, TranscriptStep) and key not in self.chosen and step.fold(is_folded):
            self._transcript.clock.mark(self._transcript)

    def is_folded(self, key: str) -> bool:
        step = self._transcript.messages.get(key)
        return isinstance(step, TranscriptStep) and step.is_folded

    def step_at_reader(self) -> str:
        """Return the key of the step that the reader chose, else of the topmost visible one; or ""."""
        number = self._number_at_reader()
        return self._view.messages[number].key if number >= 0 else ""

    def _number_at_reader(self) -> int:
        messages, chosen = self._view.messages, self._transcript.reader.chosen
        for number in [chosen, *(place.message for place in self._view.visible)]:
            if 0 <= number < len(messages) and isinstance(messages[number], TranscriptStep):
                return number
        return -1

    def toggle(self, key: str = "") -> str:
        """Fold or unfold the step ``key``, else the reader's; return its key, or ""."""
        number = self._number_at_reader()
        if key:
            message = self._transcript.messages.get(key)
            number = self._view.messages.index(message) if message is not None else -1
        return self._view.messages[number].key if number >= 0 and self.toggle_number(number) else ""

    def toggle_number(self, number: int) -> bool:
        """Fold or unfold message ``number``, from 0, for the reader; its head stays visible. Return whether
        it is a step.
        """
        view, head = self._view, Place(number, 0, 0)
        step = view.messages[number]
        if not isinstance(step, TranscriptStep):
            return False
        is_folded = not step.is_folded
        row = view.visible.index(head) if head in view.visible else -1
        self._fold_for_good(step, is_folded=is_folded)
        if view.follow and not is_folded and row >= 0:
            view.frame()
            if head not in view.visible:
                view.show(head, above=row, is_held=False)
        elif is_folded:
            view.scroll(0)
        self._transcript.redraw()
        return True

    def fold_all(self, keys: Iterable[str] | None = None, *, is_folded: bool | None = None) -> None:
        """Fold or unfold steps for the reader: all, or those with these keys. Without ``is_folded``: fold if
        any is unfolded, else unfold.
        """
        messages = self._transcript.messages
        steps = [
            step
            for key in (messages if keys is None else keys)
            if isinstance(step := messages.get(key), TranscriptStep)
        ]
        if is_folded is None:
            is_folded = any(not step.is_folded for step in steps)
        for step in steps:
            self._fold_for_good(step, is_folded=is_folded)
        self._transcript.redraw()

    def reveal(self, match: Match) -> None:
        """Unfold the step of a match: the reader went there."""
        step = self._view.messages[match.message]
        if match.part and isinstance(step, TranscriptStep) and step.is_folded:
            self._fold_for_good(step, is_folded=False)

    def _fold_for_good(self, step: TranscriptStep, *, is_folded: bool) -> None:
        self.chosen[step.key] = is_folded
        step.fold(is_folded)
