"""What of a transcript is or was visible, and what is shown while the reader does nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from textual.geometry import Region

from widgets.transcript.reading import FOUND_SHARE
from widgets.transcript.view import Place

if TYPE_CHECKING:
    from widgets.transcript.transcript import Transcript


class Bookmark(NamedTuple):
    """Where the reader is, at any width: a part of a message, characters before the row, rows above it."""

    key: str
    part: int
    characters: int
    above: int


class Sight:
    """Which messages of a transcript are visible, and which rows of one of them ever were."""

    def __init__(self, transcript: Transcript) -> None:
        self._transcript = transcript
        self._view = transcript.view
        self.is_brought = False  # the view followed the end until something else was shown
        self._watched = ""  # the key of the message whose visible rows are noted
        self._shown: frozenset[tuple[int, int]] = frozenset()  # its rows: (part, row), at this width
        self._shown_width = 0
        self._tell: Callable[[], None] | None = None

    def number_of(self, key: str) -> int:
        """Return the number of the message with that key, from 1; 0 for none."""
        message = self._transcript.messages.get(key)
        return 0 if message is None else self._view.messages.index(message) + 1

    def end_row_at(self, key: str, y: int) -> str:
        """Return the row of the transcript at ``y`` as it is drawn, if it is of the last part of that
        message, else "".
        """
        row, number = y - self._transcript.canvas.head_height, self.number_of(key)
        if not number or not 0 <= row < len(self._view.visible):
            return ""
        last = self._view.messages[number - 1].part_count - 1
        if self._view.visible[row][:2] != (number - 1, last):
            return ""
        return self._transcript.render_line(y).text

    def has_head_of(self, number: int) -> bool:
        """Whether the first row of message ``number``, from 1, is visible."""
        self._fit_size()
        return any(
            place.message == number - 1
            and place.part == 0
            and place.row >= self._view.messages[number - 1].APART
            for place in self._view.visible
        )

    def bookmarks(self) -> list[Bookmark]:
        """Return a bookmark for each visible message: the reader's first, the others in their order."""
        view = self._view
        marks: dict[int, Bookmark] = {}
        for above, place in enumerate(view.visible):
            if place.message not in marks:
                key, characters = view.messages[place.message].key, view.characters_above(place)
                marks[place.message] = Bookmark(key, place.part, characters, above)
        chosen = self._transcript.reader.chosen
        return [marks[number] for number in sorted(marks, key=lambda number: number != chosen)]

    def has(self, mark: Bookmark) -> bool:
        """Whether the row of a bookmark is visible."""
        view, index = self._view, self.number_of(mark.key) - 1
        above = [view.characters_above(place) for place in view.visible if place[:2] == (index, mark.part)]
        return bool(above) and above[0] <= mark.characters <= above[-1]

    def open_at(self, mark: Bookmark) -> None:
        """Show the row of a bookmark where it was on the screen, and set the reader's place."""
        index = self.number_of(mark.key) - 1
        if index >= 0:
            self._view.show_later(index, *mark[1:])
            self._transcript.redraw()

    def note_rows_of(self, key: str, tell: Callable[[], None]) -> None:
        """From now on note which rows of that message are visible; ``tell`` is called once some are."""
        if key != self._watched:
            self._watched, self._shown, self._tell = key, frozenset(), tell
            self.note_rows()

    def forget(self) -> None:
        self._watched = ""

    def note_rows(self) -> None:
        """Note which rows of the watched message are visible now."""
        if not self._watched:
            return
        number, view = self.number_of(self._watched), self._view
        if not number or self._transcript.folds.is_folded(self._watched):
            return
        if self._shown_width != view.width:
            self._shown_width, self._shown = view.width, frozenset()
        # While the view does not follow the end, a label covers the last row of the pane.
        places = view.visible if view.follow else view.visible[: view.height - 1]
        self._shown |= {place[1:] for place in places if place.message == number - 1}
        if self._shown and self._tell is not None:
            tell, self._tell = self._tell, None
            tell()

    def has_shown_all(self, *, but_last: bool = False) -> bool:
        """Whether each row of the watched message was visible at this width; ``but_last`` ignores the last
        one.
        """
        number = self.number_of(self._watched)
        if not number or self._transcript.folds.is_folded(self._watched):
            return False
        message = self._view.messages[number - 1]
        if not message.is_settled or self._shown_width != self._view.width:
            return False
        return self._first_not_shown(number - 1, message.part_count - but_last) is None

    def show_what_was_not_shown(self) -> None:
        """Bring the first row of the watched message that was never visible to the top."""
        number = self.number_of(self._watched)
        parts = self._view.messages[number - 1].part_count if number else 0
        place = self._first_not_shown(number - 1, parts)
        if place is not None:
            self._view.show(place, is_held=False)  # at the end its last row is visible, too
            self._transcript.redraw()

    def _first_not_shown(self, index: int, parts: int) -> Place | None:
        for part in range(parts):
            rows = len(self._view.layout(index, part).rows)
            first = 0 if part else self._view.messages[index].APART
            for row in range(first, rows):
                if (part, row) not in self._shown:
                    return Place(index, part, row)
        return None

    def bring(self, number: int) -> None:
        """Show message ``number``, from 1, as far as there is room: its first row has priority."""
        self._fit_size()
        view, head = self._view, Place(number - 1, 0, 0)
        if not view.is_ready or self._is_shown_best(head):
            return
        in_all = view.messages[head.message].height(view.width)
        self.is_brought = self.is_brought or view.follow
        view.show(head, above=max(0, min(view.height // FOUND_SHARE, view.height - in_all)))
        self._transcript.redraw()

    def _is_shown_best(self, head: Place) -> bool:
        visible, last = self._view.visible, self._view.messages[head.message].part_count - 1
        rows = self._view.layout(head.message, last).rows
        is_whole = Place(head.message, last, len(rows) - 1) in visible
        return visible[:1] == [head] or (is_whole and self.has_head_of(head.message + 1))

    def follow_again(self) -> None:
        """Follow the end as before: what was shown instead is not needed anymore."""
        if self.is_brought:
            self._transcript.follow, self.is_brought = True, False

    def _fit_size(self) -> None:
        """Use the current size for the layout, as painting would."""
        self._transcript.render_lines(Region())
