"""The reader's actions in a transcript: selecting, copying, finding, going from message to message."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from widgets.layout import PaintedLine
from widgets.painter import Painter
from widgets.transcript.finding import FindCount, Finder
from widgets.transcript.happened import CopyRequested, FoundChanged, SelectionChanged, What
from widgets.transcript.marks import CHOSEN_SIGN, CHOSEN_STEP, SEAM_SIGN, Mark, MarkedLines, with_sign
from widgets.transcript.message import TranscriptMessage
from widgets.transcript.selection import Selection, Sources, code_of
from widgets.transcript.step import TranscriptStep
from widgets.transcript.view import Place

if TYPE_CHECKING:
    from widgets.transcript.transcript import Transcript

FOUND_SHARE: Final = 3  # a match is shown this part of the height below the top


class Reader:
    """The reader's side of a transcript; costs nothing until it is used. The *current* message is the one
    that was clicked, found or gone to while it is visible, else the newest visible one.
    """

    def __init__(self, transcript: Transcript) -> None:
        self._transcript = transcript
        self._view = transcript.view
        self.finder: Finder | None = None
        self.forget()

    def forget(self) -> None:
        """Start over for other messages; the search text stays."""
        needle = self.finder.needle.text if self.finder is not None else ""
        self._sources = Sources(self._view)
        self._selection = Selection(self._view, self._sources)
        self.finder = Finder(self._view, needle) if needle else None
        self._posted_found = FindCount()
        self._marked = MarkedLines()
        self.choose(-1)

    def choose(self, message: int, part: int | None = None) -> None:
        """Choose a message, counted from 0, and a part of it; -1 for none."""
        self.chosen = message
        self._cursor = None if part is None else (message, part)

    @property
    def message_count(self) -> int:
        return len(self._view.messages)

    @property
    def current_message(self) -> int:
        """The number of the current message, from 1; 0 if there is none. The one above a rule, for a rule."""
        visible = self._view.visible
        number = visible[-1].message + 1 if visible else self.message_count
        if 0 <= self.chosen < self.message_count:
            number = self.chosen + 1
        return self._beside_rule(number, -1)

    def _beside_rule(self, number: int, step: int) -> int:
        """Return ``number``, or if that is a rule, the first in the direction of ``step`` that is none."""
        while 0 < number <= self.message_count and self._view.messages[number - 1].is_rule:
            number += step
        return number

    def go_to_message(self, number: int) -> None:
        """Bring the nearest such message to the top; a visible step is chosen where it is."""
        if not self.message_count:
            return
        self.choose(max(1, min(number, self.message_count)) - 1)
        head = Place(self.chosen, 0, 0)
        is_step = isinstance(self._view.messages[self.chosen], TranscriptStep)
        if is_step and head in self._view.visible:
            self._view.stay()
        else:
            self._view.show(head, above=self._view.height // FOUND_SHARE if is_step else 0)
        self._transcript.redraw()

    def step_message(self, step: int) -> None:
        """Go to the previous message (-1) or the next one (+1); first to the beginning of a long one."""
        current, visible = self.current_message, self._view.visible
        if (
            step < 0
            and self.chosen < 0
            and visible
            and visible[0] > self._view.nearest(Place(current - 1, 0, 0))
        ):
            step += 1
        self.go_to_message(self._beside_rule(current + step, step))

    def message_text(self) -> str:
        """Return all of the current message, in the Markdown it was sent as. One without words, that only
        says how an answer ended, stands for the one above, unless it was chosen.
        """
        current = self.current_message
        last = current if self.chosen >= 0 else 1
        numbers = range(current, max(1, last) - 1, -1)
        texts = (self._view.messages[number - 1].uncut_text().strip("\n") for number in numbers)
        return next(filter(None, texts), "")

    def code_text(self) -> str:
        """Return the code that was clicked or found, else the newest visible one, without fences and
        containers' signs; or "".
        """
        parts = [(place.message, place.part) for place in reversed(self._view.visible)]
        for message, part in [self._cursor, *parts] if self._cursor else parts:
            if self._is_code(message, part):
                return code_of(self._view.messages[message], part)
        return ""

    def _is_code(self, message: int, part: int) -> bool:
        if message >= self.message_count or part >= self._view.messages[message].part_count:
            return False
        return self._view.messages[message].part(part).kind == "code"

    def copy(self, what: What) -> None:
        """Ask to copy ``what``; the selection, if there is one, even if ``what`` is the message."""
        if what == "message" and self.has_selection:
            what = "selection"
        texts = {"message": self.message_text, "code": self.code_text, "selection": self.selected_text}
        self._transcript.post_message(CopyRequested(self._transcript, texts[what](), what))

    @property
    def has_selection(self) -> bool:
        return self._selection.range() is not None

    def selected_text(self) -> str:
        """Return the source of the selection, or ""."""
        return self._selection.text()

    def press(self, place: Place, cell: int) -> None:
        """Clear the selection, and begin a new one at a cell of a row."""
        self.clear_selection()
        self._selection.begin(self._sources.at(place, cell))

    def extend(self, place: Place, cell: int) -> None:
        self._selection.extend(self._sources.at(place, cell))
        self._selection_changed()

    def select(self, place: Place, cell: int, *, is_word: bool) -> None:
        """Select the word at a cell of a row, or its block."""
        spot = self._sources.word_at(place, cell) if is_word else self._sources.block_at(place)
        self._selection.begin(spot, is_selected=True)
        self._selection_changed()

    def clear_selection(self) -> None:
        if self._selection.is_extended:
            self._selection.clear()
            self._selection_changed()

    def _selection_changed(self) -> None:
        self._transcript.redraw()
        self._transcript.post_message(SelectionChanged(self._transcript))
        self._transcript.refresh_bindings()

    def find(self, needle: str) -> None:
        """Find ``needle`` in all messages, frame by frame, and mark it; "" ends that. Case does not matter
        unless the needle has an upper-case letter.
        """
        finder = Finder(self._view, needle)
        self.finder = finder if finder.needle.text else None
        self._post_found()
        self._transcript.redraw()

    def find_step(self, step: int) -> None:
        """Go to the next match (+1) or the previous one (-1), cyclically."""
        if self.finder is not None and self.finder.step(step) is not None:
            self._show_found(self.finder)
            self._post_found()
        self._transcript.redraw()

    @property
    def found(self) -> FindCount:
        """The index of the reader's match, how many there are so far, and whether those are all."""
        return self.finder.found if self.finder is not None else FindCount()

    def restarted(self, message: TranscriptMessage) -> None:
        """Forget what was found in a message whose text was replaced."""
        if self.finder is not None:
            self.finder.restarted(message)

    def search_on(self) -> bool:
        """Search for one frame's share; return whether something is left."""
        if self.finder is None:
            return False
        before = self.finder.current
        is_left = self.finder.work()
        if self.finder.current != before:
            self._show_found(self.finder)
        self._post_found()
        return is_left

    def _show_found(self, finder: Finder) -> None:
        match = finder.current
        if match is None:
            return
        self.choose(match.message, match.part)
        self._transcript.folds.reveal(match)
        place = finder.place_of(match)
        if place in self._view.visible:
            self._view.stay()
        else:
            self._view.show(place, above=self._view.height // FOUND_SHARE)

    def _post_found(self) -> None:
        if self.found != self._posted_found:
            self._posted_found = self.found
            self._transcript.post_message(FoundChanged(self._transcript, self._posted_found))

    def overlaid(self, lines: list[PaintedLine], painter: Painter) -> list[PaintedLine]:
        """Return the composed rows with marks for what is found, selected and chosen."""
        visible = self._view.visible
        for index, place in enumerate(visible):
            if self._view.messages[place.message].seams and self._is_at_seam(place):
                lines[index] = with_sign(lines[index], SEAM_SIGN, painter, is_dim=True)
        if self.finder is None and not self._selection.is_extended and self.chosen < 0:
            return lines
        if all(place.message != self.chosen for place in visible) and not self._view.is_unsettled:
            self.choose(-1)  # the reader moved on
        for index, place in enumerate(visible):
            if marks := self._marks(place):
                lines[index] = self._marked.line(lines[index], marks, painter)
        for index, place in enumerate(visible):
            above = self._view.messages[place.message].APART  # the empty row above it
            if place.message == self.chosen and (place.part or place.row >= above):
                lines[index] = with_sign(lines[index], CHOSEN_SIGN if above else CHOSEN_STEP, painter)
                break
        return lines

    def _is_at_seam(self, place: Place) -> bool:
        """Whether the text was interrupted in this row and continued."""
        message = self._view.messages[place.message]
        block = message.part(place.part)
        seams = [seam for seam in message.seams if block.start < seam <= block.end]
        if not place.part or not seams:
            return False
        rows = self._sources.rows(place)
        starts = [row.first for row in rows if row.first < row.last]  # the others are empty, or ours
        row = rows[place.row]
        end = min((start for start in starts if start > row.first), default=message.text.length)
        return row.first < row.last and any(row.first < seam <= end for seam in seams)

    def _marks(self, place: Place) -> list[Mark]:
        marks: list[Mark] = []
        if self.finder is not None:
            for start, end, is_current in self.finder.cells(place):
                marks.append(Mark(start, end, "found-current" if is_current else "found"))
        start, end = self._selection.cells(place)
        if start < end:
            marks.append(Mark(start, end, "selection"))
        return marks
